# R61: a locked clock is not what the board runs at: the achieved mean is recorded.
. "$(dirname "$0")/situation.sh"
. "$SOURCE_ROOT/tests/situations/knobs.sh"

achieved() { # MHZ: the mean clock of the run at that setting
	wattlaw export json all | jq -r "[.. | objects | select(.schema? == \"wattlaw.run/1\" and .setting.clock_max_mhz == $1) |
		.devices[] | select(.kind == \"gpu\") | .clock_mhz][0]"
}
sweep_gpu -L clock_max=900MHz <<'END'
[gpu 0]
profile = v100-pcie-32gb
load = 250W
clock_set = ignored
END
[ "$(achieved 900 | cut -d. -f1)" -gt 1000 ]
ok $? "a lock that is ignored: the clock is what it is"
sweep_gpu -L clock_max=1200MHz <<'END'
[gpu 0]
profile = v100-pcie-32gb
load = 250W
clock_clamp = 900MHz
END
near "$(achieved 1200)" 900 3 "a lock that is clamped: likewise"
sweep_gpu -L clock_max=900MHz <<'END'
[gpu 0]
profile = v100-pcie-32gb
load = 250W
END
near "$(achieved 900)" 900 2 "one that holds: likewise"
is "$(state '.devices[0].clock_lock_mhz')" null "and no lock is left"
done_testing
