# A knob that the site's own command sets: in front of the job, a launch a setting, always read back.
. "$(dirname "$0")/tap.sh"
export WATTLAW_DB=$PWD/t.db WATTLAW_RUN_DIR=$PWD/run

# helper WATTS CMD…: sets the limit of GPU 0 as a site's tool would, runs the command, puts 250 W back.
cat >helper <<'END'
#!/usr/bin/env python3
import ctypes, subprocess, sys
nvml, gpu = ctypes.CDLL("libnvidia-ml.so.1"), ctypes.c_void_p()
def limit(watts):
    if nvml.nvmlDeviceSetPowerManagementLimit(gpu, int(float(watts) * 1000)):
        sys.exit("cannot set the limit")
nvml.nvmlInit_v2()
nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(gpu))
open("asked", "a").write(" ".join(sys.argv[1:3]) + "\n")
limit(min(float(sys.argv[1]), 200))
code = subprocess.call(sys.argv[2:])
limit(250)
sys.exit(code)
END
# deaf WATTS CMD…: sets nothing. launcher OPTIONS CMD…: notes its options.
printf '#!/bin/sh\nshift\nexec "$@"\n' >deaf
printf '#!/bin/sh\nwhile :; do case $1 in -*) echo "$1" >>options; shift;; *) break;; esac; done\nexec "$@"\n' >launcher
chmod +x helper deaf launcher
plan() {
	printf '[sweep]\nname = %s\nrepeats = 1\norder = given\npower_limit = %s\nknob.power_limit = %s\n[job a]\n%s\ncommand = sleep 0.9\n' \
		"$1" "$2" "$3" "$4" >"$1.ini"
}
sim() { wattlaw sim exec --gpus v100 --dir host -- "$@"; }
points() { printf '%s\n' "$out" | jq -c "select(.launch) | $1"; }

plan g '175W, 220W' './helper {value}'
try wattlaw sweep --dry-run g.ini
is "$code" 0 "a plan with a command for a knob"
has "$out" "launch 2: ./helper 175 sleep 0.9" "shows it in front of the job, with a plain number"
has "$out" "launch 1: sleep 0.9" "and not where the limit is left as found"
like "$out" "4 points in 4 launches" "every setting is a launch"
try sim wattlaw sweep --json --idle 0s g.ini
is "$code" 0 "it is carried out"
is "$(cat asked | tr '\n' ' ')" "175 sleep 220 sleep " "the command was used for each value, not for the default"
is "$(points '[.setting.power_limit_w, .status]' | sort -u | tr '\n' ' ')" '[175,"done"] [220,"partial"] [250,"done"] ' \
	"a setting that the command did not bring about makes the point partial; the default is what stood"
is "$(wattlaw export json | jq -c '[.. | .power_limit_w? | objects | select(.requested) | [.requested, .enforced, .found]] | unique')" \
	'[[175,175,250],[220,200,250]]' "requested, enforced and found are stored"
has "$err" "power_limit of 220W was asked, 200W is enforced" "and it is said"
has "$(wattlaw sim state host)" "of 250 W" "nothing is left set"

plan d '150W' './deaf {value}'
try sim wattlaw sweep --json --idle 0s d.ini
is "$(points 'select(.baseline | not) | .status')" '"partial"' "a command that sets nothing is found out"
try env WATTLAW_SENSORS=none wattlaw sweep --json --idle 0s d.ini
is "$(points 'select(.baseline | not) | .status')" '"partial"' "without a device that tells the limit the point is partial"
has "$err" "no selected device tells what it is" "with the reason"

plan o '150W' '--gpu-power={value}' 'launch = ./launcher -x'
try sim wattlaw sweep --json --idle 0s o.ini
is "$(tr '\n' ' ' <options)" "-x -x --gpu-power=150 -x " "an option is added to the launch"

## Mistakes.
plan m1 '150W' '--gpu-power={value}'
try wattlaw sweep --dry-run m1.ini
is "$code:$err" "2:wattlaw sweep: error: m1.ini:6:1: knob.power_limit is an option, and job 'a' has no launch to add it to" \
	"an option without a launch"
sed '/^power_limit/d' g.ini >m2.ini
try wattlaw sweep --dry-run m2.ini
is "$code:$err" "2:wattlaw sweep: error: m2.ini:5:1: knob.power_limit has no axis: give power_limit = … with the values to set" \
	"a command without values"
sed 's/knob.power_limit/knob.cpu_rate/' g.ini >m3.ini
try wattlaw sweep --dry-run m3.ini
is "$code" 2 "a CPU rate cannot be set by a command"
like "$err" "m3.ini:6:1: 'cpu_rate' is not a knob that a command can set" "and it is said where"
done_testing
