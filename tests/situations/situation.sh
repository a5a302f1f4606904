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

# gpu_host: one GPU that draws 250 W, on a simulated host that stays; `sim CMD…` runs a command there, state in ./host.
gpu_host() {
	printf '[gpu 0]\nprofile = v100-pcie-32gb\npower = 250W\n' >scenario.ini
	wattlaw sim exec -s scenario.ini --dir host -- true
}
sim() { wattlaw sim exec --dir host -- "$@"; }

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

# other_user N: who asks is not root from here on: `ask_probe` is what probe tells him of the counters of ./root, in
# probe.json; $as_user is what goes before a command of his, empty where the test is not root's. Where that cannot be
# done, the N assertions of the test are skipped.
other_user() {
	chmod 755 . # he must reach the tree and the program
	if [ "$(id -u)" -eq 0 ]; then
		as_user="setpriv --reuid 65534 --regid 65534 --clear-groups"
		cp "$BUILD_ROOT/src/wattlaw" ./wattlaw-copy
	else
		as_user=
		ln -s "$BUILD_ROOT/src/wattlaw" wattlaw-copy
	fi
	$as_user ./wattlaw-copy version >/dev/null 2>&1 && return
	skip "$1" "cannot run the program as another user (setpriv)"
	done_testing
}
ask_probe() {
	try $as_user ./wattlaw-copy probe --json --root "$PWD/root" --only rapl
	printf '%s\n' "$out" >probe.json
}
# root_only FILE…: root's alone from here on; where the test is not root's, its own right goes, too.
root_only() { chmod "$([ "$(id -u)" -eq 0 ] && echo 400 || echo 0)" "$@"; }
# What it can read, sorted, in one line.
sensors() { probe '[.devices[] | select(.channels | length > 0) | .id] | sort | join(" ")'; }

run() { jq -r "$1" run.json; }
probe() { jq -r "$1" probe.json; }

# near GOT WANTED PERCENT "behaviour"
near() {
	awk -v a="$1" -v b="$2" -v p="$3" 'BEGIN {
		exit !(a != "null" && a != "" && (a - b) * (a - b) <= (b * p / 100) * (b * p / 100)) }'
	ok $? "$4" 1 || { tap_show "     got" "$1"; tap_show "expected" "$2 +- $3 %"; false; }
}
