# R17: a driver renames functions and changes structures: each is looked for by its names, newest first.
. "$(dirname "$0")/situation.sh"

gpu_probe <<'END'
[host]
missing = nvmlDeviceGetMemoryInfo_v2, nvmlDeviceGetCurrentClocksEventReasons, nvmlDeviceGetPciInfo_v3
[gpu 0]
profile = v100-pcie-32gb
power = 250W
END
is "$(probe '[.devices[0].channels[] | select(.name == "memory_used") | .status] | first')" ok "memory through the older structure"
is "$(probe '[.devices[0].channels[] | select(.name == "throttle") | .status] | first')" ok "throttle reasons under the older name"
like "$(probe '.devices[0].pci')" '^[0-9a-f]{4}:' "the PCI address through the older call"

# the same kind: a library of 2016, without field values, counters or locks
try wattlaw probe --json --only nvml --nvml "$BUILD_ROOT/tests/unit/fake/nvml_fake_old.so"
is "$code" 0 "a library with the oldest names is usable"
printf '%s\n' "$out" >probe.json
has "$(probe '.missing[0].why')" "sees no GPU" "and answers"
# one that lacks what nothing works without
try wattlaw probe --json --only nvml --nvml "$BUILD_ROOT/tests/unit/fake/nvml_fake_broken.so"
printf '%s\n' "$out" >probe.json
has "$(probe '.missing[0].why')" "nvmlDeviceGetCount" "a library that lacks a needed function: it is named"
done_testing
