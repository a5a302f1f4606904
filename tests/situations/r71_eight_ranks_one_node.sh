# R71: eight ranks each count the whole node (codecarbon #544, #629, autosubmit #1455).
. "$(dirname "$0")/../cli/tap.sh"
export WATTLAW_DB=$PWD/t.db WATTLAW_RUN_DIR=$PWD/run
export PYTHONPATH=$SOURCE_ROOT/src/mark/python PYTHONDONTWRITEBYTECODE=1

printf '[gpu 0-1]\nprofile = v100-pcie-32gb\npower = 250W\n' >s.ini
cat >rank.py <<'END'
import time
import wattlaw
wattlaw.job(1000, 4, 32)
for i in range(30):
    time.sleep(0.1)
    wattlaw.step(4)
END
cat >ranks.sh <<'END'
for i in $(seq 0 7); do
	RANK=$i WORLD_SIZE=8 python3 rank.py &
done
wait
END
wattlaw sim exec --scenario s.ini -- wattlaw run -q --json r.json -- sh ranks.sh 2>/dev/null
is "$(jq -c '[.train.ranks, .train.samples]' r.json)" '[8,960]' "eight ranks are one run, with the samples of all"
is "$(jq '(.energy.total_j / .wall_s) | . > 490 and . < 510' r.json)" true "the energy of the two GPUs counts once, not eight times"
is "$(jq '[.devices[] | select(.kind == "gpu")] | length' r.json)" 2 "each GPU is listed once"
is "$(jq '.train.step_s.mean > 0.1 and .train.step_s.mean < 0.2' r.json)" true "time per step is a rank's, not an eighth of it"

# The same kind: ranks that mpirun starts and numbers.
if ! command -v mpirun >/dev/null; then
	skip 6 "mpirun is not installed"
else
	wattlaw sim exec --scenario s.ini -- wattlaw run -q --json m.json -- \
		mpirun --allow-run-as-root --oversubscribe --bind-to none -n 2 python3 rank.py >/dev/null 2>&1
	is "$(jq -c '[.train.ranks, .train.samples]' m.json)" '[2,240]' "ranks numbered by mpirun"
	is "$(jq '(.energy.total_j / .wall_s) | . > 490 and . < 510' m.json)" true "count the node once, too"
	# Every rank wrapped by itself: one of them counts the node, the others say who does.
	wattlaw sim exec --scenario s.ini -- mpirun --allow-run-as-root --oversubscribe --bind-to none -n 4 \
		wattlaw run -q --name wrapped -- sleep 2 >/dev/null 2>&1
	wattlaw export jsonl all | jq -c 'select(.workload == "wrapped")' >wrapped
	is "$(wc -l <wrapped)" 4 "four wrapped ranks are four runs"
	is "$(jq -s 'map(.energy.total_j // 0) | add | . > 980 and . < 1100' wrapped)" true "whose energies add up to the node once"
	is "$(jq -s '[.[] | select(.energy.total_j == null and .energy.shared_node and (.energy.note | contains("another rank")))] | length' wrapped)" 3 \
		"three of them say that another rank counts it"
	is "$(find /dev/shm -name "wattlaw-once.*" -newer s.ini | wc -l)" 0 "and leave nothing behind"
fi
done_testing
