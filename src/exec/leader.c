/* leader.c: see leader.h. */
#include "exec/leader.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "exec/progress.h"
#include "exec/salvage.h"

extern char **environ;

#define READY_SLACK_NS (2 * NS_PER_S) /* what the keeper itself may take beyond the drivers */
#define KNOBS_SLACK_NS (45 * NS_PER_S) /* and drivers that set */
#define KILL_POLL_NS   (50 * NS_PER_MS)
#define QUEUE_MAX      64

struct launch {
	enum launch_mode mode;
	char *run_id, *control_dir;
	struct chan chan;
	pid_t keeper;
	int keeper_fd; /* pidfd */
	bool keeper_gone, bye, told_end, told_over;
	pid_t helper; /* putting knobs back for a dead keeper */
	struct job job;
	char why[512];
	char shard[4096];
	struct progress *progress;
	int64_t end_wait_ns, over_by_ns;
	bool stopping, killed;
	int64_t kill_at_ns;
	bool have_record, keeper_lost;
	struct launch_event queue[QUEUE_MAX];
	size_t q_head, q_n;
};

static int64_t now_ns(void)
{
	return clock_system()->now(clock_system());
}

static struct launch_event *push(struct launch *l, enum launch_what what)
{
	struct launch_event *ev;

	if (l->q_n == QUEUE_MAX)
		return NULL;
	ev = &l->queue[(l->q_head + l->q_n++) % QUEUE_MAX];
	ev->what = what;
	ev->ticket = 0;
	ev->code = 0;
	ev->text[0] = 0;
	run_rec_init(&ev->rec);
	return ev;
}

static void push_warn(struct launch *l, const char *text)
{
	struct launch_event *ev = push(l, LAUNCH_WARN);

	if (ev)
		snprintf(ev->text, sizeof ev->text, "%s", text);
}

/* A warning a line. */
static void push_lines(struct launch *l, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");
		char line[512];

		snprintf(line, sizeof line, "%.*s", (int)(n < 500 ? n : 500), text);
		if (n)
			push_warn(l, line);
		text += n + (text[n] == '\n');
	}
}

/* The keeper is this same binary. It gets nothing of ours but the socket and, for --progress, the
 * pipes: whatever else is open (the caller's pipes above all) must not be kept open by it. */
static enum status spawn_keeper(struct launch *l, struct err *e)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	sigset_t none, defaults;
	char *argv[] = {"wattlaw", "keeper", "--fd", "3", NULL};
	int sv[2], rc;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv))
		return err_errno(e, errno, "cannot make a socket pair");
	/* dup2 of a descriptor onto itself would leave it close-on-exec. */
	if (sv[1] == 3) {
		int up = fcntl(sv[1], F_DUPFD_CLOEXEC, 10);

		close(sv[1]);
		sv[1] = up;
	}
	if (sv[1] < 0 || posix_spawn_file_actions_init(&fa)) {
		close(sv[0]);
		return err_set(e, ST_NOMEM, "out of descriptors or memory");
	}
	posix_spawnattr_init(&at);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
	if (!getenv("WATTLAW_DEBUG"))
		posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, sv[1], 3);
	posix_spawn_file_actions_addclosefrom_np(&fa, 4);
	sigemptyset(&none);
	sigfillset(&defaults);
	posix_spawnattr_setsigmask(&at, &none);
	posix_spawnattr_setsigdefault(&at, &defaults);
	posix_spawnattr_setflags(
		&at, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	rc = posix_spawn(&l->keeper, "/proc/self/exe", &fa, &at, argv, environ);
	posix_spawnattr_destroy(&at);
	posix_spawn_file_actions_destroy(&fa);
	close(sv[1]);
	if (rc) {
		l->keeper = 0;
		close(sv[0]);
		return err_set(e, ST_IO, "cannot start the keeper: %s", strerror(rc));
	}
	chan_init(&l->chan, sv[0]);
	l->keeper_fd = pidfd_open(l->keeper, 0);
	if (l->keeper_fd >= 0)
		(void)fcntl(l->keeper_fd, F_SETFD, FD_CLOEXEC);
	return ST_OK;
}

static enum status send_plan(struct launch *l, const struct launch_req *req)
{
	struct str s = STR_INIT;
	enum status st = ST_NOMEM;

