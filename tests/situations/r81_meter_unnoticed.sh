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

# Paired, alternating. A fault (a driver lock, a stop) slows every pair; a busy machine some of them: so the best
# of five must be near 1. It is not the figure in doc/measuring.md.
cat >pairs.sh <<'END'
now() { date +%s%N; }
for i in 1 2 3 4 5; do
	a=$(now); sh tasks.sh 400; b=$(now)
	wattlaw run -q -- sh -c 'date +%s%N >begin; sh tasks.sh 400; date +%s%N >end'
	echo $(((b - a) / 1000)) $((($(cat end) - $(cat begin)) / 1000))
done
END
wattlaw sim exec --scenario s.ini -- sh pairs.sh >pairs
ratio=$(awk '{ print $2 / $1 }' pairs | sort -n | sed -n 1p)
awk -v r="$ratio" 'BEGIN { exit !(r < 1.25) }'
ok $? "a job of many short tasks takes as long as without (best of five: $ratio)"

# The same kind: marks of a job that nobody measures.
out=$(PYTHONPATH=$SOURCE_ROOT/src/mark/python PYTHONDONTWRITEBYTECODE=1 python3 -c '
import time, wattlaw
t = time.perf_counter()
for i in range(200000): wattlaw.step(1)
print((time.perf_counter() - t) / 200000 * 1e6 < 5)')
is "$out" True "a mark that nobody reads costs less than five microseconds even from Python"
done_testing
