# wl-train on a short file of every kind: it learns from each, and says what is wrong with a bad one.
. "$(dirname "$0")/../cli/tap.sh"

"$BUILD_ROOT/tests/work/samples" s
is $? 0 "a short file of every kind"

train() {
	try wl-train "$@" --threads 1 --pin none
}

# learns NETWORK STEPS PATH OPTIONS…: the loss at the end is well below that at the beginning
learns() {
	local net=$1 steps=$2 path=$3
	shift 3
	train "$net" --data "$path" --steps "$steps" --log-every 1 --dropout 0 "$@"
	has "$code $(grep -c '^step ' <<<"$err")" "0 $steps" "$net: $path trains"
	fell=$(grep '^step ' <<<"$err" | awk -v n="$steps" '{ l = $4 } NR <= 5 { a += l } NR > n - 5 { b += l }
		END { print b < 0.8 * a ? "falls" : "stays: " a / 5 " to " b / 5 }')
	is "$fell" falls "$net: and its loss falls"
}
learns resnet18 40 s/pictures
learns vgg16 60 s/cifar10.bin
learns resnet18 60 s/cifar100.bin
learns resnet18 60 s/cifar100.bin --target coarse
learns unet 40 s/stacks
learns unet 40 s/singles
learns schnet 100 s/molecules.xyz
learns pna 100 s/molecules.sdf
learns nnconv 100 s/molecules.jsonl
learns gpt2 40 s/text.txt
learns bert 80 s/text.txt --vocab s/vocabulary.txt
learns bert 60 s/labelled.tsv --task classification

# every network of a domain takes what the others take
takes() {
	train "$1" --data "$2" --steps 2 --quiet
	is "$code $err" "0 " "$1 takes $2"
}
takes vgg16 s/pictures
takes resnet50 s/pictures
takes inception_v3 s/pictures
takes inception_v3 s/cifar10.bin
takes dimenet s/molecules.sdf
takes dimenet s/molecules.jsonl
takes distilbert s/text.txt
takes unet s/stacks/images.npy,s/stacks/masks.npy

# held-out samples
train resnet18 --data s/pictures --steps 2 --eval-every 2 --log-every 0
like "$err" "eval at step 2  loss [0-9.]+  accuracy" "every tenth picture is held out for evaluation"
mkdir tv && cp -r s/pictures tv/train && cp -r s/pictures tv/val
train resnet18 --data tv --steps 2 --eval-every 2 --log-every 0
like "$err" "eval at step 2  loss" "or those in val"
mkdir tv/val/green && cp s/pictures/blue/01.jpg tv/val/green
train resnet18 --data tv --steps 1
is "$code $err" "2 wl-train: tv/val/green: a class that the training part lacks" "a class that was never trained"

# errors of molecules are in the unit of their property
error_of() {
	train schnet --data "$1" --steps 2 --eval-every 2 --json --quiet
	jq -c '[.eval_metric, .metric_unit]' <<<"$out"
}
jq -c '(.targets[]?, .target | numbers) *= 1024' s/molecules.jsonl >large.jsonl
small=$(error_of s/molecules.jsonl) large=$(error_of large.jsonl)
is "$(jq -n "$large[0] / $small[0] | round")" 1024 "a property 1024 times as large has errors 1024 times as large"
is "$(jq -n "$small[1]")" null "a file that does not tell the unit: it is unknown"
is "$(error_of s/molecules.xyz | jq -r '.[1]')" Eh "errors of QM9's energies are in Hartree"

# refuse "MESSAGE" NETWORK PATH OPTIONS…
refuse() {
	local msg=$1 net=$2 path=$3
	shift 3
	train "$net" --data "$path" --steps 3 "$@"
	[ "$code" -ne 0 ]
	ok $? "$net refuses $path" 1
	has "$err" "$msg" "and says why"
}
train resnet18 --vocab words --steps 1
is "$code $err" "2 wl-train: --vocab is for text given with --data" "a vocabulary for pictures is refused"
train bert --data s/text.txt --target gap --steps 1
is "$code $err" "2 wl-train: --target is for molecules or CIFAR-100 given with --data" "a property of text, too"
train resnet18 --data s/pictures --steps 1
has "$err" "parameters; pictures of 2 classes, 36 samples and 4 held out; 8 a step, 1 rank of 1 thread" \
	"the first line says what is trained on what"

mkdir none && refuse "none: expected a folder for each class with .jpg, .jpeg or .png" resnet18 none
mkdir -p one/a one/b && cp s/pictures/blue/* one/a
refuse "one/b: no .jpg, .jpeg or .png in this class's folder" resnet18 one
for f in s/pictures/blue/*; do
	head -c 900 "$f" >one/b/"${f##*/}"
