# situation.sh: what the situations share. Each test is named after its row in the list of situations and
# holds, beside it, at least one case of the same kind. Source it first.
. "$SOURCE_ROOT/tests/cli/tap.sh"
. "$SOURCE_ROOT/tests/cli/host.sh"

unset WATTLAW_NVML WATTLAW_ROOT WATTLAW_SENSORS
export WATTLAW_RUN_DIR=$PWD/locks WATTLAW_DB=$PWD/t.db WATTLAW_SIM_ROOT=1

# gpu_run SECONDS [OPTION…] <scenario: measure `sleep SECONDS` on the simulated GPUs of the scenario. The
# record is in run.json, messages in $err, the exit code in $code.
gpu_run() {
	local seconds=$1

	shift
	cat >scenario.new
	mv scenario.new scenario.ini
	rm -f run.json
	try wattlaw sim exec -s scenario.ini -- \
		wattlaw run --json=run.json --idle 300ms "$@" -- sleep "$seconds"
}

# host_run SECONDS [OPTION…]: the same on the machine below $WATTLAW_ROOT.
host_run() {
	local seconds=$1

	shift
	rm -f run.json
	try wattlaw run --json=run.json --idle 0s "$@" -- sleep "$seconds"
}

# gpu_probe [OPTION…] <scenario: what probe says, in probe.json.
gpu_probe() {
	cat >scenario.new
	mv scenario.new scenario.ini
	try wattlaw sim exec -s scenario.ini -- wattlaw probe --json "$@"
	printf '%s\n' "$out" >probe.json
}

run() { jq -r "$1" run.json; }
probe() { jq -r "$1" probe.json; }

# near GOT WANTED PERCENT "behaviour"
near() {
	awk -v a="$1" -v b="$2" -v p="$3" 'BEGIN {
		exit !(a != "null" && a != "" && (a - b) * (a - b) <= (b * p / 100) * (b * p / 100)) }'
	ok $? "$4" 1 || { tap_show "     got" "$1"; tap_show "expected" "$2 +- $3 %"; false; }
}
