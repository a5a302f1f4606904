#!/bin/sh
# Jobs of short tasks on eight simulated GPUs, the keeper stopped in every other block of tasks.
#
#   bench/short_tasks.sh BUILD [TASKS [JOBS]]
#
# One JSON line: slowdown in percent of elapsed and of CPU time, 95 % interval over pairs of neighbouring blocks of the
# mean without the highest and lowest tenth. Bound: the interval within +-1 %. The machine must be idle.
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
tasks=${2:-2000} jobs=${3:-10}
wattlaw=${WATTLAW:-$build/src/wattlaw}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat >"$dir/jobs.sh" <<END
export WATTLAW_DB=$dir/t.db WATTLAW_RUN_DIR=$dir
for i in \$(seq $jobs); do
	"$wattlaw" run -q -- python3 "$here/short_tasks.py" $tasks "$dir/pairs"
done
END
"$wattlaw" sim exec --gpus v100:8 -- sh "$dir/jobs.sh"
python3 - "$dir/pairs" "$tasks" "$jobs" <<'END'
import json, math, statistics, sys
rows = [list(map(float, l.split())) for l in open(sys.argv[1])]
def slowdown(name, a, b):
    d = sorted(100 * math.log(r[b] / r[a]) for r in rows)
    n, cut = len(d), len(d) // 10
    kept = d[cut:n - cut]
    # Standard error of a trimmed mean: from the values with the tails pulled in.
    pulled = [kept[0]] * cut + kept + [kept[-1]] * cut
    half = 1.97 * statistics.stdev(pulled) / ((1 - 2 * cut / n) * math.sqrt(n))
    mean = statistics.mean(kept)
    return {f"{name}_pct": round(mean, 3), f"{name}_low_pct": round(mean - half, 3), f"{name}_high_pct": round(mean + half, 3)}
print(json.dumps({"bench": "short_tasks", "tasks": int(sys.argv[2]), "jobs": int(sys.argv[3]), "pairs": len(rows),
                  **slowdown("elapsed", 0, 2), **slowdown("cpu", 1, 3),
                  "task_us": round(statistics.median(r[0] for r in rows) / 50 * 1e6), "bound_pct": 1}))
END
