# R38: the right to read the counters is lost at a restart, or is there and not used (powercap #7, codecarbon #915).
. "$(dirname "$0")/situation.sh"

chmod 755 .
host_make xeon-2s "$PWD/root"
zones() { chmod "$1" root/sys/class/powercap/intel-rapl:*/energy_uj; }
if [ "$(id -u)" -eq 0 ]; then
	user="setpriv --reuid 65534 --regid 65534 --clear-groups"
	cp "$BUILD_ROOT/src/wattlaw" ./wattlaw-copy
else
	user=
	ln -s "$BUILD_ROOT/src/wattlaw" wattlaw-copy
fi
if ! $user ./wattlaw-copy version >/dev/null 2>&1; then
	skip 7 "cannot run the program as another user (setpriv)"
	done_testing
fi
ask() {
	try $user ./wattlaw-copy probe --json --root "$PWD/root" --only rapl
	printf '%s\n' "$out" >probe.json
}
sensors() { probe '[.devices[] | select(.channels | length > 0) | .id] | sort | join(" ")'; }

zones 444
ask
has "$(sensors)" "rapl:package-0" "counters that may be read are read"
is "$(probe '[.missing[]? | select(.what | test("rapl|CPU"; "i"))] | length')" 0 "and nothing is said to be missing"
zones 400 # what a restart does
ask
is "$(sensors)" "" "after a restart they are no sensors"
has "$(probe '.missing[0].why')" "permission denied" "probe shows that state"
has "$(probe '.missing[0].fix')" "udev" "and the fix says how it outlasts the next restart"
# the same kind: opened again while nothing was restarted; the right of a group instead of everybody's
zones 444
ask
has "$(sensors)" "rapl:package-1" "given back, they are sensors again without anything being restarted"
if [ -n "$user" ]; then
	zones 440
	chgrp 65534 root/sys/class/powercap/intel-rapl:*/energy_uj
	ask
	has "$(sensors)" "rapl:package-0" "a group's right is enough"
else
	skip 1 "only root gives a file to another group"
fi
done_testing
