# R53: a sweep asks for 85 W where the board takes 100 to 250 W.
. "$(dirname "$0")/situation.sh"
. "$SOURCE_ROOT/tests/situations/knobs.sh"

sweep_gpu -L power_limit=85W,150W <<'END'
[gpu 0]
profile = v100-pcie-32gb
load = 250W
END
[ "$code" -ne 0 ]
ok $? "the sweep does not claim success"
has "$err" "100W to 250W" "the range is told"
is "$(points 'select(.setting.power_limit_w == 85) | .status')" failed "the point is recorded as failed" || true
is "$(points 'select(.setting.power_limit_w == 150) | .status' | grep -c failed)" 0 "the other points are measured"
is "$(state '.calls.nvmlDeviceSetPowerManagementLimit > 0')" true "limits were set"
is "$(state '.devices[0].power_limit_w')" 250 "and put back"

# the same kind: above the maximum; a range that is no multiple of the step
sweep_gpu -L power_limit=400W,112.5W <<'END'
[gpu 0]
profile = v100-pcie-32gb
load = 250W
END
is "$(points 'select(.setting.power_limit_w == 112.5) | .status' | grep -c failed)" 0 "half watts are possible"
has "$err" "400W" "and 400 W are not"
done_testing
