# wattlaw run: the job's exit code, its output, its record.
. "$(dirname "$0")/tap.sh"
export WATTLAW_DB=$PWD/t.db WATTLAW_RUN_DIR=$PWD/run

run() { try wattlaw run -q --sensors none "$@"; }

run -- true
is "$code" 0 "a job that succeeds"
run -- sh -c 'exit 3'
is "$code" 3 "its code is kept"
run -- sh -c 'kill -SEGV $$'
is "$code" 139 "128+n when a signal ended it"
run -- sh -c 'kill -KILL $$'
is "$code" 137 "also SIGKILL"
run -- ./no-such-command
is "$code" 127 "127 when it is not found"
has "$err" "cannot run ./no-such-command: No such file or directory" "and it is said"
touch plain
run -- ./plain
is "$code" 126 "126 when it cannot be executed"
try wattlaw run
is "$code" 2 "no command is a usage error"
has "$err" "no command" "and it is said"
try wattlaw run --perod 10ms -- true
is "$code" 2 "an unknown option is a usage error"

run -- sh -c 'echo out; echo err >&2'
is "$out" out "stdout is the job's"
is "$err" err "stderr is the job's"
out=$(echo from-stdin | wattlaw run -q --sensors none -- cat)
is "$out" from-stdin "stdin is the job's"
out=$(wattlaw run -q --sensors none -- sh -c 'ls -l /proc/self/fd | grep -c -e socket -e pidfd' 2>/dev/null)
is "$out" 0 "the job inherits no descriptor of ours"
out=$(wattlaw run -q --sensors none -- sh -c 'grep -E "^Sig(Blk|Ign)" /proc/self/status')
is "$out" "$(grep -E '^Sig(Blk|Ign)' /proc/self/status)" "signal mask and dispositions are those we got"

try wattlaw run --sensors none --json run.json -- sh -c 'sleep 0.2; exit 4'
is "$code" 4 "the code is kept with --json"
is "$(jq -r .schema run.json)" wattlaw.run/1 "--json writes the document"
is "$(jq -c '[.exit_code, .state, .energy.total_j, .energy.method]' run.json)" '[4,"failed",null,"none"]' \
	"energy is null without a sensor, never 0"
has "$(jq -r .energy.note run.json)" "no energy sensor" "with the reason in the document"
has "$err" "energy is unknown: no energy sensor" "and for people"
is "$(jq '.wall_s > 0.19 and .wall_s < 2' run.json)" true "the time is the job's"
run --json - -- true
is "$(printf '%s' "$out" | jq -r .exit_code)" 0 "--json - is valid JSON on stdout"

# A database of something else stays as it is, and the job is not run.
echo 'not a database, by any means of the word' >other.db
before=$(cksum other.db)
try wattlaw run --db other.db -- touch ran
is "$code" 2 "a file that is no store of ours is refused"
is "$(cksum other.db)" "$before" "and untouched"
[ ! -e ran ]
ok $? "and nothing was run"

# Signals sent to us alone reach the job.
wattlaw run -q --sensors none -- sh -c 'trap "exit 9" TERM; echo up >up; while :; do sleep 0.05; done' &
pid=$!
while [ ! -e up ]; do sleep 0.02; done
kill -TERM $pid
wait $pid
is $? 9 "SIGTERM is handed on to the job"

# Ctrl-C on a terminal reaches the job once, through the terminal; its answer is the code.
if command -v python3 >/dev/null; then
	cat >term.py <<'END'
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
got = b""
while b"ready" not in got:
    got += os.read(fd, 1000)
os.write(fd, b"\x03")
try:
    while True:
        b = os.read(fd, 1000)
        if not b:
            break
        got += b
except OSError:
    pass
print(got.count(b"caught"), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
	try python3 term.py wattlaw run -q --sensors none -- sh -c 'trap "echo caught; exit 5" INT; echo ready; while :; do sleep 0.05; done'
	is "$out" "1 5" "Ctrl-C reaches the job once, and its code is kept"
	try python3 term.py wattlaw run -q --sensors none -- sh -c 'echo ready; exec sleep 10'
	is "$out" "0 130" "a job that dies of Ctrl-C gives 130"
	try python3 term.py wattlaw run -q --sensors none --progress x -- sh -c '[ -t 1 ] && echo ready; exec sleep 10'
	is "$out" "0 130" "with --progress the job still sees a terminal"
else
	skip 3 "python3 is not installed"
fi

# Steps from the output, which is copied on unchanged.
run --json p.json -w 2 --progress 'step ([0-9]+)' -- \
	sh -c 'for i in $(seq 1 40); do echo "step $i of 40"; sleep 0.01; done'
is "$(printf '%s\n' "$out" | wc -l)" 40 "--progress copies the output on"
is "$(jq .train.steps p.json)" 40 "--progress counts the steps"
is "$(jq '.train.step_s.mean > 0.009 and .train.step_s.mean < 0.2' p.json)" true "and times them"
try wattlaw run --progress '(' -- true
is "$code" 2 "a bad expression is a usage error"

is "$(find "$PWD" -name '*.shard*' | wc -l)" 0 "no shard is left behind"
if command -v python3 >/dev/null; then
	cat >busy.py <<'END'
import sqlite3, subprocess, sys
db = sqlite3.connect("busy.db", isolation_level=None)
db.execute("BEGIN IMMEDIATE")
sys.exit(subprocess.call(sys.argv[1:]))
END
	wattlaw run -q --db busy.db --sensors none -- true 2>/dev/null
	try python3 busy.py wattlaw run --db busy.db --sensors none -- sh -c 'exit 5'
	is "$code" 5 "a store that somebody else is writing does not keep the job from running"
	has "$err" "could not be stored" "that the run has to wait is said"
	hasnt "$err" "run: run " "and not that it is there"
	wattlaw run -q --db busy.db --sensors none -- true 2>/dev/null
	is "$(wattlaw export --db busy.db jsonl | jq -s 'map(.exit_code)' -c)" "[0,5,0]" "the next command takes it in"
else
	skip 4 "python3"
fi
try wattlaw export jsonl --db plain.db
is "$code" 2 "options come before the format"
wattlaw run -q --db plain.db --sensors none -- true 2>/dev/null
try wattlaw export --db plain.db jsonl
is "$(printf '%s\n' "$out" | jq -r .schema)" wattlaw.run/1 "without a campaign export writes the plain runs"
done_testing
