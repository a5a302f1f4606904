# The JSON documents have the keys that are promised, always: what is unknown is null, not left out.
. "$(dirname "$0")/tap.sh"
export WATTLAW_DB=$PWD/t.db WATTLAW_RUN_DIR=$PWD/run

# absent FILE PATH…: those of the jq paths that lead to no key. "a.b" is a key of an object, "a[].b" of
# every element; the array must have one.
absent() {
	local file=$1 path
	shift
	for path; do
		jq -e --arg path "$path" '
			def walk_to($keys): if ($keys | length) == 0 then true
				elif ($keys[0] | endswith("[]")) then
					($keys[0][:-2]) as $k | has($k) and (.[$k] | type == "array" and length > 0)
					and (.[$k] | all(.[]; walk_to($keys[1:])))
				else type == "object" and has($keys[0]) and (.[$keys[0]] | walk_to($keys[1:]))
				end;
			walk_to($path | split("."))' "$file" >/dev/null 2>&1 || printf '%s ' "$path"
	done
}
# is_schema FILE NAME: one document, of that schema, in UTF-8, with no number that is none
is_schema() {
	is "$(jq -rs 'map(.schema) | join(" ")' "$1")" "$2" "$2 is one valid document"
	hasnt "$(cat "$1")" NaN "without a number that is none" && hasnt "$(cat "$1")" Infinity "or is endless"
}

printf '[gpu 0]\nprofile = v100\n' >one.ini
cat >g.ini <<'END'
[sweep]
name = g
repeats = 1
seed = 7
point_time = 300ms
warmup = 100ms
settle = 50ms
power_limit = 250W, 200W, 150W, 125W, 100W
[job resnet50]
domain = vision
command = wattlaw sim job resnet50 --scale 5% --no-noise --steps 0
END
run_keys="schema run_id workload command[] exit_code simulated source wall_s
	train.steps train.samples train.step_s.p10 train.step_s.median train.step_s.p90 train.step_s.n train.samples_per_s
	energy.total_j energy.net_j energy.method energy.resolution_pct energy.coverage_pct energy.scope warnings"
device_keys="devices[].id devices[].kind devices[].name devices[].energy_j devices[].mean_w devices[].p95_w devices[].max_w
	devices[].clock_mhz devices[].util_pct devices[].temp_c.start devices[].temp_c.end devices[].temp_c.max
	devices[].power_limit_w.requested devices[].power_limit_w.enforced
	devices[].clock_limit_mhz.requested devices[].clock_limit_mhz.enforced devices[].throttle_pct.power_cap
	devices[].status devices[].note"

## run: measured, and with nothing to measure.
try wattlaw sim exec --scenario one.ini -- wattlaw run --json run.json -- wattlaw sim job resnet50 --scale 5% --steps 20
is "$code" 0 "a run on a simulated GPU"
is_schema run.json wattlaw.run/1
# shellcheck disable=SC2086
is "$(absent run.json $run_keys $device_keys phases[].name phases[].start_s phases[].end_s phases[].energy_j)" "" "it has every key"
is "$(jq -c '[.exit_code, .simulated, .source, .command[0]]' run.json)" '[0,true,null,"wattlaw"]' "of the right kind"
try env WATTLAW_SENSORS=none wattlaw run --json none.json -- sh -c 'exit 3'
is "$code" 3 "a run with nothing to measure"
# shellcheck disable=SC2086
is "$(absent none.json $run_keys devices phases)" "" "it has the same keys"
is "$(jq -c '[.energy.total_j, .energy.method, .train.steps, .train.step_s.median]' none.json)" '[null,"none",null,null]' \
	"what is unknown is null"

## sweep: a line a point, then the sweep.
try wattlaw sim exec --scenario one.ini -- wattlaw sweep --json --idle 100ms g.ini
is "$code" 0 "a sweep of power limits"
printf '%s\n' "$out" >sweep.json
is "$(jq -r .schema sweep.json | uniq -c | awk '{printf "%s %s;", $1, $2}')" "8 wattlaw.point/1;1 wattlaw.sweep/1;" \
	"a line for every point, the sweep last"
