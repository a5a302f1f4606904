# Runs that no law can be fitted to: each kind has a defined answer or an error that names its rows.
. "$(dirname "$0")/tap.sh"

head=workload,workers,power_limit_w,time_s
# table NAME ROW…: a fresh store with these rows
table() {
	rm -f ./*.db*
	export WATTLAW_DB=$PWD/$1.db
	printf '%s\n' "$head" "${@:2}" >"$1.csv"
	try wattlaw import csv "$1.csv"
}

for bad in 0:"more than 0" -1:"more than 0" nan:"needs a time" inf:"not a number"; do
	table value a,1,100,2 "a,1,150,${bad%%:*}" a,1,200,1
	is "$code" 2 "a time of ${bad%%:*} is not imported"
	has "$err" "value.csv:3: column 'time_s'" "file, line and column are named"
	has "$err" "${bad#*:}" "and what is wrong"
done
table limit a,1,100,2 a,1,0,1.5 a,1,200,1
is "$code" 2 "nor is a limit of 0"
has "$err" "limit.csv:3: column 'power_limit_w'" "named likewise"

table one_x a,1,100,2 a,1,100,2.1 a,1,100,2.2
try wattlaw fit
is "$code" 0 "one distinct setting is no error"
has "$out" "nothing to fit" "but nothing to fit"
try wattlaw predict --power-limit 150W
is "$code" 4 "and nothing to predict from"
has "$out" "a law needs a factor that takes two values" "for that reason"

table two a,1,100,2 a,1,200,1
try wattlaw fit --compare
has "$out" "b = -1.00 (no error estimate)" "two settings give an exponent without an error"
has "$out" "fewer points than parameters" "and families with more parameters say so"
try wattlaw predict --power-limit 150W --json
printf '%s' "$out" | python3 -c '
import json, sys
t = json.load(sys.stdin)["time_s"]
assert t["hi"] / t["lo"] > 1.25, t'
ok $? "their prediction has a wide interval"

table same a,1,100,2 a,1,100,2 a,1,150,1.5 a,1,150,1.5 a,1,200,1.2 a,1,200,1.2
try wattlaw fit --json
printf '%s' "$out" | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert all(l["n"] == 3 and l["runs"] == 6 for l in d["laws"]) and d["omitted"] == 0 and not d["unfitted"]'
ok $? "settings that are there twice are one setting, and repeats"

table units a,1,100,2 a,1,150,1.5 a,1,100,2000 b,1,100,2 b,1,150,1.5 b,1,200,1
try wattlaw fit
is "$code" 3 "mixed units spoil one law; the others are fitted"
has "$out" "time in rows 1 and 3, both at power_limit_w 100, differs 1e+03-fold" "rows and setting are named"
has "$err" "1 law was not fitted" "and it is said"
try wattlaw fit --workload a --json
is "$code" 2 "where nothing else is asked for it is an error"
printf '%s' "$out" | python3 -c '
import json, sys
u = json.load(sys.stdin)["unfitted"]
assert len(u) == 1 and u[0]["bad_input"] is True and "rows 1 and 3" in u[0]["why"]'
ok $? "told in the document, too"
try wattlaw predict --workload a --power-limit 120W
is "$code" 2 "and nothing is predicted from it"
has "$out" "rows 1 and 3" "for the same reason"

table rises a,1,100,2 a,1,150,2.5 a,1,200,3 a,1,250,3.5
try wattlaw fit
is "$code" 0 "times that rise with the limit are fitted"
has "$out" "time RISES with it" "and pointed out"

# a grid of seven counts by three limits: more than four slices of a kind
rows=()
for n in 1 2 3 4 5 6 7; do
	for p in 100 150 250; do
		rows+=("a,$n,$p,$(awk -v n=$n -v p=$p 'BEGIN { print (1+(150/p)^4)^0.25/n }')")
	done
done
table grid "${rows[@]}"
try wattlaw fit
like "$out" "[0-9]+ more laws away from the default of the other factors are left out here: --all" \
	"slices beyond four of a kind are left out, and said to be"
n=$(printf '%s' "$out" | sed -n 's/^\([0-9]*\) more laws.*/\1/p')
try wattlaw fit --json
is "$(printf '%s' "$out" | python3 -c 'import json, sys; print(json.load(sys.stdin)["omitted"])')" "$n" \
	"in the document as well"
try wattlaw fit --all --json
is "$(printf '%s' "$out" | python3 -c 'import json, sys; print(json.load(sys.stdin)["omitted"])')" 0 \
	"with --all none is"
done_testing
