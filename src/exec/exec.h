/* exec.h: an executor turns a point into a run record, asynchronously.
 *
 * Local, MPI, Slurm and simulated executors are all this. Knobs are set on the host where the
 * device is. A record handed out by next() belongs to the caller (run_rec_release).
 */
#ifndef WATTLAW_EXEC_EXEC_H
#define WATTLAW_EXEC_EXEC_H

#include "record/record.h"

/* One setting to run once. Plain data; borrowed by submit for the duration of the call. */
struct point {
	const char *campaign, *workload, *domain, *task;
	const char *command; /* with every {axis} replaced; run by /bin/sh -c when `shell`, else
				split */
	const char *const *argv; /* NULL-terminated; used when command is NULL */
	const char *launch; /* "mpirun -n 2 ..." in front of it, or NULL */
	const struct axis_val *axes; /* every axis with its value; "default" = leave as found */
	size_t n_axes;
	uint32_t site_axes; /* bit i: axes[i] is set by launch itself; it is read back, never set */
	int repeat, order;
	/* Points with the same group are stepped inside one launch, in submit order, unless
	 * relaunch. */
	uint64_t group;
	bool relaunch, baseline;
	int64_t warmup_ns, hold_min_ns, hold_max_ns; /* per point, after the setting settled */
	double ci_target; /* stop holding when the step-time interval is this narrow (relative) */
	int64_t settle_ns; /* after a setting was applied, before it is counted */
	int64_t timeout_ns; /* of a launch that shows no progress */
	const char *progress; /* regular expression of a step line, NULL = marks */
	const char *options; /* full options as text, stored with the run */
};

struct exec_ops {
	const char *name; /* "local", "mpi", "slurm", "sim" */
	/* ST_AGAIN when it cannot take another point before next() is called. */
	enum status (*submit)(void *x, const struct point *p, uint64_t *ticket, struct err *e);
	/* Wait until deadline_ns (monotonic) for a finished point: ST_OK with *ticket and *out,
	 * ST_AGAIN at the deadline, ST_NOT_FOUND when nothing is under way. A point that failed is
	 * ST_OK with a record whose state says so. */
	enum status (*next)(
		void *x, int64_t deadline_ns, uint64_t *ticket, struct run_rec *out, struct err *e);
	void (*cancel)(void *x, uint64_t ticket); /* UINT64_MAX = all; restores knobs */
	/* The last point of a group was submitted: the launch may end after it. */
	void (*flush)(void *x);
	void (*close)(void *x);
};

#endif
