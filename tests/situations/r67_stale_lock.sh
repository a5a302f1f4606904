# R67, R82: a stale lock after a crash blocks the next run (codecarbon #702, #779); two monitors at once disturb
# each other (DCGM #62).
. "$(dirname "$0")/situation.sh"

cat >s.ini <<'END'
[gpu 0]
profile = v100-pcie-32gb
power = 250W
END
wattlaw sim exec -s s.ini --dir host -- true
sim() { wattlaw sim exec --dir host -- "$@"; }
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

# Two at once only read: both measure, neither waits.
sim sh -c 'wattlaw run -q --json a.json -- sleep 2 & wattlaw run -q --json b.json -- sleep 2; wait'
for f in a b; do
	near "$(jq .energy.total_j $f.json)" "$(jq '.wall_s * 250' $f.json)" 3 "two monitors at once: $f is right"
done
# The same kind: one inside the other.
try sim wattlaw run -q --json outer.json -- wattlaw run -q --json inner.json -- sh -c 'sleep 1; exit 3'
is "$code" 3 "one inside the other: the code comes through"
near "$(jq .energy.total_j inner.json)" "$(jq '.wall_s * 250' inner.json)" 3 "and both measure"
near "$(jq .energy.total_j outer.json)" "$(jq '.wall_s * 250' outer.json)" 3 "the inner and the outer"
done_testing
