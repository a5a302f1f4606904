# R39: a counter of CPU energy wraps while it is measured: no -250 kJ, no jump.
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

# the same kind: the platform's counter, whose range is another, is reset to 0 half way through its range: that is
# no wrap, and the energy of that moment is not made up
rm -rf root
host_make epyc-2s "$PWD/root"
counter intel-rapl:0 30000000000 100 $wrap
(
	sleep 0.8
	# shellcheck disable=SC2086
	kill $counter_pids
	printf '%-20d\n' 1000000 >root/sys/class/powercap/intel-rapl:0/energy_uj
) &
host_run 2
is "$(run '.devices[] | select(.id == "rapl:package-0") | .energy_j == null or .energy_j < 400')" true \
	"a counter that falls from the middle of its range does not give its range"
wait
done_testing
