# R16: utilisation reads 4294967295; a reading goes blank after an error of the GPU.
. "$(dirname "$0")/situation.sh"

gpu_run 1.5 <<'END'
[gpu 0]
profile = v100-pcie-32gb
power = 250W
nvmlDeviceGetUtilizationRates = value 4294967295
END
is "$(run '.devices[] | select(.kind == "gpu") | .util_pct')" null "an impossible utilisation is unknown"
near "$(run .energy.total_j)" "$(run '.wall_s * 250')" 3 "energy is untouched"

# the same kind: 101 %, and a reading that stops working half-way
gpu_run 1.5 <<'END'
[gpu 0]
profile = v100-pcie-32gb
power = 250W
nvmlDeviceGetUtilizationRates = value 101
at 1s nvmlDeviceGetClockInfo = UNKNOWN
END
is "$(run '.devices[] | select(.kind == "gpu") | .util_pct')" null "more than 100 % is unknown"
is "$(run '.devices[] | select(.kind == "gpu") | .clock_mhz')" 1380 "what was read before stays"
done_testing
