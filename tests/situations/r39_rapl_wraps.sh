# R39, R47: a counter of CPU or DRAM energy wraps while it is measured: no -250 kJ, no jump.
. "$(dirname "$0")/situation.sh"
. "$SOURCE_ROOT/tests/situations/rapl_clock.sh"

host_make epyc-2s "$PWD/root"
export WATTLAW_ROOT=$PWD/root WATTLAW_SENSORS=rapl
wrap=65532610987
counter intel-rapl:1 5000000 50 $wrap
counter intel-rapl:0 $((wrap - 100000000)) 100 $wrap # wraps after 1 s
host_run 2
near "$(run '.devices[] | select(.id == "rapl:package-0") | .energy_j')" "$(run '.wall_s * 100')" 4 \
	"a wrap within the run does not show"
near "$(run '.devices[] | select(.id == "rapl:package-1") | .energy_j')" "$(run '.wall_s * 50')" 4 \
	"nor does it in the other package"
counters_stop

# the same kind: DRAM, whose range is another
rm -rf root
host_make xeon-2s "$PWD/root"
wrap=65712999613
counter intel-rapl:0:0 $((wrap - 20000000)) 20 $wrap
host_run 2
near "$(run '.devices[] | select(.id == "rapl:package-0:dram") | .energy_j')" "$(run '.wall_s * 20')" 4 "DRAM wraps at its own range"
counters_stop
done_testing
