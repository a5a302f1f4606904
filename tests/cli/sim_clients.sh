# Foreign NVML clients take the simulated devices for real ones: nvtop, the Python
# bindings and Slurm's gpu/nvml, as Debian packages them (contrib; unpacked below the build directory, the system's sources untouched).
. "$(dirname "$0")/tap.sh"

gpu_nvml=usr/lib/x86_64-linux-gnu/slurm-wlm/gpu_nvml.so
store=${BUILD_ROOT:-$tap_dir}/foreign
private_apt() {
	apt-get -q -o Dir::State="$store/state" -o Dir::State::status=/var/lib/dpkg/status \
		-o Dir::Cache="$store/cache" -o Dir::Etc::sourcelist="$store/sources.list" \
		-o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User=root -o APT::Get::List-Cleanup=0 "$@"
}
fetch_clients() {
	[ -x "$store/root/usr/bin/nvtop" ] && [ -e "$store/root/$gpu_nvml" ] && [ -e "$store/root/usr/lib/python3/dist-packages/pynvml.py" ] && return 0
	command -v apt-get >/dev/null && command -v dpkg >/dev/null || return 1
	mkdir -p "$store"/state/lists/partial "$store"/cache/archives/partial "$store/root"
	. /etc/os-release
	echo "deb http://deb.debian.org/debian ${VERSION_CODENAME:-bookworm} contrib" >"$store/sources.list"
	private_apt update >"$store/log" 2>&1 &&
		(cd "$store" && private_apt download nvtop python3-pynvml slurm-wlm-nvml-plugin >>"$store/log" 2>&1) || return 1
	for d in "$store"/*.deb; do dpkg -x "$d" "$store/root" || return 1; done
}
if ! fetch_clients; then
	skip 15 "nvtop, slurm-wlm-nvml-plugin and python3-pynvml (the download was refused)"
	done_testing
fi

cat >clients.ini <<'END'
[gpu 0]
profile = v100
power = 200W
[gpu 1]
profile = a40
nvmlDeviceGetTotalEnergyConsumption = NOT_SUPPORTED
END
cat >client.py <<'END'
import os, sys, time
sys.path.insert(0, os.environ["PYNVML"])
import pynvml as n
n.nvmlInit()
h = [n.nvmlDeviceGetHandleByIndex(i) for i in range(n.nvmlDeviceGetCount())]
print("names", [n.nvmlDeviceGetName(x) for x in h])
a = n.nvmlDeviceGetTotalEnergyConsumption(h[0]); t = time.monotonic()
time.sleep(1)
b = n.nvmlDeviceGetTotalEnergyConsumption(h[0]); t = time.monotonic() - t
print("watts", round((b - a) / 1000 / t / 200, 1), round(n.nvmlDeviceGetPowerUsage(h[0]) / 200000, 1))
print("limits", n.nvmlDeviceGetPowerManagementLimitConstraints(h[0]))
try:
    n.nvmlDeviceGetTotalEnergyConsumption(h[1])
except n.NVMLError as e:
    print("refused", e)
try:
    n.nvmlDeviceSetPowerManagementLimit(h[0], 150000)
    print("set", n.nvmlDeviceGetPowerManagementLimit(h[0]))
except n.NVMLError as e:
    print("set:", e)
n.nvmlDeviceGetPciInfo(h[0]), n.nvmlDeviceGetMemoryInfo(h[0]), n.nvmlDeviceGetUtilizationRates(h[0])
print("clocks", len(n.nvmlDeviceGetSupportedGraphicsClocks(h[0], n.nvmlDeviceGetSupportedMemoryClocks(h[0])[0])))
f = n.nvmlDeviceGetFieldValues(h[1], [n.NVML_FI_DEV_PERF_POLICY_POWER])
print("field", f[0].nvmlReturn)
n.nvmlShutdown()
END
python=/usr/bin/python3
[ -x $python ] || python=python3
export PYNVML=$store/root/usr/lib/python3/dist-packages
try env WATTLAW_SIM_ROOT=1 wattlaw sim exec --scenario clients.ini -- $python client.py
is "$code" 0 "python3-pynvml runs to its end"
has "$out" "names ['Tesla V100-PCIE-32GB', 'NVIDIA A40']" "it sees both devices"
has "$out" "watts 1.0 1.0" "energy and power agree with 200 W"
has "$out" "limits [100000, 250000]" "it reads limits"
has "$out" "refused Not Supported" "it gets the scripted refusal"
has "$out" "set 150000" "root sets a limit"
has "$out" "clocks 167" "it reads the grid of clocks"
has "$out" "field 0" "it reads fields"
try env WATTLAW_SIM_ROOT=0 wattlaw sim exec --scenario clients.ini -- $python client.py
has "$out" "set: Insufficient Permissions" "without the right the setter is refused"

if command -v script >/dev/null; then
	# script(1) starts $SHELL, which a bare environment lacks
	SHELL=/bin/bash TERM=xterm timeout 30 wattlaw sim exec --scenario clients.ini -- \
		script -qfc "stty cols 150 rows 50; timeout -s INT 3 $store/root/usr/bin/nvtop" nvtop.out >/dev/null </dev/null
	screen=$(sed 's/\x1b\[[0-9;?]*[a-zA-Z]/ /g; s/\x1b(B/ /g' nvtop.out)
	like "$screen" 'Tesla V100-PCIE-32GB.*NVIDIA A40' "nvtop shows both devices"
	like "$screen" 'POW +(19[0-9]|20[0-9]) / 250 W' "nvtop shows 200 W of 250 W"
	like "$screen" 'MEM +877MHz' "and the memory clock"
else
	skip 3 "script(1), to give nvtop a terminal"
fi

# Slurm's own detection: slurmd -G prints the devices it found. Device files in a /dev of our own.
slurm_plugins=/usr/lib/x86_64-linux-gnu/slurm-wlm
if [ "$(id -u)" = 0 ] && command -v slurmd >/dev/null && [ -d $slurm_plugins ] && unshare -m true 2>/dev/null; then
	mkdir -p plugins conf spool
	cp $slurm_plugins/*.so plugins/ && cp "$store/root/$gpu_nvml" plugins/
	cat >conf/slurm.conf <<-END
	ClusterName=t
	SlurmctldHost=localhost
	AuthType=auth/none
	CryptoType=crypto/none
	GresTypes=gpu
	PluginDir=$PWD/plugins
	SlurmdSpoolDir=$PWD/spool
	SlurmdLogFile=$PWD/slurmd.log
	NodeName=localhost Gres=gpu:2 CPUs=$(nproc)
	PartitionName=p Nodes=ALL
	END
	echo AutoDetect=nvml >conf/gres.conf
	try timeout 60 wattlaw sim exec --gpus v100:2 -- unshare -m sh -c '
		mount -t tmpfs none /dev && mknod /dev/null c 1 3 && mknod /dev/urandom c 1 9 &&
		mknod /dev/nvidia0 c 1 3 && mknod /dev/nvidia1 c 1 3 &&
		SLURM_CONF=$PWD/conf/slurm.conf slurmd -G -N localhost -D'
	has "$err" "2 GPU system device(s) detected" "Slurm finds two devices"
	has "$out$err" "tesla_v100-pcie-32gb" "of that model"
	like "$out$err" 'File=/dev/nvidia0.*File=/dev/nvidia1' "with their minor numbers"
else
	skip 3 "slurmd as root with a mount namespace of its own"
fi
done_testing
