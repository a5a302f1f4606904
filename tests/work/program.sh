# wl-train as a user meets it: options, data, signals, results.
. "$(dirname "$0")/../cli/tap.sh"

train() {
	try wl-train "$@" --threads 1 --pin none
}
train resnt18
is "$code $err" "2 wl-train: unknown network 'resnt18' (did you mean resnet18?)" "a network that is none"
train bert --stps 3
is "$code $err" "2 wl-train: unknown option --stps (did you mean --steps?)" "an option that is none"
train bert --size tini
is "$code $err" "2 wl-train: --size: 'tini' is not one of tiny, small, base (did you mean tiny?)" "a size that is none"
train bert --steps 1.5
is "$code $err" "2 wl-train: --steps: expected a whole number, got '1.5'" "half a step"
train bert --batch 4 --global-batch 8
is "$code" 2 "batch per rank and global batch exclude each other"
train bert --task sorting
is "$code $err" "2 wl-train: bert cannot do 'sorting'; its tasks are masked-lm and classification" "a task that is none"

try wl-train --list --size base --json
# torchvision (resnet50, vgg16, inception_v3 with its second classifier), Hugging Face's masked and causal language
# models, PyTorch Geometric's SchNet; DimeNet has five more elements than there
is "$code $(jq -rs 'map("\(.network) \(.parameters)") | join(", ")' <<<"$out")" "0 vgg16 138357544, resnet18 11689512, \
resnet50 25557032, inception_v3 27161264, unet 31037828, bert 109514298, distilbert 66985530, gpt2 124439808, \
schnet 455809, dimenet 2100710, pna 464561, nnconv 624065" "the published sizes have the published numbers of parameters"
is "$(jq -rs 'all(.[]; .gradient_bytes == 4 * .parameters and .flops_per_sample > .parameters)' <<<"$out")" true \
	"gradients have four bytes a parameter, and a sample takes operations"
is "$(jq -rs 'map(select(.domain == "vision" or .domain == "language" or .domain == "chemistry")) | length' <<<"$out")" 12 \
	"twelve networks of three domains are listed"
