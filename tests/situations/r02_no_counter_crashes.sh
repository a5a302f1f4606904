# R2: asking a GPU for a counter it lacks crashes the tool (codecarbon #608, #838, #667, #518, #295): whatever the
# driver answers instead, nothing crashes and the other GPU is right.
. "$(dirname "$0")/situation.sh"

# answer NAME "what it is": GPU 0 answers so to the counter, GPU 1 is sound
answer() {
	gpu_run 1.2 <<-END
	[gpu 0-1]
	profile = v100-pcie-32gb
	power = 250W
	[gpu 0]
	nvmlDeviceGetTotalEnergyConsumption = $1
	END
	is "$code" 0 "$2: the job's code is kept"
	near "$(run .energy.total_j)" "$(run '.wall_s * 500')" 3 "$2: energy is that of both GPUs"
}
answer NOT_SUPPORTED "not supported"
# the same kind: other answers than the one the manual promises
answer UNKNOWN "an unknown error"
answer FUNCTION_NOT_FOUND "a function the driver lacks"
answer NO_PERMISSION "no permission"
answer INVALID_ARGUMENT "an argument refused"
gpu_run 1.6 <<'END'
[gpu 0]
profile = v100-pcie-32gb
power = 250W
at 0.6s nvmlDeviceGetTotalEnergyConsumption = NOT_SUPPORTED
END
is "$code" 0 "a counter that goes away while it is read does not crash it either"
near "$(run .energy.total_j)" "$(run '.wall_s * 250')" 4 "and power goes on"
gpu_probe <<'END'
[gpu 0]
profile = v100-pcie-32gb
nvmlDeviceGetTotalEnergyConsumption = NOT_SUPPORTED
END
is "$code" 0 "probe does not crash"
is "$(probe '[.devices[] | select(.kind == "gpu") | .channels[].name] | index("energy")')" null "and claims no counter"
done_testing
