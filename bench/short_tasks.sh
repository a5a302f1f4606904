#!/bin/sh
# A job of short tasks, alone and measured on eight simulated GPUs, in pairs that alternate in one run.
#
#   bench/short_tasks.sh BUILD [TASKS [PAIRS]]
#
# One JSON line: slowdown in percent of elapsed and of CPU time, median and 95 % interval of the mean of pairs.
# Bound: the interval within +-1 %. The machine must be idle.
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
tasks=${2:-2000} pairs=${3:-10}
wattlaw=${WATTLAW:-$build/src/wattlaw}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat >"$dir/pairs.sh" <<END
cd "$dir"
export WATTLAW_DB=$dir/t.db WATTLAW_RUN_DIR=$dir
alone() { python3 "$here/short_tasks.py" $tasks >alone; }
measured() { "$wattlaw" run -q -- python3 "$here/short_tasks.py" $tasks >measured; }
alone
for i in \$(seq $pairs); do
	if [ \$((i % 2)) = 0 ]; then alone; measured; else measured; alone; fi
	echo \$(cat alone) \$(cat measured)
done
END
"$wattlaw" sim exec --gpus v100:8 -- sh "$dir/pairs.sh" >"$dir/lines"
python3 - "$dir/lines" "$tasks" <<'END'
import json, math, statistics, sys
rows = [list(map(float, l.split())) for l in open(sys.argv[1])]
T95 = [0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10, 2.09]
def slowdown(name, a, b):
    d = [100 * math.log(r[b] / r[a]) for r in rows]
    mean, n = statistics.mean(d), len(d)
    half = T95[min(n - 1, 19)] * statistics.stdev(d) / math.sqrt(n)
    return {f"{name}_median_pct": round(statistics.median(d), 3), f"{name}_low_pct": round(mean - half, 3),
            f"{name}_high_pct": round(mean + half, 3)}
print(json.dumps({"bench": "short_tasks", "tasks": int(sys.argv[2]), "pairs": len(rows), **slowdown("elapsed", 0, 2),
                  **slowdown("cpu", 1, 3), "alone_s": round(statistics.median(r[0] for r in rows), 3), "bound_pct": 1}))
END
