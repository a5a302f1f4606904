/* checkpoint.h: parameters and optimizer state in a file.
 *
 * The file is row-major f32, so it is the same for every back end, precision and number of ranks.
 * It is written beside its name and renamed when it is on disk: a checkpoint is never half-written.
 * A sum over all bytes at its end tells a truncated or damaged one.
 */
#ifndef WORK_NN_CHECKPOINT_H
#define WORK_NN_CHECKPOINT_H

#include "nn/param.h"

struct checkpoint_meta {
	char network[32], size[16], optimizer[16];
	int64_t step; /* optimizer steps done */
	int64_t seed;
	int64_t global_batch; /* samples of a step, all ranks and accumulated batches */
	int64_t n_state; /* optimizer arrays a parameter */
};

struct checkpoint_entry {
	char name[80];
	int64_t n_dims, dim[TENSOR_DIMS], count, n_state;
	float *data[3]; /* values, then optimizer state */
};

struct checkpoint {
	struct checkpoint_meta meta;
	int64_t n;
	struct checkpoint_entry *e;
	void *mem;
};

int checkpoint_write(const char *path, const struct checkpoint_meta *m, const struct params *ps,
	struct fault *f);
int checkpoint_read(const char *path, struct checkpoint *c, struct fault *f);
/* Parameters from a checkpoint: every parameter must be there in its shape. */
int checkpoint_apply(const struct checkpoint *c, struct params *ps, struct fault *f);
void checkpoint_release(struct checkpoint *c);

#endif
