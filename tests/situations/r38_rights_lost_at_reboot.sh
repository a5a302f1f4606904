# R38: the right to read the counters is lost at a restart, or is there and not used (powercap #7, codecarbon #915).
. "$(dirname "$0")/situation.sh"

host_make xeon-2s "$PWD/root"
zones() { chmod "$1" root/sys/class/powercap/intel-rapl:*/energy_uj; }
other_user 7

zones 444
ask_probe
has "$(sensors)" "rapl:package-0" "counters that may be read are read"
is "$(probe '[.missing[]? | select(.what | test("rapl|CPU"; "i"))] | length')" 0 "and nothing is said to be missing"
root_only root/sys/class/powercap/intel-rapl:*/energy_uj # what a restart does
ask_probe
is "$(sensors)" "" "after a restart they are no sensors"
has "$(probe '.missing[0].why')" "permission denied" "probe shows that state"
has "$(probe '.missing[0].fix')" "udev" "and the fix says how it outlasts the next restart"
# the same kind: opened again while nothing was restarted; the right of a group instead of everybody's
zones 444
ask_probe
has "$(sensors)" "rapl:package-1" "given back, they are sensors again without anything being restarted"
if [ -n "$as_user" ]; then
	zones 440
	chgrp 65534 root/sys/class/powercap/intel-rapl:*/energy_uj
	ask_probe
	has "$(sensors)" "rapl:package-0" "a group's right is enough"
else
	skip 1 "only root gives a file to another group"
fi
done_testing
