# Every C file is as .clang-format lays it out.
. "$(dirname "$0")/../cli/tap.sh"

cd "$SOURCE_ROOT" || exit 1
if ! command -v clang-format >/dev/null; then
	skip 1 "clang-format is not installed"
elif [ "$(clang-format --version | sed 's/.*version \([0-9]*\).*/\1/')" != 14 ]; then
	skip 1 "no clang-format 14: other versions lay out differently"
else
	bad=$(find src work include tests bench -name '*.[ch]' -print0 |
		xargs -0 -n 20 clang-format --dry-run 2>&1 | sed -n 's/^\([^:]*\):.*warning.*/\1/p' | sort -u)
	is "$bad" "" "every C file is formatted (clang-format -i FILE)"
fi
done_testing
