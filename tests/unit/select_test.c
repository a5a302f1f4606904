/* Which devices are the job's, on stand-ins for hw.h. */
#include "select_fake.h"

static void cuda_forms(void)
{
	machine(8, false);
	is_str(gpus(NULL), "0 1 2 3 4 5 6 7", "nothing set: all GPUs");
	has(last.why, "all devices", "and that is said");
	is_str(cuda("2,5"), "2 5", "CUDA_VISIBLE_DEVICES=2,5 of 8 (R23)");
	has(last.why, "CUDA_VISIBLE_DEVICES=2,5: GPU-c2-beef, GPU-c5-beef",
		"the reason names the boards");
	ok(last.on[8] && last.on[9], "package and DRAM stay");
	is_str(cuda(""), "", "empty means none (R30)");
	is_str(cuda("-1"), "", "-1 means none");
	is_str(cuda("NoDevFiles"), "", "NoDevFiles means none");
	is_str(last.warning, "", "none of which is worth a warning");
	is_str(cuda("1,-1,3"), "1", "CUDA stops at -1");
	is_str(cuda("1,9,3"), "1", "and at an index there is not");
	has(last.warning, "'9'", "which is said");
	is_str(cuda("3,GPU-xyz,1"), "3", "and at a UUID there is not");
	is_str(cuda("GPU-c5-beef,0"), "0 5", "UUIDs and indices mix");
	is_str(cuda("gpu-C5"), "5", "a unique prefix, whatever its case");
	is_str(cuda("GPU-a"), "", "a prefix of several boards is invalid");
	is_str(cuda(" 1 , 2 "), "1 2", "spaces do not matter");
	is_str(cuda("1,1,2"), "1 2", "a repeated entry counts once");
	is_str(cuda("0x1"), "", "hexadecimal is no index");
	is_str(cuda("99999999999999999999"), "", "an absurd index is no index");
	machine(16, false);
	is_str(cuda("10,15"), "10 15", "indices of two digits (R32)");
	machine(0, false);
	is_str(cuda("0,1"), "", "no driver");
	has(last.why, "no GPU answers", "and that is said");
}

static void order(void)
{
	machine(4, true);
	is_str(cuda("0"), "", "mixed models and CUDA's own order: not guessed (R24)");
	ok(last.ambiguous, "ambiguous");
	has(last.warning, "CUDA_DEVICE_ORDER=PCI_BUS_ID", "with the way out");
	set("CUDA_DEVICE_ORDER", "PCI_BUS_ID");
	is_str(cuda("0"), "0", "PCI order is the driver's");
	set("CUDA_DEVICE_ORDER", "FASTEST_FIRST");
	is_str(cuda("3"), "", "fastest first, said aloud, is as ambiguous");
	is_str(cuda("0,1,2,3"), "0 1 2 3", "all of them need no order");
	is_str(cuda("GPU-b1-beef"), "1", "a UUID needs none");
	is_str(cuda("3,2,1,0"), "0 1 2 3", "nor do all in another order");
}

static void schedulers(void)
{
	machine(8, false);
	set("SLURM_JOB_GPUS", "0,1,2,3");
	set("SLURM_STEP_GPUS", "2,3");
	is_str(gpus(NULL), "2 3", "the step's GPUs come before the job's (R28)");
	set("SLURM_JOB_GPUS", "4,5");
	is_str(gpus(NULL), "4 5", "the job's when there is no step");
	set("SLURM_JOB_GPUS", "4,5");
	is_str(cuda("0"), "0", "what the program itself obeys comes first");
	set("SLURM_JOB_GPUS", "");
	is_str(gpus(NULL), "0 1 2 3 4 5 6 7", "an empty Slurm list says nothing");
	machine(2, false);
	set("SLURM_JOB_GPUS", "6,7");
	is_str(gpus(NULL), "0 1", "global ids in a device cgroup: as many as we see are ours");
	set("SLURM_JOB_GPUS", "5,6,7");
	is_str(gpus(NULL), "", "not as many: not guessed");
	ok(last.ambiguous && strstr(last.warning, "--devices"), "with the way out");
	machine(1, false);
	set("NVIDIA_VISIBLE_DEVICES", "3");
	is_str(gpus(NULL), "0", "a container that was given one GPU sees one");
	machine(4, false);
	set("NVIDIA_VISIBLE_DEVICES", "all");
	is_str(gpus(NULL), "0 1 2 3", "all");
	set("NVIDIA_VISIBLE_DEVICES", "none");
	is_str(gpus(NULL), "", "none");
	set("NVIDIA_VISIBLE_DEVICES", "GPU-b1-beef");
	is_str(gpus(NULL), "1", "by UUID");
}

