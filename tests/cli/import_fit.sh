# Others' measurements in, laws out: import, fit, export.
. "$(dirname "$0")/tap.sh"

export WATTLAW_DB=$PWD/w.db
try wattlaw fit
is "$code" 2 "fit without a store fails"
has "$err" "no store yet" "and says what to do first"

# time = 2 * (p/100)^-0.5 and energy = 100 * (p/100)^0.5, exactly; a second workload without energy.
{
	echo "workload,domain,workers,power_limit_w,time_s,energy_j"
	for p in 100 150 200 250; do
		awk -v p=$p 'BEGIN { printf "bert,nlp,1,%d,%.9f,%.9f\n", p, 2*(p/100)^-0.5, 100*(p/100)^0.5 }'
		awk -v p=$p 'BEGIN { printf "schnet,chemistry,1,%d,%.9f,\n", p, 3*(p/100)^-0.25 }'
	done
} >runs.csv
try wattlaw import csv runs.csv
is "$code" 0 "a table is imported"
has "$out" "8 runs as campaign 'runs'" "with all its rows"

try wattlaw fit
is "$code:$err" "0:" "fit succeeds and has nothing to complain"
has "$out" "b = -0.50 [-0.50, -0.50]" "the exponent of time is found, with its interval"
has "$out" "b = 0.50 [0.50, 0.50]" "and that of energy"
has "$out" "imported" "the label is there"
has "$out" "Energy is unknown: not in the imported file" "unknown energy is said, with the reason"
is "$(printf '%s' "$out" | grep -c 'Energy is unknown')" 1 "once"

try wattlaw fit --json runs
is "$code" 0 "fit --json succeeds"
printf '%s' "$out" | python3 -c '
import json, sys
d = json.load(sys.stdin)
laws = [l for l in d["laws"] if l["family"] == "power"]
t = {(l["workload"], l["quantity"]): l["params"]["b"] for l in laws}
assert d["schema"] == "wattlaw.fit/1"
assert abs(t["bert", "time"] + 0.5) < 1e-6 and abs(t["schnet", "time"] + 0.25) < 1e-6
assert ("schnet", "energy") not in t
assert all(l["simulated"] is False and l["label"] == "imported" for l in laws)
'
ok $? "and gives one valid document with the same numbers"
try wattlaw fit --workload bert
hasnt "$out" "schnet" "--workload leaves the others out"
try wattlaw fit --workload berd
is "$code:$out" "2:" "a workload that is not there is a mistake, not an empty answer"
has "$err" "did you mean 'bert'" "and the nearest is named"

try wattlaw fit rnus
is "$code" 2 "an unknown campaign fails"
has "$err" "did you mean 'runs'" "and the nearest is named"
try wattlaw fit something-else
has "$err" "the latest is 'runs'" "or, where none is near, the latest"

try wattlaw export csv
is "$code" 0 "export csv succeeds"
printf '%s\n' "$out" >out.csv
try wattlaw import csv out.csv
is "$code:$err" "0:" "import reads it back without a mapping or a complaint"
try wattlaw fit out
has "$out" "b = -0.50 [-0.50, -0.50]" "with the same law"
try wattlaw export json all
printf '%s' "$out" | python3 -c 'import json, sys; assert len(json.load(sys.stdin)["runs"]) == 16'
ok $? "export json is one document"
try wattlaw export jsonl runs -o lines
is "$code" 2 "an option after the operands is a usage error"
try wattlaw export -o lines jsonl runs
is "$code:$(wc -l <lines)" "0:8" "export jsonl writes a line a run, into a file"
try wattlaw export -o /nonexistent/x csv
is "$code" 1 "a file that cannot be written fails"

try wattlaw export openmetrics runs
is "$code" 0 "export openmetrics succeeds"
is "$(printf '%s\n' "$out" | tail -n 1)" "# EOF" "and ends as it must"
is "$(printf '%s\n' "$out" | grep -c '^wattlaw_run_energy_joules_total{')" 4 "only known energies have a line"
has "$out" 'origin="imported"' "with their label"
try wattlaw export prometheus runs
hasnt "$out" "# EOF" "Prometheus has no end mark"
is "$(printf '%s\n' "$out" | grep -v '^#' | grep -cvE '^[a-z_]+(\{[^}]*\})? [0-9.e+-]+$')" 0 "and every line is a sample"
try wattlaw export codecarbon runs
printf '%s\n' "$out" | python3 -c '
import csv, sys
rows = list(csv.DictReader(sys.stdin))
assert len(rows) == 8 and all(None not in r for r in rows)
b = [r for r in rows if r["project_name"] == "bert"]
assert abs(float(b[0]["energy_consumed"]) - 100 / 3.6e6) < 1e-12
assert all(r["energy_consumed"] == "" for r in rows if r["project_name"] == "schnet")
assert all(r["tracking_mode"] == "imported" for r in rows)
'
ok $? "export codecarbon has its columns, kWh, and empty cells for the unknown"
try wattlaw export extrap runs
printf '%s\n' "$out" >x.json
try wattlaw import --map power_limit=power_limit --name x extrap x.json
is "$code" 0 "what export extrap writes, import extrap reads"

try wattlaw import cvs runs.csv
is "$code" 2 "an unknown format is a usage error"
has "$err" "did you mean 'csv'" "and the nearest is named"
echo "workload,time_s
bert,1
bert,soon" >bad.csv
before=$(wattlaw export csv all | md5sum)
try wattlaw import csv bad.csv
is "$code" 2 "a bad row is an error of the user"
like "$err" "bad.csv:3: .*time_s" "with file, line and column"
is "$(wattlaw export csv all | md5sum)" "$before" "and nothing of the file is imported"
echo text >note.txt
try wattlaw import --db note.txt csv runs.csv
is "$code:$(cat note.txt)" "2:text" "a file of something else is not touched"

# A fit is kept; a store that may only be read is read.
try wattlaw fit --json all
is "$code" 0 "every run together is fitted"
mkdir other && wattlaw import --db other/t.db --name shared csv runs.csv >/dev/null 2>&1
try wattlaw fit --db other/t.db --json
own=$(printf '%s\n' "$out" | jq -c '.laws | map(.params)')
is "$(python3 -c 'import sqlite3; print(sqlite3.connect("other/t.db").execute("SELECT count(*) FROM law").fetchone()[0])')" \
	"$(printf '%s\n' "$out" | jq '.laws | length')" "the store has as many laws as were printed"
if [ "$(id -u)" -eq 0 ]; then
	chmod 755 . other && chmod 444 other/t.db && cp -r other "other 50%?"
	try setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=/nonexistent wattlaw fit --db "other 50%?/t.db" --json
	is "$(printf '%s\n' "$out" | jq -c '.laws | map(.params)')" "$own" "somebody else fits the same laws"
	like "$err" "not kept in the store" "and is told that they are not kept"
else
	skip 2 "root, to become somebody else"
fi
done_testing
