# Simulated devices as a user meets them: sim exec, sim job, sim state.
. "$(dirname "$0")/tap.sh"

job="wattlaw sim job resnet50 --no-noise --scale 5%"

for c in 0 3 126 127 139; do
	case $c in
	126) : >not-executable; set -- ./not-executable ;;
	127) set -- ./not-there ;;
	139) set -- sh -c 'kill -SEGV $$' ;;
	*) set -- sh -c "exit $c" ;;
	esac
	try wattlaw sim exec --gpus v100 -- "$@"
	is "$code" "$c" "exit code $c is kept"
done
try wattlaw sim exec --gpus v100:2,a40 -- wattlaw sim state
like "$out" '3 simulated devices.*Tesla V100.*Tesla V100.*NVIDIA A40' "devices of two kinds"
try wattlaw sim exec --gpus v1000 -- true
is "$code" 2 "an unknown device: nothing is run"
has "$err" "did you mean" "and the nearest is named"
try wattlaw sim exec -- true
is "$code" 2 "no devices is a usage error"

printf '[gpu 0]\nprofile = v100\nat 3s nvmlDeviceGetPowrUsage = hang\n' >bad.ini
try wattlaw sim exec --scenario bad.ini -- touch ran
is "$code" 2 "a wrong scenario is a usage error"
has "$err" "bad.ini:3:7: no simulated function 'nvmlDeviceGetPowrUsage'; did you mean" "with its place"
[ ! -e ran ]; ok $? "and the command was not run"

# A job takes the time the physics says: 670 ms at full clock, twice that at 100 W.
try wattlaw sim exec --gpus v100 -- $job --steps 20
is "$code" 0 "a job of 20 steps ends"
like "$out" 'resnet50 \(simulated\): 20 steps, .* ms a step' "it says what it was"
full=$(sed -E 's/.*, ([0-9.]+) ms a step/\1/' <<<"$out")
printf '[gpu 0]\nprofile = v100\npower_limit = 100W\n' >cap.ini
try wattlaw sim exec --scenario cap.ini -- $job --steps 20
capped=$(sed -E 's/.*, ([0-9.]+) ms a step/\1/' <<<"$out")
awk -v a="$full" -v b="$capped" 'BEGIN { exit !(b / a > 1.75 && b / a < 2.1) }'
ok $? "under 100 W a step takes 1.93 times as long (here $full and $capped ms)"

# A MIG instance has its share of the device.
printf '[gpu 0]\nprofile = a100\n' >whole.ini
printf '[gpu 0]\nprofile = a100\nmig = 3g.20gb, 2g.10gb\n' >mig.ini
per_step() { sed -E 's/.*, ([0-9.]+) ms a step/\1/' <<<"$out"; }
try wattlaw sim exec --scenario whole.ini -- $job --steps 20
whole=$(per_step)
try wattlaw sim exec --scenario mig.ini -- env CUDA_VISIBLE_DEVICES=0 $job --steps 20
awk -v a="$whole" -v b="$(per_step)" 'BEGIN { exit !(b / a > 1.8 && b / a < 2.5) }'
ok $? "three of seven slices take about twice as long ($whole and $(per_step) ms)"

# Devices outlive the command in a directory; what was set stays.
try wattlaw sim exec --gpus v100:2 --dir host -- true
try wattlaw sim exec --dir host -- sh -c "CUDA_VISIBLE_DEVICES=1 $job --steps 5"
is "$code" 0 "a second command finds the devices"
try wattlaw sim state --json host
like "$out" '"steps": 0\.0.*"steps": [5-7]\.' "and CUDA_VISIBLE_DEVICES=1 was the second one"
try wattlaw sim exec --dir host -- sh -c "CUDA_VISIBLE_DEVICES= $job --steps 5"
is "$code" 2 "no visible device is a failure"
has "$err" "leaves no simulated device" "that says why"

# kill -9 frees the device.
wattlaw sim exec --dir host -- sh -c "$job & echo \$! >pid; wait" >/dev/null 2>&1 &
runner=$!
for i in $(seq 100); do
	wattlaw sim state host | grep -q 'process' && break
	sleep 0.05
done
wattlaw sim state host | grep -q process
ok $? "a job in the background has its device"
try wattlaw sim exec --dir host -- $job --steps 1
has "$err" "has a job already" "another is refused"
kill -9 "$(cat pid)"
wait $runner
sleep 0.1
wattlaw sim state host >/dev/null
try wattlaw sim state host
hasnt "$out" process "after kill -9 nobody has it"
like "$out" '0  Tesla V100-PCIE-32GB +23\.0 W' "and it draws idle power"

# Two ranks in two processes wait for each other.
export WATTLAW_JOB_KEY=$$
try wattlaw sim exec --gpus v100:2 -- sh -c "
	RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 $job --steps 10 >r0 & a=\$!
	sleep 0.3
	RANK=1 LOCAL_RANK=1 WORLD_SIZE=2 $job --steps 10 >r1; b=\$?
	wait \$a && exit \$b"
is "$code" 0 "two ranks in two processes both end"
like "$(cat r0)" '10 steps' "rank 0 did 10 steps"
like "$(cat r1)" '10 steps' "rank 1 did 10 steps"
unset WATTLAW_JOB_KEY

for kind in none directory garbage; do
	printf '[host]\nlibrary = %s\n[gpu 0]\nprofile = v100\n' $kind >lib.ini
	try wattlaw sim exec --scenario lib.ini -- sh -c 'ls -ld ${LD_LIBRARY_PATH%%:*}/libnvidia-ml.so.1'
	case $kind in
	none) is "$code" 2 "no library" ;;
	directory) like "$out" '^d' "a directory in the library's place" ;;
	garbage) like "$out" '^-' "a file that is no library" ;;
	esac
done
try wattlaw sim exec --gpus v100 -- sh -c 'ls -d $(dirname $WATTLAW_SIM_STATE)'
[ ! -e "$out" ]; ok $? "the directory of the devices is removed at the end"
done_testing
