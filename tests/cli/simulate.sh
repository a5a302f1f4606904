# A sweep on a simulated cluster goes the whole way: plan, store, resume, fit, export; labelled throughout.
. "$(dirname "$0")/tap.sh"

cat >caps.ini <<'X'
[sweep]
name = caps
repeats = 2
seed = 1
workers = 1, 2, 448, 1000
power_limit = 100W, 150W, 200W
[job resnet50]
domain = vision
launch = srun -n {workers}
command = wattlaw sim job resnet50
X
cluster=$SOURCE_ROOT/examples/supercloud.ini
try wattlaw sweep --db a.db --simulate "$cluster" caps.ini
is "$code" 3 "points beyond the cluster fail, the others are measured"
has "$err" "448 GPUs" "and the reason is said"
has "$err" "36 measured, 12 failed" "all of them are counted"
has "$out" "power_limit=100W workers=448" "the table has the settings"
try wattlaw fit --db a.db
has "$out" "simulated [sim:supercloud:v100-pcie-32gb]" "laws are labelled with cluster and device"
try wattlaw export --db a.db csv
is "$(printf "%s\n" "$out" | tail -n +2 | grep -vc supercloud)" 0 "so is every exported row"
printf '%s\n' "$out" >a.csv
wattlaw sweep --db b.db --simulate "$cluster" caps.ini >/dev/null 2>&1
wattlaw export --db b.db csv >b.csv
cmp -s a.csv b.csv
ok $? "the same seed gives the same exported rows"
wattlaw sweep --db c.db --seed 2 --simulate "$cluster" caps.ini >/dev/null 2>&1
wattlaw export --db c.db csv >c.csv
! cmp -s a.csv c.csv
ok $? "another seed gives others"
try wattlaw sweep --db a.db --resume --simulate "$cluster" caps.ini
has "$err" "0 measured, 0 failed, 0 left" "nothing is left to resume"
try wattlaw sweep --db a.db --simulate nowhere.ini caps.ini
is "$code" 2 "a missing cluster is an error"
has "$err" "nowhere.ini" "that names the file"
sed 's/job resnet50/job resnet5000/' caps.ini >bad.ini
try wattlaw sweep --db d.db --simulate "$cluster" bad.ini
has "$err" "resnet5000" "an unknown profile is named"
is "$code:$(ls d.db 2>/dev/null)" "2:" "before anything is kept"

# Hosts are part of what is measured: two devices at 150 W draw more than 300 W, and the joint law knows.
wattlaw sweep -q --db e.db --simulate "$cluster" "$SOURCE_ROOT/examples/v100-caps.ini" >sweep.txt 2>&1
measured=$(awk '/^resnet50 .*power_limit=150W workers=2/ { sub("J", "", $5); print $5 }' sweep.txt)
try wattlaw predict --db e.db -w resnet50 --workers 2 --power-limit 150W --samples 1 --json
predicted=$(printf '%s' "$out" | jq '.energy_j.value')
jq -ne "$predicted / $measured > 0.8 and $predicted / $measured < 1.25" >/dev/null
ok $? "the energy predicted at a measured setting ($predicted J) is near what was measured ($measured J)"
done_testing
