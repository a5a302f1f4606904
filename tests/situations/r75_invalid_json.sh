# R75: invalid JSON, no flush into a pipe, nulls on the first sample (nvtop #438, #402, #371, #480).
. "$(dirname "$0")/situation.sh"
export WATTLAW_SENSORS=none

first=$(wattlaw run --json - -- true 2>/dev/null | head -n 1 | jq -r .schema)
is "$first" wattlaw.run/1 "a document in a pipe is whole lines"
name=$(printf 'a "quoted\\ name\twith\001bytes\377')
try wattlaw run -q --name "$name" --json - -- true
printf '%s\n' "$out" | jq -e .workload >/dev/null
ok $? "whatever the workload's name is, it is valid JSON"

# Each point is there as soon as it is measured.
wattlaw sweep --json --idle 0s -r 1 -L n=1,2,3 -- sh -c 'sleep 0.{n}; exit 3' 2>/dev/null >stream &
pid=$!
for i in $(seq 100); do [ -s stream ] && break; sleep 0.05; done
head -n 1 stream | jq -e '.status == "failed"' >/dev/null
ok $? "the first line of a sweep is there while it runs"
kill -0 $pid 2>/dev/null
ok $? "(it still runs)"
wait $pid
is "$(jq -r .schema stream | sort | uniq -c | tr -s ' ' | tr '\n' ';')" " 3 wattlaw.point/1; 1 wattlaw.sweep/1;" \
	"and every line is a document"

# The same kind: the first reading is a reading; a locale with another decimal point; a job of no duration.
unset WATTLAW_SENSORS
gpu_probe <<'END'
[gpu 0]
profile = v100-pcie-32gb
power = 250W
END
is "$(probe '[.devices[] | select(.kind == "gpu") | .channels[] | select(.value == null)] | length')" 0 \
	"no channel is null at the first reading"
export WATTLAW_SENSORS=none
out=$(LC_ALL=de_DE.UTF-8 wattlaw run -q --json - -- sleep 0.1 2>/dev/null)
is "$(printf '%s\n' "$out" | jq '.wall_s > 0.09')" true "numbers have a point in every locale"
out=$(wattlaw run -q --json - -- true 2>/dev/null)
! printf '%s\n' "$out" | grep -qiE '(^|[^a-z"])(nan|inf)'
ok $? "and none is NaN or infinite"
done_testing
