#!/bin/sh
# Sampling eight simulated GPUs: ours against a python3-pynvml loop, alternating in one run, each with its
# empty tick beside it; both ask for the same readings. One JSON line: medians of CPU time a tick, the ratio, and the ratio without empty ticks.
#
#   bench/sampler_vs_pynvml.sh BUILD [HZ [SECONDS [ROUNDS]]]
#
# Bounds: ratio <= 1/3, without the empty tick <= 1/5. PYTHONPATH must lead to pynvml if it is not installed.
set -eu
build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
hz=${2:-10} seconds=${3:-5} rounds=${4:-3}
if ! python3 -c 'import pynvml' 2>/dev/null; then
	echo "sampler_vs_pynvml: python3-pynvml is not installed" >&2
	exit 2
fi
wattlaw=${WATTLAW:-$build/src/wattlaw}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

cat >"$dir/rounds.sh" <<END
for i in \$(seq $rounds); do
	"$build/bench/bench_sampler" $hz $seconds same
	python3 "$here/sampler_pynvml.py" $hz $seconds
	"$build/bench/bench_sampler" $hz $seconds empty
	python3 "$here/sampler_pynvml.py" $hz $seconds empty
done
END
"$wattlaw" sim exec --gpus v100:8 -- sh "$dir/rounds.sh" >"$dir/lines"
python3 - "$dir/lines" <<'END'
import json, statistics, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
def cost(bench, empty):
    return statistics.median(l["cpu_us_per_tick"] for l in lines if l["bench"] == bench and l["empty"] == empty)
ours, theirs = cost("sampler", False), cost("sampler_pynvml", False)
ours0, theirs0 = cost("sampler", True), cost("sampler_pynvml", True)
print(json.dumps({"bench": "sampler_vs_pynvml", "hz": lines[0]["hz"], "gpus": lines[0]["gpus"], "rounds": len(lines) // 4,
    "us_per_tick": ours, "pynvml_us_per_tick": theirs, "empty_us": ours0, "pynvml_empty_us": theirs0,
    "ratio": round(ours / theirs, 4), "ratio_without_empty": round((ours - ours0) / (theirs - theirs0), 4),
    "core_pct": statistics.median(l["core_pct"] for l in lines if l["bench"] == "sampler" and not l["empty"])}))
END
