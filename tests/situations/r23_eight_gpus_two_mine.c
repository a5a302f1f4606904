/* R23: all eight GPUs of the node are counted for a job that has two (codecarbon #567). */
#include "select_fake.h"

int main(void)
{
	machine(8, false);
	is_str(cuda("2,5"), "2 5", "CUDA_VISIBLE_DEVICES=2,5 of 8");
	set("SLURM_JOB_GPUS", "2,5");
	is_str(gpus(NULL), "2 5", "Slurm's list alone");
	/* the same kind: one of them given by the container's runtime; by hand */
	set("NVIDIA_VISIBLE_DEVICES", "GPU-c5-beef");
	is_str(gpus(NULL), "5", "a container's list");
	is_str(gpus("5,2"), "2 5", "--devices");
	has(last.why, "--devices=5,2", "and the run says why");
	selection_release(&last);
	return tap_done();
}
