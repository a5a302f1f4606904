# wattlaw run and sweep on simulated GPUs: energy by counter, by integral, unknown; drivers that hang; power
# limits stepped, restored after kill -9, and refused to a second asker.
. "$(dirname "$0")/tap.sh"
export WATTLAW_DB=$PWD/t.db WATTLAW_RUN_DIR=$PWD/run
set -m

# within PCT JSON-FILE WATTS: energy is WATTS times the measured time within PCT %
energy_is() {
	jq -e ".energy.total_j as \$e | (\$e / (.wall_s * $3) - 1) | fabs * 100 <= $1" "$2" >/dev/null
}
gpu() { printf '[gpu 0]\nprofile = v100\n%s\n' "$1" >"$2.ini"; }

gpu 'power = 250W' constant
try wattlaw sim exec --scenario constant.ini -- wattlaw run --json c.json -- sleep 2
is "$code" 0 "a run on a GPU that draws 250 W"
energy_is 1 c.json 250
ok $? "energy by the counter is power times time within 1 %" || jq -c '[.energy, .wall_s]' c.json
is "$(jq -r '.energy.method, .simulated' c.json | tr '\n' ' ')" "counter true " "method and simulation are labelled"
has "$err" "simulated" "for people too"
is "$(jq -c '.devices[0].power_limit_w | [.requested, .enforced]' c.json)" "[null,250]" \
	"the limit that stands is told, as nobody's request"

gpu 'power = 250W
nvmlDeviceGetTotalEnergyConsumption = NOT_SUPPORTED' integral
try wattlaw sim exec --scenario integral.ini -- wattlaw run --json i.json -- sleep 5
energy_is 1 i.json 250
ok $? "without a counter the integral of power is within 1 %" || jq -c '[.energy, .wall_s]' i.json
is "$(jq -r .energy.method i.json)" integral "and it says so"

# Idle, 250 W, idle: the job switches the load on and off inside its own time.
gpu 'from 1500ms to 3500ms power = 250W' pulse
try wattlaw sim exec --scenario pulse.ini -- wattlaw run --json p.json -- sleep 4.2
pulse_is() { # the power of the profile at rest, and 250 W for 2 s
	jq -e --argjson rest "$rest" '(.energy.total_j / (500 + $rest * (.wall_s - 2)) - 1) | fabs * 100 <= 1' "$1" \
		>/dev/null || { jq -c '[.energy, .wall_s]' "$1" && false; }
}
rest=$(wattlaw sim exec --gpus v100:1 -- wattlaw run --json r.json -- sleep 3 2>/dev/null; jq '.energy.total_j / .wall_s' r.json)
pulse_is p.json
ok $? "idle, 250 W for 2 s, idle: the sum within 1 % by the counter"
is "$(jq -r .energy.method p.json)" counter "which was used"
gpu 'from 1500ms to 3500ms power = 250W
nvmlDeviceGetTotalEnergyConsumption = NOT_SUPPORTED' pulse
try wattlaw sim exec --scenario pulse.ini -- wattlaw run --json p.json -- sleep 4.2
pulse_is p.json
ok $? "and within 1 % by the integral"
is "$(jq -r .energy.method p.json)" integral "which was used"

gpu 'nvmlDeviceGetTotalEnergyConsumption = NOT_SUPPORTED
nvmlDeviceGetPowerUsage = NOT_SUPPORTED' neither
try wattlaw sim exec --scenario neither.ini -- wattlaw run --json n.json -- sh -c 'sleep 0.3; exit 3'
is "$code" 3 "without both the code is kept"
is "$(jq -c '[.energy.total_j, .energy.method]' n.json)" '[null,"none"]' "energy is null, never 0"
like "$err" 'energy is unknown: .*neither energy nor power' "and the reason is printed"

# Drivers that hang.
gpu 'power = 250W
at 1s nvmlDeviceGetPowerUsage = hang' hang
start=$(date +%s%N)
try wattlaw sim exec --scenario hang.ini -- wattlaw run --json h.json -- sh -c 'sleep 1.5; exit 5'
took=$((($(date +%s%N) - start) / 1000000))
is "$code" 5 "a driver call that never returns does not touch the code"
[ "$took" -lt 4500 ]
ok $? "nor hold up the end (took $took ms)"
is "$(jq -c '[.exit_code, .energy.total_j]' h.json)" '[5,null]' "the total is unknown, what is known is partial"
printf '[host]\nnvmlInit_v2 = hang\n[gpu 0]\nprofile = v100\n' >init.ini
start=$(date +%s%N)
try wattlaw sim exec --scenario init.ini -- wattlaw run --json i.json -- sh -c 'sleep 0.2; exit 6'
took=$((($(date +%s%N) - start) / 1000000))
is "$code" 6 "a driver that never opens does not touch the code"
[ "$took" -lt 2000 ]
ok $? "nor hold up the job or its end (took $took ms)"
is "$(jq -c '[.simulated, .energy.total_j]' i.json)" '[true,null]' "and the run says whose driver that was"
# Keepers of this test are known by its database.
keepers() {
	local p

	for p in $(pgrep -f 'wattlaw keeper'); do
		{ tr '\0' '\n' <"/proc/$p/environ"; } 2>/dev/null | grep -qx "WATTLAW_DB=$WATTLAW_DB" && echo "$p"
	done
}
for i in $(seq 50); do [ -z "$(keepers)" ] && break; sleep 0.1; done
is "$(keepers)" "" "no keeper is left behind"

