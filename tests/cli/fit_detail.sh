# Every family, plots, filters and the joint law of wattlaw fit.
. "$(dirname "$0")/tap.sh"

export WATTLAW_DB=$PWD/w.db
{
	echo "workload,domain,workers,power_limit_w,time_s,mean_power_w,energy_j,baseline"
	for n in 1 2 4 8; do
		for p in 100 125 150 175 200 225 250; do
			awk -v p=$p -v n=$n 'BEGIN { d = 8*(1+(165/p)^4)^0.25/n; t = (4^4+d^4)^0.25; w = n*(p<210?p:210)
				printf "bert,nlp,%d,%d,%.9f,%.9f,%.9f,%d\n", n, p, t, w, t*w, n==1&&p==250 }'
		done
	done
	i=0
	for p in 100 125 150 175 200 225 250; do
		i=$((i + 1))
		awk -v p=$p -v i=$i 'BEGIN { printf "ncf,recommendation,1,%d,%.9f,%.9f,%.9f,%d\n", p, 5+0.25*((i*7)%3-1), 38, 190, p==250 }'
	done
	for p in 100 150 200 250; do
		awk -v p=$p 'BEGIN { w = p<118?118:p; t = (1+(180/w)^4)^0.25; printf "hot,vision,1,%d,%.9f,%.9f,%.9f,%d\n", p, t, w, t*w, p==250 }'
	done
} >runs.csv
try wattlaw import csv runs.csv
is "$code" 0 "a table is imported"

try wattlaw fit --workload bert --factor power_limit --quantity time --compare
is "$code:$err" "0:" "fit --compare succeeds"
for family in constant power offset broken hinge device-cap monotone combined; do
	has "$out" "$family " "it lists $family"
done
has "$out" "sensitive; largest change" "and says whether the limit matters"
hasnt "$out" "energy  power_limit" "--quantity leaves the others out"
has "$out" "joint law of time" "two factors give a joint law"
like "$out" "joint [0-9.]+ %, product of separate laws [0-9.]+ %" "whose error stands beside the product's"

try wattlaw fit --workload ncf --quantity time
has "$out" "undetermined" "scatter of 5 % proves nothing"
like "$out" "[0-9]+ runs a setting would tell" "and what would settle it is said"

try wattlaw fit --workload hot --quantity time --compare
has "$out" "drew up to 118 W" "a limit that was overshot is told"
has "$out" "100W..250W" "the range is that of the limits asked for"

try wattlaw fit --workload bert --factor workers --quantity time --plot
has "$out" "o imported" "--plot draws, and says what"
is "$(printf '%s\n' "$out" | grep -c '|.*[o*.]')" "$(printf '%s\n' "$out" | grep -c '|.*[^ ]')" "only data and laws"
widest=$(printf '%s\n' "$out" | grep '|' | awk '{ if (length($0) > w) w = length($0) } END { print w }')
[ "$widest" -le 80 ]
ok $? "a plot fits 80 columns ($widest)"

try wattlaw fit --json --workload bert --factor workers
is "$code" 0 "fit --json with a filter succeeds"
printf '%s' "$out" | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert {l["factors"][0] for l in d["laws"]} == {"workers"}
assert {"amdahl", "usl", "pmnf", "power", "offset"} <= {l["family"] for l in d["laws"]}
assert abs(d["joint"][0]["params"]["t_host"] / 4 - 1) < 0.05, d["joint"]
t = [l for l in d["laws"] if l["quantity"] == "time"]
one = [l for l in t if l["at"] == t[0]["at"]]
assert abs(sum(l["weight"] for l in one) - 1) < 1e-6
assert all(l["verdict"] in ("sensitive", "insensitive", "undetermined") for l in d["laws"])
'
ok $? "one document: families, weights, verdicts and the joint law, which finds the host's time"
try wattlaw fit --factor colour
is "$code" 2 "an unknown factor is a usage error"
done_testing
