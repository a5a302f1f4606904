# Every subcommand has a manual page, and page and --help name the same options.
. "$(dirname "$0")/tap.sh"

man=$SOURCE_ROOT/man

# "-r, --repeats N" for each option, sorted
options_of_help() {
	sed -nE 's/^  (-., |    )(--[a-z].*)$/\1\2/p' | sed -E 's/^ +//; s/ {2,}.*//; s/[_\\*]//g' | sort
}
options_of_page() {
	sed -nE '/^\*-/p' "$1" | sed -E 's/[_\\*]//g; s/ +$//' | sort
}

# check_page "sim site" wattlaw-sim-site
check_page() {
	local page=$man/$2.1.scd

	if [ ! -f "$page" ]; then
		ok 1 "$1 has a manual page (man/$2.1.scd)"
		return
	fi
	# shellcheck disable=SC2086
	is "$(options_of_page "$page")" "$(wattlaw $1 --help | options_of_help)" \
		"the page of $1 has the options of --help"
	if command -v scdoc >/dev/null; then
		scdoc <"$page" >page.1 2>scdoc.err
		ok $? "the page of $1 is well-formed" || sed 's/^/# /' scdoc.err
	else
		skip 1 "scdoc is not installed"
	fi
	grep -q "'$2.1'" "$man/meson.build"
	ok $? "the page of $1 is installed"
}

commands=$(wattlaw help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p')
for c in $commands; do
	parts=$(wattlaw "$c" --help | sed -n '/^Parts:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p')
	if [ -z "$parts" ]; then
		check_page "$c" "wattlaw-$c"
	else
		for part in $parts; do
			check_page "$c $part" "wattlaw-$c-$part"
		done
	fi
done
is "$(sed -n '/^# COMMANDS/,/^# [^C]/s/^\*\([a-z-]*\)\*$/\1/p' "$man/wattlaw.1.scd" | grep -v '^help$' | sort)" \
	"$(printf '%s\n' $commands | sort)" "the main page lists the commands that there are"
done_testing
