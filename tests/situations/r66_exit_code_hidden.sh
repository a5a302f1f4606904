# R66: the wrapper hides the job's exit code (jpwr, variorum): every code a shell would give comes through.
. "$(dirname "$0")/situation.sh"
export WATTLAW_SENSORS=none

for c in 0 1 3 125 126 127 200 255; do
	try wattlaw run -q -- sh -c "exit $c"
	is "$code" "$c" "exit code $c"
done
for s in HUP:129 INT:130 ILL:132 ABRT:134 SEGV:139 TERM:143; do
	try wattlaw run -q -- sh -c "kill -${s%:*} \$\$"
	is "$code" "${s#*:}" "killed by SIG${s%:*}: ${s#*:}"
done
mkdir directory
try wattlaw run -q -- ./directory
is "$code" 126 "a directory cannot be executed: 126"
try wattlaw run -q -- ''
is "$code" 127 "the empty command is not found: 127"


# The same kind: the code must come through every way of asking for the result, and when nothing can be kept.
try wattlaw run -q --json - -- sh -c 'exit 9'
is "$code" 9 "exit code 9 with a JSON document on stdout"
is "$(printf '%s\n' "$out" | jq .exit_code)" 9 "which says it, too"
try wattlaw run -q --json - -- sh -c 'kill -9 $$'
is "$(printf '%s\n' "$out" | jq .exit_code)" 137 "a signal is 128 + n in the document as in the shell"
if [ -c /dev/full ]; then
	try wattlaw run -q --json /dev/full -- sh -c 'exit 5'
	is "$code" 5 "a document that cannot be written does not change the code"
else
	skip 1 "/dev/full is missing"
fi
try wattlaw run -q -- sh -c 'exec 2>&-; exec >&-; exit 6'
is "$code" 6 "nor does a job that closes its output"
done_testing
