# R36: NVML is not there at boot and is later: a clear message now, and found the next time.
. "$(dirname "$0")/situation.sh"

gpu_probe <<'END'
[host]
nvmlInit_v2 = DRIVER_NOT_LOADED
[gpu 0]
profile = v100-pcie-32gb
power = 250W
END
is "$code" 0 "a driver that is not loaded is no crash"
is "$(probe '[.devices[] | select(.kind == "gpu")] | length')" 0 "there is no GPU yet"
has "$(probe '.missing[0].fix')" "modprobe" "what to do is said"
gpu_probe <<'END'
[gpu 0]
profile = v100-pcie-32gb
power = 250W
END
is "$(probe '[.devices[] | select(.kind == "gpu")] | length')" 1 "when it is up, the GPU is found"

# the same kind: driver and library of different versions
gpu_probe <<'END'
[host]
nvmlInit_v2 = LIB_RM_VERSION_MISMATCH
[gpu 0]
profile = v100-pcie-32gb
power = 250W
END
has "$(probe '.missing[0].fix')" "versions" "versions that differ are told with their fix"
done_testing