# Power limits stepped inside one launch.
cat >g.ini <<'END'
[sweep]
name = g
repeats = 1
seed = 2
point_time = 1s
warmup = 200ms
settle = 200ms
power_limit = 250W, 175W, 100W
[job resnet50]
command = wattlaw sim job resnet50 --scale 5% --no-noise --steps 0
END
try wattlaw sim exec --gpus v100 --dir host -- wattlaw sweep --json --idle 300ms g.ini
is "$code" 0 "power limits are swept"
is "$(printf '%s\n' "$out" | jq -s '[.[] | select(.launch) | .simulated] | all')" true "every point is labelled simulated"
step() { printf '%s\n' "$out" | jq -s "[.[] | select(.setting.power_limit_w == $1) | .step_s][0]"; }
is "$(jq -n "$(step 100) / $(step 250) | . > 1.75 and . < 2.1")" true "at 100 W a step takes 1.93 times as long"
is "$(printf '%s\n' "$out" | jq -s '[.[] | select(.launch) | .energy_j != null] | all')" true "the energy of every point is known" ||
	printf '%s\n' "$out" | jq -c '[.setting, .energy_j, .warnings]' | sed 's/^/# /'
is "$(wattlaw export json | jq -c '[.. | .power_limit_w? | objects | select(.requested == 175) | .enforced] | unique')" "[175]" \
	"the enforced limit is stored with the requested one"
limit_back() { wattlaw sim state host | grep -q 'of 250 W'; }
limit_back
ok $? "the limit is back"

within() {
	local n=$1
	shift
	while ! "$@"; do
		n=$((n - 1))
		[ "$n" -gt 0 ] || return 1
		sleep 0.1
	done
}
# Limits after kill -9 at random moments; the devices outlive the processes.
sed -i 's/250W, 175W, 100W/120W, 110W, 100W, 130W, 140W/; s/point_time = 1s/point_time = 400ms/' g.ini
job_there() { wattlaw sim state host | grep -q process; }
job_gone() { ! job_there; }
RANDOM=${KILL_SEED:-99}
bad=0 left=0
for victim in leader keeper leader keeper; do
	wattlaw sim exec --dir host -- sh -c 'echo $$ >leader; exec wattlaw sweep -q --idle 0s --db k.db g.ini' >/dev/null 2>&1 &
	pid=$!
	within 50 job_there
	sleep "0.$((RANDOM % 900 + 100))"
	if [ $victim = leader ]; then
		kill -9 "$(cat leader)"
		within 20 limit_back || bad=$((bad + 1))
		within 20 job_gone || left=$((left + 1))
	else
		kill -9 "$(pgrep -P "$(cat leader)" -f 'wattlaw keeper' | head -n 1)"
		# Back first, then set again by the new keeper: watch from the end.
		wait $pid
		limit_back || bad=$((bad + 1))
	fi
	wait $pid 2>/dev/null
	within 20 job_gone
done
is "$bad" 0 "kill -9 of leader and keeper: the limit is back within 2 s"
is "$left" 0 "and the job of a killed sweep is gone"

# A second sweep of the same GPU; another GPU is free.
wattlaw sim exec --dir host -- wattlaw sweep -q --idle 0s --db first.db g.ini >/dev/null 2>&1 &
pid=$!
within 50 job_there
try wattlaw sim exec --dir host -- wattlaw sweep --idle 0s --db second.db g.ini
is "$code" 1 "a second sweep of one GPU is refused"
like "$err" 'wattlaw sweep g' "and told who holds it"
[ "$(printf '%s\n' "$err" | grep -c error)" -eq 1 ]
ok $? "in one line"
kill -INT "$(pgrep -P $pid -f 'wattlaw sweep' | head -n 1)"
wait $pid
is $? 130 "Ctrl-C exits with 130"
limit_back
ok $? "and the limit is back"

# Without the right to set: refused before anything is run.
gpu 'nvmlDeviceSetPowerManagementLimit = NO_PERMISSION' denied
try wattlaw sim exec --scenario denied.ini -- wattlaw sweep --idle 0s --db denied.db -r 1 --point-time 300ms -L power_limit=150W -- \
	sh -c 'touch ran; exec wattlaw sim job resnet50 --scale 5% --steps 0'
[ "$code" -ne 0 ]
ok $? "no permission to set is a failure"
like "$err" '[Pp]ermission' "that names the reason"
done_testing
