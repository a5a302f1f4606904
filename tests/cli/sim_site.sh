# What would a centre have used: traces, policies, laws.
. "$(dirname "$0")/tap.sh"

examples=$SOURCE_ROOT/examples
try wattlaw sim site -j "$examples/site-trace.csv" -c "$examples/site-classes.ini" -g 64 -p cap=150W -p class -p budget=9kW
is "$code" 0 "the example is replayed" || tap_show err "$err"
has "$out" "simulated: 400 jobs on 64 GPUs" "and labelled"
like "$out" 'jobs/h.*none +[0-9.]+ MWh.* [0-9]+\.[0-9]' "with the throughput"
like "$out" 'cap=150W +0\.[0-9]+ MWh +2[0-9]\.[0-9]+%' "a cap saves"
try wattlaw sim site -j "$examples/site-trace.csv" -c "$examples/site-classes.ini" -g 64 -p class --json --price 0.2 --carbon 300
printf '%s' "$out" | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["schema"] == "wattlaw.site/1" and d["simulated"] is True
none, cls = d["policies"]
assert cls["energy_j"] < none["energy_j"] and none["slowdown"]["max"] == 1
assert abs(none["co2_kg"] - none["energy_j"] / 3.6e6 * 0.3) < 1e-6
assert none["gpu_hour_cost"] is None
'
ok $? "--json is one document; a price that is not known is null"
try wattlaw sim site -j "$examples/site-trace.csv" -c "$examples/site-classes.ini" -g 64 --price 0.2
has "$out" "energy only" "without a price of GPU-hours nothing is called cheaper"
try wattlaw sim site -j "$examples/site-trace.csv" -c "$examples/site-classes.ini" -g 64 --carbon 300
like "$out" 'none +[0-9.]+ kg CO2' "carbon alone is a line with its policy"
try wattlaw sim site -j "$examples/site-trace.csv" -c "$examples/site-classes.ini" -g 8
is "$code" 2 "jobs larger than the site are refused"
try wattlaw sim site -j "$examples/site-trace.csv" -c "$examples/site-classes.ini" -g 64 -p badget=9kW
has "$err" "did you mean 'budget'" "a misspelt policy is named"
printf 'submit,gpus,runtime\n0,1,x\n' >bad.csv
try wattlaw sim site -j bad.csv -c "$examples/site-classes.ini" -g 64
has "$err" "bad.csv:2: column 'runtime'" "a bad field is named with its line"

cat >caps.ini <<'X'
[sweep]
name = caps
repeats = 2
seed = 1
power_limit = 100W, 125W, 150W, 200W, 250W
[job resnet50]
domain = vision
command = wattlaw sim job resnet50
[job bert]
domain = language
command = wattlaw sim job bert
X
export WATTLAW_DB=$PWD/w.db
wattlaw sweep -q --simulate "$examples/supercloud.ini" caps.ini >/dev/null 2>&1
printf 'submit,gpus,runtime,class\n0,4,1000,resnet50\n5,8,2000,bert\n' >two.csv
try wattlaw sim site -j two.csv -l caps -g 16 -p class --max-slowdown 10%
is "$code" 0 "classes may come from the fitted laws" || tap_show err "$err"
like "$out" 'class <= 10% +0\.[0-9]+ MWh +[0-9]' "and give a policy"
# 5 % lie between the measured 200 and 250 W: the laws know where
try wattlaw sim site -j two.csv -l caps -g 16 -p class --json
ok_gain=$(printf '%s' "$out" | jq '.policies[1].energy_j / .policies[0].energy_j < 0.97 and .policies[1].slowdown.max <= 1.0501')
is "$ok_gain" true "between the measured limits, too"
peak=$(printf '%s' "$out" | jq '.policies[0].peak_w < 16 * 250')
is "$peak" true "GPUs alone: the hosts of the sweep are not counted as theirs"
printf 'submit,gpus,runtime,class\n0,4,1000,vgg16\n' >other.csv
try wattlaw sim site -j other.csv -l caps -g 16
is "$code" 2 "a class without a law is an error"
has "$err" "class 'vgg16'" "that names it"
try wattlaw sim site -j two.csv -g 16
is "$code" 2 "classes or laws are needed"
done_testing
