# R81: measuring made 11 s into 115 s (codecarbon #878).
. "$(dirname "$0")/../cli/tap.sh"
export WATTLAW_DB=$PWD/t.db WATTLAW_RUN_DIR=$PWD/run

printf '[gpu 0-7]\nprofile = v100-pcie-32gb\npower = 250W\n' >s.ini
cat >tasks.sh <<'END'
i=0
while [ $i -lt ${1:-200} ]; do
	/bin/true
	i=$((i + 1))
done
END
if ! command -v strace >/dev/null || ! strace -o /dev/null true 2>/dev/null; then
	skip 3 "strace is not installed or not permitted"
else
	cat >traced.sh <<'END'
strace -f -qq -e signal=none -o $1 sh tasks.sh 50
END
	# Both below `sim exec`, whose library path costs the loader calls of its own.
	wattlaw sim exec --scenario s.ini -- sh traced.sh alone
	wattlaw sim exec --scenario s.ini -- wattlaw run -q -- sh traced.sh measured
	alone=$(grep -vc -e 'restart_syscall' -e 'resumed>' alone)
	measured=$(grep -vc -e 'restart_syscall' -e 'resumed>' measured)
	# One signal more or less may split a wait; a meter inside would add hundreds.
	[ $((measured - alone)) -le 4 ] && [ $((alone - measured)) -le 4 ]
	ok $? "no extra system calls in the job (alone $alone, measured $measured)"
	[ "$(grep -c -e 'libwattlaw' -e 'wattlaw-marks' measured)" = 0 ]
	ok $? "nothing of ours is loaded into it"
	[ "$(grep -c 'libnvidia-ml' measured)" = 0 ]
	ok $? "nor the vendor's library"
fi

# Paired, alternating, medians of five. CPU time is not changed by waiting for a core, so that its bound is narrower;
# elapsed time shows what makes the job wait instead (a driver lock, a stop), within what one job differs from the next
# with nobody measuring. The figure with its interval is that of bench/short_tasks.sh.
cat >pairs.sh <<'END'
now() { date +%s%N; }
job() { # elapsed us, and its children's user and system time, ms
	t=$(now)
	sh tasks.sh 400
	t=$(($(now) - t))
	times >spent
	awk -v t=$t 'NR == 2 { gsub("[ms]", " "); print int(t / 1000), int(($1 * 60 + $2 + $3 * 60 + $4) * 1000) }' spent
}
[ "$1" != job ] || { job >"$2"; exit; }
for i in 1 2 3 4 5; do
	sh pairs.sh job alone
	wattlaw run -q -- sh pairs.sh job measured
	echo $(cat alone measured)
done
END
wattlaw sim exec --scenario s.ini -- sh pairs.sh pairs >pairs
median() { awk "$1" pairs | sort -n | sed -n 3p; }
ratio=$(median '$2 > 0 { print $4 / $2 }')
awk -v r="$ratio" 'BEGIN { exit !(r > 0 && r < 1.2) }'
ok $? "a job of many short tasks needs as much CPU time as without (median of five: $ratio)"
ratio=$(median '$1 > 0 { print $3 / $1 }')
awk -v r="$ratio" 'BEGIN { exit !(r > 0 && r < 1.25) }'
ok $? "and takes as long (median of five: $ratio)"

# The same kind: marks of a job that nobody measures.
out=$(PYTHONPATH=$SOURCE_ROOT/src/mark/python PYTHONDONTWRITEBYTECODE=1 python3 -c '
import time, wattlaw
t = time.perf_counter()
for i in range(200000): wattlaw.step(1)
print((time.perf_counter() - t) / 200000 * 1e6 < 5)')
is "$out" True "a mark that nobody reads costs less than five microseconds even from Python"
done_testing
