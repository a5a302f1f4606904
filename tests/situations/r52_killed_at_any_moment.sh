# R52: whoever sets limits and clocks of a GPU is killed at a random moment: a replay finds everything as it was.
. "$(dirname "$0")/situation.sh"
rounds=${KILL_ROUNDS:-25}
RANDOM=${KILL_SEED:-4711}

cat >scenario.ini <<'END'
[gpu 0]
profile = v100-pcie-32gb
load = 250W
power_limit = 230W
END
cat >rounds.sh <<'END'
holder=$BUILD_ROOT/tests/unit/fake/lease_holder
gpu=$(wattlaw probe --json --only nvml | jq -r '[.devices[] | select(.kind == "gpu") | .id][0]')
state() { wattlaw sim state --json | jq -r '.devices[0] | [.power_limit_w, .clock_lock_mhz] | @csv'; }
changed=0 bad=0 failed=0
for ((i = 0; i < $1; i++)); do
	coproc "$holder" "$gpu" $i loop 2>/dev/null
	pid=$COPROC_PID
	read -r _ <&"${COPROC[0]}"
	sleep "0.0$(printf %02d $((RANDOM % 30)))"
	kill -9 $pid
	wait $pid 2>/dev/null
	[ "$(state)" = "230," ] || changed=$((changed + 1))
	wattlaw restore --json >restore.json || failed=$((failed + 1))
	[ "$(state)" = "230," ] || bad=$((bad + 1))
done
echo "$changed $failed $bad" >result
END
export BUILD_ROOT RANDOM
wattlaw sim exec -s scenario.ini -- bash rounds.sh "$rounds" 2>errors
read -r changed failed bad <result
[ "${changed:-0}" -gt 0 ]
ok $? "some of $rounds kills left something changed ($changed)"
is "$failed" 0 "no restore failed"
is "$bad" 0 "after each one limit and clock lock were as found"
is "$(find locks -name 'lease.*' | wc -l)" 0 "no journal is left"

# the same kind: the restore itself is killed, and done again
wattlaw sim exec -s scenario.ini -- bash -c '
gpu=$(wattlaw probe --json --only nvml | jq -r "[.devices[] | select(.kind == \"gpu\") | .id][0]")
"$BUILD_ROOT/tests/unit/fake/lease_holder" "$gpu" 150 pid
for n in 1 2 3 4 5 6 7 8; do
	timeout -s KILL 0.00$n wattlaw restore
done
wattlaw restore
wattlaw sim state --json | jq -r ".devices[0].power_limit_w" >limit' >/dev/null 2>&1
is "$(cat limit)" 230 "a restore that is killed is finished by the next"
done_testing
