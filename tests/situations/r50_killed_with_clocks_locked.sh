# R50, R52: Ctrl-C, SIGTERM, an abort or SIGKILL in any phase must not leave clocks locked or limits set.
. "$(dirname "$0")/situation.sh"
. "$SOURCE_ROOT/tests/situations/knobs.sh"

set -m # or the shell has background jobs ignore SIGINT
cat >scenario.ini <<'END'
[gpu 0]
profile = v100-pcie-32gb
load = 250W
power_limit = 230W
END
as_found() { [ "$(state '.devices[0] | [.power_limit_w, .clock_lock_mhz == null] | @csv')" = "230,true" ]; }
changed() { [ -d devices ] && ! as_found; }

# a sweep in the background; $pid is the sweep itself
start() {
	rm -rf devices t.db t.db.d pid
	wattlaw sim exec -s scenario.ini --dir "$PWD/devices" -- sh -c 'echo $$ >pid; exec "$@"' sh \
		wattlaw sweep -q --idle 0s -r 1 -w 0 --point-time 1s -L power_limit=150W,200W -L clock_max=900MHz,1200MHz \
		-- stepper 0 >/dev/null 2>&1 &
	within 50 changed || echo "# nothing was set"
	pid=$(cat pid)
}
for sig in INT TERM ABRT KILL; do
	start
	kill -"$sig" "$pid"
	within 30 as_found
	ok $? "after SIG$sig limit and clocks are as found"
	wait 2>/dev/null
done

# the same kind: leader and keeper die together (a batch system kills the step): the next start restores
start
keeper=$(pgrep -P "$pid" -f 'wattlaw keeper' | head -n 1)
# shellcheck disable=SC2046
kill -9 $(pgrep -g "$(ps -o pgid= -p "$pid" | tr -d ' ')") $keeper "$pid" $(pgrep -P "$pid") 2>/dev/null
wait 2>/dev/null
wattlaw sim exec --dir "$PWD/devices" -- wattlaw restore >restore.out 2>&1
as_found
ok $? "after SIGKILL of everything at once, wattlaw restore puts it back"
wattlaw sim exec --dir "$PWD/devices" -- wattlaw restore >restore.out 2>&1
is "$(cat restore.out)" "Nothing to restore." "once"
done_testing