	if (hello_encode(req->hello, &s))
		st = chan_send(&l->chan, MSG_HELLO, s.p, s.len, 1000);
	for (size_t i = 0; i < req->n_points && st == ST_OK; i++) {
		str_clear(&s);
		st = point_msg_encode(&req->points[i], &s)
			     ? chan_send(&l->chan, MSG_POINT, s.p, s.len, 1000)
			     : ST_NOMEM;
	}
	if (st == ST_OK)
		st = chan_send(&l->chan, MSG_GO, NULL, 0, 1000);
	str_release(&s);
	return st;
}

/* Put back what a dead keeper had set. The journals say what; a helper process does it, so that no
 * vendor library is loaded here and a driver that hangs holds up the helper alone. */
static void keeper_died(struct launch *l)
{
	char *argv[] = {"wattlaw", "keeper", "--replay", l->control_dir, "--run", l->run_id, NULL};
	posix_spawn_file_actions_t fa;
	int status;

	if (l->keeper_gone)
		return;
	l->keeper_gone = true;
	if (l->keeper > 0)
		(void)waitpid(l->keeper, &status, WNOHANG);
	chan_close(&l->chan);
	if (l->bye || posix_spawn_file_actions_init(&fa))
		return;
	l->keeper_lost = true;
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addclosefrom_np(&fa, 3);
	if (posix_spawn(&l->helper, "/proc/self/exe", &fa, NULL, argv, environ))
		l->helper = 0;
	posix_spawn_file_actions_destroy(&fa);
	push_warn(l,
		l->helper
			? "the keeper died; what it had set is being put back, and the job goes on"
			: "the keeper died and no helper could be started: run 'wattlaw restore'");
}

static void take_record(struct launch *l, const struct msg *m)
{
	struct wire w = {m->p, m->n, false};
	uint64_t ticket = wire_get_u64(&w);
	struct err e = ERR_INIT;
	struct launch_event *ev = push(l, LAUNCH_RECORD);

	if (!ev)
		return;
	ev->ticket = ticket;
	if (w.bad || run_rec_decode(&ev->rec, w.p, w.left, &e)) {
		ev->what = LAUNCH_WARN;
		snprintf(ev->text, sizeof ev->text, "a record could not be read: %s", e.msg);
		return;
	}
	l->have_record = true;
}

static void take_text(struct launch *l, const struct msg *m)
{
	struct wire w = {m->p, m->n, false};
	char text[512];

	wire_get_text_buf(&w, text, sizeof text);
	if (text[0])
		push_warn(l, text);
}

static void take_bye(struct launch *l, const struct msg *m)
{
	struct wire w = {m->p, m->n, false};
	uint32_t left = wire_get_u32(&w);
	char text[512];

	l->bye = true;
	wire_get_text_buf(&w, text, sizeof text);
	if (left || text[0])
		push_warn(l,
			text[0] ? text : "some knobs could not be put back: run 'wattlaw restore'");
}

/* Take what the keeper sent. */
static void drain_keeper(struct launch *l)
{
	struct launch_event *ev;
	struct msg m;
	enum status st;

	while (!l->keeper_gone && l->q_n < QUEUE_MAX - 4) {
		st = chan_recv(&l->chan, &m);
		if (st == ST_AGAIN)
			return;
		if (st != ST_OK) {
			keeper_died(l);
			return;
		}
		switch (m.type) {
		case MSG_RECORD:
			take_record(l, &m);
			break;
		case MSG_WARN:
			take_text(l, &m);
			break;
		case MSG_SETTING:
			ev = push(l, LAUNCH_SETTING);
			if (ev) {
				struct wire w = {m.p, m.n, false};

				ev->ticket = wire_get_u64(&w);
			}
			break;
		case MSG_NO_STEPS:
			push(l, LAUNCH_NO_STEPS);
			break;
		case MSG_ALL_DONE:
			push(l, LAUNCH_MEASURED);
			break;
		case MSG_BYE:
			take_bye(l, &m);
			break;
		default:
			break;
		}
	}
}

