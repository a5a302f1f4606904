# host.sh: make the machine of tests/hosts/NAME.tree below a directory (the format is in tests/tree.h).
#
#   host_make xeon-2s "$PWD/root"; try wattlaw probe --root "$PWD/root"
host_make() { host_load "$SOURCE_ROOT/tests/hosts/$1.tree" "$2"; }

# host_load MANIFEST DIR
host_load() {
	local manifest=$1 line file='' mode='' hex=''

	while IFS= read -r line || [ -n "$line" ]; do
		case $line in
		'@ '* | '% '*)
			[ -n "$mode" ] && chmod "$mode" "$file"
			# shellcheck disable=SC2086
			set -- "$1" "$2" $line
			file=$2/$4 mode=${5-} hex=
			[ "$3" = % ] && hex=1
			mkdir -p "${file%/*}"
			: >"$file"
			;;
		'> '*)
			[ -n "$mode" ] && chmod "$mode" "$file"
			# shellcheck disable=SC2086
			set -- "$1" "$2" $line
			mkdir -p "$2/${4%/*}"
			ln -s "$5" "$2/$4"
			file=
			;;
		*)
			[ -n "$file" ] || continue
			if [ -n "$hex" ]; then
				# shellcheck disable=SC2046,SC2059,SC2086
				printf "$(printf '\\x%s' $line)" >>"$file"
			else
				printf '%s\n' "$line" >>"$file"
			fi
			;;
		esac
	done <"$manifest"
	[ -n "$mode" ] && chmod "$mode" "$file"
	return 0
}
