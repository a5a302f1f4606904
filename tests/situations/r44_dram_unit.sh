# R44: the unit of DRAM energy differs by CPU (15.3 uJ against the package's 61): the kernel knows, so powercap is
# read and never the register.
. "$(dirname "$0")/situation.sh"

host_make xeon-2s "$PWD/root"
try wattlaw probe --json --root "$PWD/root" --only rapl
printf '%s\n' "$out" >probe.json
is "$(probe '[.devices[] | select(.id == "rapl:package-0:dram").channels[] | .value] | first')" 20 "DRAM is what powercap says, in J"
! grep -rqE "dev/cpu|/msr" "$SOURCE_ROOT/src/hw"
ok $? "no register of a CPU is read anywhere"
# the same kind: two names of one thing must not mix: DRAM has its package's name
is "$(probe '[.devices[] | select(.kind == "dram") | .id] | sort | join(" ")')" \
	"rapl:package-0:dram rapl:package-1:dram" "the DRAM of each package is told apart"
done_testing