/* READY, FAILED, or the time is up. */
static enum status wait_ready(
	struct launch *l, int64_t deadline_ns, struct ready_msg *ready, struct err *e)
{
	for (;;) {
		struct pollfd p = {.fd = l->chan.fd, .events = POLLIN};
		struct msg m;
		enum status st = chan_recv(&l->chan, &m);
		int64_t left = deadline_ns - now_ns();

		if (st == ST_OK && m.type == MSG_READY)
			return ready_decode(ready, m.p, m.n, e);
		if (st == ST_OK && m.type == MSG_FAILED) {
			struct wire w = {m.p, m.n, false};
			enum status why = (enum status)wire_get_u32(&w);
			char text[480];

			wire_get_text_buf(&w, text, sizeof text);
			l->bye = true; /* it put back whatever it had touched */
			return err_set(
				e, why == ST_OK || why >= ST_COUNT ? ST_IO : why, "%s", text);
		}
		if (st == ST_OK && m.type == MSG_WARN)
			take_text(l, &m);
		if (st == ST_OK)
			continue;
		if (st != ST_AGAIN)
			return err_set(e, ST_LOST, "the keeper died before the job started");
		if (left <= 0)
			return err_set(e, ST_TIMEOUT, "the keeper did not answer in time");
		(void)poll(&p, 1, (int)(left / NS_PER_MS) + 1);
	}
}

static enum status spawn_job(
	struct launch *l, const struct launch_req *req, const struct ready_msg *ready)
{
	struct env_set set[] = {{"WATTLAW_RUN", l->run_id}, {"WATTLAW_MARKS", ready->marks_dir},
		{"WATTLAW_NODE", ready->node_dir}};
	char **env = env_make(environ, set, sizeof set / sizeof *set);
	sigset_t mask, defaults;
	struct err e = ERR_INIT;
	struct str s = STR_INIT;
	int out = req->out_fd, errfd = req->out_fd;

	if (!env)
		return ST_NOMEM;
	sigprocmask(SIG_SETMASK, NULL, &mask);
	sigemptyset(&defaults);
	/* Ours is ignored (a reader of our output may go away); the job's must not be. */
	sigaddset(&defaults, SIGPIPE);
	if (req->progress)
		progress_fds(l->progress, &out, &errfd);
	if (job_spawn(&l->job, req->argv, env, l->mode != LAUNCH_RUN, out, errfd, &mask, &defaults,
		    &e))
		snprintf(l->why, sizeof l->why, "%s", e.msg);
	if (req->progress)
		progress_started(l->progress);
	wire_i64(&s, l->job.pid);
	wire_i64(&s, l->job.start_ns);
	if (!l->keeper_gone && chan_send(&l->chan, MSG_START, s.p, s.len, 0))
		keeper_died(l);
	str_release(&s);
	env_free(env);
	return ST_OK;
}

/* Allocate, start the keeper, tell it the plan, wait for its answer. *out is set whenever there is
 * something to close. */
static enum status arm(
	const struct launch_req *req, struct launch **out, struct ready_msg *ready, struct err *e)
{
	const struct hello *h = req->hello;
	struct launch *l = mem_calloc(1, sizeof *l);
	enum status st;

	*out = l;
	if (!l)
		return err_set(e, ST_NOMEM, "out of memory");
	l->mode = h->mode;
	l->keeper_fd = -1;
	l->chan.fd = -1;
	l->end_wait_ns = req->end_wait_ns;
	job_init(&l->job);
	l->run_id = mem_strdup(h->run_id);
	l->control_dir = mem_strdup(h->control_dir);
	if (!l->run_id || !l->control_dir)
		return err_set(e, ST_NOMEM, "out of memory");
	if (req->progress) {
		st = progress_new(req->progress, req->out_fd, &l->progress, e);
		if (st != ST_OK)
			return st;
	}
	st = spawn_keeper(l, e);
	if (st != ST_OK)
		return st;
	if (send_plan(l, req))
		return err_set(e, ST_LOST, "the keeper died before the job started");
	return wait_ready(l,
		now_ns() + h->open_ns + h->idle_ns + READY_SLACK_NS +
			(h->knobs ? KNOBS_SLACK_NS : 0),
		ready, e);
}

enum status launch_check(const struct launch_req *req, struct err *e)
{
	struct ready_msg ready = {NULL, NULL, NULL};
	struct launch *l;
	enum status st = arm(req, &l, &ready, e);

