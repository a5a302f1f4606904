/* keeper.c: the life of a keeper: armed before the first set, there until everything is put back.
 */
#include "exec/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "exec/job.h"
#include "exec/keeper_priv.h"
#include "exec/readback.h"
#include "hw/cgroup.h"

#define PLAN_NS (10 * NS_PER_S) /* for the leader to say what it wants */
/* After the job's end, for the last readings: a counter's next refresh, or more of what an average
 * of power still owes. */
#define TAIL_COUNTER_NS (250 * NS_PER_MS)
#define TAIL_NS         (600 * NS_PER_MS)
#define REAP_NS         (8 * NS_PER_S)
#define RELEASE_NS      (60 * NS_PER_S)
#define POINTS_MAX      ((size_t)1 << 16)

int64_t keeper_now(void)
{
	return clock_system()->now(clock_system());
}

static void say(struct keeper *k, enum msg_type type, const struct str *s)
{
	if (!k->leader_gone && chan_send(&k->chan, type, s ? s->p : NULL, s ? s->len : 0, 2000))
		k->leader_gone = true;
}

void keeper_warn(struct keeper *k, const char *fmt, ...)
{
	struct str s = STR_INIT;
	char text[480];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	wire_text(&s, text);
	say(k, MSG_WARN, &s);
	str_release(&s);
}

static void refuse(struct keeper *k, const struct err *e)
{
	struct str s = STR_INIT;

	wire_u32(&s, (uint32_t)e->st);
	wire_text(&s, e->msg);
	say(k, MSG_FAILED, &s);
	str_release(&s);
}

/* HELLO, POINT…, GO. */
static enum status take_plan(struct keeper *k, struct err *e)
{
	int64_t deadline = keeper_now() + PLAN_NS;

	for (;;) {
		struct pollfd p = {.fd = k->chan.fd, .events = POLLIN};
		struct msg m;
		enum status st = chan_recv(&k->chan, &m);

		if (st == ST_AGAIN && keeper_now() < deadline) {
			(void)poll(&p, 1, 200);
			continue;
		}
		if (st != ST_OK)
			return err_set(e, st, "the leader went away");
		if (m.type == MSG_HELLO && !k->hello.run_id) {
			st = hello_decode(&k->hello, m.p, m.n, e);
		} else if (m.type == MSG_POINT) {
			if (!mem_grow((void **)&k->points, &k->cap_points, k->n_points + 1,
				    sizeof *k->points, POINTS_MAX))
				return err_set(e, ST_NOMEM, "out of memory");
			st = point_msg_decode(&k->points[k->n_points], m.p, m.n, e);
			k->n_points += st == ST_OK;
		} else if (m.type == MSG_GO) {
			return k->hello.run_id && k->n_points
				       ? ST_OK
				       : err_set(e, ST_CORRUPT, "the leader sent no plan");
		}
		if (st != ST_OK)
			return st;
	}
}

static void go_path(const struct keeper *k, char *buf, size_t size)
{
	snprintf(buf, size, "%s/%s.go", k->hello.shard_dir, k->hello.run_id);
}

static void say_ready(struct keeper *k, const struct str *warn)
{
	struct ready_msg m = {.warnings = warn->len ? warn->p : NULL};
	struct str s = STR_INIT, node = STR_INIT;
	char go[4200];

	if (k->marks)
		m.marks_dir = (char *)(uintptr_t)marks_dir(k->marks);
	if (k->hello.knobs & 1u << KNOB_CPU_RATE) {
		str_addf(&node, "cpus=%u", k->hello.cpus_per_rank);
		/* A whole job must not take a step before its rate is set. */
		if (k->hello.mode == LAUNCH_WHOLE) {
			go_path(k, go, sizeof go);
			str_addf(&node, ",go=%s", go);
		}
		m.node_dir = node.p;
	}
	if (ready_encode(&m, &s))
		say(k, MSG_READY, &s);
	str_release(&s);
	str_release(&node);
}

static void job_over(struct keeper *k, int64_t t_ns, int64_t code)
{
	if (k->job_ended)
		return;
	k->job_ended = true;
	k->job_end_ns = t_ns;
	k->job_code = code;
	if (k->readback)
		readback_end(k->readback);
	if (k->shard)
		shard_put_end(k->shard, t_ns, code);
	sensors_kick(k->sensors);
}

