/* select.h: which devices belong to this job.
 *
 * From --devices, else CUDA_VISIBLE_DEVICES / SLURM_STEP_GPUS / SLURM_JOB_GPUS /
 * NVIDIA_VISIBLE_DEVICES / ROCR_VISIBLE_DEVICES, in every form they take (indices, UUIDs, unique
 * prefixes, MIG UUIDs, "", "-1", "NoDevFiles", stop at the first invalid entry), else all.
 * Ambiguity (CUDA's fastest-first order on a node of mixed models) is said, not guessed.
 */
#ifndef WATTLAW_MEASURE_SELECT_H
#define WATTLAW_MEASURE_SELECT_H

#include "hw/hw.h"

struct selection {
	bool *on; /* by hw id; owned */
	size_t n;
	char why[256]; /* "CUDA_VISIBLE_DEVICES=2,5: GPU-… and GPU-…" */
	char warning[256]; /* "" or what is ambiguous and how to settle it */
	bool ambiguous;
};

/* getenv_fn reads the job's environment (so tests need no setenv). devices_opt is --devices or
 * NULL: "all", "none", "gpu", "cpu", keys, indices in vendor order. */
enum status select_devices(const struct hw *hw, const char *devices_opt,
	const char *(*getenv_fn)(void *arg, const char *name), void *arg, struct selection *out,
	struct err *e);
void selection_release(struct selection *s);

#endif
