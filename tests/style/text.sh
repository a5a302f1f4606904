# What no file of this repository holds: trailing blanks, TODOs, paths of one machine.
. "$(dirname "$0")/../cli/tap.sh"

cd "$SOURCE_ROOT" || exit 1
# only what is kept: a build directory may lie here, too
files() {
	git ls-files -z -- "$@" ':!tests/fuzz/corpus' ':!tests/fixtures' ':!tests/hosts' 2>/dev/null
}
if ! git rev-parse -q --verify HEAD >/dev/null 2>&1; then
	skip 3 "no git repository"
	done_testing
fi
bad=$(files '*.c' '*.h' '*.sh' '*.py' '*.md' '*.scd' '*.build' check start | xargs -0 grep -nE '[ 	]+$' | head -5)
is "$bad" "" "no line ends in blanks"
bad=$(files src work include | xargs -0 grep -nE '\b(TODO|FIXME|XXX)\b' | head -5)
is "$bad" "" "nothing is left to do in the code"
bad=$(files src work include bench | xargs -0 -n 1 awk 'FNR == 1 { n = 0 } { n++ }
	END { if (n > 700) print FILENAME ": " n " lines" }')
is "$bad" "" "no file is longer than 700 lines"
done_testing
