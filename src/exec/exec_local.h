/* exec_local.h: the executor of this host: jobs as they are, or under mpirun.
 *
 * Points with one group are stepped inside one launch; a job that shows no steps, or ends before a
 * setting could be measured, is measured whole, one launch a point. A launcher (mpirun) in front of
 * the command is part of the point; with a CPU rate every rank goes through `wattlaw node`.
 */
#ifndef WATTLAW_EXEC_EXEC_LOCAL_H
#define WATTLAW_EXEC_EXEC_LOCAL_H

#include "exec/exec.h"

struct local_config {
	const char *host, *shard_dir, *control_dir; /* borrowed while the executor lives */
	const char *devices, *sensors, *holder; /* likewise, may be NULL */
	int64_t period_ns, idle_ns;
	int64_t no_steps_ns; /* wait so long for a first step */
	int64_t warmup_steps;
	uint32_t cpus_per_rank;
	bool show_output; /* the jobs' output to our stderr instead of a log file */
	/* A sentence for the user, now. */
	void (*say)(void *arg, const char *text);
	/* A point's setting is being applied. */
	void (*began)(void *arg, uint64_t ticket);
	void *arg;
};

extern const struct exec_ops exec_local;
/* Can everything a point needs be read, set and leased right now? ST_BUSY names the holder. */
enum status exec_local_check(void *x, const struct point *p, struct err *e);
enum status exec_local_new(const struct local_config *cfg, void **out, struct err *e);

#endif
