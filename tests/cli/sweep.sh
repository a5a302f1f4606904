# wattlaw sweep: plan, stepping, failing points, interruption, resume, a busy machine.
. "$(dirname "$0")/tap.sh"
touch began
export WATTLAW_DB=$PWD/t.db WATTLAW_RUN_DIR=$PWD/run
fast="-r 1 -w 100ms --point-time 400ms --idle 0s"
export WATTLAW_SENSORS=none
set -m # or the shell has background jobs ignore SIGINT

# Can this machine limit CPU rates at all?
can_rate() {
	try wattlaw sweep --db probe.db $fast -L cpu_rate=50% -- stepper 0
	[ "$code" -eq 0 ]
}

## Mistakes: one line, exit 2, nothing changed.
cat >bad.ini <<'END'
[sweep]
name = bad
repeets = 2
[job a]
command = true
END
try wattlaw sweep bad.ini
is "$code" 2 "an unknown key is a usage error"
has "$err" "bad.ini:3:1: unknown key 'repeets'" "with file, line and column"
has "$err" "did you mean 'repeats'" "and the nearest valid name"
try wattlaw sweep -L power_limit=12parsecs -- true
is "$code" 2 "an unknown unit is a usage error"
try wattlaw sweep -L batch=1,2 -- true
is "$code" 2 "an axis the command does not use is a usage error"
has "$err" "{batch}" "and it says what is missing"
try wattlaw sweep no-such-file.ini
[ "$code" -ne 0 ]
ok $? "a file that is not there is an error"
try wattlaw sweep
is "$code" 2 "nothing to sweep is a usage error"
[ ! -e t.db ]
ok $? "none of these made a database"

## The plan.
try wattlaw sweep --dry-run -L n=1,2,3 -r 2 --seed 5 -- sleep {n}
is "$code" 0 "--dry-run succeeds"
like "$out" "6 points in 6 launches, seed 5, about [0-9]+ (s|min)" "it tells points, launches and length"
plan=$out
try wattlaw sweep -L n=1,2,3 -r 2 --seed 5 --dry-run -- sleep {n}
is "$out" "$plan" "the same seed gives the same order"
try wattlaw sweep --dry-run -P n 1 5 -D 2 -- sleep {n}
has "$out" "sleep '5'" "-P MIN MAX -D STEP makes an axis"
[ ! -e t.db ]
ok $? "--dry-run makes no database"

## Jobs measured whole: they show no steps.
try wattlaw sweep -r 2 --idle 0s --json -L n=1,2 -- sleep 0.{n}
is "$code" 0 "a job without steps is measured whole"
has "$err" "each of its settings is measured by a launch of its own" "and it is said"
is "$(printf '%s\n' "$out" | jq -c 'select(.schema=="wattlaw.point/1") | [.setting.n, .repeat, .status]' | sort | tr '\n' ' ')" \
	'[1,0,"done"] [1,1,"done"] [2,0,"done"] [2,1,"done"] ' "every point is a line of JSON"
is "$(printf '%s\n' "$out" | jq -c 'select(.setting.n==2) | .wall_s > 0.19 and .wall_s < 1' | sort -u)" true "with its time"
is "$(printf '%s\n' "$out" | tail -n 1 | jq -c '[.schema, .state, .done, .failed, .left]')" \
	'["wattlaw.sweep/1","done",4,0,0]' "the last line is the sweep"

## A point that fails is recorded and the sweep goes on.
try wattlaw sweep -r 1 --idle 0s --json -L c=0,3,127 -- sh -c 'echo said {c}; exit {c}'
is "$code" 3 "some points failed: exit 3"
is "$(printf '%s\n' "$out" | jq -c 'select(.setting.c != null) | [.setting.c, .status, .exit_code]' | sort | tr '\n' ' ')" \
	'[0,"done",0] [127,"failed",127] [3,"failed",3] ' "each with its status and code"
has "$err" "failed: the job ended with code 3: said 3" "the reason and the job's last line are shown"
try wattlaw sweep -r 1 --idle 0s -- ./not-there
is "$code" 1 "no point measured: exit 1"
has "$err" "cannot run ./not-there" "the reason is given"

