# R54: 250 W requested, 180 W enforced by the board controller: both are recorded.
. "$(dirname "$0")/situation.sh"
. "$SOURCE_ROOT/tests/situations/knobs.sh"

sweep_gpu -L power_limit=150W,220W <<'END'
[gpu 0]
profile = v100-pcie-32gb
load = 250W
limit_clamp = 180W
END
enforced() { # WATTS: what the record of that point says was enforced
	wattlaw export json all | jq -r "[.. | objects | select(.schema? == \"wattlaw.run/1\" and .setting.power_limit_w == $1) |
		.devices[] | select(.kind == \"gpu\") | .power_limit_w | [.requested, .enforced] | @csv][0]"
}
is "$(enforced 220)" "220,180" "requested 220 W, enforced 180 W"
has "$err" "power_limit of 220W was asked, 180W is enforced" "people are told"
hasnt "$err" "150W was asked" "about that point alone"
is "$(enforced 150)" "150,150" "below the clamp both are the same"
is "$(wattlaw fit --json | jq -c '[.laws[] | select(.factors == ["power_limit_w"]) | .range] | unique | first')" "[150,180]" \
	"laws are fitted against the limit in force"
is "$(state '.devices[0].power_limit_w')" 250 "what was found is put back"
gpu_probe <scenario.ini
is "$(probe '[.devices[0].knobs[] | select(.name == "power_limit") | .enforced] | first')" 180 "probe shows the limit in force"
# the same kind: a plain run, which sets nothing, is under that limit too
gpu_run 0.5 <scenario.ini
is "$(run '.devices[] | select(.kind == "gpu") | .power_limit_w | [.requested, .enforced, .found] | @json')" '[null,180,250]' \
	"a run that asks for nothing says what it was under, and what is set"
done_testing
