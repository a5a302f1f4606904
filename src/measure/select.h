/* select.h: which devices belong to this job.
 *
 * From --devices, else for the GPUs of each vendor the first of these that is set, in every form it
 * takes (indices, UUIDs, unique prefixes, MIG UUIDs, "", "-1", "NoDevFiles", stop at the first
 * invalid entry), else all:
 *
 *   NVIDIA  CUDA_VISIBLE_DEVICES, SLURM_STEP_GPUS, SLURM_JOB_GPUS, NVIDIA_VISIBLE_DEVICES
 *   AMD     ROCR_VISIBLE_DEVICES with HIP_VISIBLE_DEVICES inside it, CUDA_VISIBLE_DEVICES, SLURM_*
 *   Intel   ZE_AFFINITY_MASK
 *
 * Devices that are not GPUs (packages, DRAM, node, the job's own groups) are selected unless
 * --devices says otherwise. A MIG instance brings its parent, which holds the sensor. Where the
 * variables do not say which board is meant (CUDA's fastest-first order on a node of mixed models;
 * global ids of Slurm inside a device cgroup) that is said and no GPU is selected: never a guess.
 * Pure but for the getenv.
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

/* getenv_fn reads the job's environment (so tests need no setenv); NULL: that of this process,
 * which the job inherits. devices_opt is --devices or NULL: "all", "none", "gpu", "cpu", keys,
 * indices in vendor order. */
enum status select_devices(const struct hw *hw, const char *devices_opt,
	const char *(*getenv_fn)(void *arg, const char *name), void *arg, struct selection *out,
	struct err *e);
void selection_release(struct selection *s);

#endif
