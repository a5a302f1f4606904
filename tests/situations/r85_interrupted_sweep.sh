# R85: a sweep that is not interrupt-safe (harness-bench-fast PR #13): Ctrl-C in the third of six points, resume.
. "$(dirname "$0")/situation.sh"
export WATTLAW_SENSORS=none
set -m

cat >six.ini <<'END'
[sweep]
name = six
repeats = 1
seed = 4
axis.n = 1, 2, 3, 4, 5, 6
[job a]
command = sh -c 'echo {n} >>ran; sleep 0.4'
END
for sig in INT TERM; do
	rm -rf t.db* ran
	: >six.json
	wattlaw sweep --idle 0s --json six.ini >six.json 2>six.err &
	pid=$!
	for i in $(seq 200); do [ "$(grep -c point/1 six.json)" -ge 2 ] && break; sleep 0.02; done
	sleep 0.15
	kill -$sig $pid
	wait $pid
	is $? $((128 + $(kill -l $sig))) "SIG$sig in the third of six: 128+n"
	is "$(tail -n 1 six.json | jq -c '[.state, .done]')" '["interrupted",2]' "the last line says interrupted, two done"
	is "$(grep -c error six.err)" 0 "an interruption is no error"
	try wattlaw sweep --idle 0s --json --resume six.ini
	is "$code" 0 "resume ends well"
	is "$(printf '%s\n' "$out" | tail -n 1 | jq -c '[.done, .left]')" "[4,0]" "the pending four are run"
	is "$(wattlaw export jsonl | jq -r 'select(.state == "done") | .setting.n' | sort | tr '\n' ' ')" "1 2 3 4 5 6 " \
		"every point is measured once"
done
# The same kind: resume of a campaign that never was, and of another plan's.
try wattlaw sweep --idle 0s --db none.db --resume six.ini
is "$code" 2 "nothing to resume is a failure"
has "$err" "no campaign 'six' to go on with" "that says so"
sed -i 's/sleep 0.4/sleep 0.1/' six.ini
try wattlaw sweep --idle 0s --resume six.ini
is "$code" 2 "another plan of the same name is not mixed in"
done_testing
