# R49: a machine runs at 230 W by its owner's will: after a sweep it does again, not at the factory's 250 W.
. "$(dirname "$0")/situation.sh"
. "$SOURCE_ROOT/tests/situations/knobs.sh"

sweep_gpu -L power_limit=150W,200W <<'END'
[gpu 0]
profile = v100-pcie-32gb
load = 250W
power_limit = 230W
END
is "$(state '.devices[0].power_limit_w')" 230 "the limit is what was found"
is "$(points '[.setting.power_limit_w] | @csv' | sort -u | tr '\n' ' ')" "150 200 230 " "the baseline is the machine's own 230 W"

# the same kind: a limit outside the sweep; two GPUs found at different limits; a CPU at a limit of its own
sweep_gpu -L power_limit=200W <<'END'
[gpu 0-1]
profile = v100-pcie-32gb
load = 250W
power_limit = 120W
[gpu 1]
power_limit = 180W
END
is "$(state '[.devices[].power_limit_w] | @csv')" "120,180" "each GPU gets its own back"
done_testing
