/* exec_sim.h: the executor that runs points on a simulated cluster, in virtual time.
 *
 * Same interface and same records as a real one, so planning, storing, resuming, fitting and
 * reporting do not know the difference; every record says simulated and names cluster and device.
 * A point's workload is the profile after "sim job" in its command, else the workload's name. The
 * same seed gives the same records whatever the order of the points: run ids, noise and times
 * derive from the seed and the setting.
 */
#ifndef WATTLAW_EXEC_EXEC_SIM_H
#define WATTLAW_EXEC_EXEC_SIM_H

#include "exec/exec.h"

struct exec_sim;

extern const struct exec_ops exec_sim_ops;

/* cluster: path of an INI file ([cluster NAME]). */
enum status exec_sim_open(const char *cluster, uint64_t seed, struct exec_sim **out, struct err *e);
/* Another seed for the points to come: a resumed campaign has its own. */
void exec_sim_seed(struct exec_sim *x, uint64_t seed);
/* That the point's job is one that can be simulated: asked before anything is begun. */
enum status exec_sim_check(struct exec_sim *x, const struct point *p, struct err *e);
/* "supercloud: 224 x 2 Tesla V100-PCIE-32GB (simulated)"; borrowed. */
const char *exec_sim_describe(const struct exec_sim *x);

#endif