	if (st == ST_OK && chan_send(&l->chan, MSG_CANCEL, NULL, 0, 0) == ST_OK) {
		/* Its locks are free again once it has gone, which takes sets of its own: what is
		 * launched next would find the devices held. */
		struct pollfd p = {.fd = l->keeper_fd, .events = POLLIN};

		(void)poll(&p, 1, (int)(KNOBS_SLACK_NS / NS_PER_MS));
		l->bye = true;
	}
	ready_release(&ready);
	launch_close(l);
	return st;
}

enum status launch_start(const struct launch_req *req, struct launch **out, struct err *e)
{
	struct ready_msg ready = {NULL, NULL, NULL};
	struct launch *l;
	enum status st = arm(req, &l, &ready, e);

	*out = NULL;
	/* A job that was only to be measured still runs, unmeasured; a wrong option does not. */
	if (st != ST_OK && (!l || l->mode != LAUNCH_RUN || st == ST_INVALID || st == ST_NOMEM)) {
		launch_close(l);
		return st;
	}
	if (st != ST_OK) {
		push_warn(l, e->msg);
		l->bye = true;
		keeper_died(l);
	}
	if (l->keeper > 0)
		snprintf(l->shard, sizeof l->shard, "%s/%s.%s.%ld.shard", req->hello->shard_dir,
			l->run_id, req->hello->host, (long)l->keeper);
	if (ready.warnings)
		push_lines(l, ready.warnings);
	st = spawn_job(l, req, &ready);
	ready_release(&ready);
	if (st != ST_OK) {
		launch_close(l);
		return err_set(e, st, "out of memory");
	}
	*out = l;
	return ST_OK;
}

static void tell_end(struct launch *l)
{
	struct launch_event *ev;
	struct str s = STR_INIT;

	l->told_end = true;
	l->over_by_ns = now_ns() + l->end_wait_ns;
	wire_i64(&s, l->job.end_ns);
	wire_i64(&s, l->job.exit_code);
	if (!l->keeper_gone && chan_send(&l->chan, MSG_END, s.p, s.len, 0))
		keeper_died(l);
	str_release(&s);
	ev = push(l, LAUNCH_EXITED);
	if (ev)
		ev->code = l->job.exit_code;
	/* Ranks that outlive mpirun would be measured beside the next launch. */
	if (l->mode != LAUNCH_RUN)
		(void)job_signal_run(l->run_id, SIGKILL);
}

void launch_stop(struct launch *l, int64_t grace_ns)
{
	if (l->stopping)
		return;
	l->stopping = true;
	l->kill_at_ns = now_ns() + grace_ns;
	if (!l->keeper_gone)
		(void)chan_send(&l->chan, MSG_CANCEL, NULL, 0, 0);
	job_signal(&l->job, SIGTERM);
}

static void kill_late(struct launch *l)
{
	if (l->stopping && !l->killed && !l->job.ended && now_ns() >= l->kill_at_ns) {
		l->killed = true;
		job_signal(&l->job, SIGKILL);
		(void)job_signal_run(l->run_id, SIGKILL);
	}
}

/* Is everything over? Then make the last events: what a lost keeper left, and OVER. */
static void finish(struct launch *l)
{
	if (!l->told_end || l->told_over)
		return;
	if (!l->keeper_gone && !l->bye && now_ns() < l->over_by_ns)
		return;
	if (!l->keeper_gone && !l->bye) {
		push_warn(l, "the record is not finished (a driver call has not returned); the "
			     "keeper completes "
			     "it and the next wattlaw command takes it in");
		l->shard[0] = 0;
	} else if (l->keeper_lost && !l->have_record && l->shard[0]) {
		struct launch_event *ev = push(l, LAUNCH_RECORD);
		struct err e = ERR_INIT;

		if (ev && salvage_dead(l->shard, l->job.start_ns, l->job.end_ns, l->job.exit_code,
				  &ev->rec, &ev->ticket, &e)) {
			ev->what = LAUNCH_WARN;
			snprintf(ev->text, sizeof ev->text,
				"nothing could be saved of the measurement: %s", e.msg);
		}
	}
	l->told_over = true;
	push(l, LAUNCH_OVER);
}

