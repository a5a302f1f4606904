# R9: power (of the memory, of a module) is answered with 0 and success: absent, not 0 W.
. "$(dirname "$0")/situation.sh"

gpu_run 2 <<'END'
[gpu 0]
profile = v100-pcie-32gb
power = 250W
nvmlDeviceGetPowerUsage = value 0
field 185 = value 0
field 186 = value 0
END
near "$(run .energy.total_j)" "$(run '.wall_s * 250')" 3 "energy comes from the counter"
is "$(run '.devices[] | select(.kind == "gpu") | .mean_w == 0')" false "the mean power is not 0"
gpu_probe <scenario.ini
is "$(probe '[.devices[0].channels[] | select(.name == "power") | .value] | first')" null "0 W is shown as unknown"

# the same kind: a node meter at 0
mkdir -p root/sys/class/hwmon/hwmon0
echo power_meter >root/sys/class/hwmon/hwmon0/name
echo 0 >root/sys/class/hwmon/hwmon0/power1_average
try wattlaw probe --json --root "$PWD/root" --only node
printf '%s\n' "$out" >probe.json
is "$(probe '[.devices[].channels[].value] | map(select(. == 0)) | length')" 0 "a node that draws 0 W is no reading"
done_testing
