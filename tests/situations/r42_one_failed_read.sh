# R42: one failed read must not count as 0 and make a spike of the whole range.
. "$(dirname "$0")/situation.sh"
. "$SOURCE_ROOT/tests/situations/rapl_clock.sh"

host_make xeon-2s "$PWD/root"
export WATTLAW_ROOT=$PWD/root WATTLAW_SENSORS=rapl
counter intel-rapl:0 100000000 100 262143328850
for n in 60 70 80 90; do
	WATTLAW_FAULT=read:$n host_run 1
	near "$(run '.devices[] | select(.id == "rapl:package-0") | .energy_j // 100')" "$(run '.wall_s * 100')" 8 \
		"read $n fails once: no spike"
done

# the same kind: a read that gives nonsense once
(
	sleep 0.8
	python3 -c 'import os, sys; f = os.open(sys.argv[1], os.O_WRONLY)
for i in range(300): os.pwrite(f, b"0" * 20 + b"\n", 0)' root/sys/class/powercap/intel-rapl:1/energy_uj
) &
b=$!
host_run 1.5
is "$(run '.devices[] | select(.id == "rapl:package-1") | (.energy_j // 0) < 1000')" true "a counter that falls to 0 is no range of energy"
wait $b
counters_stop
done_testing