## Stepping inside one launch.
if can_rate; then
	try taskset -c 0 wattlaw sweep $fast --json -L cpu_rate=10% --seed 1 -- stepper 0
	is "$code" 0 "CPU rates are stepped inside one launch"
	is "$(printf '%s\n' "$out" | jq -r '.launch // empty' | sort -u | wc -l)" 1 "one launch"
	is "$(printf '%s\n' "$out" | jq -c 'select(.launch) | [.setting.cpu_rate_pct, .baseline]' | tr '\n' ' ')" \
		'[100,true] [10,false] [100,true] ' "the machine's own setting is measured first and last"
	ratio=$(printf '%s\n' "$out" | jq -s '[.[] | select(.launch)] | .[1].step_s / ([.[0].step_s, .[2].step_s] | min)')
	# Other tests run beside this one, so "default" may be much less than a CPU here.
	is "$(jq -n "$ratio > 1.5")" true "a tenth of the rate takes longer"
	echo "# time ratio at 10 %: $ratio"
	is "$(wattlaw export json | jq -c '[.. | .cpu_rate_pct? | objects | .enforced | values] | unique')" "[10,100]" \
		"what was enforced is stored"
	# Other tests have groups of their own.
	ids=$(printf '%s\n' "$out" | jq -r '.launch // empty' | sort -u)
	is "$(for id in $ids; do ls -d /sys/fs/cgroup/cpu/wattlaw."$id".* 2>/dev/null; done)" "" "no CPU group is left"

	# A rank of one thread on several CPUs: the rate is a share of the one it uses.
	try env OMP_NUM_THREADS=1 wattlaw sweep $fast -L cpu_rate=10% -- \
		sh -c 'grep -o "wattlaw\..*" /proc/self/cgroup >group; exec stepper 0'
	like "$(cat group)" '\.0\.1$' "OMP_NUM_THREADS says how many CPUs a rate is a share of"

	try taskset -c 0 wattlaw sweep $fast --relaunch --json -L cpu_rate=10% -- stepper 60
	is "$code" 0 "--relaunch measures every setting by a launch"
	is "$(printf '%s\n' "$out" | jq -r '.launch // empty' | sort -u | wc -l)" 3 "three launches"
	ratio=$(printf '%s\n' "$out" | jq -s '[.[] | select(.setting.cpu_rate_pct==10)][0].step_s / ([.[] | select(.baseline) | .step_s] | min)')
	is "$(jq -n "$ratio > 1.5")" true "the rate holds from the first step on"

	## Two sweeps of one machine.
	wattlaw sweep $fast --point-time 5s --db first.db -L cpu_rate=50% -q -- stepper 0 >/dev/null 2>&1 &
	pid=$!
	for i in $(seq 100); do [ -e first.db.d ] && ls first.db.d | grep -q log && break; sleep 0.05; done
	try wattlaw sweep $fast --db second.db -L cpu_rate=50% -- stepper 0
	is "$code" 1 "a second sweep of the CPUs is refused"
	like "$err" "held by wattlaw sweep stepper \(pid [0-9]+\)" "it is told who holds them"

	## Ctrl-C in the middle, and resume.
	ids=$(ls first.db.d | sed -n 's/\.log$//p')
	kill -INT $pid
	wait $pid
	is $? 130 "an interrupted sweep exits with 130"
	is "$(for id in $ids; do cat /sys/fs/cgroup/cpu/wattlaw."$id".*/cpu.cfs_quota_us; done 2>/dev/null | grep -vc -e '^-1$')" 0 \
		"every quota is back"
else
	skip 15 "a CPU rate that can be set here: $err"
fi

# Nothing is run by somebody who may not set what is to be swept.
chmod 777 . && mkdir -m 777 other
try setpriv --reuid 65534 --regid 65534 --clear-groups env HOME="$PWD/other" WATTLAW_RUN_DIR="$PWD/other/run" \
	wattlaw sweep $fast --db other/t.db -L cpu_rate=50% -- touch other/ran
if [ "$(id -u)" -eq 0 ]; then
	is "$code" 1 "a user who may not make CPU groups is refused"
	like "$err" 'cannot make the CPU group .*Permission denied' "with the reason"
	[ ! -e other/ran ]
	ok $? "before anything is run"
else
	skip 3 "root, to become somebody else"
fi

cat >six.ini <<'END'
[sweep]
name = six
repeats = 1
axis.n = 1, 2, 3, 4, 5, 6
[job a]
command = sh -c 'echo {n} >>started; sleep 0.3'
END
: >six.json
wattlaw sweep --db six.db --idle 0s --json six.ini >six.json 2>six.err &
pid=$!
while [ "$(grep -c point/1 six.json)" -lt 2 ]; do sleep 0.02; done
sleep 0.1
kill -INT $pid
wait $pid
is $? 130 "interrupted in the third of six points: exit 130"
is "$(tail -n 1 six.json | jq -r .state)" interrupted "the sweep says so"
done1=$(jq -r 'select(.schema=="wattlaw.point/1" and .status=="done") | .setting.n' six.json)
try wattlaw sweep --db six.db --idle 0s --json --resume six.ini
is "$code" 0 "--resume finishes it"
done2=$(printf '%s\n' "$out" | jq -r 'select(.schema=="wattlaw.point/1") | .setting.n')
is "$(printf '%s\n%s\n' "$done1" "$done2" | sort | tr '\n' ' ')" "1 2 3 4 5 6 " "only what was missing is run"
try wattlaw sweep --db six.db --idle 0s --json --resume six.ini
is "$code:$(printf '%s\n' "$out" | jq -r .done)" "0:0" "a finished campaign has nothing left"
sed -i 's/5, 6/5, 7/' six.ini
try wattlaw sweep --db six.db --resume six.ini
is "$code" 2 "a changed plan is not resumed"
# What a keeper had to leave because the machine was slow is taken in by the next command.
[ ! -e first.db ] || wattlaw run -q --db first.db -- true
is "$(find . -name '*.shard*')" "" "no shard is left behind"
done_testing
