# What a machine can measure and set, on constructed machines.
. "$(dirname "$0")/tap.sh"
. "$cli_dir/host.sh"

json() { printf '%s' "$out" | python3 -c "import json, sys; d = json.load(sys.stdin); print($1)"; }

host_make xeon-2s "$PWD/xeon"
try wattlaw probe --root "$PWD/xeon" --json
is "$code" 0 "probe succeeds"
is "$(json 'd["schema"]')" wattlaw.probe/1 "the document names its schema"
is "$(json 'sorted(x["id"] for x in d["devices"] if x["backend"] == "rapl")')" \
	"['rapl:package-0', 'rapl:package-0:dram', 'rapl:package-1', 'rapl:package-1:dram']" \
	"packages and DRAM are listed" || true
is "$(json '[c["value"] for x in d["devices"] if x["id"] == "rapl:package-0" for c in x["channels"]]')" \
	"[100.0]" "with their energy in J"
is "$(json '[(k["name"], k["max"], k["min"], k["current"], k["unit"]) for x in d["devices"] if x["id"] == "rapl:package-0" for k in x["knobs"]]')" \
	"[('power_limit', 150.0, None, 150.0, 'W')]" "and a limit whose unknown minimum is null"
try wattlaw probe --root "$PWD/xeon"
has "$out" "Energy is measured of 2 x cpu + 2 x dram." "people read what is measured"

host_make laptop-psys-mmio "$PWD/laptop"
try wattlaw probe --root "$PWD/laptop"
has "$out" "not counted" "psys is marked as not counted"
has "$out" "fix: echo 1 > /sys/class/powercap/intel-rapl:0/enabled" "a knob that is off has its fix"

mkdir empty
try wattlaw probe --root "$PWD/empty"
is "$code" 0 "a machine without sensors is no error"
has "$out" "Energy cannot be measured here" "it is told that energy is unknown"
has "$out" "fix:" "with what would help"
hasnt "$out" " 0 J" "and no zero is invented"

mkdir libnvidia-ml.so.1
try wattlaw probe --nvml "$PWD/libnvidia-ml.so.1" --only nvml
has "$out" "is a directory, not a library" "a directory in place of the library is named"
try wattlaw probe --nvml /nonexistent --only nvml --json
is "$(json 'd["missing"][0]["what"]')" "NVIDIA GPUs" "a missing library is in the document"
try wattlaw probe --nvml "$BUILD_ROOT/tests/unit/fake/nvml_fake.so" --only nvml
has "$out" "sees no GPU" "a driver without GPUs is told"

try wattlaw probe --root "$PWD/nowhere"
is "$code" 2 "a root that is not there fails"
has "$err" "nowhere" "and is named"
try wattlaw probe extra
is "$code" 2 "an operand is wrong usage"
done_testing
