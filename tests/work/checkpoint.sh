# A checkpoint is whole or not there, whatever happens while it is written.
. "$(dirname "$0")/../cli/tap.sh"

opts=(vgg16 --batch 1 --threads 1 --pin none --comm none --quiet)

# The first checkpoint, then many more on top of it, each time killed at another moment.
wl-train "${opts[@]}" --steps 1 --checkpoint c >out 2>&1
is $? 0 "a first checkpoint"
whole=0 behind=0
for i in 1 2 3 4 5 6 7 8 9 10; do
	wl-train "${opts[@]}" --steps 0 --checkpoint c --checkpoint-every 1 --resume c >out 2>&1 &
	pid=$!
	sleep "0.$((30 + 7 * i))"
	kill -KILL $pid
	wait $pid 2>/dev/null
	at=$(wl-train "${opts[@]}" --steps 1 --resume c 2>&1 >/dev/null) && [ -z "$at" ] && whole=$((whole + 1))
	ls c.*.tmp >/dev/null 2>&1 && behind=$((behind + 1))
	rm -f c.*.tmp
done
is $whole 10 "after ten kills at any moment the checkpoint can be read ($behind left a part under another name)"

# A full disk: no file may grow beyond a few blocks.
cp c before
(
	trap '' XFSZ
	ulimit -f 64
	wl-train "${opts[@]}" --steps 2 --resume before --checkpoint c
) >out 2>err
is $? 1 "a checkpoint that does not fit on the disk is an error"
has "$(cat err)" "c: cannot be written: File too large" "and it is said why"
cmp -s c before
is $? 0 "the checkpoint before it is untouched"
is "$(ls | grep -c '\.tmp$')" 0 "and nothing half-written is left"
if [ "$(id -u)" -eq 0 ] && mkdir full && mount -t tmpfs -o size=64k none full 2>/dev/null; then
	wl-train "${opts[@]}" --steps 1 --checkpoint full/c >out 2>err
	is "$? $(ls full)" "1 " "nor on a file system without room"
	has "$(cat err)" "No space left on device" "whose message is shown"
	umount full
else
	skip 2 "a file system of 64 KiB cannot be mounted"
fi
done_testing
