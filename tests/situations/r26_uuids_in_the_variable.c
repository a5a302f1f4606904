/* R26: CUDA_VISIBLE_DEVICES holds UUIDs, and a tool that expects numbers matches none
 * (slurm-operator PR #112). */
#include "select_fake.h"

int main(void)
{
	machine(4, false);
	is_str(cuda("GPU-b1-beef,GPU-a3-beef"), "1 3", "full UUIDs");
	is_str(cuda("GPU-b,GPU-c"), "1 2", "unique prefixes");
	is_str(cuda("2,GPU-b1-beef"), "1 2", "a mixed list");
	is_str(cuda("GPU-b1-beef,GPU-gone,GPU-c2-beef"), "1",
		"entries after an unknown one do not count, as for CUDA");
	has(last.warning, "GPU-gone", "which is said");
	is_str(cuda("MIG-GPU-b1-beef/1/0"), "1", "an instance by its parent's UUID");
	/* the same kind: ROCr's form, Slurm's with UUIDs */
	set("SLURM_STEP_GPUS", "GPU-c2-beef");
	is_str(gpus(NULL), "2", "UUIDs from Slurm");
	memset(&H, 0, sizeof(H));
	backend("amdgpu");
	add(DEV_GPU, "GPU-1f", "MI250X", 0, -1);
	add(DEV_GPU, "GPU-2e", "MI250X", 1, -1);
	set("ROCR_VISIBLE_DEVICES", "GPU-2e");
	is_str(gpus(NULL), "1", "AMD's unique id");
	selection_release(&last);
	return tap_done();
}
