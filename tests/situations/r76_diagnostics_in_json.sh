# R75, R76: invalid JSON, no flush into a pipe, diagnostics mixed into stdout (nvtop #438, fio #731).
. "$(dirname "$0")/situation.sh"

# Warnings forced: no sensor, a job that is nothing but words, a disk that is full.
export WATTLAW_SENSORS=none
try wattlaw run --json - -- sh -c 'echo "noise" >&2'
printf '%s\n' "$out" | jq -e '.schema == "wattlaw.run/1"' >/dev/null
ok $? "stdout is one JSON document although there are warnings"
has "$err" "energy is unknown" "they are on stderr"
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
# The same kind: a reader that goes away.
wattlaw sweep --json --idle 0s -r 1 -L n=1,2,3 -- sh -c ': {n}' 2>err | head -n 1 >/dev/null
is "${PIPESTATUS[0]}" 1 "a reader that goes away is a failure of ours, not a signal" || cat err
try wattlaw export jsonl
is "$(printf '%s\n' "$out" | grep -c run/1)" 3 "and every point was measured and stored"
done_testing
