# R55: the setter answers success and nothing changes.
. "$(dirname "$0")/situation.sh"
. "$SOURCE_ROOT/tests/situations/knobs.sh"

sweep_gpu -L power_limit=150W <<'END'
[gpu 0]
profile = v100-pcie-32gb
load = 250W
limit_set = ignored
END
is "$(wattlaw export json all | jq -r '[.. | objects | select(.schema? == "wattlaw.run/1" and .setting.power_limit_w == 150) |
	.devices[] | select(.kind == "gpu") | .power_limit_w | [.requested, .enforced] | @csv][0]')" "150,250" \
	"requested 150 W, enforced still 250 W"
has "$(points 'select(.setting.power_limit_w == 150) | .warnings | join(" ")')" "the device holds 250W" \
	"the point carries a warning"
has "$err" "power_limit of 150W was asked, 250W is enforced" "and people are told"

# the same kind: a CPU's limit file that swallows what is written
host_make xeon-2s "$PWD/root"
ln -sf /dev/null root/sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw
try wattlaw probe --json --root "$PWD/root" --only rapl
printf '%s\n' "$out" >probe.json
is "$(probe '[.devices[] | select(.id == "rapl:package-0").knobs[] | .current] | first')" null \
	"a limit that cannot be read has no current value"
done_testing
