/* R28: SLURM_JOB_GPUS against SLURM_STEP_GPUS, ordinals of tasks (ceems PR #221, mila-docs PR
 * #245). */
#include "select_fake.h"

int main(void)
{
	machine(8, false);
	set("SLURM_JOB_GPUS", "0,1,2,3");
	set("SLURM_STEP_GPUS", "3");
	is_str(gpus(NULL), "3", "the step's list is the narrower one");
	set("SLURM_JOB_GPUS", "0,1,2,3");
	set("SLURM_STEP_GPUS", "");
	is_str(gpus(NULL), "0 1 2 3", "an empty step list says nothing");
	set("SLURM_JOB_GPUS", "4,5,6,7");
	is_str(cuda("1"), "1", "the task's own ordinal comes first");
	machine(4, false);
	set("SLURM_JOB_GPUS", "4,5,6,7");
	is_str(gpus(NULL), "0 1 2 3",
		"global ids where the driver numbers anew: all we see, which are as many");
	/* the same kind: they do not match in number */
	set("SLURM_JOB_GPUS", "6,7");
	is_str(gpus(NULL), "", "fewer ids than boards, and not ours: not guessed");
	ok(last.ambiguous, "but said");
	set("SLURM_JOB_GPUS", "2,3");
	is_str(gpus(NULL), "2 3", "ids that exist here are taken");
	selection_release(&last);
	return tap_done();
}
