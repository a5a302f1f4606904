# What a run would cost at a setting never tried: wattlaw predict.
. "$(dirname "$0")/tap.sh"

export WATTLAW_DB=$PWD/w.db
# time = 2 * (1 + (150/p)^4)^(1/4) and a draw that the limit holds; two workers take 0.55 of the time.
{
	echo "workload,domain,workers,power_limit_w,gpu,time_s,mean_power_w,energy_j,baseline"
	for n in 1 2; do
		for p in 100 125 150 175 200 225 250; do
			awk -v p=$p -v n=$n 'BEGIN { t = 2*(1+(150/p)^4)^0.25*(n==2?0.55:1); w = n*(p<210?p:210)
				printf "bert,nlp,%d,%d,X1,%.9f,%.9f,%.9f,%d\n", n, p, t, w, t*w, n==1&&p==250 }'
		done
	done
	for k in 1 2 3 4 5; do
		for p in 100 125 150 175 200 225 250; do
			awk -v p=$p -v k=$k 'BEGIN { printf "net%d,vision,1,%d,X1,%.9f,,,%d\n", k, p, (1+(130+10*k)^4/p^4)^0.25, p==250 }'
		done
	done
	for p in 100 175 250; do
		awk -v p=$p 'BEGIN { printf "probe,vision,1,%d,X1,%.9f,,,%d\n", p, 3*(1+(155/p)^4)^0.25, p==250 }'
	done
} >runs.csv
try wattlaw import csv runs.csv
is "$code" 0 "a table of eight workloads is imported"

try wattlaw predict --workload bert --power-limit 140W
is "$code:$err" "0:" "a limit between the tested ones is answered without a complaint"
has "$out" "interpolated" "and said to lie between them"
has "$out" "imported" "with the label of its runs"
like "$out" "time +2\.4[0-9] s" "its time is that of the curve"
like "$out" "1\.1[89][0-9]? x default|1\.20[0-9] x default" "and relative to the default"
hasnt "$out" "cost" "without a price there is no cost"

try wattlaw predict --workload bert --power-limit 140W --price 0.3 --runs 1000
has "$out" "energy only" "a price of energy alone is called that"
try wattlaw predict --workload bert --power-limit 140W --price 0.3 --gpu-hour-price 2 --runs 1000
hasnt "$out" "energy only" "with a price of GPU-hours it is not"

try wattlaw predict --workload bert --workers 2 --power-limit 140W --json
is "$code" 0 "two factors at once are answered"
printf '%s' "$out" | python3 -c '
import json, sys
d = json.load(sys.stdin)
want = 2 * (1 + (150 / 140) ** 4) ** 0.25 * 0.55
assert d["schema"] == "wattlaw.predict/1" and d["family"] == "joint" and d["evidence"] == "interpolated"
assert abs(d["time_s"]["value"] / want - 1) < 0.05, d["time_s"]
assert d["time_s"]["lo"] < d["time_s"]["value"] < d["time_s"]["hi"] and d["time_s"]["level"] == 0.9
assert abs(d["energy_j"]["value"] / (want * 280) - 1) < 0.08, d["energy_j"]
assert d["cost"] is None and d["co2_g"] is None and d["setting"]["clock_mhz"] is None
assert d["simulated"] is False
'
ok $? "by the joint law, as one valid document near the truth"

try wattlaw predict --workload bert --runs 3600 --power-limit 200W --host-power 400 --pue 1.5 --carbon 100 --json
printf '%s' "$out" | python3 -c '
import json, sys
d = json.load(sys.stdin)
kwh = 1.5 * (d["energy_j"]["value"] + 400 * d["time_s"]["value"]) / 3.6e6
assert abs(d["facility_kwh"]["value"] / kwh - 1) < 1e-6
assert abs(d["co2_g"]["value"] / (100 * kwh) - 1) < 1e-6
assert abs(d["gpu_hours"]["value"] / (d["time_s"]["value"] / 3600) - 1) < 1e-6
'
ok $? "host power, PUE and carbon are counted as defined"
printf 'hour,g_per_kwh\n0,50\n1,150\n' >grid.csv
try wattlaw predict --workload bert --power-limit 200W --carbon grid.csv --json
ok "$code" "carbon intensity may come from a file"

