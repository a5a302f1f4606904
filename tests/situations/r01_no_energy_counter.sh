# R1: the GPU has no energy counter (before Volta, virtual GPUs): power is integrated.
. "$(dirname "$0")/situation.sh"

gpu_run 2 <<'END'
[gpu 0]
profile = v100-pcie-32gb
power = 250W
nvmlDeviceGetTotalEnergyConsumption = NOT_SUPPORTED
END
is "$code" 0 "the job's exit code is kept"
near "$(run .energy.total_j)" "$(run '.wall_s * 250')" 3 "energy is power x time"
is "$(run .energy.method)" integral "and the method says integral"
is "$(run '.devices[] | select(.kind == "gpu") | .counter_j')" null "there is no counter figure"

# the same kind: the library itself lacks the function; a counter that is there and never moves
gpu_run 2 <<'END'
[host]
missing = nvmlDeviceGetTotalEnergyConsumption
[gpu 0]
profile = v100-pcie-32gb
power = 250W
END
near "$(run .energy.total_j)" "$(run '.wall_s * 250')" 3 "a library without the function: the same"
gpu_run 2 <<'END'
[gpu 0]
profile = v100-pcie-32gb
power = 250W
nvmlDeviceGetTotalEnergyConsumption = value 5000
END
is "$(run '.energy.total_j == 0')" false "a counter that stands still is not 0 J"
near "$(run '.devices[] | select(.kind == "gpu") | .integral_j')" "$(run '.wall_s * 250')" 3 \
	"the integral beside it is right"
done_testing
