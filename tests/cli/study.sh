# The published study on simulated devices: every run in seconds, the same rows from the same seed, and laws
# fitted to half of it that predict the other half.
. "$(dirname "$0")/tap.sh"

cluster=$SOURCE_ROOT/examples/supercloud.ini
now() { date +%s%N; }
sweep() { wattlaw sweep -q --db "$1" --simulate "$cluster" "$SOURCE_ROOT/examples/study.ini" >/dev/null 2>err; }

t0=$(now)
sweep a.db
is $? 0 "the study is planned, simulated and stored"
t1=$(now)
wattlaw fit --db a.db >fit.txt
is $? 0 "and fitted"
t2=$(now)
simulated=$(((t1 - t0) / 1000000))
all=$(((t2 - t0) / 1000000))
# What is promised is 1 s and 5 s on an idle machine (bench/study.sh); this one may be busy with other
# tests, and a sanitizer takes its share.
grace=3
ldd "$(command -v wattlaw)" | grep -q 'lib[at]san' && grace=30
[ $simulated -le $((grace * 1000)) ] && [ $all -le $((grace * 5000)) ]
ok $? "it takes seconds: $simulated ms, with the laws $all ms"
wattlaw export --db a.db csv >a.csv
runs=$(($(wc -l <a.csv) - 1))
[ $runs -ge 3400 ]
ok $? "at least 3,400 runs ($runs)"
is "$(tail -n +2 a.csv | grep -vc ',sim:supercloud:v100-pcie-32gb')" 0 "each of them says that it is simulated"
sweep b.db
wattlaw export --db b.db csv >b.csv
cmp -s a.csv b.csv
ok $? "the same seed gives the same exported rows"
is "$(grep -c 'joint law of time' fit.txt)" 10 "every network has its joint law"

try "$BUILD_ROOT/bench/study" --check a.db "$cluster"
while IFS= read -r line; do
	case $line in
	"ok "*) ok 0 "${line#* - }" ;;
	"not ok "*) ok 1 "${line#* - }" ;;
	esac
done <<<"$out"
is "$code" 0 "half of the study predicts the other half within 1.5 times the noise"
done_testing
