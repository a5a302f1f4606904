# R37: energy_uj is root's alone since Linux 5.10: the state is shown with the command that opens it, what can be
# read is still measured, and nothing becomes 0.
. "$(dirname "$0")/situation.sh"

host_make xeon-2s "$PWD/root"
root_only root/sys/class/powercap/intel-rapl:*/energy_uj
other_user 6
ask_probe
is "$(probe '[.devices[].channels[].value] | map(select(. == 0)) | length')" 0 "no energy is 0"
is "$(probe '[.devices[].channels[]] | length')" 0 "no energy is claimed"
has "$(probe '.missing[0].why')" "permission denied" "probe says what is missing"
has "$(probe '.missing[0].fix')" "chmod a+r" "and the command that gives it"
has "$(probe '.devices[0].note')" "5.10" "the device says since when"

# the same kind: one package of two can be read
chmod 444 root/sys/class/powercap/intel-rapl:1/energy_uj
ask_probe
is "$(sensors)" "rapl:package-1" "what can be read is read"
done_testing
