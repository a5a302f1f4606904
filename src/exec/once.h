/* once.h: ranks of one job on one host, each wrapped in its own `wattlaw run`, count a device once.
 *
 *   mpirun -n 8 wattlaw run -- ./train        one of the eight counts the node, the others say so
 *
 * The launcher's job id (PMIX_NAMESPACE, or SLURM_JOB_ID and SLURM_STEP_ID) names a file in
 * /dev/shm, whose bytes stand for devices: who holds the lock on a byte counts that device. Locks
 * go with the process, however it ends. One thread.
 */
#ifndef WATTLAW_EXEC_ONCE_H
#define WATTLAW_EXEC_ONCE_H

#include <stdbool.h>

struct once;

/* NULL when this process is no rank of a launcher, or when the file cannot be had: then everybody
 * counts. */
struct once *once_open(void);
/* Is this device ours to count? True without a launcher (o NULL) and for who asks first. */
bool once_claim(struct once *o, const char *key);
void once_close(struct once *o); /* NULL is allowed */

#endif