bad=
while read -r line; do
	printf '%s\n' "$line" >line.json
	bad+=$(absent line.json schema setting.power_limit_w repeat status run_id simulated wall_s energy_j exit_code)
done < <(grep point/1 sweep.json)
is "$bad" "" "every point has its keys"
tail -n 1 sweep.json >last.json
is "$(absent last.json schema campaign simulated seed state points done failed left gpu_hours db)" "" "so has the sweep"
is "$(jq -s 'map(.simulated) | all' sweep.json)" true "all are labelled simulated, the sweep as its points"

## fit
try wattlaw fit --json g
printf '%s\n' "$out" >fit.json
is_schema fit.json wattlaw.fit/1
is "$(absent fit.json schema laws[].workload laws[].domain laws[].quantity laws[].factors[] laws[].family laws[].params \
	laws[].ci95 laws[].r2_log laws[].mape_pct laws[].loo_pct laws[].n laws[].selected laws[].sensitive laws[].range \
	laws[].simulated)" "" "every law has its keys"
is "$(jq -c '[.laws[].quantity] | unique' fit.json)" '["energy","power","time"]' "time, power and energy are fitted"
is "$(jq -c '[.laws[].factors[0]] | unique' fit.json)" '["power_limit_w"]' "a factor bears its unit"
is "$(jq -c '[.laws[] | (.params | keys) == (.ci95 | keys)] | all' fit.json)" true "every parameter has its interval"
is "$(jq -c '[.laws[] | select(.selected) | .quantity] | sort' fit.json)" '["energy","power","time"]' "one law of each is selected"

## predict
try wattlaw predict --json -w resnet50 --power-limit 180W --price 0.3 --gpu-hour-price 2 --carbon 400 --samples 1000000 g
is "$code" 0 "a prediction between the settings"
printf '%s\n' "$out" >predict.json
is_schema predict.json wattlaw.predict/1
is "$(absent predict.json schema setting.power_limit_w time_s.value time_s.lo time_s.hi time_s.level energy_j.value energy_j.lo \
	energy_j.hi energy_j.level mean_w.value mean_w.lo mean_w.hi mean_w.level cost.amount cost.currency co2_g.value evidence \
	distance family)" "" "it has every key"
is "$(jq -c '[.evidence, .time_s.level, .time_s.lo < .time_s.value, .time_s.value < .time_s.hi]' predict.json)" \
	'["interpolated",0.9,true,true]' "with its evidence and level"
try wattlaw predict --json -w resnet50 --power-limit 180W g
printf '%s\n' "$out" >bare.json
is "$(absent bare.json cost co2_g time_s.value)" "" "without prices the same keys are there"
is "$(jq -c '[.cost, .co2_g]' bare.json)" '[null,null]' "and null"

## probe
try wattlaw sim exec --scenario one.ini -- wattlaw probe --json
printf '%s\n' "$out" >probe.json
is_schema probe.json wattlaw.probe/1
is "$(absent probe.json schema missing devices[].id devices[].kind devices[].name devices[].channels devices[].knobs)" "" \
	"it has every key"
jq '{knobs: [.devices[] | select(.kind == "gpu") | .knobs[]], missing}' probe.json >parts.json
is "$(absent parts.json knobs[].name knobs[].min knobs[].max knobs[].step knobs[].current knobs[].settable knobs[].why_not \
	knobs[].fix)" "" "so has every knob"
try wattlaw probe --json
printf '%s\n' "$out" >here.json
jq -e '.missing | length > 0' here.json >/dev/null || echo '{"missing":[{"what":0,"why":0,"fix":0}]}' >here.json
is "$(absent here.json missing[].what missing[].why missing[].fix)" "" "and all that is missing on this machine"
done_testing
