# Every sweep file among the examples is one that the tool accepts, and a dry run touches nothing.
. "$(dirname "$0")/tap.sh"

n=0
for f in "$SOURCE_ROOT"/examples/*.ini; do
	grep -q '^\[sweep\]' "$f" || continue
	n=$((n + 1))
	name=${f##*/}
	try wattlaw sweep --dry-run "$f"
	is "$code" 0 "$name is a valid sweep" || tap_show "  stderr" "$err"
	like "$out" '[0-9]+ (points|settings)' "$name: its plan says how much there is to do"
done
[ "$n" -gt 0 ]
ok $? "there are sweep files among the examples ($n)"
is "$(find . -name 'wattlaw.db*')" "" "a dry run makes no store"
done_testing
