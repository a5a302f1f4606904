# R15: blank values of NVIDIA's tools (2^47, INT64_MAX-15 and the three above it) are never data.
. "$(dirname "$0")/situation.sh"

for v in 140737488355328 9223372036854775792 9223372036854775794; do
	gpu_run 2 <<-END
	[gpu 0]
	profile = v100-pcie-32gb
	power = 250W
	from 0.8s to 1.3s nvmlDeviceGetTotalEnergyConsumption = value $v
	END
	near "$(run '.energy.total_j // .energy.partial_j')" "$(run '.wall_s * 250')" 3 "$v for half a second does not count"
done

# the same kind: 32-bit blanks in power, clock and temperature
gpu_run 1.5 <<'END'
[gpu 0]
profile = v100-pcie-32gb
power = 250W
from 0.6s to 1s nvmlDeviceGetPowerUsage = value 2147483632
from 0.6s to 1s nvmlDeviceGetTemperature = value 4294967295
END
is "$(run '.devices[] | select(.kind == "gpu") | .max_w < 300')" true "no sample has two million watts"
is "$(run '.devices[] | select(.kind == "gpu") | .temp_c.max < 120')" true "nor four billion degrees"
done_testing
