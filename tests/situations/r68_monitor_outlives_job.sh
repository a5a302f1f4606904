# R66, R68: the wrapper hides the job's exit code (jpwr, variorum); the monitor keeps things alive after the job
# died (codecarbon #305).
. "$(dirname "$0")/situation.sh"
export WATTLAW_SENSORS=none

for c in 0 1 3 125 126 127 200 255; do
	try wattlaw run -q -- sh -c "exit $c"
	is "$code" "$c" "exit code $c"
done
for s in HUP:129 INT:130 ILL:132 ABRT:134 SEGV:139 TERM:143; do
	try wattlaw run -q -- sh -c "kill -${s%:*} \$\$"
	is "$code" "${s#*:}" "killed by SIG${s%:*}: ${s#*:}"
done
mkdir directory
try wattlaw run -q -- ./directory
is "$code" 126 "a directory cannot be executed: 126"
try wattlaw run -q -- ''
is "$code" 127 "the empty command is not found: 127"

start=$(date +%s%N)
try wattlaw run -q -- sh -c 'kill -SEGV $$'
took=$((($(date +%s%N) - start) / 1000000))
[ "$took" -lt 1500 ]
ok $? "when the job dies wattlaw ends at once ($took ms)"
# A pipe that captured us ends with us: the keeper holds none of it.
start=$(date +%s%N)
out=$(wattlaw run -- sleep 0.2 2>&1)
took=$((($(date +%s%N) - start) / 1000000))
[ "$took" -lt 1700 ]
ok $? "and nobody keeps its output open ($took ms)"

# The same kind: the job leaves a child behind that holds on to its output; that is the job's business.
wattlaw run -q -- sh -c 'sleep 5 >/dev/null 2>&1 & echo $! >left; exit 4'
is $? 4 "a job that leaves a child behind ends when it ends"
kill -0 "$(cat left)"
ok $? "and the child is left alone"
kill "$(cat left)"
done_testing
