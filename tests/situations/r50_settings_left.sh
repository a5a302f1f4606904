# R50, R52: a crash or Ctrl-C leaves clocks locked and limits lowered (kernel_tuner #377, geopm #1629).
. "$(dirname "$0")/situation.sh"
set -m

# The machine runs below the factory's default: what is put back is what was found.
printf '[gpu 0]\nprofile = v100-pcie-32gb\npower_limit = 230W\n' >found.ini
wattlaw sim exec -s found.ini --dir host -- true
cat >s.ini <<'END'
[sweep]
name = s
repeats = 1
seed = 3
warmup = 200ms
settle = 100ms
point_time = 400ms
power_limit = 150W, 120W
[job resnet50]
command = wattlaw sim job resnet50 --scale 5% --steps 0
END
back() { wattlaw sim state host | grep -q 'of 230 W'; }
free() { ! wattlaw sim state host | grep -q process; }
within() {
	local n=$1
	shift
	while ! "$@"; do
		n=$((n - 1))
		[ "$n" -gt 0 ] || return 1
		sleep 0.1
	done
}
# Before the job, during warm-up, while a limit is set, at the end.
for phase in 0.05 0.7 1.8; do
	for sig in INT TERM KILL ABRT; do
		wattlaw sim exec --dir host -- sh -c 'echo $$ >leader; exec wattlaw sweep -q --idle 0s --db k.db s.ini' >/dev/null 2>&1 &
		pid=$!
		within 30 [ -s leader ]
		sleep "$phase"
		kill -$sig "$(cat leader)" 2>/dev/null
		within 20 back && within 20 free
		ok $? "SIG$sig $phase s after the start: the limit is back and the job gone within 2 s"
		wait $pid 2>/dev/null
		rm -f leader
	done
done

# The same kind: the job itself crashes; somebody else changes the limit meanwhile.
try wattlaw sim exec --dir host -- wattlaw sweep -q --idle 0s --db c.db -r 1 -w 100ms --point-time 300ms -L power_limit=150W -- \
	sh -c 'wattlaw sim job resnet50 --scale 5% --steps 8; kill -ABRT $$'
[ "$code" -ne 0 ] && back
ok $? "a job that aborts under a limit: the limit is back"
wattlaw sim exec --dir host -- wattlaw sweep -q --idle 0s --db k.db --point-time 3s s.ini >/dev/null 2>other.err &
pid=$!
wait_for_set() { wattlaw sim state host | grep -q -e 'of 150 W' -e 'of 120 W'; }
within 80 wait_for_set
cat >cap.py <<'END'
import ctypes
n = ctypes.CDLL("libnvidia-ml.so.1")
n.nvmlInit_v2()
h = ctypes.c_void_p()
n.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(h))
assert n.nvmlDeviceSetPowerManagementLimit(h, 110000) == 0
END
wattlaw sim exec --dir host -- python3 cap.py
kill -TERM "$(pgrep -P $pid -f 'wattlaw sweep' | head -n 1)"
wait $pid
wattlaw sim state host | grep -q 'of 110 W'
ok $? "a cap that somebody else set meanwhile is left alone" || wattlaw sim state host | sed 's/^/# /'
done_testing
