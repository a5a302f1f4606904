# R58: asking for the supported clocks takes for ever.
. "$(dirname "$0")/situation.sh"
export WATTLAW_DRIVER_TIMEOUT=400ms

begin=$(date +%s)
gpu_probe <<'END'
[gpu 0]
profile = v100-pcie-32gb
power = 250W
nvmlDeviceGetSupportedMemoryClocks = hang
nvmlDeviceGetSupportedGraphicsClocks = hang
END
[ $(($(date +%s) - begin)) -lt 8 ]
ok $? "probe ends"
is "$code" 0 "well"
is "$(probe '[.devices[0].channels[] | select(.name == "energy") | .status] | first')" ok "readings are there"
is "$(probe '[.devices[0].knobs[] | select(.name == "power_limit") | .current] | first')" 250 "so is the power limit"

# the same kind: the library hangs when it starts; a reading hangs while a job runs
begin=$(date +%s)
gpu_probe <<'END'
[host]
nvmlInit_v2 = hang
[gpu 0]
profile = v100-pcie-32gb
power = 250W
END
[ $(($(date +%s) - begin)) -lt 8 ]
ok $? "a library that hangs at its start is given up"
is "$(probe '.missing[] | select(.what == "nvml") | .why | sub("[0-9]+"; "N")')" "the driver did not return within N ms" "and named"
begin=$(date +%s)
gpu_run 1 <<'END'
[gpu 0]
profile = v100-pcie-32gb
power = 250W
at 0.8s nvmlDeviceGetPowerUsage = hang
END
is "$code" 0 "a reading that hangs leaves the job its exit code"
[ $(($(date +%s) - begin)) -lt 12 ]
ok $? "and its time"
done_testing
