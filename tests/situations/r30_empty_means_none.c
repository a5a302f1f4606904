/* R30: an empty CUDA_VISIBLE_DEVICES means none, the tool takes all (carbontracker, codecarbon). */
#include "select_fake.h"

int main(void)
{
	static const char *const none[] = {"", "-1", "NoDevFiles", " ", ","};

	machine(4, false);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		set("SLURM_JOB_GPUS", "0,1");
		is_str(cuda(none[i]), "", none[i]);
	}
	has(last.why, "no GPU", "and the run says so");
	ok(last.on[4], "the CPU is still measured");
	/* the same kind: none by other means */
	set("NVIDIA_VISIBLE_DEVICES", "none");
	is_str(gpus(NULL), "", "a container without GPUs");
	is_str(gpus("none"), "", "--devices none");
	memset(&H, 0, sizeof(H));
	backend("amdgpu");
	add(DEV_GPU, "GPU-1", "MI250X", 0, -1);
	set("ROCR_VISIBLE_DEVICES", "");
	is_str(gpus(NULL), "", "ROCm's empty list");
	selection_release(&last);
	return tap_done();
}
