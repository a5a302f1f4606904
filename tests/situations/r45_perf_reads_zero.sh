# R45: an energy event is offered but reads 0 under load (virtual machines): unavailable, not 0 J.
. "$(dirname "$0")/situation.sh"

host_make xeon-2s "$PWD/root"
for f in root/sys/class/powercap/intel-rapl:*/energy_uj; do echo 0 >"$f"; done
WATTLAW_ROOT=$PWD/root WATTLAW_SENSORS=rapl host_run 0.5
is "$(run .energy.total_j)" null "counters at 0 give no energy"
has "$(run .energy.note)" "stands at 0" "and that is the reason"
# the same kind: only one of them stands at 0
echo 777000000 >root/sys/class/powercap/intel-rapl:1/energy_uj
try wattlaw probe --json --root "$PWD/root" --only rapl
printf '%s\n' "$out" >probe.json
is "$(probe '[.devices[] | select(.channels | length > 0) | .id] | join(" ")')" "rapl:package-1" "the other one is a sensor"
done_testing
