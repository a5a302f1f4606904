/* keeper_priv.h: what keeper.c (life cycle) and keeper_step.c (settings inside one launch) share.
 */
#ifndef WATTLAW_EXEC_KEEPER_PRIV_H
#define WATTLAW_EXEC_KEEPER_PRIV_H

#include "exec/knobs.h"
#include "exec/proto.h"
#include "exec/salvage.h"
#include "exec/sensors.h"

enum step_state {
	STEP_WAIT, /* for the ranks, the first steps, the end of warm-up */
	STEP_APPLY, /* the knobs thread is setting */
	STEP_SETTLE, /* set, not yet counted */
	STEP_HOLD, /* counted */
	STEP_OVER /* every point measured */
};

/* Ends of the steps of one rank, kept to choose a window. */
struct step_track {
	int64_t pid; /* of the rank followed; -1 = --progress */
	int rank;
	int64_t *end_ns;
	size_t n, cap;
};

#define KNOBS_NS (20 * NS_PER_S) /* for drivers to open and answer before a job starts */
#define TICK_NS  (50 * NS_PER_MS)

struct keeper {
	struct hello hello;
	struct point_msg *points;
	size_t n_points, cap_points, cur;
	struct chan chan;
	int leader_fd, job_fd;
	bool leader_gone, cancelled;
	struct shard *shard;
	struct marks *marks;
	struct build *build;
	struct sensors *sensors;
	struct knobs *knobs;
	struct readback *readback; /* of knobs that the job's launcher sets, or NULL */
	bool sensing; /* sensors_begin was done */
	bool groups_ready; /* the ranks' CPU groups are leased */
	size_t n_devices; /* told to the builder */
	struct {
		char key[96];
	} * keys; /* by builder index */
	bool job_started, job_ended;
	int64_t job_pid, job_start_ns, job_end_ns;
	int64_t job_code;
	uint64_t n_samples;
	bool stall_told;
	/* keeper_step.c */
	enum step_state state;
	struct step_track track;
	int64_t state_ns; /* when the state began */
	int64_t told_ns; /* when the job was last told its energy */
	int64_t hold_ns; /* when counting began */
	int64_t retry_ns;
	bool no_steps_told;
};

int64_t keeper_now(void);
void keeper_warn(struct keeper *k, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Make builder, marks, shard; open sensors and knobs; apply a whole job's setting. On failure the
 * knobs may be partly set: release them. */
enum status keeper_begin(struct keeper *k, struct str *warn, struct err *e);
/* Hand on everything read and marked since the last call. Never blocks. */
void keeper_drain(struct keeper *k, int64_t now);
/* The result of the operation under way, while reading goes on. ST_TIMEOUT after ns. */
enum status keeper_knobs_wait(struct keeper *k, struct knobs_result **r, int64_t ns, struct err *e);
/* Index of a device in the builder, added when it is new (rank groups). -1 without memory. */
int keeper_device(struct keeper *k, const struct device *d, bool on);
/* Tell builder and shard what a knob of device dev stands at, since since_ns (0 = from now on);
 * q: found, requested, enforced. */
void keeper_knob(
	struct keeper *k, int64_t since_ns, size_t dev, enum knob knob, const struct qty q[3]);
/* What an axis of rec left at its default is known now. */
void keeper_default_axis(struct run_rec *rec, enum knob knob, struct qty value);
/* Tell builder and shard what a KNOBS_APPLY came to; fills a "default" axis of rec with what was
 * found. */
void keeper_outcomes(struct keeper *k, const struct knobs_result *r, struct run_rec *rec);
/* Begin to look at the knobs that the job's launcher sets; and tell builder, shard and rec what
 * they stood at: false when nobody could tell. */
void keeper_watch_site(struct keeper *k);
bool keeper_tell_site(struct keeper *k, struct point_msg *p);
/* Finish rec over a window, send it, keep it in the shard. */
void keeper_record(struct keeper *k, struct point_msg *p, const struct build_window *w, int code,
	enum run_state state);

/* A step of the followed rank ended. */
void step_seen(struct keeper *k, int64_t pid, int rank, int64_t t_ns);
/* Advance the state machine; called every tick while the job runs. */
void step_tick(struct keeper *k, int64_t now_ns);
/* A knobs result arrived. */
void step_knobs(struct keeper *k, const struct knobs_result *r);

#endif
