# R67: a stale lock after a crash blocks the next run (codecarbon #702, #779).
. "$(dirname "$0")/situation.sh"

gpu_host
cat >kill.sh <<'END'
wattlaw sweep -q --idle 0s --db k.db -r 1 -w 100ms --point-time 2s -L power_limit=150W -- wattlaw sim job resnet50 --scale 5% --steps 0 &
lead=$!
for i in $(seq 200); do wattlaw sim state host | grep -q 'of 150 W' && break; sleep 0.05; done
kill -9 $(pgrep -P $lead) $lead
END
sim bash kill.sh >/dev/null 2>&1
wattlaw sim state host | grep -q 'of 150 W'
ok $? "(killed while a limit was set)"
try sim wattlaw run --json run.json -- sleep 1
is "$code" 0 "after kill -9 of everything the next run is not blocked"
[ "$(run .energy.total_j)" != null ]
ok $? "and measures"
wattlaw sim state host | grep -q 'of 250 W'
ok $? "and has put back what the killed one had set"
try sim wattlaw sweep -q --idle 0s --db n.db -r 1 -w 100ms --point-time 300ms -L power_limit=150W -- \
	wattlaw sim job resnet50 --scale 5% --steps 0
is "$code" 0 "nor is the next sweep" || printf '%s\n' "$err" | sed 's/^/# /'

# The same kind: leftovers that are no lock of anybody: an empty one, one with rubbish, one of a process number that
# somebody else has by now.
mkdir -p "$WATTLAW_RUN_DIR"
: >"$WATTLAW_RUN_DIR/empty"
head -c 300 /dev/urandom >"$WATTLAW_RUN_DIR/lock.$$"
mkdir -p t.db.d
head -c 100 /dev/urandom >t.db.d/rubbish.shard
: >t.db.d/empty.shard.tmp
try sim wattlaw run --json run.json -- sleep 0.5
is "$code" 0 "leftovers of other kinds block nothing"
[ "$(run .energy.total_j)" != null ]
ok $? "and it measures"
done_testing
