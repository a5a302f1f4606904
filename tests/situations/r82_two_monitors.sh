# R82: two monitors at once disturb each other: a lock on profiling, zeros (DCGM #62, #56; dcgm-exporter #68).
. "$(dirname "$0")/situation.sh"

gpu_host
! grep -rqE "nvmlGpm|PROF_|dcgm" "$SOURCE_ROOT/src/hw"
ok $? "profiling counters, which only one reader may have, are not used"
# Two at once only read: both measure, neither waits.
sim sh -c 'wattlaw run -q --json a.json -- sleep 2 & wattlaw run -q --json b.json -- sleep 2; wait'
for f in a b; do
	near "$(jq .energy.total_j $f.json)" "$(jq '.wall_s * 250' $f.json)" 3 "two monitors at once: $f is right"
done
# The same kind: one inside the other.
try sim wattlaw run -q --json outer.json -- wattlaw run -q --json inner.json -- sh -c 'sleep 1; exit 3'
is "$code" 3 "one inside the other: the code comes through"
near "$(jq .energy.total_j inner.json)" "$(jq '.wall_s * 250' inner.json)" 3 "and both measure"
near "$(jq .energy.total_j outer.json)" "$(jq '.wall_s * 250' outer.json)" 3 "the inner and the outer"
# A monitor of another kind beside it, and one that is killed while both read.
cat >other.py <<-'END'
import ctypes, time
nvml = ctypes.CDLL("libnvidia-ml.so.1")
h, mw = ctypes.c_void_p(), ctypes.c_uint()
assert nvml.nvmlInit_v2() == 0 and nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(h)) == 0
t = time.monotonic()
while time.monotonic() - t < 1.5:
    assert nvml.nvmlDeviceGetPowerUsage(h, ctypes.byref(mw)) == 0 and mw.value > 200000
    time.sleep(0.01)
END
try sim sh -c 'python3 other.py & other=$!; wattlaw run -q --json c.json -- sleep 1.5; wait $other'
is "$code" 0 "another program that polls the same driver reads no zero"
near "$(jq .energy.total_j c.json)" "$(jq '.wall_s * 250' c.json)" 3 "and we are right beside it"
try sim sh -c 'wattlaw run -q --db d.db -- sleep 3 & first=$!; wattlaw run -q --json d.json -- sleep 1.5 & second=$!
	sleep 0.5; kill -9 $first; wait $second'
near "$(jq .energy.total_j d.json)" "$(jq '.wall_s * 250' d.json)" 3 "one that is killed leaves the other alone"
done_testing
