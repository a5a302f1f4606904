# R79: a tool that cannot read its own logs, or counts them twice (carbontracker #65, #87, #90, #14, #78): shards cut
# anywhere, written twice, or one behind the other.
. "$(dirname "$0")/situation.sh"

# A shard: what a killed keeper leaves.
gpu_host
cat >kill.sh <<'END'
wattlaw run -q --name cut --db k.db -- sleep 4 &
lead=$!
sleep 2.6
kill -9 $(pgrep -f -P $lead 'wattlaw keeper') $lead
END
sim bash kill.sh >/dev/null 2>&1
shard=$(find k.db.d -name '*.shard*' | head -n 1)
[ -s "$shard" ]
ok $? "a killed keeper leaves a shard" || { done_testing; }
cp "$shard" whole.shard
size=$(stat -c %s whole.shard)

# take FILE…: what a store makes of shards found beside it, as "runs joules"
take() {
	rm -rf t.db*
	mkdir t.db.d
	local i=0 f
	for f in "$@"; do
		i=$((i + 1))
		cp "$f" "t.db.d/$i.shard"
	done
	try wattlaw sweep -q --idle 0s -r 1 -L n=1 --sensors none -- sh -c ': {n}'
	wattlaw export jsonl all 2>/dev/null | jq -s -r '[.[] | select(.workload == "cut")] | "\(length) \(map(.energy.total_j // 0) | add // 0 | round)"'
	return "$code"
}
whole=$(take whole.shard)
like "$whole" '^1 [3-9][0-9][0-9]$' "the whole shard is one run with the energy of its seconds"
is "$(take whole.shard whole.shard)" "$whole" "found twice it is still one run"
bad=0
for cut in 1 7 100 $((size / 3)) $((size / 2)) $((size - 1)); do
	head -c "$cut" whole.shard >cut.shard
	got=$(take cut.shard) && [[ $got == [01]\ * ]] && [ "${got#* }" -le "$((${whole#* } + 1))" ] || { bad=1; echo "# cut at $cut: $got"; }
done
is "$bad" 0 "cut anywhere it is one run or none, never more energy"
cat whole.shard whole.shard >twice.shard
is "$(take twice.shard)" "$whole" "two behind each other count once"
(cat whole.shard; head -c 2000 /dev/urandom) >tail.shard
is "$(take tail.shard)" "$whole" "rubbish behind it changes nothing"

# The same kind: a log of somebody else, cut in the middle of a line, and two put one behind the other.
{
	echo 'timestamp, index, power.draw [W]'
	for i in 0 1 2 3; do printf '2026/01/01 00:00:0%d.000, 0, 100.00 W\n' $i; done
} >log
head -c -9 log >cut.csv
try wattlaw import --db i.db nvidia-smi cut.csv
if [ "$code" -eq 0 ]; then
	near "$(wattlaw export --db i.db csv all | python3 -c 'import csv, sys; print(next(csv.DictReader(sys.stdin))["energy_j"])')" 300 34 \
		"a log cut within a line: what is there"
else
	has "$err" "cut.csv:5" "a log cut within a line is refused with its line"
fi
cat log log >twice.csv
try wattlaw import --db j.db nvidia-smi twice.csv
if [ "$code" -eq 0 ]; then
	is "$(wattlaw export --db j.db csv all | python3 -c 'import csv, sys; print(float(next(csv.DictReader(sys.stdin))["energy_j"]) <= 301)')" True \
		"a log that is there twice does not count twice"
else
	has "$err" "twice.csv:6" "a log that is there twice is refused with the line of its second header"
fi
done_testing
