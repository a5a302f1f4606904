# R46: only cgroup v2 is mounted.
. "$(dirname "$0")/situation.sh"

tree() { # CONTROLLERS
	rm -rf root
	mkdir -p root/proc/self root/sys/fs/cgroup/user.slice/job
	echo "0::/user.slice/job" >root/proc/self/cgroup
	echo "29 22 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw" >root/proc/self/mountinfo
	echo "$1" >root/sys/fs/cgroup/user.slice/job/cgroup.controllers
	touch root/sys/fs/cgroup/user.slice/job/cgroup.procs
}
look() {
	try wattlaw probe --json --root "$PWD/root" --only cgroup
	printf '%s\n' "$out" >probe.json
}
tree "cpuset cpu io memory"
look
is "$(probe '[.devices[].knobs[].name] | join(" ")')" cpu_rate "the CPU rate is a knob under v2"
mkdir -p root/sys/fs/cgroup/user.slice/job/wattlaw.r1.0.2
echo "max 100000" >root/sys/fs/cgroup/user.slice/job/wattlaw.r1.0.2/cpu.max
echo "usage_usec 1500000" >root/sys/fs/cgroup/user.slice/job/wattlaw.r1.0.2/cpu.stat
look
is "$(probe '[.devices[] | select(.id == "cgroup:r1:0").channels[] | .value] | first')" 1.5 "CPU time comes from cpu.stat"

# the same kind: the cpu controller is kept by the parent; a hybrid tree; nothing is mounted
tree "memory pids"
look
has "$(probe '.missing[].why')" "cpu controller" "a group without the cpu controller says so"
tree "cpu"
echo "30 22 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct" >>root/proc/self/mountinfo
printf '5:cpu,cpuacct:/x\n0::/user.slice/job\n' >root/proc/self/cgroup
mkdir -p root/sys/fs/cgroup/cpu,cpuacct/x
look
has "$(probe '.devices[].name')" "v1" "in a hybrid tree cpu is where it is mounted"
rm -rf root && mkdir root
look
has "$(probe '.missing[].why')" "no cgroup" "without any the reason is told"
done_testing
