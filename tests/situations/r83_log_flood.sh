# R83: an epoch too short, and the log is flooded (carbontracker #70): what can happen ten times a second is said
# once.
. "$(dirname "$0")/situation.sh"
export PYTHONPATH=$SOURCE_ROOT/src/mark/python PYTHONDONTWRITEBYTECODE=1

cat >epochs.py <<'END'
import time
import wattlaw
wattlaw.job(0, 4, 4)
end = time.monotonic() + 1.5
while time.monotonic() < end:
    for i in range(50):
        wattlaw.step(4)
        wattlaw.epoch()
    time.sleep(0.001)
END
export WATTLAW_SENSORS=none
try wattlaw run --json run.json -- python3 epochs.py
is "$code" 0 "tens of thousands of epochs, far shorter than a period"
[ "$(printf '%s\n' "$err" | wc -l)" -le 12 ]
ok $? "give a dozen lines at most ($(printf '%s\n' "$err" | wc -l))"
[ "$(run '.train.steps')" -gt 1000 ]
ok $? "and are counted ($(run .train.steps))"
[ "$(run '.warnings | length')" -le 5 ]
ok $? "the record holds few warnings"
unset WATTLAW_SENSORS

# The same kind: a reading that fails at every tick; a driver that warns about every device; a reset at every tick.
gpu_run 2 --period 10ms <<'END'
[gpu 0-7]
profile = v100-pcie-32gb
power = 250W
nvmlDeviceGetTemperature = UNKNOWN
nvmlDeviceGetUtilizationRates = UNKNOWN
[gpu 3]
nvmlDeviceGetPowerUsage = UNKNOWN
nvmlDeviceGetTotalEnergyConsumption = UNKNOWN
END
[ "$(printf '%s\n' "$err" | wc -l)" -le 20 ]
ok $? "1,600 failed readings give few lines ($(printf '%s\n' "$err" | wc -l))"
[ "$(run '.warnings | length')" -le 12 ]
ok $? "and few warnings ($(run '.warnings | length'))"
gpu_run 2 --period 10ms <<'END'
[gpu 0]
profile = v100-pcie-32gb
power = 250W
counter_wrap = 1J
END
[ "$(printf '%s\n' "$err" | wc -l)" -le 12 ]
ok $? "a counter that starts anew all the time: few lines ($(printf '%s\n' "$err" | wc -l))"
yes 'warning: something' | head -n 20000 >noise
try wattlaw run -q --sensors none --progress 'step ([0-9]+)' -- cat noise
is "$(printf '%s\n%s' "$out" "$err" | grep -vc 'warning: something')" "$(printf '%s' "$err" | grep -vc 'warning: something')" \
	"20,000 lines that are no steps add none of ours to the job's output"
done_testing
