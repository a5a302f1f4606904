# knobs.sh: sweeps of simulated GPUs. Source it after situation.sh.
#
# sweep_gpu [OPTION…] <scenario: a short sweep; its lines in points.jsonl, the devices afterwards by `state`.
sweep_gpu() {
	cat >scenario.new
	mv scenario.new scenario.ini
	rm -rf devices t.db t.db.d
	try wattlaw sim exec -s scenario.ini --dir "$PWD/devices" -- wattlaw sweep --json --idle 0s -r 1 -w 0 \
		--point-time 300ms --seed 1 "$@" -- "${job[@]}"
	printf '%s\n' "$out" >points.jsonl
}
job=(stepper 0)
state() { wattlaw sim state --json "$PWD/devices" | jq -r "$1"; }
points() { jq -r "select(.schema == \"wattlaw.point/1\") | $1" points.jsonl; }
within() { # TENTHS COMMAND…
	local n=$1
	shift
	while ! "$@"; do
		n=$((n - 1))
		[ "$n" -gt 0 ] || return 1
		sleep 0.1
	done
}
