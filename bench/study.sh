#!/bin/bash
# study.sh [BUILD]: how long the published study takes simulated, as one JSON line: planned, simulated and stored;
# fitted; and how well half of it predicts the other half (lines of bench/study).
set -e
build=$(cd "${1:-build}" && pwd)
root=$(cd "$(dirname "$0")/.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
now() { date +%s%N; }
best_sweep=999999999999 best_fit=999999999999
for _ in 1 2 3; do
	rm -f s.db*
	t0=$(now)
	"$build/src/wattlaw" sweep -q "$root/examples/study.ini" --simulate "$root/examples/supercloud.ini" --db s.db >sweep.txt
	t1=$(now)
	"$build/src/wattlaw" fit --db s.db >fit.txt
	t2=$(now)
	[ $((t1 - t0)) -lt $best_sweep ] && best_sweep=$((t1 - t0))
	[ $((t2 - t1)) -lt $best_fit ] && best_fit=$((t2 - t1))
done
runs=$(($("$build/src/wattlaw" export --db s.db csv | wc -l) - 1))
awk -v a=$best_sweep -v b=$best_fit -v n=$runs 'BEGIN {
	printf "{\"bench\":\"study\",\"runs\":%d,\"plan_simulate_store_s\":%.2f,\"fit_s\":%.2f,\"total_s\":%.2f}\n",
		n, a / 1e9, b / 1e9, (a + b) / 1e9 }'
"$build/bench/study" s.db "$root/examples/supercloud.ini" | grep '"all"'