static void on_start(struct keeper *k, const struct msg *m)
{
	struct wire w = {m->p, m->n, false};

	k->job_pid = wire_get_i64(&w);
	k->job_start_ns = wire_get_i64(&w);
	k->job_started = true;
	k->state_ns = keeper_now();
	if (k->job_pid > 0)
		k->job_fd = pidfd_open((pid_t)k->job_pid, 0);
	if (k->shard)
		shard_put_start(k->shard, k->job_pid, k->job_start_ns);
	sensors_job(k->sensors, k->job_pid);
	keeper_watch_site(k);
	sensors_kick(k->sensors);
}

static void on_message(struct keeper *k, const struct msg *m)
{
	struct wire w = {m->p, m->n, false};
	int64_t t, n;

	switch (m->type) {
	case MSG_START:
		on_start(k, m);
		break;
	case MSG_STEPS:
		t = wire_get_i64(&w);
		n = wire_get_i64(&w);
		build_progress(k->build, t, (uint64_t)n, 0);
		if (k->shard)
			shard_put_steps(k->shard, t, (uint64_t)n);
		step_seen(k, -1, 0, t);
		break;
	case MSG_END:
		t = wire_get_i64(&w);
		n = wire_get_i64(&w);
		job_over(k, t, n);
		break;
	case MSG_CANCEL:
		k->cancelled = true;
		break;
	default:
		break;
	}
}

static void listen_leader(struct keeper *k)
{
	struct msg m;
	enum status st = ST_OK;

	while (!k->leader_gone && (st = chan_recv(&k->chan, &m)) == ST_OK)
		on_message(k, &m);
	if (st != ST_OK && st != ST_AGAIN)
		k->leader_gone = true;
}

/* The leader is gone and nobody else will end the job of a sweep. */
static void kill_job(struct keeper *k)
{
	int64_t term = keeper_now() + 300 * NS_PER_MS;

	if (k->job_pid > 0)
		(void)kill(-(pid_t)k->job_pid, SIGTERM);
	while (keeper_now() < term && (job_signal_run(k->hello.run_id, 0) > 0))
		usleep(20000);
	if (k->job_pid > 0)
		(void)kill(-(pid_t)k->job_pid, SIGKILL);
	for (int i = 0; i < 50 && job_signal_run(k->hello.run_id, SIGKILL) > 0; i++)
		usleep(20000);
}

static void send_record(struct keeper *k, uint64_t ticket, const struct run_rec *rec)
{
	struct str s = STR_INIT;

	wire_u64(&s, ticket);
	if (run_rec_encode(rec, &s))
		say(k, MSG_RECORD, &s);
	str_release(&s);
	if (k->shard) {
		shard_put_record(k->shard, ticket, rec);
		(void)shard_tick(k->shard, INT64_MAX);
	}
}

/* A limit that was asked for and is not in force: the point was not measured at its setting. Grids
 * and quotas round by less than 2 %. */
static bool knob_missed(const struct run_rec *rec)
{
	for (size_t d = 0; d < rec->n_devs; d++)
		for (size_t i = 0; i < rec->devs[d].n_knobs; i++) {
			const struct knob_rec *n = &rec->devs[d].knobs[i];

			if (n->requested.st == ST_OK && n->enforced.st == ST_OK &&
				llabs(n->enforced.v - n->requested.v) > llabs(n->requested.v) / 50)
				return true;
		}
	return false;
}

void keeper_record(struct keeper *k, struct point_msg *p, const struct build_window *w, int code,
	enum run_state state)
{
	struct clock *c = clock_system();
	struct err e = ERR_INIT;
	struct run_rec *rec = &p->rec;

	rec->state = state;
	rec->simulated |= sensors_simulated(k->sensors);
	rec->exit_code = code;
	if (build_record(k->build, w, rec, &e))
		run_rec_warn(rec, "%s", e.msg);
	if (rec->energy_uj.st != ST_OK && rec->energy_uj.st != ST_PARTIAL && !rec->energy_note) {
		struct str why = STR_INIT;

		sensors_why(k->sensors, &why);
		(void)rec_set(&rec->energy_note, str_cstr(&why));
		str_release(&why);
	}
	/* The builder may have lowered a good state; a bad one stays. */
	if (state != RUN_DONE)
		rec->state = state;
	else if (rec->state == RUN_DONE && knob_missed(rec))
		rec->state = RUN_PARTIAL;
	rec->start_realtime_ns = c->realtime(c) - (c->now(c) - w->t0_ns);
	send_record(k, p->ticket, rec);
}

