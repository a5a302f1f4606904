# R33: a GPU falls off the bus while it is measured: the others go on, what it used until then is kept, and the
# result says partial.
. "$(dirname "$0")/situation.sh"

gpu_run 2 <<'END'
[gpu 0-1]
profile = v100-pcie-32gb
power = 200W
[gpu 1]
at 1.5s state = lost
END
is "$code" 0 "the job's exit code is kept"
is "$(run .state)" partial "the run is partial"
near "$(run '[.devices[] | select(.kind == "gpu")][0].energy_j')" "$(run '.wall_s * 200')" 3 "the other GPU is right"
is "$(run '[.devices[] | select(.kind == "gpu")][1].status')" lost "the lost one is called lost"
is "$(run .energy.total_j)" null "the total is not claimed"
is "$(run '.energy.partial_j > .wall_s * 200 * 0.95')" true "what is known is told as partial"

# the same kind: lost before the start
gpu_run 1 <<'END'
[gpu 0-1]
profile = v100-pcie-32gb
power = 200W
[gpu 0]
nvmlDeviceGetHandleByIndex = GPU_IS_LOST
nvmlDeviceGetHandleByIndex_v2 = GPU_IS_LOST
END
is "$code" 0 "a GPU lost before the start does not stop the job"
near "$(run '[.devices[] | select(.kind == "gpu")] | last | .energy_j')" "$(run '.wall_s * 200')" 5 "the other is measured"
done_testing
