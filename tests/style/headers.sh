# Every header compiles alone, and once more when included twice.
. "$(dirname "$0")/../cli/tap.sh"

flags=(-std=gnu17 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -I"$SOURCE_ROOT/include"
	-I"$SOURCE_ROOT/src" -I"$SOURCE_ROOT/work" -I"$SOURCE_ROOT")
mpi=$(pkg-config --cflags ompi-c 2>/dev/null)
bad=
n=0
while IFS= read -r h; do
	n=$((n + 1))
	printf '#include "%s"\n#include "%s"\nextern int unused;\n' "$h" "$h" >one.c
	gcc "${flags[@]}" $mpi one.c 2>>errors || bad="$bad $h"
done < <(cd "$SOURCE_ROOT" && find include src work -name '*.h' | sort)
is "$bad" "" "each of $n headers compiles alone"
[ -z "$bad" ] || head -n 20 errors | sed 's/^/# /'
done_testing
