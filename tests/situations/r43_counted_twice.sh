# R43: the package through MSR and mmio, and inside psys: counted once.
. "$(dirname "$0")/situation.sh"

look() {
	try wattlaw probe --json --root "$PWD/$1" --only rapl
	printf '%s\n' "$out" >probe.json
}
host_make laptop-psys-mmio "$PWD/root"
look root
is "$(probe '[.devices[] | select(.counted == true) | .id] | join(" ")')" "rapl:package-0" "one device is counted"
is "$(probe '[.devices[] | select(.backend == "rapl") | .id] | sort | join(" ")')" "rapl:package-0 rapl:psys" \
	"the mmio twin is not a device"

# the same kind: only the mmio zones exist; two dies of a package are two
rm -rf root/sys/class/powercap/intel-rapl:*
look root
is "$(probe '[.devices[] | select(.counted == true) | .id] | join(" ")')" "rapl:package-0" "mmio alone is counted"
host_make xeon-2s "$PWD/dies"
echo package-0-die-0 >dies/sys/class/powercap/intel-rapl:0/name
echo package-0-die-1 >dies/sys/class/powercap/intel-rapl:1/name
look dies
is "$(probe '[.devices[] | select(.kind == "cpu" and .counted)] | length')" 2 "two dies of one package are two"
done_testing
