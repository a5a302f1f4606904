# kill -9 of leader, keeper and sweep at random moments: the job of a run goes on, the job of a sweep does
# not, quotas come back within 2 s, and nothing blocks the next start.
. "$(dirname "$0")/tap.sh"
export WATTLAW_DB=$PWD/t.db WATTLAW_RUN_DIR=$PWD/run WATTLAW_SENSORS=none
rounds=${KILL_ROUNDS:-3}
RANDOM=${KILL_SEED:-4711}

# The keeper of a leader; empty until it is there.
keeper_of() { pgrep -P "$1" -f 'wattlaw keeper' | head -n 1; }
# Wait at most $1 tenths of a second for the rest to succeed.
within() {
	local n=$1
	shift
	while ! "$@"; do
		n=$((n - 1))
		[ "$n" -gt 0 ] || return 1
		sleep 0.1
	done
}
pause() { sleep "0.$(printf %03d $((RANDOM % 1000)))"; }
gone() { ! kill -0 "$1" 2>/dev/null; }

## run: the leader dies, the job goes on and its record is taken in.
wattlaw run -q -- sh -c 'echo "$WATTLAW_MARKS" >>marks; sleep 1; echo done >job1' &
pid=$!
within 30 pgrep -P $pid sh >/dev/null
keeper=$(keeper_of $pid)
kill -9 $pid
wait $pid 2>/dev/null
within 30 [ -e job1 ]
ok $? "the job outlives its leader"
within 20 gone "$keeper"
ok $? "the keeper ends after the job"
try wattlaw run -q --json n.json -- true
is "$(wattlaw export json all | jq -c '[.. | objects | select(.schema=="wattlaw.run/1") | [.workload, .state, .exit_code]] | sort')" \
	'[["sh","partial",null],["true","done",0]]' "the next command takes its record in, code unknown"
is "$(wattlaw export json all | jq '[.. | objects | select(.workload?=="sh") | .wall_s][0] | . > 0.9 and . < 2.5')" true \
	"the time is the job's, not the leader's"

## run: the keeper dies, the job goes on and keeps its code.
wattlaw run --json k.json -- sh -c 'echo "$WATTLAW_MARKS" >>marks; sleep 0.8; exit 7' 2>k.err &
pid=$!
within 30 pgrep -P $pid sh >/dev/null
kill -9 "$(keeper_of $pid)"
wait $pid
is $? 7 "the job outlives its keeper and keeps its code"
has "$(cat k.err)" "the keeper died" "it is said"
is "$(jq -c '[.state, .exit_code, .wall_s > 0.7]' k.json)" '["partial",7,true]' "what is known is kept, as partial"

## run: both die; the next start finds the shard.
wattlaw run -q -- sh -c 'echo "$WATTLAW_MARKS" >>marks; sleep 0.5; echo done >job2' &
pid=$!
within 30 pgrep -P $pid sh >/dev/null
sleep 0.2
kill -9 "$(keeper_of $pid)" $pid
wait $pid 2>/dev/null
within 30 [ -e job2 ]
ok $? "the job outlives both"
try wattlaw run -q -- true
is "$code" 0 "nothing blocks the next start"
is "$(find . -name '*.shard*' | wc -l)" 0 "the shard is taken in"
is "$(grep -c /wattlaw-marks marks)" 3 "each of the three jobs had a place for its marks"
# shellcheck disable=SC2046
is "$(ls -d $(cat marks) 2>/dev/null | wc -l)" 0 "the marks of the dead are removed" || ls -ld $(cat marks)

## A sweep that sets CPU rates.
try wattlaw sweep --db probe.db -r 1 -w 100ms --point-time 300ms --idle 0s -L cpu_rate=50% -- stepper 0
if [ "$code" -ne 0 ]; then
	skip 5 "a CPU rate that can be set here: $err"
	done_testing
fi
quota_left() {
	local id
	for id in $(cat ids 2>/dev/null); do
		cat /sys/fs/cgroup/cpu/wattlaw."$id".*/cpu.cfs_quota_us 2>/dev/null
	done | grep -v -e '^-1$'
}
quotas_back() { [ -z "$(quota_left)" ]; }
stepper_gone() { ! pgrep -f "stepper 0 3000000 $mark" >/dev/null; }
mark=$$
cat >s.ini <<END
[sweep]
name = s
repeats = 1
point_time = 300ms
warmup = 100ms
settle = 50ms
cpu_rate = 20%, 30%, 40%, 50%, 60%, 70%
[job stepper]
command = stepper 0 3000000 $mark
END
start_sweep() {
	wattlaw sweep -q --idle 0s --json "$@" s.ini >>points.json 2>sweep.err &
	pid=$!
	within 50 pgrep -f "stepper 0 3000000 $mark" >/dev/null
}
bad_quota=0 bad_job=0 bad_busy=0
for i in $(seq "$rounds"); do
	start_sweep --db k$i.db
	ls k$i.db.d | sed -n 's/\.log$//p' >ids
	pause
	kill -9 $pid
	wait $pid 2>/dev/null
	within 20 quotas_back || bad_quota=$((bad_quota + 1))
	within 20 stepper_gone || bad_job=$((bad_job + 1))
	grep -q held sweep.err && bad_busy=$((bad_busy + 1))
done
is "$bad_quota" 0 "kill -9 of a sweep, $rounds times: every quota is back within 2 s"
is "$bad_job" 0 "its job is gone within 2 s"
is "$bad_busy" 0 "no lock is left behind"

# The keeper dies: the leader puts back, starts again and finishes.
bad_quota=0 bad_code=0
for i in $(seq "$rounds"); do
	start_sweep --db p$i.db
	ls p$i.db.d | sed -n 's/\.log$//p' >ids
	pause
	kill -9 "$(keeper_of $pid)" 2>/dev/null
	within 20 quotas_back || bad_quota=$((bad_quota + 1))
	wait $pid
	[ $? -eq 0 ] || { bad_code=$((bad_code + 1)); sed 's/^/# /' sweep.err; }
done
is "$bad_quota" 0 "kill -9 of the keeper, $rounds times: every quota is back within 2 s"
is "$bad_code" 0 "the sweep goes on with a new keeper and measures every point"

# Both die; the next start puts back and resumes.
start_sweep --db both.db
ls both.db.d | sed -n 's/\.log$//p' >ids
sleep 1.2
kill -9 "$(keeper_of $pid)" $pid
wait $pid 2>/dev/null
try wattlaw sweep --db both.db -q --idle 0s --resume --json s.ini
is "$code" 0 "after both died the next start resumes"
quotas_back
ok $? "and has put back every quota"
stepper_gone
ok $? "and has ended the job that was left"
is "$(wattlaw export --db both.db json | jq '[.. | objects | select(.schema=="wattlaw.run/1") | select(.state=="done")] | length')" \
	"$(wattlaw sweep --dry-run s.ini | grep -c '#1')" "every point is there once"
done_testing
