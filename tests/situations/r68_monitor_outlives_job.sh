# R68: the monitor keeps things alive after the job died (codecarbon #305).
. "$(dirname "$0")/situation.sh"
export WATTLAW_SENSORS=none

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
