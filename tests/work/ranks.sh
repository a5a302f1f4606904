# Two ranks do in a step what one process does with the whole batch.
. "$(dirname "$0")/../cli/tap.sh"

mpi=(mpirun --allow-run-as-root --oversubscribe --bind-to none)
if ! command -v mpirun >/dev/null; then
	skip 1 "mpirun is not installed"
	done_testing
	exit
fi
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl_vader_single_copy_mechanism=none

# same RANKS NETWORK BATCH OPTIONS…: one step with a global batch by one and by several ranks
same() {
	n=$1 net=$2 batch=$3
	shift 3
	opts=(--steps 1 --threads 1 --pin none --global-batch "$batch" --quiet --optimizer sgd "$@")
	wl-train "$net" "${opts[@]}" --comm none --checkpoint one >out1 2>&1 || cat out1
	"${mpi[@]}" -n "$n" wl-train "$net" "${opts[@]}" --sync-bn --checkpoint two >out2 2>&1 || cat out2
	d=$("$BUILD_ROOT/tests/work/apart" one two)
	awk -v d="$d" 'BEGIN { exit !(d != "" && d < 1e-5) }'
	is $? 0 "$net: $n ranks equal one after a step ($d)"
	rm -f one two
}
# nine samples: ranks have unequal shares, and graphs unequal sizes
for net in vgg16 resnet18 resnet50 inception_v3 unet bert distilbert gpt2 schnet dimenet pna nnconv; do
	same 2 $net 9
done
same 3 resnet50 8
same 2 bert 7 --dropout 0
same 2 resnet18 9 --bucket 16
same 2 gpt2 8 --accumulate 2

# again NETWORK: two runs with as many ranks end in the same bits
again() {
	for i in 1 2; do
		"${mpi[@]}" -n 2 wl-train "$1" --steps 3 --threads 1 --pin none --quiet --sync-bn --checkpoint run$i \
			>out$i 2>&1 || cat out$i
	done
	cmp run1 run2
	is $? 0 "$1: two runs of two ranks are the same to the last bit"
	rm -f run1 run2
}
again resnet18
again gpt2
again pna

"${mpi[@]}" -n 2 wl-train bert --steps 3 --threads 1 --pin none --json --quiet >out 2>err
is "$(jq -r '"\(.ranks) \(.samples)"' out)" "2 48" "a batch is a rank's unless --global-batch says otherwise"
"${mpi[@]}" -n 2 wl-train bert --steps 1 --global-batch 1 --threads 1 --pin none >out 2>&1
is $? 2 "a batch that cannot be shared is refused"
has "$(cat out)" "a global batch of 1 cannot be shared by 2 ranks" "and it is said why"
timeout 30 "${mpi[@]}" -n 2 wl-train bert --steps 0 --checkpoint-every 2 --checkpoint no/such/c --threads 1 --pin none \
	--quiet >out 2>&1
is $? 1 "a rank that fails alone ends the others"
has "$(cat out)" "wl-train: rank 0: no/such/c" "and says who and why"
timeout 30 "${mpi[@]}" -n 2 wl-train resnet18 --steps 50 --lr 1e6 --threads 1 --pin none --quiet >out 2>&1
is "$? $(grep -c 'the loss is' out)" "1 1" "a loss that is not finite ends all ranks with one message"

# the same bits again after a break, by two ranks
opts=(pna --steps 6 --threads 1 --pin none --quiet --checkpoint-every 3)
"${mpi[@]}" -n 2 wl-train "${opts[@]}" --checkpoint whole >out 2>&1 || cat out
"${mpi[@]}" -n 2 wl-train "${opts[@]}" --steps 3 --checkpoint part >out 2>&1 || cat out
"${mpi[@]}" -n 2 wl-train "${opts[@]}" --resume part --checkpoint part >out 2>&1 || cat out
cmp whole part
is $? 0 "two ranks resume to the last bit"
done_testing
