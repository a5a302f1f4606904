# What every subcommand shares: help, version, unknown words, exit codes, output errors.
. "$(dirname "$0")/tap.sh"

try wattlaw --version
is "$code" 0 "--version succeeds"
like "$out" '^wattlaw [0-9]+\.[0-9]+\.[0-9]+$' "and prints one line on stdout"
is "$err" "" "and nothing on stderr"

try wattlaw help
is "$code" 0 "help succeeds"
has "$out" "  version " "it lists the commands"
help=$out
try wattlaw --help
is "$out" "$help" "--help is help"
try wattlaw
is "$code" 2 "no command is a usage error"
is "$out" "" "with nothing on stdout"
is "$err" "$help" "and the help on stderr"

try wattlaw versoin
is "$code" 2 "an unknown command is a usage error"
is "$err" "wattlaw: error: unknown command 'versoin'; did you mean 'version'? See 'wattlaw help'" \
	"one line names the nearest command"
try wattlaw xyzzyplugh
hasnt "$err" "did you mean" "nothing near, nothing suggested"
try wattlaw help versoin
is "$code" 2 "help for an unknown command is a usage error"
try wattlaw --frobnicate
is "$code" 2 "an unknown option before the command is a usage error"

for c in $(wattlaw help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'); do
	try wattlaw "$c" --help
	is "$code:$err" "0:" "$c --help succeeds"
	has "$out" "usage: wattlaw $c" "$c --help begins with its usage"
	one=$out
	try wattlaw help "$c"
	is "$out" "$one" "help $c is the same text"
	try wattlaw "$c" --no-such-option
	is "$code" 2 "$c --no-such-option is a usage error"
	has "$err" "wattlaw $c: error: unknown option --no-such-option" "$c names it"
done
for c in $(wattlaw help | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'); do
	for part in $(wattlaw "$c" --help | sed -n '/^Parts:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p'); do
		try wattlaw "$c" "$part" --help
		is "$code:$err" "0:" "$c $part --help succeeds"
		has "$out" "usage: wattlaw $c $part" "$c $part --help begins with its usage"
		try wattlaw "$c" "$part" --no-such-option
		is "$code" 2 "$c $part --no-such-option is a usage error"
		has "$err" "wattlaw $c $part: error: unknown option --no-such-option" "$c $part names it"
	done
done

# a file that is not there: one line that names it and says what was expected, and nothing is made
missing() # COMMAND...
{
	try "$@"
	is "$code" 2 "$1 $2 $3: a missing file is bad input"
	is "$(printf '%s\n' "$err" | wc -l):$(ls)" "1:$was" "in one line, and nothing is made"
	has "$err" gone "and the file is named"
}
export WATTLAW_DB=$PWD/gone.db
was=$(ls)
missing wattlaw sweep gone.ini
missing wattlaw sweep "$SOURCE_ROOT/examples/v100-caps.ini" --simulate gone.ini
missing wattlaw fit ''
missing wattlaw predict ''
missing wattlaw report ''
missing wattlaw export csv
missing wattlaw import csv gone.csv
missing wattlaw sim exec --gpus v100:1 --scenario gone.ini -- true
missing wattlaw sim site --gpus 4 --classes gone.ini --jobs gone.csv
try wattlaw sweep -L power_limit=250W -L power_limit=200W -- true
is "$code" 2 "an axis twice on the command line"
has "$err" "'power_limit': an axis that is given twice" "is not silently one of both"
try wattlaw sweep -L power_limit=250W,20Q -- true
is "$code" 2 "a bad value on the command line"
has "$err" "-L power_limit=250W,20Q:1:18: '20Q' is not a power; write it as 200W" "is pointed at"

try wattlaw version extra
is "$code" 2 "an operand too many is a usage error"
try env NO_COLOR=1 wattlaw nothing
hasnt "$err" $'\x1b' "no colour without a terminal"
if [ -w /dev/full ]; then
	wattlaw help >/dev/full 2>err
	is $? 1 "a full disk is a failure"
	has "$(cat err)" "cannot write the output" "and is said"
else
	skip 2 "/dev/full"
fi
done_testing
