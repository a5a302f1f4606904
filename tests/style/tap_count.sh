# tools/tap-count, which says whether all is well, must not say so lightly.
. "$(dirname "$0")/../cli/tap.sh"

count() {
	try "$SOURCE_ROOT/tools/tap-count" "$@"
	last=${out##*$'\n'}
}
# program STDOUT RESULT EXIT: one line of a log
program() {
	jq -cn --arg out "$1" --arg result "$2" --argjson code "$3" \
		'{name: "p / t", stdout: $out, result: $result, returncode: $code}' >>log.json
}
if ! command -v jq >/dev/null; then
	skip 1 "jq is not installed"
	done_testing
fi

program $'ok 1 - a\nok 2 - b\n1..2\n' OK 0
count x=log.json
is "$code $last" "0 2 passed, 0 failed" "assertions are counted, not programs"

program $'ok 1 - a\nnot ok 2 - b\n# failed at x.c:3\n1..2\n' FAIL 1
count x=log.json
is "$code $last" "1 3 passed, 1 failed" "a failed assertion is one failure, not two"
has "$out" "# failed at x.c:3" "it is shown with its diagnostics"

rm log.json; program $'ok 1 - a\n' OK 0; count x=log.json
is "$code $last" "1 1 passed, 1 failed" "no plan is a failure"
has "$out" "FAILED x: t: ended without a plan" "and is said"
rm log.json; program '' OK 0; count x=log.json
is "$code $last" "1 0 passed, 1 failed" "a program that prints nothing is a failure"
rm log.json; program $'ok 1 - a\n1..2\n' OK 0; count x=log.json
is "$code $last" "1 1 passed, 1 failed" "a plan that does not fit is a failure"
rm log.json; program $'ok 1 - a\n1..1\n' ERROR 1; count x=log.json
is "$code $last" "1 1 passed, 1 failed" "a non-zero exit though all was ok is a failure"
rm log.json; program $'ok 1 - a\n' TIMEOUT -9; count x=log.json
is "$code $last" "1 1 passed, 1 failed" "a time-out is one failure"
has "$out" "ran out of time" "and is said"

rm log.json; program $'ok 1 - a\nok 2 # SKIP no GPU\n1..2\n' OK 0; count x=log.json
is "$code $last" "0 1 passed, 0 failed, 1 skipped" "a skip is neither passed nor failed"
has "$out" "skipped 1: no GPU" "its reason is shown"
rm log.json; program $'ok 1 - a\nok 2 # SKIP\n1..2\n' OK 0; count x=log.json
is "$code $last" "1 1 passed, 1 failed" "a skip without a reason is a failure"
rm log.json; program $'ok 1 - a\n1..0 # SKIP x is not installed\n' OK 0; count --strict x=log.json
is "$code" 1 "where packages are installed, a package is no reason to skip"

count x=absent.json
is "$code $last" "1 0 passed, 1 failed" "a missing log is a failure"
: >empty.json; count x=empty.json
is "$code $last" "1 0 passed, 1 failed" "a log without tests is a failure"
rm log.json; program $'ok 1 - a\n1..1\n' OK 0; echo 'cc: boom' >build.log
count x=log.json 'build clang!build.log'
is "$code $last" "1 1 passed, 1 failed" "a failed build is a failure"
has "$out" "cc: boom" "and its output is shown"
done_testing
