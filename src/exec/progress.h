/* progress.h: steps read from the job's own output (--progress REGEX).
 *
 * The job's stdout and stderr go through a pipe (a terminal where ours is one, so that its
 * buffering and colours stay as they were) and are copied on unchanged. A line (ended by \n or \r)
 * that matches is a step; with a group in the expression the first group is the number of steps so
 * far.
 *
 * The price of looking: a job whose leader is killed finds its output closed. Without --progress
 * nothing stands between the job and its output.
 */
#ifndef WATTLAW_EXEC_PROGRESS_H
#define WATTLAW_EXEC_PROGRESS_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include "base/status.h"

struct progress;

struct progress_step {
	int64_t t_ns;
	uint64_t n; /* steps so far */
};

#define PROGRESS_FDS 2

/* to_fd: where both streams are copied, -1 = our stdout and stderr. ST_INVALID for a bad
 * expression, with regcomp's reason. */
enum status progress_new(const char *regex, int to_fd, struct progress **out, struct err *e);
/* What the job writes to. */
void progress_fds(const struct progress *p, int *out_fd, int *err_fd);
/* The job has its ends: close ours, so that its end is seen. */
void progress_started(struct progress *p);
/* Fill up to PROGRESS_FDS entries; returns how many. */
nfds_t progress_poll(const struct progress *p, struct pollfd *pfd);
/* Copy what is there. Never waits for the job; waits for our own stdout, as the job would have. */
void progress_copy(struct progress *p);
/* Next step seen, oldest first. */
bool progress_take(struct progress *p, struct progress_step *out);
void progress_free(struct progress *p);

#endif
