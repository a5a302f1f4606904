/* keeper.h: the process that measures and sets while a job runs.
 *
 * Runs `wattlaw keeper` (internal): in a session of its own, so that Ctrl-C and a kill of the job's
 * group do not reach it. It is told what to do over the socket, watches its leader by pidfd, and is
 * the only process that loads vendor libraries. Its main thread calls no driver: reading and
 * setting have threads of their own, given up when they do not return, and the process leaves with
 * _exit.
 *
 * Leader killed: a `run` job goes on to its end, its record goes into the shard; the job of a sweep
 * is killed. Either way the knobs are put back.
 */
#ifndef WATTLAW_EXEC_KEEPER_H
#define WATTLAW_EXEC_KEEPER_H

#include "base/status.h"

/* Serve one leader on fd; does not return while the job runs. The exit code of the process. */
int keeper_serve(int fd);
/* Put back what dead keepers had set, remove the rank groups of run_id (may be NULL). 0 when
 * nothing is left to do. */
int keeper_replay(const char *control_dir, const char *run_id);

#endif
