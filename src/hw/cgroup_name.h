/* cgroup_name.h: how the group of a rank is named and found; between cgroup_fs.c and cgroup.c. */
#ifndef WATTLAW_HW_CGROUP_NAME_H
#define WATTLAW_HW_CGROUP_NAME_H

#include <stdbool.h>
#include "hw/cgroup.h"

/* wattlaw.<run id>.<rank>.<CPUs> */
#define CGROUP_PREFIX "wattlaw."

bool cgroup_name_make(const char *run_id, int rank, int n_cpus, char *buf, size_t size);
bool cgroup_name_parse(const char *name, char run_id[48], int *rank, int *n_cpus);

typedef void cgroup_fn(void *arg, const char *path, const char *run, int rank, int n_cpus);
/* Call fn for each group of a run (NULL = of every run) near place. */
void cgroup_each(int root_fd, const struct cgroup_place *place, const char *run_id, cgroup_fn *fn,
	void *arg);

/* Add one group to the list of the back end's instance; ST_NOT_FOUND when it is none of ours. */
enum status cgroup_adopt(void *self, const char *path);

#endif