/* Put everything back. Posted first, so that a stuck reader does not hold it up. */
static void release_knobs(struct keeper *k, struct str *bye)
{
	struct knobs_result *r = NULL;
	struct err e = ERR_INIT;
	int64_t deadline = keeper_now() + KNOBS_NS;

	if (k->knobs) {
		/* Whatever is under way first: it may be a set that must be undone. */
		while (!knobs_idle(k->knobs) && keeper_now() < deadline)
			if (!knobs_take(k->knobs, &r))
				usleep(1000);
		if (knobs_idle(k->knobs)) {
			knobs_post(k->knobs, KNOBS_RELEASE, NULL);
			if (keeper_knobs_wait(k, &r, RELEASE_NS, &e) == ST_OK) {
				wire_u32(bye, (uint32_t)r->not_restored);
				wire_text(bye, r->text);
				return;
			}
		}
		wire_u32(bye, 1);
		wire_text(bye, "a driver does not return: run 'wattlaw restore' once it does");
		return;
	}
	wire_u32(bye, 0);
	wire_text(bye, "");
}

static void finish_whole(struct keeper *k)
{
	struct build_window w = {.t0_ns = k->job_start_ns,
		.t1_ns = k->job_end_ns,
		.warmup_steps = k->hello.warmup_steps,
		.warmup_ns = 0,
		.keep_series = true};
	int64_t deadline = k->job_end_ns + TAIL_NS;
	int64_t tail = sensors_all_count(k->sensors) ? TAIL_COUNTER_NS : TAIL_NS;
	enum run_state state = k->cancelled ? RUN_INTERRUPTED : k->job_code ? RUN_FAILED : RUN_DONE;

	if (k->job_code < 0)
		state = RUN_PARTIAL;
	if (tail < 2 * k->hello.period_ns)
		tail = 2 * k->hello.period_ns;
	/* Readings on both sides of the end make it exact; a driver that hangs does not get more.
	 */
	while (sensors_n_on(k->sensors) && keeper_now() < deadline &&
		!sensors_fresh(k->sensors, k->job_end_ns + tail)) {
		usleep(5000);
		keeper_drain(k, keeper_now());
	}
	keeper_drain(k, keeper_now());
	if (!keeper_tell_site(k, &k->points[0]) && state == RUN_DONE)
		state = RUN_PARTIAL;
	if (k->job_code < 0)
		build_warn(
			k->build, "wattlaw was killed while the job ran: its exit code is unknown");
	keeper_record(k, &k->points[0], &w, (int)k->job_code, state);
}

/* The ranks' groups go once the ranks have gone. */
static void reap_groups(struct keeper *k)
{
	int64_t deadline = keeper_now() + REAP_NS;
	int root;

	if (!(k->hello.knobs & 1u << KNOB_CPU_RATE) || !k->job_started)
		return;
	root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	while (root >= 0 && cgroup_reap(root, k->hello.run_id) > 0 && keeper_now() < deadline) {
		struct pollfd p = {.fd = k->leader_gone ? -1 : k->chan.fd, .events = POLLIN};

		listen_leader(k);
		(void)poll(&p, 1, 20);
	}
	if (root >= 0)
		close(root);
}

static void clean_up(struct keeper *k)
{
	struct err e = ERR_INIT;
	char go[4200];

	go_path(k, go, sizeof go);
	if (k->knobs)
		(void)unlink(go);
	marks_close(k->marks);
	sensors_unclaim(k->sensors);
	if (k->shard) {
		shard_put_trailer(k->shard);
		snprintf(go, sizeof go, "%s", shard_path(k->shard));
		(void)shard_close(k->shard, &e);
		/* Nothing happened that anybody could want to take in. */
		if (!k->job_started)
			salvage_remove(go);
	}
}

