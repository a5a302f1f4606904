# R69: no periodic flush, so a kill loses everything (codecarbon #448, #236).
. "$(dirname "$0")/../cli/tap.sh"
export WATTLAW_DB=$PWD/t.db WATTLAW_RUN_DIR=$PWD/run

printf '[gpu 0]\nprofile = v100-pcie-32gb\npower = 250W\n' >s.ini
cat >kill_both.sh <<'END'
wattlaw run -q --name killed -- sleep 30 &
lead=$!
sleep 4
kids=$(pgrep -P $lead)
kill -9 $lead $kids
END
wattlaw sim exec --scenario s.ini -- bash kill_both.sh >/dev/null 2>&1
[ -n "$(find t.db.d -name '*.shard*' -size +2k)" ]
ok $? "after SIGKILL of everything the samples are on disk"
try wattlaw run -q --sensors none --name next -- true
is "$code" 0 "the next start is not blocked by what was left"
out=$(wattlaw export jsonl all | jq -c 'select(.workload == "killed") | [.state, (.energy.partial_j // .energy.total_j)]')
like "$out" '^\["(partial|interrupted|failed)",' "as a run that is not whole"
joules=$(jq '.[1]' <<<"$out")
awk -v j="$joules" 'BEGIN { exit !(j > 250 * 2 && j < 250 * 6) }'
ok $? "with the energy up to the last second before the kill (here $joules J)"

# The same kind: the keeper alone is killed; the job goes on and keeps its exit code.
cat >kill_keeper.sh <<'END'
wattlaw run -q --name keeperless -- sh -c 'sleep 3; exit 5' &
lead=$!
sleep 2
for p in $(pgrep -P $lead); do
	grep -aq keeper /proc/$p/cmdline && kill -9 $p
done
wait $lead
END
wattlaw sim exec --scenario s.ini -- bash kill_keeper.sh >/dev/null 2>&1
is $? 5 "a killed keeper leaves the job and its exit code alone"
out=$(wattlaw export jsonl all | jq -c 'select(.workload == "keeperless") | [.exit_code, (.energy.partial_j // .energy.total_j)]')
like "$out" '^\[5,[0-9]' "and what was measured until then is kept (here $out)"
done_testing