try wattlaw predict --workload bert --workers 4 --json
is "$(printf '%s' "$out" | python3 -c 'import json, math, sys; print(round(math.exp(json.load(sys.stdin)["distance"]), 6))')" \
	2.0 "twice the largest count is a factor of 2 beyond it, whatever the number of quantities"
try wattlaw predict --workload bert --workers 64
is "$code" 4 "32 times the largest count is refused with its own code"
has "$out" "beyond what was measured" "the reason is given"
has "$out" "up to 5 can be answered" "and the nearest question that has an answer"
try wattlaw predict --workload bert --power-limit 1W
like "$out" "down to [0-9.]+ can be answered" "also below the lowest"
try wattlaw predict --workload brt --power-limit 200W
is "$code" 2 "a workload that is not there is a mistake"
has "$err" "did you mean 'bert'" "and the nearest is named"
try wattlaw predict --workload bert --clock-max 1GHz
is "$code" 4 "a factor that no run moved is refused"

try wattlaw predict --workload probe --power-limit 125W
has "$out" "curves of other workloads" "three probes are helped by other workloads on the device"
try wattlaw predict --workload probe --power-limit 125W --no-prior
hasnt "$out" "curves of other workloads" "unless that is switched off"
has "$out" "energy is unknown" "and unknown energy is said"

# Energy has priors of its own; those of another device, or of simulated runs, are never taken.
{
	echo "workload,domain,workers,power_limit_w,gpu,time_s,mean_power_w,energy_j,baseline"
	for k in 1 2 3 4 5; do
		for p in 100 125 150 175 200 225 250; do
			awk -v p=$p -v k=$k 'BEGIN { t = (1+(130+10*k)^4/p^4)^0.25; w = p<190+5*k?p:190+5*k
				printf "e%d,vision,1,%d,%s,%.9f,%.9f,%.9f,%d\n", k, p, "X2", t, w, t*w, p==250 }'
		done
	done
	for g in X2 Y2; do
		for p in 100 175 250; do
			awk -v p=$p -v g=$g 'BEGIN { t = 3*(1+(155/p)^4)^0.25; w = p<203?p:203
				printf "%s-probe,vision,1,%d,%s,%.9f,%.9f,%.9f,%d\n", g, p, g, t, w, t*w, p==250 }'
		done
	done
} >energy.csv
try wattlaw import --db e.db csv energy.csv
try wattlaw predict --db e.db --workload X2-probe --power-limit 125W
has "$out" "(5 of time, 5 of power, 5 of energy on X2; --no-prior leaves them out)" \
	"curves of power and energy help likewise, and are counted"
try wattlaw predict --db e.db --workload X2-probe --power-limit 125W --json
printf '%s' "$out" | python3 -c '
import json, sys
d = json.load(sys.stdin)
t = 3 * (1 + (155 / 125) ** 4) ** 0.25
assert d["prior_curves"] == {"time": 5, "power": 5, "energy": 5}, d["prior_curves"]
for k, want in (("time_s", t), ("mean_w", 125), ("energy_j", 125 * t)):
    assert abs(d[k]["value"] / want - 1) < 0.04, (k, d[k], want)
'
ok $? "each within 4 % from three probes"
try wattlaw predict --db e.db --workload Y2-probe --power-limit 125W --json
printf '%s' "$out" | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["family"] == "combined" and not any(d["prior_curves"].values()), d'
ok $? "a device of another kind gets no help from them"

try wattlaw predict --power-limit 140W --json
printf '%s' "$out" | python3 -c '
import json, sys
assert len(json.load(sys.stdin)["predictions"]) == 7
'
ok $? "several workloads give a list"
try wattlaw predict --at gpu=Y9
is "$code" 2 "axes that no run has leave nothing"
try wattlaw predict --workload bert --steps 3 --epochs 1
is "$code" 2 "two plans at once are a usage error"
try wattlaw predict --workload bert --epochs 5 --power-limit 140W
is "$code" 2 "epochs of a workload measured in runs are refused"
has "$out" "measured per run" "and the unit is named"
try wattlaw predict --pue 0.5
is "$code" 2 "a PUE below one is an error"
done_testing