static void tick_whole(struct keeper *k, int64_t now)
{
	struct knobs_result *r;
	char go[4200];
	int fd;

	if (!k->knobs || !(k->hello.knobs & 1u << KNOB_CPU_RATE))
		return;
	if (knobs_take(k->knobs, &r)) {
		if (r->op == KNOBS_GROUPS && r->st == ST_OK) {
			k->groups_ready = true;
			knobs_post(k->knobs, KNOBS_APPLY, &k->points[0]);
		} else if (r->op == KNOBS_APPLY) {
			keeper_outcomes(k, r, &k->points[0].rec);
			if (r->st != ST_OK)
				run_rec_warn(&k->points[0].rec, "%s", r->err.msg);
			go_path(k, go, sizeof go);
			fd = open(go, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
			if (fd >= 0)
				close(fd);
		}
	} else if (knobs_idle(k->knobs) && !k->groups_ready && now >= k->retry_ns) {
		k->retry_ns = now + 20 * NS_PER_MS;
		knobs_post(k->knobs, KNOBS_GROUPS, NULL);
	}
}

static void tick(struct keeper *k)
{
	int64_t now = keeper_now();
	struct knobs_result *r;

	keeper_drain(k, now);
	if (!k->job_started || k->job_ended)
		return;
	if (k->hello.mode == LAUNCH_WHOLE)
		tick_whole(k, now);
	if (k->hello.mode != LAUNCH_STEP)
		return;
	if (k->knobs && knobs_take(k->knobs, &r))
		step_knobs(k, r);
	step_tick(k, now);
}

static void watch(struct keeper *k)
{
	while (!k->job_ended && !k->cancelled) {
		struct pollfd p[4] = {{.fd = k->leader_fd, .events = POLLIN},
			{.fd = k->leader_gone ? -1 : k->chan.fd, .events = POLLIN},
			{.fd = k->job_fd, .events = POLLIN},
			{.fd = k->knobs ? knobs_fd(k->knobs) : -1, .events = POLLIN}};

		(void)poll(p, 4, (int)(TICK_NS / NS_PER_MS));
		listen_leader(k);
		if (p[0].revents & POLLIN) {
			k->leader_gone = true;
			p[0].fd = -1;
		}
		if (k->leader_gone) {
			if (k->leader_fd >= 0)
				close(k->leader_fd);
			k->leader_fd = -1;
			if (k->hello.mode != LAUNCH_RUN || !k->job_started)
				return;
			/* Nobody tells us its code; its end we see. */
			if (k->job_fd < 0 || p[2].revents & POLLIN)
				job_over(k, keeper_now(), -1);
		} else if (p[2].revents & POLLIN) {
			/* Ended; the leader says when and how. Do not spin on it. */
			close(k->job_fd);
			k->job_fd = -1;
		}
		tick(k);
	}
}

static void run(struct keeper *k)
{
	struct str warn = STR_INIT, bye = STR_INIT;
	struct err e = ERR_INIT;
	enum status st = keeper_begin(k, &warn, &e);

	if (st != ST_OK) {
		/* Put back before it is said: whoever hears it may start again at once. */
		if (k->sensors)
			release_knobs(k, &bye);
		refuse(k, &e);
		goto out;
	}
	say_ready(k, &warn);
	watch(k);
	if (k->hello.mode != LAUNCH_RUN && k->leader_gone && !k->job_ended) {
		struct knobs_result *r;

		if (k->knobs && (knobs_idle(k->knobs) || knobs_take(k->knobs, &r)))
			knobs_post(k->knobs, KNOBS_RELEASE, NULL);
		kill_job(k);
	}
	if (k->hello.mode != LAUNCH_STEP && k->job_ended && k->job_started &&
		k->job_end_ns > k->job_start_ns)
		finish_whole(k);
	release_knobs(k, &bye);
	reap_groups(k);
out:
	clean_up(k);
	if (st == ST_OK)
		say(k, MSG_BYE, &bye);
	str_release(&bye);
	str_release(&warn);
}

int keeper_serve(int fd)
{
	static struct keeper k;
	struct ucred cred;
	socklen_t len = sizeof cred;
	struct err e = ERR_INIT;

	k.leader_fd = k.job_fd = -1;
	chan_init(&k.chan, fd);
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	(void)prctl(PR_SET_NAME, "wattlaw-keeper"); /* exec'ed by way of /proc/self/exe */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	/* A batch system that ends a step sends this first: the job's end is what we wait for. */
	signal(SIGTERM, SIG_IGN);
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		k.leader_fd = pidfd_open(cred.pid, 0);
	if (k.leader_fd < 0 || take_plan(&k, &e))
		_exit(1);
	(void)fcntl(k.leader_fd, F_SETFD, FD_CLOEXEC);
	run(&k);
	/* Threads inside drivers may still be there; nothing of ours is left to write. */
	_exit(0);
}

int keeper_replay(const char *control_dir, const char *run_id)
{
	struct restore_report rep = {.text = STR_INIT};
	struct backend_env env;
	struct hw *hw = NULL;
	struct err e = ERR_INIT;
	enum status st = hw_env_default(&env, &e);

	if (st == ST_OK)
		st = hw_open(&env, NULL, &hw, &e);
	if (st == ST_OK)
		st = control_replay(hw, control_dir, false, &rep, &e);
	if (run_id)
		(void)cgroup_reap(env.root_fd, run_id);
	_exit(st == ST_OK && !rep.failed ? 0 : 1);
}
