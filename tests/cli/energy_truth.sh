# Energy against power × time: simulated sensors of every kind around a job of 50 W, 8 s at 250 W, 50 W.
. "$(dirname "$0")/tap.sh"
export WATTLAW_DB=$PWD/t.db WATTLAW_RUN_DIR=$PWD/run

gpu() { printf '[gpu %s]\nprofile = %s\npower = 50W\nat 2s power = 250W\nat 10s power = 50W\n' "$1" "$2"; }
{
	gpu 0 v100
	gpu 1 v100; echo 'nvmlDeviceGetTotalEnergyConsumption = NOT_SUPPORTED'
	gpu 2 a100
	gpu 3 a100; echo 'nvmlDeviceGetTotalEnergyConsumption = NOT_SUPPORTED'
	gpu 4 h100
	gpu 5 h100; echo 'nvmlDeviceGetTotalEnergyConsumption = NOT_SUPPORTED'
	gpu 6 v100; echo 'at 6s counter = reset'
	gpu 7 a100; printf 'counter_refresh = 100ms\nat 6s nvmlDeviceGetPowerUsage = GPU_IS_LOST\n'
} >sensors.ini
wattlaw sim exec --scenario sensors.ini -- wattlaw run -q --json r.json -- sleep 12 2>/dev/null
is $? 0 "eight GPUs around one job"

# check GPU METHOD PERCENT "behaviour"
check() {
	local got
	got=$(jq -r --argjson i "$1" '(50 * (.wall_s - 8) + 2000) as $truth | [.devices[] | select(.kind == "gpu")][$i] |
		"\(.method) \((.energy_j // .partial_j // 0) / $truth * 100 - 100)"' r.json)
	awk -v got="$got" -v m="$2" -v p="$3" 'BEGIN { split(got, g); exit !(g[1] == m && g[2] < p && g[2] > -p) }'
	ok $? "$4: by $2, within $3 % (here $got %)"
}

check 0 counter 0.5 "a counter of 20 ms"
check 1 integral 0.5 "instant power of 20 ms"
check 2 counter 0.5 "a counter of 100 ms"
check 3 integral 1.0 "instant power of 100 ms"
check 4 counter 0.5 "a counter beside a 1 s average"
check 5 integral 0.5 "a 1 s average"
check 6 counter 0.5 "a counter that restarts"
has "$(jq -r '[.devices[] | select(.kind == "gpu")][6].note' r.json)" "counter restarted" "which is flagged"
has "$(jq -r '.warnings | join(" ")' r.json)" "restarted" "and warned of"
check 7 counter 0.5 "a counter whose power reading is lost"
like "$(jq -r '[.devices[] | select(.kind == "gpu")] | map(.name) | unique | length' r.json)" 3 "three kinds of board"
done_testing
