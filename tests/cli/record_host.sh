# tools/record-host writes a manifest from which the same machine can be made again.
. "$(dirname "$0")/tap.sh"
. "$cli_dir/host.sh"

# The time of a reading is no property of the machine.
look() { wattlaw probe --json --root "$1" | jq -S 'del(.missing)'; }
for name in xeon-2s mi250 battlemage-xe hybrid-cpufreq grace; do
	host_make $name "$PWD/a"
	"$SOURCE_ROOT/tools/record-host" --root "$PWD/a" --keep-ids >$name.tree
	ok $? "$name is recorded"
	host_load "$PWD/$name.tree" "$PWD/b"
	is "$(look "$PWD/b")" "$(look "$PWD/a")" "and the copy is the same machine"
	[ "$(look "$PWD/a" | jq '.devices | length')" -gt 0 ]
	ok $? "which has devices"
	chmod -R u+rwX a b
	rm -rf a b
done
host_make mi250 "$PWD/a"
"$SOURCE_ROOT/tools/record-host" --root "$PWD/a" >anonymous.tree
! grep -q 1f2e3d4c anonymous.tree
ok $? "unique ids are replaced"
"$SOURCE_ROOT/tools/record-host" >this.tree
ok $? "this machine can be recorded"
has "$(head -n 1 this.tree)" "Recorded by" "and the file says that it was"
done_testing
