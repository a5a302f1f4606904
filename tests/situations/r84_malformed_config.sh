# R84: a daemon that dumps core on a configuration (EAR #2): whatever stands in a file, the answer is a message with
# file and line, exit code 2, and no signal.
. "$(dirname "$0")/situation.sh"
export WATTLAW_SENSORS=none

# each FILE COMMAND…: the command with the malformed file must fail as a usage error, not crash; collects the worst
check() {
	local file=$1

	shift
	try timeout 20 "$@"
	case $code in
	2) [[ $err == *"$file"* ]] || { worst=1; echo "# $file is not named: $err" | head -n 3; } ;;
	0 | 1 | 3 | 4) [ -z "$strict" ] || { worst=1; echo "# $file: code $code"; } ;;
	*) worst=1 && echo "# $file: code $code: $err" | head -n 3 ;;
	esac
}
strict=1
worst=0
i=0
while IFS= read -r line; do
	i=$((i + 1))
	printf '%b' "$line" >bad$i.ini
	WATTLAW_CONFIG=$PWD/bad$i.ini check bad$i.ini wattlaw run -q -- true
done <<'END'
[run\nperiod = 1ms\n
[run]\nperiod = \n
[run]\nperiod = -5ms\n
[run]\nperiod = 99999999999999999999999s\n
[run]\nperiod = 10 parsecs\n
[run]\nno such key here\n
[run]\nperiodd = 10ms\n
= 5\n
[run]\n\001\002\003 = 4\n
END
is "$worst" 0 "a malformed configuration names its file and gives code 2"

# Sweep files and scenarios, cut and garbled at every place.
cat >good.ini <<'END'
[sweep]
name = first
repeats = 2
workers = 1, 2
cpu_rate = 100%, 60%

[job a]
domain = vision
launch = mpirun -n {workers}
command = true
END
strict=
worst=0
size=$(stat -c %s good.ini)
for ((i = 1; i < size; i += 9)); do
	head -c $i good.ini >cut.ini
	check cut.ini wattlaw sweep --dry-run cut.ini
	{ head -c $i good.ini; printf '\000\377[]=,\n[['; tail -c +$i good.ini; } >garbled.ini
	check garbled.ini wattlaw sweep --dry-run garbled.ini
done
is "$worst" 0 "a sweep file cut or garbled anywhere never ends in a signal"
for text in '[gpu' '[gpu 0-99999999]\nprofile = v100-pcie-32gb\n' '[gpu 3-1]\n' '[gpu 0]\nprofile = ../../etc/passwd\n' \
	'[gpu 0]\nat never power = 3W\n' '[gpu 0]\npower = nan\n' '[gpu 0]\nsquare = 1W\n'; do
	printf '%b' "$text" >scene.ini
	strict=1 check scene.ini wattlaw sim exec -s scene.ini -- true
done
is "$worst" 0 "nor does a scenario"
# The same kind: a file that is no file: a directory, an endless one, one of very long lines.
mkdir dir.ini
worst=0
WATTLAW_CONFIG=$PWD/dir.ini check dir.ini wattlaw run -q -- true
check dir.ini wattlaw sweep --dry-run dir.ini
head -c 3000000 /dev/zero | tr '\0' a >long.ini
check long.ini wattlaw sweep --dry-run long.ini
check /dev/zero wattlaw sweep --dry-run /dev/zero
is "$worst" 0 "a directory, a line of 3 MB and an endless file are refused likewise"
done_testing
