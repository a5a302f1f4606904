# R37: energy_uj is root's alone since Linux 5.10: the state is shown with the command that opens it, what can be
# read is still measured, and nothing becomes 0.
. "$(dirname "$0")/situation.sh"

chmod 755 .
host_make xeon-2s "$PWD/root"
chmod 400 root/sys/class/powercap/intel-rapl:*/energy_uj
if [ "$(id -u)" -eq 0 ]; then
	# other users must reach the tree and the program
	user="setpriv --reuid 65534 --regid 65534 --clear-groups"
	cp "$BUILD_ROOT/src/wattlaw" ./wattlaw-copy
else
	user=
	ln -s "$BUILD_ROOT/src/wattlaw" wattlaw-copy
	chmod 0 root/sys/class/powercap/intel-rapl:*/energy_uj
fi
if ! $user ./wattlaw-copy version >/dev/null 2>&1; then
	skip 5 "cannot run the program as another user (setpriv)"
	done_testing
fi
try $user ./wattlaw-copy probe --json --root "$PWD/root" --only rapl
printf '%s\n' "$out" >probe.json
is "$(probe '[.devices[].channels[].value] | map(select(. == 0)) | length')" 0 "no energy is 0"
is "$(probe '[.devices[].channels[]] | length')" 0 "no energy is claimed"
has "$(probe '.missing[0].why')" "permission denied" "probe says what is missing"
has "$(probe '.missing[0].fix')" "chmod a+r" "and the command that gives it"
has "$(probe '.devices[0].note')" "5.10" "the device says since when"

# the same kind: one package of two can be read
chmod 444 root/sys/class/powercap/intel-rapl:1/energy_uj
try $user ./wattlaw-copy probe --json --root "$PWD/root" --only rapl
printf '%s\n' "$out" >probe.json
is "$(probe '[.devices[] | select(.channels | length > 0) | .id] | sort | join(" ")')" \
	"rapl:package-1" "what can be read is read"
done_testing
