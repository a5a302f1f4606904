# R35: no libnvidia-ml, a directory of that name (left by a container runtime), a file that is no library.
. "$(dirname "$0")/situation.sh"

check() { # PATH "text" "behaviour"
	try wattlaw probe --json --only nvml --nvml "$1"
	printf '%s\n' "$out" >probe.json
	is "$code" 0 "$3: probe succeeds"
	has "$(probe '.missing[0].why')" "$2" "$3: it says why"
	[ -n "$(probe '.missing[0].fix')" ]
	ok $? "$3: and what to do"
	WATTLAW_NVML=$1 try wattlaw run --json=run.json --idle 0s -- sh -c 'exit 3'
	is "$code" 3 "$3: a job runs and keeps its exit code"
	is "$(run .energy.total_j)" null "$3: its energy is unknown"
}
check "$PWD/nothing.so" "No such file" "a missing file"
mkdir libnvidia-ml.so.1
check "$PWD/libnvidia-ml.so.1" "directory" "a directory"
printf '\177ELF\001\001\001\000\000\000\000\000\000\000\000\000\003\000\050\000' >arm32.so
check "$PWD/arm32.so" "arm32.so" "a library of another architecture"
# the same kind
echo "not a library" >text.so
check "$PWD/text.so" "text.so" "a text file"
: >empty.so
check "$PWD/empty.so" "empty.so" "an empty file"
ln -s loop.so loop.so
check "$PWD/loop.so" "loop.so" "a link to itself"
done_testing
