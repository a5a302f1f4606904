# Two ranks do in a step what one process does with the whole batch.
. "$(dirname "$0")/../cli/tap.sh"

mpi=(mpirun --allow-run-as-root --oversubscribe --bind-to none)
if ! command -v mpirun >/dev/null; then
	skip 1 "mpirun is not installed"
	done_testing
	exit
fi
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none

# same NETWORK BATCH OPTIONS…: one step with a global batch by one and by two ranks
same() {
	net=$1 batch=$2
	shift 2
	opts=(--steps 1 --threads 1 --pin none --global-batch "$batch" --quiet --optimizer sgd "$@")
	wl-train "$net" "${opts[@]}" --comm none --checkpoint one >out1 2>&1 || cat out1
	"${mpi[@]}" -n 2 wl-train "$net" "${opts[@]}" --sync-bn --checkpoint two >out2 2>&1 || cat out2
	d=$("$BUILD_ROOT/tests/work/apart" one two)
	awk -v d="$d" 'BEGIN { exit !(d != "" && d < 1e-5) }'
	is $? 0 "$net: two ranks equal one after a step ($d)"
	rm -f one two
}
same resnet18 8
same bert 6 --dropout 0.1
same gpt2 7 --dropout 0.1
same schnet 8
same resnet18 9 --bucket 16

"${mpi[@]}" -n 2 wl-train bert --steps 3 --threads 1 --pin none --json --quiet >out 2>err
is "$(jq -r '"\(.ranks) \(.samples)"' out)" "2 48" "a batch is a rank's unless --global-batch says otherwise"
"${mpi[@]}" -n 2 wl-train bert --steps 1 --global-batch 1 --threads 1 --pin none >out 2>&1
is $? 2 "a batch that cannot be shared is refused"
has "$(cat out)" "a global batch of 1 cannot be shared by 2 ranks" "and it is said why"
done_testing
