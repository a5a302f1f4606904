# R3: neither energy nor power is supported (a desktop card): energy is unknown with the reason, never 0.
. "$(dirname "$0")/situation.sh"

gpu_run 1 <<'END'
[gpu 0]
profile = v100-pcie-32gb
power = 60W
nvmlDeviceGetTotalEnergyConsumption = NOT_SUPPORTED
nvmlDeviceGetPowerUsage = NOT_SUPPORTED
nvmlDeviceGetFieldValues = NOT_SUPPORTED
END
is "$code" 0 "the job's exit code is kept"
is "$(run .energy.total_j)" null "energy is null"
is "$(run .energy.method)" none "no method is claimed"
[ -n "$(run '.energy.note // empty')" ]
ok $? "with a reason"
has "$err" "energy is unknown" "and people are told"
gpu_probe <scenario.ini
has "$(probe '.devices[0].note')" "neither energy nor power" "probe says so too"

# the same kind: the user may not read them
gpu_run 1 <<'END'
[gpu 0]
profile = v100-pcie-32gb
power = 60W
nvmlDeviceGetTotalEnergyConsumption = NO_PERMISSION
nvmlDeviceGetPowerUsage = NO_PERMISSION
nvmlDeviceGetFieldValues = NO_PERMISSION
END
is "$(run .energy.total_j)" null "forbidden readings are unknown too"
done_testing
