/* proto.h: what leader and keeper say to each other over a socketpair.
 *
 * Framed messages on a stream socket: magic, protocol version, type, length, payload (wire.h).
 * Both ends are the same binary, so a version that differs is an error, not a negotiation. The
 * leader must never wait for the keeper: its sends do not block, and a keeper that does not empty
 * its socket counts as lost. The keeper may wait for a leader for a bounded time.
 */
#ifndef WATTLAW_EXEC_PROTO_H
#define WATTLAW_EXEC_PROTO_H

#include "record/record.h"
#include "exec/wire.h"

#define PROTO_VERSION 1u

enum msg_type {
	/* leader → keeper */
	MSG_HELLO = 1, /* struct hello */
	MSG_POINT, /* struct point_msg: one setting to measure */
	MSG_GO, /* no more points for now: arm, then answer MSG_READY */
	MSG_START, /* i64 pid, i64 t_ns: the job was spawned */
	MSG_STEPS, /* i64 t_ns, u64 steps: from the job's output (--progress) */
	MSG_END, /* i64 t_ns, i64 exit code: the job ended */
	MSG_CANCEL, /* stop measuring, restore, say MSG_BYE */
	/* keeper → leader */
	MSG_READY = 64, /* struct ready_msg: the job may start */
	MSG_FAILED, /* u32 status, text: refused before the job started */
	MSG_WARN, /* text for the user */
	MSG_SETTING, /* u64 ticket: this point's setting is being applied */
	MSG_RECORD, /* u64 ticket, bytes of a run_rec */
	MSG_NO_STEPS, /* nothing: the job shows no steps, so settings cannot be stepped inside it */
	MSG_ALL_DONE, /* every point was measured: the job may be ended */
	MSG_BYE /* u32 knobs not restored, text: knobs are back, shard is closed */
};

enum launch_mode {
	LAUNCH_RUN, /* one record over the whole job; the job survives its leader */
	LAUNCH_WHOLE, /* one record over the whole job, a setting applied before it; dies with its
			 leader */
	LAUNCH_STEP /* several settings inside one job; dies with its leader */
};

/* Everything the keeper must know before it opens a device. Texts are owned when decoded. */
struct hello {
	enum launch_mode mode;
	char *run_id, *host;
	char *shard_dir, *control_dir;
	char *devices; /* --devices or NULL */
	char *holder; /* for a second asker: "wattlaw sweep first-sweep" */
	char *only; /* back ends to open, NULL = all */
	int64_t period_ns, idle_ns, open_ns; /* open_ns: how long the job may wait for drivers */
	int64_t warmup_ns, warmup_steps; /* before the first setting is measured */
	int64_t settle_ns; /* after a set, before counting */
	int64_t no_steps_ns; /* give up waiting for the first step */
	uint32_t knobs; /* bits of enum knob that will be set */
	uint32_t site_knobs; /* and of those that the job's launcher sets */
	uint32_t n_ranks, cpus_per_rank; /* rank groups to make when cpu_rate is set */
	bool progress; /* steps come as MSG_STEPS */
};

struct knob_want {
	uint32_t knob;
	bool leave; /* "default": put back what was found */
	bool site; /* set by the job's launcher: read it back, leave it alone */
	int64_t value;
};
#define POINT_KNOBS_MAX 8

struct point_msg {
	uint64_t ticket;
	struct knob_want knobs[POINT_KNOBS_MAX];
	uint32_t n_knobs;
	int64_t hold_min_ns, hold_max_ns;
	int64_t ci_ppm;
	struct run_rec
		rec; /* template: campaign, workload, command, axes, repeat, order, options */
};

struct ready_msg {
	char *marks_dir; /* WATTLAW_MARKS, NULL when there is none */
	char *node_dir; /* WATTLAW_NODE: where `wattlaw node` finds the rank groups, or NULL */
	char *warnings; /* lines, or NULL */
};

bool hello_encode(const struct hello *h, struct str *out);
enum status hello_decode(struct hello *h, const void *p, size_t n, struct err *e);
void hello_release(struct hello *h);
bool point_msg_encode(const struct point_msg *m, struct str *out);
enum status point_msg_decode(struct point_msg *m, const void *p, size_t n, struct err *e);
void point_msg_release(struct point_msg *m);
bool ready_encode(const struct ready_msg *m, struct str *out);
enum status ready_decode(struct ready_msg *m, const void *p, size_t n, struct err *e);
void ready_release(struct ready_msg *m);

/* One end of the socketpair. Owned fd. */
struct chan {
	int fd;
	struct str in;
	size_t at; /* start of what was not handed out yet */
	bool dead;
};

struct msg {
	enum msg_type type;
	const void *p; /* valid until the next chan call */
	size_t n;
};

void chan_init(struct chan *c, int fd);
void chan_close(struct chan *c);
/* ST_OK or ST_LOST (closed, or still full after timeout_ms; 0 = never wait). A message is sent
 * whole or the channel is dead. */
enum status chan_send(struct chan *c, enum msg_type type, const void *p, size_t n, int timeout_ms);
/* Never blocks: ST_OK, ST_AGAIN, ST_LOST (the peer closed), ST_CORRUPT. */
enum status chan_recv(struct chan *c, struct msg *m);

#endif
