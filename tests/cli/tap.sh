# tap.sh: TAP for shell tests. Source it first:
#
#   . "$(dirname "$0")/tap.sh"
#   try wattlaw fit; is "$code" 0 "fit succeeds"; has "$out" "b = " "it prints the exponent"; done_testing
#
# The test runs in a directory of its own, which goes away at the end.

tap_n=0
tap_failed=0
cli_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
: "${SOURCE_ROOT:=$(cd "$cli_dir/../.." && pwd)}"
export WATTLAW_CONFIG="${WATTLAW_CONFIG-}"
tap_dir=$(mktemp -d "${TMPDIR:-/tmp}/wattlaw-cli.XXXXXX") || exit 1
trap 'rm -rf "$tap_dir"' EXIT
cd "$tap_dir" || exit 1

# ok STATUS "behaviour": 0 is good, as in: [ -e x ]; ok $? "x is there"
ok() {
	tap_n=$((tap_n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tap_n - $2"
	else
		echo "not ok $tap_n - $2"
		echo "# failed at line ${BASH_LINENO[${3:-0}]}"
		tap_failed=$((tap_failed + 1))
	fi
	[ "$1" -eq 0 ]
}

tap_show() {
	printf '%s\n' "$2" | head -n 20 | sed "s/^/# $1: /"
}

# is GOT WANTED "behaviour"
is() {
	[ "$1" = "$2" ]
	ok $? "$3" 1 || { tap_show "     got" "$1"; tap_show "expected" "$2"; false; }
}

# has TEXT PART "behaviour"; hasnt
has() {
	[[ $1 == *"$2"* ]]
	ok $? "$3" 1 || { tap_show " text" "$1"; tap_show "lacks" "$2"; false; }
}

hasnt() {
	[[ $1 != *"$2"* ]]
	ok $? "$3" 1 || { tap_show "   text" "$1"; tap_show "includes" "$2"; false; }
}

# like TEXT REGEX "behaviour" (extended regular expression)
like() {
	[[ $1 =~ $2 ]]
	ok $? "$3" 1 || { tap_show "    text" "$1"; tap_show "no match" "$2"; false; }
}

# skip N "name of the missing thing"
skip() {
	local i
	for ((i = 0; i < $1; i++)); do
		tap_n=$((tap_n + 1))
		echo "ok $tap_n # SKIP $2"
	done
}

# try COMMAND…: its stdout in $out, its stderr in $err, its exit code in $code
try() {
	"$@" >"$tap_dir/.out" 2>"$tap_dir/.err"
	code=$?
	out=$(cat "$tap_dir/.out")
	err=$(cat "$tap_dir/.err")
}

done_testing() {
	echo "1..$tap_n"
	[ "$tap_failed" -eq 0 ]
	exit $?
}
