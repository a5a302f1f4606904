# Everything simulated says so: every table, plot, document, database row and export, and what comes back
# from them.
. "$(dirname "$0")/tap.sh"

cluster=$SOURCE_ROOT/examples/supercloud.ini
export WATTLAW_DB=$PWD/w.db
cat >caps.ini <<'X'
[sweep]
name = caps
repeats = 2
seed = 1
workers = 1, 2, 4
power_limit = 100W, 150W, 200W, 250W
[job resnet50]
domain = vision
launch = srun -n {workers}
command = wattlaw sim job resnet50
X
# unlabelled TEXT PATTERN: how many lines of that pattern lack the label
unlabelled() { printf '%s\n' "$1" | grep -E "$2" | grep -vc 'simulated'; }

try wattlaw sweep --dry-run --simulate "$cluster" caps.ini
has "$out" "of virtual time (simulated)" "a plan"
try wattlaw sweep --simulate "$cluster" caps.ini
is "$(unlabelled "$out" '^resnet50')" 0 "every row of the sweep's table"
is "$(printf '%s\n' "$out" | grep -c '^resnet50')" 15 "(twelve settings and three defaults)"
has "$err" "(simulated)" "the cluster it ran on"
try wattlaw sweep --json --simulate "$cluster" caps.ini
is "$(printf '%s\n' "$out" | jq -c 'select(.simulated != true)' | wc -l)" 0 "every line of the sweep's JSON, the last too"

try wattlaw fit
like "$out" 'resnet50.*simulated \[sim:supercloud:v100-pcie-32gb\]' "the laws, with their source"
try wattlaw fit --plot --factor power_limit
has "$out" "o simulated" "the plots"
hasnt "$out" "o measured" "that do not say measured"
try wattlaw fit --json
is "$(printf '%s' "$out" | jq '[.laws[] | select(.simulated != true)] | length')" 0 "every law in JSON"
is "$(printf '%s' "$out" | jq '[.joint[] | select(.label != "simulated")] | length')" 0 "the joint law"
try wattlaw predict --power-limit 170W --workers 2
like "$out" 'resnet50 at .*: simulated' "a prediction"
try wattlaw predict --power-limit 170W --workers 2 --json
has "$out" simulated "and its JSON"

for format in csv json jsonl codecarbon extrap prometheus openmetrics; do
	wattlaw export $format >out.$format
	case $format in
	csv | codecarbon) n=$(tail -n +2 out.csv | grep -vc simulated) ;;
	json) n=$(jq '[.. | objects | select(has("run_id")) | select(.simulated != true)] | length' out.json) ;;
	jsonl) n=$(jq -c 'select(.simulated != true)' out.jsonl | wc -l) ;;
	extrap) n=$(jq '[.measurements | keys[] | select(endswith("(simulated)") | not)] | length' out.extrap) ;;
	*) n=$(grep -v '^#' out.$format | grep -vc 'origin="simulated"') ;;
	esac
	is "$n" 0 "every row of export $format"
done
for format in csv codecarbon extrap; do
	cp out.$format back.$format
	wattlaw import --db back.$format.db $format back.$format >/dev/null 2>&1
	is "$(wattlaw export --db back.$format.db csv | tail -n +2 | cut -d, -f3 | sort -u)" simulated \
		"$format comes back as simulated"
done
wattlaw import --db back.extrap.db extrap out.extrap >/dev/null 2>&1
is "$(wattlaw export --db back.extrap.db csv | tail -n +2 | cut -d, -f7 | sort -u)" resnet50 "under its own name"

wattlaw report -o page.html >/dev/null 2>&1
is "$(grep -o '"label":"[a-z]*"' page.html | sort -u)" '"label":"simulated"' "every table and plot of the page"
has "$(cat page.html)" "come from a model of the device" "which explains the word"

if command -v sqlite3 >/dev/null; then
	is "$(sqlite3 w.db 'select count(*) from run where simulated = 0')" 0 "every row of the database"
else
	skip 1 "sqlite3 is not installed"
fi

# Measured for real, but on simulated devices.
try wattlaw sim exec --gpus v100:2 -- wattlaw probe
is "$(unlabelled "$out" '^gpu')" 0 "devices that probe lists"
try wattlaw sim exec --gpus v100 -- wattlaw run --json r.json --db r.db -- wattlaw sim job resnet50 --scale 2% --steps 50
is "$(jq .simulated r.json)" true "a run's document"
like "$err" "simulated" "and its summary"
has "$out" "resnet50 (simulated)" "what the job says"
is "$(wattlaw export --db r.db csv all | tail -n +2 | cut -d, -f3)" simulated "and its row"
try wattlaw sim exec --gpus v100 -- wattlaw sim state
has "$out" "simulated" "the devices' state"
try wattlaw sim site -j "$SOURCE_ROOT/examples/site-trace.csv" -c "$SOURCE_ROOT/examples/site-classes.ini" -g 64
like "$out" '^simulated' "a site"
done_testing
