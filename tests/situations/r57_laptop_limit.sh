# R57: a laptop's power limit is N/A: only clocks can be swept, and it says why.
. "$(dirname "$0")/situation.sh"
. "$SOURCE_ROOT/tests/situations/knobs.sh"

laptop='[gpu 0]
profile = v100-pcie-32gb
load = 250W
nvmlDeviceGetPowerManagementLimit = NOT_SUPPORTED
nvmlDeviceGetPowerManagementLimitConstraints = NOT_SUPPORTED
nvmlDeviceSetPowerManagementLimit = NOT_SUPPORTED'
gpu_probe <<<"$laptop"
hasnt "$(probe '[.devices[0].knobs[].name] | join(" ")')" power_limit "the limit is no knob"
has "$(probe '[.devices[0].knobs[].name] | join(" ")')" clock_max "clocks are"
has "$(probe '.devices[0].note')" "power limit" "with the reason"
sweep_gpu -L power_limit=150W <<<"$laptop"
[ "$code" -ne 0 ]
ok $? "a sweep of limits is refused"
has "$err" "power_limit" "naming the knob"
sweep_gpu -L clock_max=900MHz <<<"$laptop"
is "$(points 'select(.setting.clock_max_mhz == 900) | .status' | grep -c failed)" 0 "a sweep of clocks runs"

# the same kind: the limit can be read and its range, but setting is not supported
sweep_gpu -L power_limit=150W <<'END'
[gpu 0]
profile = v100-pcie-32gb
load = 250W
nvmlDeviceSetPowerManagementLimit = NOT_SUPPORTED
END
[ "$code" -ne 0 ]
ok $? "a limit that can only be read is refused"
is "$(points .status | grep -c done)" 0 "and nothing is called measured"
done_testing
