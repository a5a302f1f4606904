# rapl_clock.sh: counters of a constructed machine that run while a test measures. Source it after situation.sh.
#
#   counter ZONE START WATTS WRAP       energy_uj runs from START; returns when it moves
#   counters_stop
counter_pids=
counter() {
	local file=$WATTLAW_ROOT/sys/class/powercap/$1/energy_uj i

	printf '%-20d\n' "$2" >"$file"
	python3 - "$file" "$2" "$3" "$4" <<-'END' &
	import os, sys, time
	path, start, watts, wrap = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
	f = os.open(path, os.O_WRONLY)
	t0 = time.monotonic()
	while time.monotonic() - t0 < 30:
	    uj = (start + int((time.monotonic() - t0) * watts * 1e6)) % wrap
	    os.pwrite(f, b"%-20d\n" % uj, 0)
	    time.sleep(0.004)
	END
	counter_pids="$counter_pids $!"
	for ((i = 0; i < 200; i++)); do
		[ "$(tr -d ' ' <"$file")" != "$2" ] && return
		sleep 0.02
	done
}

counters_stop() {
	# shellcheck disable=SC2086
	kill $counter_pids
	# shellcheck disable=SC2086
	wait $counter_pids 2>/dev/null
	counter_pids=
}