train bert --precision bf16
is "$code" 2 "a precision that cannot be computed is refused"
has "$err" "onednn has no bf16 products" "and it is said what is missing"
for p in f32 bf16; do
	train bert --backend reference --precision $p --batch 2 --steps 2 --dropout 0 --quiet --json
	loss[${#loss[@]}]=$(jq .loss <<<"$out")
done
is "$(jq -n "(${loss[1]} / ${loss[0]} - 1) as \$d | \$d != 0 and \$d < 0.01 and \$d > -0.01")" true \
	"the reference back end trains in bf16: nearly as in f32"

train bert --steps 2 --quiet --json
is "$code $(jq -r '"\(.schema) \(.network) \(.steps) \(.samples)"' <<<"$out")" "0 wattlaw.train/1 bert 2 16" \
	"the result is JSON"
is "$(jq '.loss > 0 and .step_s > 0 and .gradient_bytes > 0' <<<"$out")" true "with loss, step time and gradient size"

wl-train gpt2 --steps 0 --threads 1 --pin none --quiet --json >out 2>err &
pid=$!
sleep 1.5
kill -TERM $pid
wait $pid
is $? 0 "SIGTERM ends a run without end after its step, with success"
is "$(jq '.steps > 0' out)" true "and the result is printed"

# CIFAR: 10 records of label, 3072 bytes
for i in 0 1 2 3 4 5 6 7 8 9; do
	printf "\\x0$i"
	head -c 3072 /dev/zero | tr '\0' "\\$(printf %03o $((20 * i)))"
done >cifar.bin
train resnet18 --data cifar.bin --batch 5 --steps 2 --quiet
is "$code" 0 "a CIFAR-10 file trains"
train resnet18 --data cifar.bin --batch 11 --steps 1 --quiet
is "$code $err" "2 wl-train: the batch of 11 samples is larger than the training set of 9 (1 more are held out)" "a batch larger than the data"
head -c 5000 cifar.bin >cut.bin
train resnet18 --data cut.bin --steps 1
is "$code" 2 "a truncated file is refused"
has "$err" "cut.bin: 5000 bytes is not a whole number of records of 3073 bytes" "and it is said why"
{ printf '\x0b'; head -c 3072 /dev/zero; } >label.bin
train resnet18 --data label.bin --steps 1
is "$code $err" "2 wl-train: label.bin: record 0 has label 11, expected 0 to 9" "a label out of range"
train resnet18 --data absent.bin --steps 1
is "$code" 2 "a file that is not there"
has "$err" "absent.bin: No such file or directory" "and it is said so"

for i in $(seq 400); do echo "The cat number $i sat on mat $((i % 7)), and slept."; done >text
train bert --data text --steps 3 --quiet
is "$code" 0 "a text file trains, with a vocabulary of its words"
train gpt2 --data text --steps 3 --quiet --sample 20
is "$code" 0 "a text file trains byte by byte"
printf '%s\n' the cat sat on mat number and slept , . '##s' '##t' m >vocab
train bert --data text --vocab vocab --steps 3 --quiet
is "$code" 0 "a vocabulary file is used"
train bert --data text --vocab absent --steps 3
is "$code $err" "2 wl-train: absent: No such file or directory" "a vocabulary that is not there"
: >empty
train bert --data empty --steps 1
is "$code $err" "2 wl-train: empty: the file is empty" "an empty text"
echo "two words" >short
train bert --data short --steps 1
is "$code $err" "2 wl-train: short: 2 tokens are too few for sequences of 32" "a text shorter than a sequence"
printf '1\tgood\n0\tbad\nworse\n' >lines
train bert --task classification --data lines --steps 1
is "$code $err" "2 wl-train: lines:3: expected 'label<TAB>text' with a label from 0 to 999" "a line without a label"

train bert --steps 200 --target-loss 3 --quiet --json
is "$code $(jq '.target_reached and .steps < 200 and .loss <= 3 and .time_to_target_s > 0' <<<"$out")" "0 true" \
	"--target-loss stops the run and tells the time"
is "$(jq 'has("energy_to_target_j") and .energy_to_target_j == null' <<<"$out")" true "energy that nobody measured is null"
printf '[gpu 0]\nprofile = v100\npower = 200W\n' >s.ini
# long enough that the page of energy, refreshed a few times a second, is not old beside it
try wattlaw sim exec --scenario s.ini -- wattlaw run -q -- wl-train gpt2 --batch 256 --steps 2000 --target-loss 1.2 \
	--quiet --json --threads 1 --pin none
is "$(jq '.target_reached and .energy_to_target_j > 150 * .time_to_target_s and
	.energy_to_target_j < 250 * (.time_to_target_s + 5)' <<<"$out")" true "under wattlaw run also the energy" || echo "# $out"
train bert --steps 2 --target-loss 0.1 --quiet
has "$out" "target loss 0.1 not reached" "a target that is not reached is told"
train resnet18 --steps 50 --lr 1e6 --quiet
is "$code" 1 "a loss that is not finite is an error"
like "$err" "step [0-9]+: the loss is -?(nan|inf)" "and the step is named"

train bert --steps 1 --checkpoint no/such/dir/x --quiet
is "$code" 1 "a checkpoint that cannot be written is an error"
train bert --steps 2 --checkpoint c --quiet
train gpt2 --steps 1 --resume c
is "$code $err" "2 wl-train: c: a checkpoint of bert --size tiny" "a checkpoint of another network"
train bert --steps 1 --resume c --seed 4
is "$code $err" "2 wl-train: c: was trained with --seed 1" "a checkpoint of another seed"
is "$(ls | grep -c '\.tmp$')" 0 "no half-written checkpoint is left"

# what a language model has learnt shows in what it writes
for i in $(seq 600); do echo "one two three four five"; done >count
train gpt2 --data count --steps 150 --quiet --sample 60
text=$(sed '1d' <<<"$out")
has "$text" "two three four five" "a language model writes what it has read"
train gpt2 --data count --steps 150 --quiet --sample 60
is "$(sed '1d' <<<"$out")" "$text" "the same text for the same seed"
train bert --steps 1 --quiet --sample 5
is "$code $err" "2 wl-train: --sample: bert does not write text" "a network that cannot write says so before it trains"
for i in $(seq 200); do printf '1\tthis was a good day number %d\n0\tthat was a bad day number %d\n' $i $i; done >lines
train bert --task classification --data lines --steps 120 --eval-every 120 --log-every 0
like "$err" "accuracy (9[0-9]|100)" "lines with labels are told apart"

sed -n '/^```c/,/^```/p' "$SOURCE_ROOT/doc/adding-a-network.md" | grep -v '^```' >mlp.c
cc -std=gnu17 -Wall -Wextra -Wno-missing-field-initializers -Werror -I"$SOURCE_ROOT/work" -c mlp.c 2>cc.err
is "$? $(wc -c <cc.err)" "0 0" "the network of doc/adding-a-network.md compiles" || cat cc.err

page=$SOURCE_ROOT/man/wl-train.1.scd
is "$(sed -nE '/^\*--/p' "$page" | sed -E 's/[_\\*]//g; s/ +$//' | sort)" \
	"$(wl-train --help | sed -nE 's/^  (--[a-z].*)$/\1/p' | sed -E 's/ {2,}.*//' | sort)" \
	"the manual page has the options of --help"
done_testing
