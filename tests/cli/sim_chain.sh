# The chain without hardware: a sweep of power limits inside one launch on simulated devices gives the
# profile's curve, and whatever is killed, the limit found is put back.
. "$(dirname "$0")/tap.sh"

export CUDA_VISIBLE_DEVICES=0
job="wattlaw sim job resnet50 --no-noise --scale 5%"
sweep="wattlaw sweep -r 1 -w 500ms --idle 500ms --seed 1"

limit() { # of device 0 of the host, W
	wattlaw sim state --json host | sed -n 's/.*"power_limit_w": \([0-9]*\).*/\1/p' | head -n 1
}
# The limit as it was found, within two seconds.
restored() {
	for i in $(seq 40); do
		[ "$(limit)" = 220 ] && return 0
		sleep 0.05
	done
	return 1
}
printf '[gpu 0-1]\nprofile = v100\n[gpu 0]\npower_limit = 220W\n' >host.ini

try wattlaw sim exec --scenario host.ini --dir host -- \
	$sweep --point-time 2s -L power_limit=250W,150W,100W -- $job
is "$code" 0 "the sweep ends well"
restored
ok $? "the limit found, 220 W, is back ($(limit) W), not the default"
try wattlaw export csv
# step time and energy at each limit; the profile says 1.93 times the time at 100 W
cat >curve.awk <<'END'
BEGIN { FS = "," }
NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
$c["baseline"] == 1 { n_base++; if ($c["power_limit_w"] != 220) wrong = 1; next }
{ t[$c["power_limit_w"]] = $c["time_per_work_s"]; e[$c["power_limit_w"]] = $c["energy_per_work_j"]
  w[$c["power_limit_w"]] = $c["mean_power_w"]; if ($c["simulated"] != 1) wrong = 2 }
END {
	printf "time %.3f %.3f energy %.3f %.3f power %.1f baselines %d wrong %d\n", t[100] / t[250],
		t[150] / t[250], e[100] / e[250], e[150] / e[250], w[250], n_base, wrong
	exit !(t[100] / t[250] > 1.85 && t[100] / t[250] < 2.05 && t[150] / t[250] > 1.15 &&
	       t[150] / t[250] < 1.28 && e[100] / e[250] > 0.76 && e[100] / e[250] < 0.88 &&
	       e[150] / e[250] > 0.70 && e[150] / e[250] < 0.80 && n_base >= 2 && !wrong)
}
END
curve=$(awk -f curve.awk <<<"$out")
ok $? "the curve is the profile's: $curve"
hasnt "$out" "unknown" "no energy is unknown"

# kill -9 in the middle of a sweep under another limit
for who in sweep keeper; do
	wattlaw sim exec --dir host -- sh -c "$sweep --point-time 2s -L power_limit=110W,111W,112W,113W -- $job & echo \$! >pid; wait" \
		>/dev/null 2>&1 &
	runner=$!
	for i in $(seq 200); do
		[[ "$(limit)" == 11? ]] && break
		sleep 0.05
	done
	like "$(limit)" '^11[0-3]$' "a sweep holds a limit of its own"
	if [ $who = sweep ]; then
		kill -9 "$(cat pid)"
	else
		keeper=$(pgrep -P "$(cat pid)" -f keeper | head -n 1)
		[ -n "$keeper" ] && kill -9 "$keeper"
		ok $? "the keeper is process ${keeper:-unknown}"
	fi
	restored
	ok $? "kill -9 of the $who: 220 W are back within 2 s ($(limit) W)"
	kill -TERM "$(cat pid)" 2>/dev/null
	wait $runner
done
done_testing