done
refuse "not a whole" resnet18 one --batch 36
rm one/b/*
echo "not a picture" | tee one/b/1.png >one/b/2.png
refuse "one/b/2.png: begins neither as a JPEG nor as a PNG" resnet18 one --batch 19
refuse "the batch of 90 samples is larger than the training set of 36 (4 more are held out)" resnet18 s/pictures \
	--batch 90
refuse "the batch of 90 samples is larger than" unet s/stacks --batch 90
refuse "the batch of 90 samples is larger than" schnet s/molecules.sdf --batch 90
refuse "--target fine: CIFAR-10 has one kind of label" vgg16 s/cifar10.bin --target fine
refuse "--target rough: CIFAR-100 has labels fine and coarse" vgg16 s/cifar100.bin --target rough
head -c 40000 s/stacks/images.npy >images.npy
refuse "images.npy: truncated: 39872 bytes of values, its shape and type mean 192000" unet images.npy,s/stacks/masks.npy
refuse "s/singles/masks/01.npy: expected N, H, W or with channels" unet s/stacks/masks.npy,s/singles/masks/01.npy
refuse "--data no: No such file or directory; expected a folder with images.npy and masks.npy" unet no
refuse "expected a folder with images.npy and masks.npy, or with folders images and" unet s/pictures
cp -r s/singles bad && rm bad/masks/07.npy
refuse "bad/masks/07.npy: No such file or directory" unet bad
head -c 2000 s/molecules.sdf >cut.sdf
refuse "cut.sdf:" pna cut.sdf
head -c 3000 s/molecules.jsonl >cut.jsonl
refuse "not JSON" pna cut.jsonl
refuse "\"targets\" has no \"gap\"" pna s/molecules.jsonl --target gap
head -c 3000 s/molecules.xyz >cut.xyz
refuse "cut.xyz:" pna cut.xyz
refuse "absent.txt: No such file or directory" bert s/text.txt --vocab absent.txt
printf '1\tx\n-3\ty\n' >lab.tsv
printf '0\tx\n0\ty\n' >zero.tsv
refuse "zero.tsv: every label is 0; expected at least two classes" bert zero.tsv --task classification
refuse "lab.tsv:2: expected 'label<TAB>text' with a label from 0 to 999" bert lab.tsv --task classification

# several ranks: what only one of them meets ends all of them, and is told once
if command -v mpirun >/dev/null; then
	export OMPI_MCA_mpi_yield_when_idle=1
	ranks() {
		timeout 200 mpirun --allow-run-as-root --oversubscribe --bind-to none -n 2 "$@" >out 2>&1
		code=$?
		out=$(grep '^wl-train: ' out | sort)
	}
	opts=(--threads 1 --pin none --quiet --batch 2)
	echo "not a picture" >s/pictures/amber/22.png
	ranks wl-train resnet18 --data s/pictures --epochs 1 --sync-bn --seed 1 "${opts[@]}"
	is "$code $out" "1 wl-train: rank 1: s/pictures/amber/22.png: begins neither as a JPEG nor as a PNG" "a picture that rank 1 cannot read ends both ranks"
	ranks wl-train resnet18 --data s/pictures --epochs 1 --seed 2 "${opts[@]}"
	is "$code $out" "1 wl-train: rank 0: s/pictures/amber/22.png: begins neither as a JPEG nor as a PNG" "so does rank 0's"
	ranks wl-train bert --steps 6 --checkpoint no/such/dir --checkpoint-every 3 "${opts[@]}"
	is "$code" 1 "a checkpoint that rank 0 cannot write ends both ranks"
	printf '[ "$OMPI_COMM_WORLD_RANK" = 1 ] && cd /\nexec wl-train bert --data s/text.txt --steps 1 %s\n' \
		"${opts[*]}" >job.sh
	ranks bash job.sh
	has "$code $out" "2 wl-train: rank 1: --data s/text.txt: No such file or directory" "a file that rank 1 lacks ends both"
else
	skip 4 "mpirun is not installed"
fi
done_testing
