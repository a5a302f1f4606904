# The page: one file, drawn without a network, with every label.
. "$(dirname "$0")/tap.sh"

export WATTLAW_DB=$PWD/w.db
{
	echo "workload,domain,workers,power_limit_w,time_s,energy_j,note"
	for p in 100 150 200 250; do
		awk -v p=$p 'BEGIN { printf "bert,nlp,1,%d,%.9f,%.9f,</script><b>x\n", p, 2*(p/100)^-0.5, 100*(p/100)^0.5 }'
		awk -v p=$p 'BEGIN { printf "schnet,chemistry,1,%d,%.9f,,\n", p, 3*(p/100)^-0.25 }'
	done
} >runs.csv
wattlaw import csv runs.csv >/dev/null

try wattlaw report
is "$code" 0 "report succeeds"
has "$out" "Wrote report.html" "and says where the page is"
try wattlaw report --json
printf '%s' "$out" | python3 -c '
import json, sys
d = json.load(sys.stdin)
w = d["parts"][0]["workloads"]
assert d["schema"] == "wattlaw.report/1" and [x["name"] for x in w] == ["bert", "schnet"]
s = {x["quantity"]: x for x in w[0]["groups"][0]["series"]}
assert abs(s["time"]["power"]["b"] + 0.5) < 1e-6 and len(s["time"]["points"]) == 4
assert all(c[2] <= c[1] <= c[3] for c in s["time"]["curve"]) and len(s["time"]["curve"]) == 40
assert "energy" not in {x["quantity"] for x in w[1]["groups"][0]["series"]}
assert len(w[0]["groups"][0]["settings"]) == 4
'
ok $? "the document behind it holds points, laws and bands"
try wattlaw report -o other.html runs runs
is "$code" 0 "several campaigns fit on one page"
try wattlaw report nothing
is "$code" 2 "an unknown campaign fails"
[ ! -e nothing ]
ok $? "and writes nothing"

# Everything is inside, and the page itself forbids the network.
grep -qE '<(script|link|img|iframe)[^>]*(src|href)=' report.html
is $? 1 "the page refers to no other file"
grep -q "Content-Security-Policy.*default-src 'none'" report.html
ok $? "and allows none"
is "$(grep -c '</script><b>x' report.html)" 0 "text of a run cannot end a script"

if ! command -v chromium >/dev/null; then
	skip 8 "chromium is not installed"
	done_testing
	exit 0
fi
# A proxy that does not exist: any request would fail, and be logged.
timeout 120 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/profile" \
	--proxy-server=127.0.0.1:9 --virtual-time-budget=5000 --enable-logging=stderr \
	--dump-dom "file://$PWD/report.html" >dom.html 2>log
is $? 0 "a browser opens it"
charts=$(grep -o 'data-charts="[0-9]*"' dom.html | grep -o '[0-9]*')
is "$charts" 4 "time, energy and power of one workload, time of the other"
is "$(grep -o 'id="page"[^>]*data-drawn="[0-9]*"\|data-drawn="[0-9]*"[^>]*id="page"' dom.html | grep -o 'drawn="[0-9]*' | tr -dc 0-9)" \
	"$charts" "every chart is drawn"
is "$(grep -c 'CONSOLE.*rror' log)" 0 "without an error in the script"
dom=$(cat dom.html)
has "$dom" "-0.50 [-0.50, -0.50]" "the exponent and its interval are in the table"
has "$dom" "Energy is unknown: not in the imported file" "unknown energy is said"
has "$dom" 'class="badge imported"' "the label is there"
has "$dom" "&lt;/script&gt;&lt;b&gt;x" "text of a run stays text"

done_testing
