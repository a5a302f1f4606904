# R74: J and kWh, g and kg, an energy field that is a power (EAR 6.0, perun #168, reportseff #66): every key and
# column carries its unit, and the same quantity is the same in every format.
. "$(dirname "$0")/situation.sh"

gpu_run 1.5 --name units <<'END'
[gpu 0]
profile = v100-pcie-32gb
power = 250W
END
joules=$(run .energy.total_j)
wall=$(run .wall_s)
near "$joules" "$(run '.wall_s * 250')" 3 "(the truth: 250 W for the time of the run)"

# Every number of the document is a count, or its key ends in a unit.
is "$(jq -r '[paths(numbers) | map(select(type == "string"))] | map(join(".")) | unique | .[]' run.json | grep -vE \
	'(_j|_w|_s|_pct|_mhz|_bytes|_ns)(\.|$)|temp_c\.|step_s\.|throttle_pct\.|(^|\.)(exit_code|repeat|expected|seen|n|ranks|steps|samples|epochs|samples_per_s|batch_per_rank|global_batch|loss_first|loss_last)$')" \
	"" "every number is a count or has its unit in its key"
is "$(wattlaw export csv all | head -n 1 | tr , '\n' | grep -E 'energy|power|time|net' | grep -vE '_(j|w|s|j_s)$|method|scope|note|source')" \
	"" "every column with a time, power or energy names its unit"

# energy is no power: it grows with the time, power does not
near "$(wattlaw export csv all | python3 -c 'import csv, sys; r = next(csv.DictReader(sys.stdin)); print(r["energy_j"])')" "$joules" 0.01 \
	"CSV: energy in J"
near "$(wattlaw export csv all | python3 -c 'import csv, sys; r = next(csv.DictReader(sys.stdin)); print(r["mean_power_w"])')" 250 3 \
	"CSV: power in W"
wattlaw export codecarbon all >cc.csv
cc() { python3 -c 'import csv, sys; print(next(csv.DictReader(open("cc.csv")))[sys.argv[1]])' "$1"; }
near "$(cc energy_consumed)" "$(awk -v j="$joules" 'BEGIN { printf "%.12g", j / 3.6e6 }')" 0.1 "CodeCarbon: energy in kWh"
near "$(cc gpu_power)" 250 3 "CodeCarbon: power in W"
near "$(cc duration)" "$wall" 0.1 "CodeCarbon: time in s"
wattlaw export openmetrics all >om.txt
near "$(awk '/^wattlaw_device_energy_joules_total[{]/ { s += $NF } END { printf "%.9g", s }' om.txt)" "$joules" 0.01 "OpenMetrics: J, and the name says so"
! grep -E '^# TYPE' om.txt | awk '{ print $3 }' | grep -vE '(joules|watts|seconds|hertz|bytes|ratio|celsius|info|code|steps|samples|expected|seen|count)(_total)?$' >&2
ok $? "OpenMetrics: every metric's name ends in its unit"

# The same kind: a round trip through a file that is in other units; kJ and kWh said in a header.
try wattlaw import --db back.db codecarbon cc.csv
near "$(wattlaw export --db back.db csv all | python3 -c 'import csv, sys; print(next(csv.DictReader(sys.stdin))["energy_j"])')" "$joules" 0.1 \
	"kWh read back are the same J"
printf 'workload,time [min],energy [kWh]\na,2,0.5\n' >other.csv
try wattlaw import --db o.db csv other.csv
is "$(wattlaw export --db o.db jsonl all | jq -c '[.wall_s, .energy.total_j]')" '[120,1800000]' "minutes and kWh of a header are what they say"
printf 'workload,time_s,energy_j\na,2,0.5 furlong\n' >bad.csv
try wattlaw import --db x.db csv bad.csv
has "$err" "bad.csv:2" "a unit of another kind is refused with its line"
done_testing
