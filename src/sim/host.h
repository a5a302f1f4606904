/* host.h: a simulated host on disk: a directory with the shared state and the NVML look-alike.
 *
 *   DIR/state             the world (world.h)
 *   DIR/lib/libnvidia-ml.so.1   the look-alike: a link, or a copy that lacks what the scenario says
 *
 * host_env gives what a process needs to see the devices.
 */
#ifndef WATTLAW_SIM_HOST_H
#define WATTLAW_SIM_HOST_H

#include "base/status.h"
#include "base/str.h"
#include "sim/scenario.h"

/* Where the look-alike is: WATTLAW_SIM_LIBRARY, beside this program's build, or installed. */
enum status host_library(struct str *path, struct err *e);

/* Make the host in an existing, empty directory. */
enum status host_make(const char *dir, const struct scenario *s, struct err *e);
/* Remove what host_make made, and the directory. */
void host_remove(const char *dir);

/* Set WATTLAW_SIM_STATE and LD_LIBRARY_PATH (in front of what is there) of this process, for its
 * children. */
enum status host_env(const char *dir, struct err *e);

#endif
