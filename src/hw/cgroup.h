/* cgroup.h: one CPU group per rank, so that its CPU rate is a knob.
 *
 * A rank's wrapper (`wattlaw node --rank`) makes a group below its own cgroup, joins it and execs
 * the training command; the keeper, started with the same run id, finds the group by rescan as a
 * device of kind DEV_CGROUP with key "cgroup:<run>:<rank>" and sets KNOB_CPU_RATE through a lease.
 * The group's CPUs are part of its name, so nothing else needs to be handed over. Both v1
 * (cpu.cfs_quota_us) and v2 (cpu.max) are understood; which one is found below the root.
 *
 *   quota = rate * period * CPUs of the rank; "no limit" is hi = -1.
 *
 * All paths are below root_fd and start without '/'.
 */
#ifndef WATTLAW_HW_CGROUP_H
#define WATTLAW_HW_CGROUP_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"

struct hw_notes;

struct cgroup_place {
	int version; /* 1 or 2 */
	char base[PATH_MAX]; /* the caller's own group in the cpu hierarchy, where ours are made */
};
/* Where may this process make CPU groups? On failure e says why and what to do. Takes no rights:
 * the answer can still be ST_NO_PERMISSION when a group is made. */
enum status cgroup_find(int root_fd, struct cgroup_place *out, struct err *e);

/* CPUs of a rank: the smallest of those it may run on, OMP_NUM_THREADS when that is set, and its
 * fair share of the node when its launcher says how many ranks share it. At least 1. */
int cgroup_rank_cpus(
	const char *(*getenv_fn)(void *arg, const char *name), void *arg, int affinity, int online);

/* Make the group of a rank; path (below root_fd) into path. An existing one of that name is used.
 */
enum status cgroup_group_create(int root_fd, const char *run_id, int rank, int n_cpus, char *path,
	size_t size, struct err *e);
/* Move a process into it (0 = the caller). */
enum status cgroup_join(int root_fd, const char *path, int64_t pid, struct err *e);
/* Remove the group. ST_BUSY while processes are in it. */
enum status cgroup_group_remove(int root_fd, const char *path, struct err *e);
/* Remove the groups of a run (NULL = of every run, except those of the last half minute, which may
 * be waiting for their rank) that hold no process; returns how many are left. Their quota is not
 * touched: that is control's. */
size_t cgroup_reap(int root_fd, const char *run_id);

#endif
