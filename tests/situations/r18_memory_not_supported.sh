# R18: memory is not supported (shared memory boards): everything else goes on.
. "$(dirname "$0")/situation.sh"

gpu_run 1.5 <<'END'
[gpu 0]
profile = v100-pcie-32gb
power = 250W
nvmlDeviceGetMemoryInfo = NOT_SUPPORTED
nvmlDeviceGetMemoryInfo_v2 = NOT_SUPPORTED
END
is "$(run '.devices[] | select(.kind == "gpu") | .memory_used_bytes')" null "memory is unknown"
near "$(run .energy.total_j)" "$(run '.wall_s * 250')" 3 "energy is known"
is "$(run '.devices[] | select(.kind == "gpu") | .status')" ok "the device is not called partial for it"

# the same kind: any one other reading
for f in nvmlDeviceGetTemperature nvmlDeviceGetUtilizationRates nvmlDeviceGetClockInfo \
	nvmlDeviceGetFieldValues nvmlDeviceGetViolationStatus; do
	gpu_probe <<-END
	[gpu 0]
	profile = v100-pcie-32gb
	power = 250W
	$f = NOT_SUPPORTED
	END
	is "$(probe '[.devices[0].channels[] | select(.name == "energy" or .name == "power") | .status] | unique | join(" ")')" \
		ok "without $f energy and power are read"
done
done_testing
