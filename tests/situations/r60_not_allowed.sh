# R60: setting needs root: the sweep is refused before anything runs, and says what is needed.
. "$(dirname "$0")/situation.sh"
. "$SOURCE_ROOT/tests/situations/knobs.sh"
job=(sh -c 'touch ran; exec stepper 0')

sweep_gpu -L power_limit=150W,200W <<'END'
[host]
setters = nobody
[gpu 0]
profile = v100-pcie-32gb
load = 250W
END
[ "$code" -ne 0 ]
ok $? "the sweep is refused"
[ ! -e ran ]
ok $? "before the job runs"
has "$err" "ermission" "with the reason"
is "$(state '.devices[0].power_limit_w')" 250 "nothing is changed"
sweep_gpu --dry-run -L power_limit=150W,200W <scenario.ini
is "$code" 0 "the plan can still be printed"
# the same kind: only clocks are forbidden
sweep_gpu -L clock_max=900MHz <<'END'
[gpu 0]
profile = v100-pcie-32gb
load = 250W
nvmlDeviceSetGpuLockedClocks = NO_PERMISSION
nvmlDeviceResetGpuLockedClocks = NO_PERMISSION
END
[ "$code" -ne 0 ] && [ ! -e ran ]
ok $? "forbidden clock locks are found out in time too"
done_testing
