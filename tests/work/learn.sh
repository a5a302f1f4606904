# Each network learns its generated task in less than a minute: the table in doc/training.md.
. "$(dirname "$0")/../cli/tap.sh"

rows=$(sed -nE 's/^\| ([a-z0-9_ -]+) \| ([0-9]+) \| (accuracy|mean IoU|mae) \| ([<>]) ([0-9.]+)( %| Eh)? \|.*/\1;\2;\3;\4;\5/p' \
	"$SOURCE_ROOT/doc/training.md")
is "$(wc -l <<<"$rows")" 13 "thirteen tasks are listed"
while IFS=';' read -r name steps metric sign bound; do
	# shellcheck disable=SC2086
	wl-train $name --steps "$steps" --eval-every "$steps" --log-every 0 --threads 2 --json >out 2>err
	got=$(jq -r --arg m "$metric" 'select(.metric == $m) | .eval_metric * (if $m == "mae" then 1 else 100 end)' out)
	awk -v g="$got" -v b="$bound" -v s="$sign" 'BEGIN { exit !(g != "" && (s == ">" ? g > b : g < b)) }'
	ok $? "$name: $metric ${got:-unknown} after $steps steps, $sign $bound" || sed 's/^/# /' err
	ok "$(jq '.wall_s > 60 | if . then 1 else 0 end' out)" "$name: in $(jq '.wall_s | floor' out) s"
done <<<"$rows"
done_testing
