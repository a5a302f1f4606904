# R47: the DRAM counter overflows at a range of its own, or often (Variorum ChangeLog, tpmi_power_management #17).
. "$(dirname "$0")/situation.sh"
. "$SOURCE_ROOT/tests/situations/rapl_clock.sh"

host_make xeon-2s "$PWD/root"
export WATTLAW_ROOT=$PWD/root WATTLAW_SENSORS=rapl
zone=root/sys/class/powercap/intel-rapl:0:0
wrap=$(cat $zone/max_energy_range_uj)
counter intel-rapl:0:0 $((wrap - 20000000)) 20 "$wrap"
host_run 2
near "$(run '.devices[] | select(.id == "rapl:package-0:dram") | .energy_j')" "$(run '.wall_s * 20')" 4 \
	"DRAM wraps at its own range, not at the package's"
counters_stop

# the same kind: a range so small that it overflows several times in a run
rm -rf root
host_make xeon-2s "$PWD/root"
echo 12000000 >$zone/max_energy_range_uj
counter intel-rapl:0:0 3000000 20 12000000 # every 0.6 s
host_run 2.5
near "$(run '.devices[] | select(.id == "rapl:package-0:dram") | .energy_j')" "$(run '.wall_s * 20')" 5 \
	"four overflows in one run are all counted"
counters_stop
done_testing
