# R76: diagnostics mixed into the JSON on stdout (fio #731, #1685).
. "$(dirname "$0")/situation.sh"

# Warnings forced: no sensor, a job that is nothing but words, a disk that is full.
export WATTLAW_SENSORS=none
try wattlaw run --json - -- sh -c 'echo "noise" >&2'
printf '%s\n' "$out" | jq -e '.schema == "wattlaw.run/1"' >/dev/null
ok $? "stdout is one JSON document although there are warnings"
has "$err" "energy is unknown" "they are on stderr"

# The same kind: warnings of other commands; a driver that talks.
for cmd in probe fit "export json all" "predict --power-limit 150W" "advise --max-slowdown 5%"; do
	# shellcheck disable=SC2086
	try wattlaw $cmd $([ "${cmd%% *}" = export ] || echo --json)
	[ -z "$out" ] || printf '%s\n' "$out" | jq -e . >/dev/null
	ok $? "${cmd%% *}: stdout is JSON or nothing"
done
try wattlaw run -q --json - --devices 99 -- true
printf '%s\n' "$out" | jq -es 'length <= 1' >/dev/null
ok $? "a device that is not there: the complaint is not on stdout"
# The same kind: a reader that goes away.
wattlaw sweep --json --idle 0s -r 1 -L n=1,2,3 -- sh -c ': {n}' 2>err | head -n 1 >/dev/null
is "${PIPESTATUS[0]}" 1 "a reader that goes away is a failure of ours, not a signal" || cat err
try wattlaw export jsonl
is "$(printf '%s\n' "$out" | grep -c run/1)" 3 "and every point was measured and stored"
done_testing