static void wait_some(struct launch *l, int64_t deadline_ns)
{
	struct pollfd p[4];
	nfds_t n = 0;
	int64_t left = deadline_ns - now_ns();
	struct timespec ts;

	if (!l->job.ended && l->job.pidfd < 0 && left > 2 * NS_PER_MS)
		left = 2 * NS_PER_MS; /* no pidfd on this kernel: look again soon */
	if ((l->stopping || l->told_end) && left > KILL_POLL_NS)
		left = KILL_POLL_NS;
	if (left < 0)
		left = 0;
	ts = (struct timespec){left / NS_PER_S, left % NS_PER_S};
	if (!l->keeper_gone && l->chan.fd >= 0)
		p[n++] = (struct pollfd){.fd = l->chan.fd, .events = POLLIN};
	if (!l->job.ended && l->job.pidfd >= 0)
		p[n++] = (struct pollfd){.fd = l->job.pidfd, .events = POLLIN};
	if (l->progress)
		n += progress_poll(l->progress, p + n);
	(void)ppoll(p, n, &ts, NULL);
}

static void send_steps(struct launch *l)
{
	struct progress_step step;

	while (l->progress && progress_take(l->progress, &step)) {
		struct str s = STR_INIT;

		wire_i64(&s, step.t_ns);
		wire_u64(&s, step.n);
		/* A keeper that does not read is a keeper that hangs: drop it, never the job. */
		if (!l->keeper_gone && chan_send(&l->chan, MSG_STEPS, s.p, s.len, 0))
			keeper_died(l);
		str_release(&s);
	}
}

enum status launch_next(struct launch *l, int64_t deadline_ns, struct launch_event *ev)
{
	bool waited = false;

	for (;;) {
		if (l->progress) {
			progress_copy(l->progress);
			send_steps(l);
		}
		if (!l->job.ended && job_reap(&l->job) && l->progress)
			progress_copy(l->progress);
		drain_keeper(l);
		if (l->job.ended && !l->told_end)
			tell_end(l);
		if (l->keeper_lost && l->mode == LAUNCH_STEP)
			launch_stop(l, 2 * NS_PER_S);
		kill_late(l);
		finish(l);
		if (l->q_n) {
			*ev = l->queue[l->q_head];
			l->q_head = (l->q_head + 1) % QUEUE_MAX;
			l->q_n--;
			return ST_OK;
		}
		if (waited && now_ns() >= deadline_ns)
			return ST_AGAIN;
		if (l->told_over)
			return ST_NOT_FOUND;
		wait_some(l, deadline_ns);
		waited = true;
	}
}

const struct job *launch_job(const struct launch *l)
{
	return &l->job;
}

const char *launch_why(const struct launch *l)
{
	return l->why;
}

bool launch_keeper_lost(const struct launch *l)
{
	return l->keeper_lost;
}

const char *launch_shard(const struct launch *l)
{
	return l->shard;
}

void launch_close(struct launch *l)
{
	int64_t give_up = now_ns() + 2 * NS_PER_S;
	int status;

	if (!l)
		return;
	if (l->mode != LAUNCH_RUN && l->job.pid && !l->job.ended) {
		job_signal(&l->job, SIGKILL);
		(void)job_signal_run(l->run_id, SIGKILL);
		while (!job_reap(&l->job) && now_ns() < give_up)
			usleep(2000);
	}
	chan_close(&l->chan); /* a keeper still at work sees that nobody listens, and finishes its
				 shard */
	if (l->helper > 0)
		while (waitpid(l->helper, &status, WNOHANG) == 0 && now_ns() < give_up)
			usleep(2000);
	if (l->keeper > 0)
		for (int i = 0; i < 50 && waitpid(l->keeper, &status, WNOHANG) == 0 && l->bye; i++)
			usleep(1000);
	if (l->keeper_fd >= 0)
		close(l->keeper_fd);
	while (l->q_n) {
		run_rec_release(&l->queue[l->q_head].rec);
		l->q_head = (l->q_head + 1) % QUEUE_MAX;
		l->q_n--;
	}
	job_release(&l->job);
	progress_free(l->progress);
	mem_free(l->run_id);
	mem_free(l->control_dir);
	mem_free(l);
}
