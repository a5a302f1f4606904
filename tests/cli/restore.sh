# wattlaw restore finishes what dead holders left, and nothing else.
. "$(dirname "$0")/tap.sh"
. "$cli_dir/host.sh"

host_make xeon-2s "$PWD/xeon"
export WATTLAW_ROOT=$PWD/xeon WATTLAW_RUN_DIR=$PWD/run
limit=$WATTLAW_ROOT/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw

try wattlaw restore
is "$code" 0 "nothing to restore is fine"
is "$out" "Nothing to restore." "and said"

# holder END [JOB]: a process that sets 100 W and is killed
holder() { "$BUILD_ROOT/tests/unit/fake/lease_holder" rapl:package-0 100 "$@"; }

holder pid 2>/dev/null
is "$(head -n 1 "$limit")" 100000000 "a killed holder leaves its limit"
try wattlaw restore --json
is "$code" 0 "restore succeeds"
like "$out" '"restored": ?1' "it counts what it restored"
is "$(head -n 1 "$limit")" 150000000 "the limit is as it was found"
try wattlaw restore
is "$out" "Nothing to restore." "once"

holder job 4711
try wattlaw restore
is "$(head -n 1 "$limit")" 100000000 "what a batch job holds stays"
try wattlaw restore --job 12
is "$code" 0 "the end of a job that holds nothing is fine"
is "$(head -n 1 "$limit")" 100000000 "and changes nothing"
try wattlaw restore --job 4711
is "$(head -n 1 "$limit")" 150000000 "the job's end restores"
holder job 4712
try wattlaw restore --all
is "$(head -n 1 "$limit")" 150000000 "--all restores what jobs hold"

holder pid 2>/dev/null
echo 90000000 >"$limit"
try wattlaw restore
is "$code" 0 "somebody else's change is no failure"
has "$out" "left alone" "but reported"
is "$(head -n 1 "$limit")" 90000000 "and it stays"
echo 150000000 >"$limit"

holder pid 2>/dev/null
mv "$WATTLAW_ROOT/sys/class/powercap" hidden
try wattlaw restore
is "$code" 3 "a device that is gone is a failure"
has "$out" "could not be restored" "and named"
mv hidden "$WATTLAW_ROOT/sys/class/powercap"
try wattlaw restore
is "$(head -n 1 "$limit")" 150000000 "when it is back it is restored"
try wattlaw restore --all --job 1
is "$code" 2 "--all and --job together are wrong usage"
done_testing
