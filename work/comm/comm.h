/* comm.h: sums over ranks. `none` is one process; `mpi` is MPI; others (NCCL) would be one more
 * file.
 *
 * A non-blocking sum may be in flight while the caller computes; comm_poll lets it progress. Sums
 * are in a fixed order for a given number of ranks, so a run repeats exactly.
 */
#ifndef WORK_COMM_COMM_H
#define WORK_COMM_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include "ops/fault.h"

struct comm {
	const char *name;
	int rank, size;
	int local_rank, local_size; /* on this host */
	const struct comm_ops *ops;
	void *state;
	double wait_s; /* time spent waiting in sums */
};

struct comm_ops {
	void (*sum_f64)(struct comm *c, double *v, int n);
	void (*sum_f32)(struct comm *c, float *v, size_t n);
	/* Starts a sum in place; v must stay untouched until comm_finish. */
	void (*sum_start)(struct comm *c, float *v, size_t n);
	void (*poll)(struct comm *c);
	void (*finish)(struct comm *c); /* waits for every started sum */
	void (*broadcast)(struct comm *c, void *v, size_t bytes); /* from rank 0 */
	/* This rank has failed. True if every rank says so within two seconds: then all may close.
	 * False: others are still at work and wait, or will wait, for this one. */
	bool (*all_failed)(struct comm *c);
	/* Ends every rank with that status; does not return where there are several. */
	void (*abort)(struct comm *c, int status);
	void (*close)(struct comm *c);
};

/* kind: "none", "mpi", or "auto" (mpi when started by an MPI launcher). */
int comm_open(struct comm *c, const char *kind, struct fault *f);
void comm_close(struct comm *c);
int comm_open_mpi(struct comm *c, struct fault *f);
/* True if the environment says that an MPI launcher started this process. */
bool comm_launched(void);

#endif
