# R19: the process list fails, or stalls the driver: it is never asked for, and power is kept.
. "$(dirname "$0")/situation.sh"

gpu_run 1.5 <<'END'
[gpu 0]
profile = v100-pcie-32gb
power = 250W
nvmlDeviceGetComputeRunningProcesses = UNKNOWN
nvmlDeviceGetComputeRunningProcesses_v3 = hang
END
near "$(run .energy.total_j)" "$(run '.wall_s * 250')" 3 "energy is right"
is "$code" 0 "nothing failed"
! grep -rq "RunningProcesses" "$SOURCE_ROOT/src/hw" "$SOURCE_ROOT/src/measure" "$SOURCE_ROOT/src/exec"
ok $? "the measuring side does not even know the function"
# the same kind: accounting and process utilisation
! grep -rqE "nvmlDeviceGet(ProcessUtilization|AccountingPids)" "$SOURCE_ROOT/src/hw"
ok $? "nor the other ones that list processes"
done_testing
