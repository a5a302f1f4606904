# R11: the second die of a two-die board reports 0 or nothing: no error, and not double.
. "$(dirname "$0")/situation.sh"

host_make mi250 "$PWD/root"
look() {
	try wattlaw probe --json --root "$PWD/root" --only amdgpu
	printf '%s\n' "$out" >probe.json
}
look
is "$code" 0 "probe succeeds"
is "$(probe '[.devices[] | select(.kind == "gpu" and .counted)] | length')" 1 "one of two dies is counted"
is "$(probe '[.devices[] | select(.counted).channels[] | select(.name == "power") | .value] | first')" 300 \
	"the board's power is that of the first"
is "$(probe '[.devices[] | select(.counted | not).channels[] | select(.name == "power" or .name == "energy")] | length')" 0 "the second claims neither power nor energy"

# the same kind: the second die's files are not there at all
rm root/sys/class/drm/card1/device/hwmon/hwmon3/power1_average root/sys/class/drm/card1/device/gpu_metrics
look
is "$(probe '[.devices[] | select(.kind == "gpu" and .counted)] | length')" 1 "missing files: the same"
# and two boards of which each has one die are both counted
host_make mi300x "$PWD/two"
try wattlaw probe --json --root "$PWD/two" --only amdgpu
printf '%s\n' "$out" >probe.json
is "$(probe '[.devices[] | select(.kind == "gpu" and .counted)] | length')" 2 "two whole boards are both counted"
done_testing
