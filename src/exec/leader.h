/* leader.h: one launch of a job, seen from the process that answers for its exit code.
 *
 * The leader starts the keeper (the same binary, in a session of its own), hands it the points,
 * spawns the job, waits for both and turns what happens into events. It opens no device and loads
 * no vendor library, and it never waits for the keeper without a bound: a driver call that hangs
 * delays neither the job nor its code. When the keeper dies the leader has its knobs put back by
 * a helper process and goes on; when the leader dies the keeper sees to it.
 *
 * Single-threaded; the caller drives it with launch_next.
 */
#ifndef WATTLAW_EXEC_LEADER_H
#define WATTLAW_EXEC_LEADER_H

#include "exec/job.h"
#include "exec/proto.h"

struct launch_req {
	const struct hello *hello; /* borrowed for the call */
	const struct point_msg *points; /* borrowed for the call */
	size_t n_points;
	char *const *argv; /* launcher and command; kept by the caller until launch_close */
	int out_fd; /* the job's stdout and stderr, -1 = ours */
	const char *progress; /* extended regular expression of a step line, or NULL */
	int64_t end_wait_ns; /* how long the record may take once the job has ended */
};

enum launch_what {
	LAUNCH_SETTING, /* ticket: its setting is being applied */
	LAUNCH_RECORD, /* ticket, rec (the caller's now) */
	LAUNCH_WARN, /* text */
	LAUNCH_NO_STEPS, /* the job shows no steps: it must be measured whole */
	LAUNCH_MEASURED, /* every point was measured: the job may be stopped */
	LAUNCH_EXITED, /* the job ended; code */
	LAUNCH_OVER /* nothing more will come: launch_close */
};

struct launch_event {
	enum launch_what what;
	uint64_t ticket;
	int code;
	struct run_rec rec;
	char text[512];
};

struct launch;

/* Start the keeper, wait for its READY (bounded by hello.open_ns), spawn the job. ST_BUSY,
 * ST_NO_PERMISSION, ST_RANGE: the keeper refused and nothing was started. A command that cannot be
 * run is ST_OK: its end is an event like any other (code 126 or 127, text from launch_why). A
 * keeper that cannot be started is an error in the modes that set knobs; for LAUNCH_RUN the job
 * runs unmeasured, with a warning. */
enum status launch_start(const struct launch_req *req, struct launch **out, struct err *e);
/* The next event, until deadline_ns (monotonic): ST_OK, ST_AGAIN, or ST_CANCELLED when a signal
 * handler ran (the caller looks at its flags). */
enum status launch_next(struct launch *l, int64_t deadline_ns, struct launch_event *ev);
/* Stop measuring, put the knobs back, end the job: SIGTERM to its group, SIGKILL after grace_ns. */
void launch_stop(struct launch *l, int64_t grace_ns);
const struct job *launch_job(const struct launch *l);
/* Why the command could not be run, "" when it could. */
const char *launch_why(const struct launch *l);
/* Did the keeper die? In LAUNCH_STEP mode the job is then stopped: nobody measures it. */
bool launch_keeper_lost(const struct launch *l);
/* Start a keeper, have it open, check and lease everything the points need, and let it go again:
 * the answer before a campaign begins. */
enum status launch_check(const struct launch_req *req, struct err *e);
/* Where the shard is or will be; "" when there is none. To be removed once the record is stored. */
const char *launch_shard(const struct launch *l);
/* Kills nothing in LAUNCH_RUN mode; otherwise the job is gone when it returns. */
void launch_close(struct launch *l);

#endif