static void mig(void)
{
	machine(2, false);
	memset(&H, 0, sizeof(H));
	backend("nvml");
	add(DEV_GPU, "GPU-a0", "A100", 0, -1);
	add(DEV_GPU, "MIG-11", "A100", 0, 0);
	add(DEV_GPU, "MIG-22", "A100", 1, 0);
	add(DEV_GPU, "GPU-b1", "A100", 1, -1);
	is_str(cuda("MIG-22"), "0 2",
		"a MIG instance brings its parent, which has the sensor (R29)");
	is_str(cuda("MIG-11,MIG-22"), "0 1 2", "two instances, one parent");
	is_str(cuda("MIG-GPU-a0/1/0"), "0", "the older form names the parent");
	is_str(cuda("1"), "3", "indices count boards, not instances");
	is_str(cuda("MIG-99"), "",
		"an instance that is not listed here: which parent is not guessed");
	ok(last.ambiguous, "and ambiguous");
	memset(&H, 0, sizeof(H));
	backend("nvml");
	add(DEV_GPU, "GPU-a0", "A100", 0, -1);
	is_str(cuda("MIG-99"), "0", "with one board there is no doubt");
}

static void other_vendors(void)
{
	memset(&H, 0, sizeof(H));
	backend("amdgpu");
	for (int i = 0; i < 4; i++) {
		char key[32];

		snprintf(key, sizeof(key), "GPU-%d%d", i, i);
		add(DEV_GPU, key, "MI250X", i, -1);
	}
	is_str(gpus(NULL), "0 1 2 3", "AMD: all");
	set("ROCR_VISIBLE_DEVICES", "1,3");
	is_str(gpus(NULL), "1 3", "ROCR_VISIBLE_DEVICES");
	set("ROCR_VISIBLE_DEVICES", "1,3");
	set("HIP_VISIBLE_DEVICES", "1");
	is_str(gpus(NULL), "3", "HIP counts in what ROCR left");
	set("ROCR_VISIBLE_DEVICES", "GPU-22");
	is_str(gpus(NULL), "2", "by UUID");
	is_str(cuda("0,2"), "0 2", "HIP obeys CUDA's variable");
	set("ROCR_VISIBLE_DEVICES", "");
	is_str(gpus(NULL), "", "empty means none");
	memset(&H, 0, sizeof(H));
	backend("intelgpu");
	add(DEV_GPU, "0000:10:00.0", "PVC", 0, -1);
	add(DEV_GPU, "0000:11:00.0", "PVC", 1, -1);
	set("ZE_AFFINITY_MASK", "1.0,1.1");
	is_str(gpus(NULL), "1", "Intel: tiles share their device's sensor");
}

static void option(void)
{
	machine(4, false);
	set("CUDA_VISIBLE_DEVICES", "0");
	is_str(gpus("1,3"), "1 3", "--devices comes before everything");
	ok(!last.on[4] && !last.on[5], "and lists all there is: no CPU");
	is_str(gpus("all"), "0 1 2 3", "all");
	ok(last.on[4], "with the CPU");
	is_str(gpus("none"), "", "none");
	is_str(gpus("cpu,dram,2"), "2", "kinds and indices mix");
	ok(last.on[4] && last.on[5], "CPU and DRAM are on");
	is_str(gpus("gpu"), "0 1 2 3", "a kind");
	is_str(gpus("GPU-b1-beef"), "1", "a key");
	is_str(gpus("0000:12:00.0"), "2", "a PCI address");
	has(gpus("7"), "error: --devices: no device '7'", "an index there is not is an error");
	has(gpus("gpuu"), "GPU-a0-beef", "which says what there is");
	has(gpus("1,,2"), "empty entry", "an empty entry is one too");
}

static void memory(void)
{
	struct selection s;
	struct err e = ERR_INIT;
	unsigned n;

	machine(4, false);
	for (n = 1; n < 10; n++) {
		enum status st;

		fault_arm("alloc", n);
		st = select_devices(&H, NULL, get, NULL, &s, &e);
		if (st == ST_OK)
			selection_release(&s);
		if (!fault_fired())
			break;
	}
	fault_arm("alloc", 0);
	ok(n > 1 && n < 10, "every failing allocation is survived");
	selection_release(&last);
}

int main(void)
{
	cuda_forms();
	order();
	schedulers();
	mig();
	other_vendors();
	option();
	memory();
	return tap_done();
}
