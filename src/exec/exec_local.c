/* exec_local.c: see exec_local.h. */
#include "exec/exec_local.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"
#include "exec/leader.h"
#include "exec/salvage.h"
#include "hw/backend.h"

#define GROUP_MAX   ((size_t)1 << 16)
#define LOSSES_MAX  3
#define WHOLE_MAX   64
#define OPEN_NS     (10 * NS_PER_S)
#define STOP_NS     (5 * NS_PER_S)
#define CANCEL_NS   (1500 * NS_PER_MS)
#define END_WAIT_NS (5 * NS_PER_S)

/* A point of the group under way: everything copied. */
struct local_point {
	struct point_msg msg;
	struct words argv;
	char *progress;
	int64_t warmup_ns, settle_ns, timeout_ns;
	uint32_t workers;
	bool relaunch, finished;
};

struct local {
	struct local_config cfg;
	char self[PATH_MAX];
	struct local_point *points;
	size_t n, cap;
	uint64_t group, next_ticket;
	bool flushed, cancelled;
	/* Workloads found to show no steps. */
	char *whole[WHOLE_MAX];
	size_t n_whole;
	struct launch *launch;
	enum launch_mode mode;
	char launch_id[17], log[PATH_MAX];
	size_t records; /* of this launch */
	size_t losses; /* keepers of this group that died */
	bool no_steps, overdue;
	int exit_code;
	char why[512];
	int64_t quiet_since_ns;
	/* Failed without a launch: handed out by next. */
	size_t fail_at;
	bool failing;
};

static int64_t now_ns(void)
{
	return clock_system()->now(clock_system());
}

enum status exec_local_new(const struct local_config *cfg, void **out, struct err *e)
{
	struct local *x = mem_calloc(1, sizeof *x);
	ssize_t n;

	*out = NULL;
	if (!x)
		return err_set(e, ST_NOMEM, "out of memory");
	x->cfg = *cfg;
	n = readlink("/proc/self/exe", x->self, sizeof x->self - 1);
	if (n < 0) {
		mem_free(x);
		return err_set(e, ST_IO, "cannot find my own program in /proc");
	}
	x->next_ticket = 1;
	*out = x;
	return ST_OK;
}

static void point_release(struct local_point *p)
{
	point_msg_release(&p->msg);
	words_release(&p->argv);
	mem_free(p->progress);
}

static void drop_points(struct local *x)
{
	for (size_t i = 0; i < x->n; i++)
		point_release(&x->points[i]);
	x->n = 0;
	x->flushed = false;
	x->failing = false;
}

static bool is_whole(const struct local *x, const struct local_point *p)
{
	for (size_t i = 0; i < x->n_whole; i++)
		if (!strcmp(x->whole[i], p->msg.rec.workload))
			return true;
	return p->relaunch;
}

/* The knobs a point wants, from its axes. */
static uint32_t take_axes(struct local_point *lp, const struct point *p, bool *good)
{
	uint32_t mask = 0;

	lp->workers = 1;
	for (size_t i = 0; i < p->n_axes; i++) {
		const struct axis_val *a = &p->axes[i];
		int knob = knob_from_name(a->name);
		bool site = p->site_axes >> i & 1u;
		struct knob_want *w;

		*good &= run_rec_axis(&lp->msg.rec, a->name, a->text, a->unit, a->value);
		if (!strcmp(a->name, "workers") && a->value.st == ST_OK)
			lp->workers = (uint32_t)a->value.v;
		/* Only this host is measured here: a job on several is a part, and is said to be.
		 */
		if (!strcmp(a->name, "nodes") && a->value.st == ST_OK && a->value.v > 1)
			lp->msg.rec.hosts_expected = (int)a->value.v;
		if (knob < 0 || lp->msg.n_knobs == POINT_KNOBS_MAX)
			continue;
		w = &lp->msg.knobs[lp->msg.n_knobs++];
		*w = (struct knob_want){(uint32_t)knob, a->value.st != ST_OK, site, a->value.v};
		mask |= site ? 0 : 1u << knob;
	}
	return mask;
}

static enum status make_argv(
	const struct local *x, const struct point *p, bool ranks, struct words *out, struct err *e)
{
	struct words launch = {NULL, 0}, cmd = {NULL, 0};
	char *const node[] = {(char *)(uintptr_t)x->self, "node", "--rank", "--"};
	enum status st = ST_OK;

	if (p->launch)
		st = words_split(p->launch, &launch, e);
	if (st == ST_OK && launch.n && !strcmp(launch.v[0], "/bin/sh"))
		st = err_set(e, ST_INVALID, "a launcher must be a plain command: %s", p->launch);
	if (st == ST_OK && p->command)
		st = words_split(p->command, &cmd, e);
	for (size_t i = 0; st == ST_OK && !p->command && p->argv[i]; i++)
		if (!words_add(&cmd, p->argv[i]))
			st = err_set(e, ST_NOMEM, "out of memory");
	if (st == ST_OK && (!words_join(out, launch.v, launch.n) ||
				   (ranks && !words_join(out, node, sizeof node / sizeof *node)) ||
				   !words_join(out, cmd.v, cmd.n)))
		st = err_set(e, ST_NOMEM, "out of memory");
	words_release(&launch);
	words_release(&cmd);
	return st;
}

static enum status copy_point(
	struct local *x, const struct point *p, struct local_point *lp, struct err *e)
{
	struct run_rec *r = &lp->msg.rec;
	char id[17];
	bool good = true;
	uint32_t mask;
	enum status st;

	memset(lp, 0, sizeof *lp);
	run_rec_init(r);
	run_id_make(id);
	mask = take_axes(lp, p, &good);
	st = make_argv(x, p, mask & 1u << KNOB_CPU_RATE, &lp->argv, e);
	if (st != ST_OK)
		return st;
	lp->msg.hold_min_ns = p->hold_min_ns;
	lp->msg.hold_max_ns = p->hold_max_ns;
	lp->msg.ci_ppm = (int64_t)(p->ci_target * 1e6);
	lp->warmup_ns = p->warmup_ns;
	lp->settle_ns = p->settle_ns;
	lp->timeout_ns = p->timeout_ns;
	lp->relaunch = p->relaunch;
	if (p->progress)
		good &= (lp->progress = mem_strdup(p->progress)) != NULL;
	good &= rec_set(&r->run_id, id) && rec_set(&r->campaign, p->campaign) &&
		rec_set(&r->workload, p->workload) && rec_set(&r->domain, p->domain) &&
		rec_set(&r->task, p->task) && rec_set(&r->options, p->options) &&
		rec_set(&r->host, x->cfg.host) && rec_set(&r->version, WATTLAW_VERSION) &&
		run_rec_command(r, (const char *const *)lp->argv.v, lp->argv.n);
	r->repeat = p->repeat;
	r->order = p->order;
	r->baseline = p->baseline;
	return good ? ST_OK : err_set(e, ST_NOMEM, "out of memory");
}

static enum status local_submit(void *self, const struct point *p, uint64_t *ticket, struct err *e)
{
	struct local *x = self;
	struct local_point *lp;
	enum status st;

	if (x->n && (x->flushed || x->group != p->group))
		return ST_AGAIN;
	if (!mem_grow((void **)&x->points, &x->cap, x->n + 1, sizeof *x->points, GROUP_MAX))
		return err_set(e, ST_NOMEM, "out of memory");
	lp = &x->points[x->n];
	st = copy_point(x, p, lp, e);
	if (st != ST_OK) {
		point_release(lp);
		return st;
	}
	if (x->group != p->group)
		x->losses = 0;
	x->group = p->group;
	x->cancelled = false;
	*ticket = lp->msg.ticket = x->next_ticket++;
	x->n++;
	return ST_OK;
}

static void local_flush(void *self)
{
	struct local *x = self;

	x->flushed = x->n > 0;
}

static size_t first_open(const struct local *x)
{
	size_t i = 0;

	while (i < x->n && x->points[i].finished)
		i++;
	return i;
}

static int open_log(struct local *x)
{
	int fd;

	x->log[0] = 0;
	if (x->cfg.show_output)
		return STDERR_FILENO;
	snprintf(x->log, sizeof x->log, "%.3900s/%s.log", x->cfg.shard_dir, x->launch_id);
	fd = open(x->log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		x->log[0] = 0;
	return fd < 0 ? STDERR_FILENO : fd;
}

static void fill_hello(const struct local *x, const struct local_point *lp, struct hello *h)
{
	const struct local_config *c = &x->cfg;

	*h = (struct hello){.mode = is_whole(x, lp) ? LAUNCH_WHOLE : LAUNCH_STEP,
		.run_id = (char *)(uintptr_t)x->launch_id,
		.host = (char *)(uintptr_t)c->host,
		.shard_dir = (char *)(uintptr_t)c->shard_dir,
		.control_dir = (char *)(uintptr_t)c->control_dir,
		.devices = (char *)(uintptr_t)c->devices,
		.holder = (char *)(uintptr_t)c->holder,
		.only = (char *)(uintptr_t)c->sensors,
		.period_ns = c->period_ns,
		.idle_ns = c->idle_ns,
		.open_ns = OPEN_NS,
		.warmup_ns = lp->warmup_ns,
		.warmup_steps = c->warmup_steps,
		.settle_ns = lp->settle_ns,
		.no_steps_ns = c->no_steps_ns,
		.n_ranks = lp->workers,
		.cpus_per_rank = c->cpus_per_rank,
		.progress = lp->progress != NULL};
	for (uint32_t i = 0; i < lp->msg.n_knobs; i++) {
		uint32_t *bits = lp->msg.knobs[i].site ? &h->site_knobs : &h->knobs;

		*bits |= 1u << lp->msg.knobs[i].knob;
	}
}

/* Launch what is open of the group: all of it to be stepped, or its first point whole. */
static enum status begin_launch(struct local *x, struct err *e)
{
	size_t first = first_open(x), n = 0;
	struct local_point *lp = &x->points[first];
	struct point_msg *msgs = mem_calloc(x->n, sizeof *msgs);
	struct hello h;
	struct launch_req req = {.hello = &h,
		.points = msgs,
		.argv = lp->argv.v,
		.progress = lp->progress,
		.end_wait_ns = END_WAIT_NS};
	enum status st;

	if (!msgs)
		return err_set(e, ST_NOMEM, "out of memory");
	run_id_make(x->launch_id);
	fill_hello(x, lp, &h);
	x->mode = h.mode;
	for (size_t i = first; i < x->n && (x->mode == LAUNCH_STEP || !n); i++) {
		if (x->points[i].finished)
			continue;
		(void)rec_set(&x->points[i].msg.rec.launch, x->launch_id);
		msgs[n++] = x->points[i].msg; /* borrowed */
	}
	req.n_points = n;
	req.out_fd = open_log(x);
	x->records = 0;
	x->no_steps = x->overdue = false;
	x->exit_code = -1;
	x->why[0] = 0;
	x->quiet_since_ns = now_ns();
	st = launch_start(&req, &x->launch, e);
	if (req.out_fd != STDERR_FILENO)
		close(req.out_fd);
	if (st != ST_OK && x->log[0])
		(void)unlink(x->log);
	mem_free(msgs);
	return st;
}

enum status exec_local_check(void *self, const struct point *p, struct err *e)
{
	struct local *x = self;
	struct local_point lp;
	struct hello h;
	struct launch_req req = {.hello = &h, .points = &lp.msg, .n_points = 1, .out_fd = -1};
	enum status st = copy_point(x, p, &lp, e);

	if (st == ST_OK) {
		run_id_make(x->launch_id);
		fill_hello(x, &lp, &h);
		h.mode = LAUNCH_STEP; /* nothing is set before there is a job */
		h.idle_ns = 0;
		st = launch_check(&req, e);
	}
	point_release(&lp);
	return st;
}

static void last_line(const char *path, char *buf, size_t size)
{
	char tail[1024];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t end = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
	off_t at = end > (off_t)sizeof tail - 1 ? end - ((off_t)sizeof tail - 1) : 0;
	ssize_t n = fd >= 0 ? pread(fd, tail, sizeof tail - 1, at) : -1;
	char *line;

	buf[0] = 0;
	if (fd >= 0)
		close(fd);
	while (n > 0 && strchr("\n\r ", tail[n - 1]))
		n--;
	if (n <= 0)
		return;
	tail[n] = 0;
	line = strrchr(tail, '\n');
	snprintf(buf, size, "%.300s", line ? line + 1 : tail);
}

static void say(struct local *x, const char *text)
{
	if (x->cfg.say)
		x->cfg.say(x->cfg.arg, text);
}

/* The launch is over: what of the group is still open, and what is to be done about it? */
static void after_launch(struct local *x)
{
	struct local_point *lp;
	size_t first;
	char line[320];
	bool lost = launch_keeper_lost(x->launch);

	/* Whoever took the records has stored them by now: next was called again. */
	if (!lost)
		salvage_remove(launch_shard(x->launch));
	launch_close(x->launch);
	x->launch = NULL;
	first = first_open(x);
	if (x->cancelled || first == x->n) {
		if (x->log[0] && (x->cancelled || x->exit_code == 0 || x->mode == LAUNCH_STEP))
			(void)unlink(x->log);
		drop_points(x);
		return;
	}
	lp = &x->points[first];
	if (x->mode == LAUNCH_STEP && !x->overdue && !lost &&
		(x->no_steps || (!x->records && x->exit_code == 0)) && x->n_whole < WHOLE_MAX) {
		char text[400];

		x->whole[x->n_whole] = mem_strdup(lp->msg.rec.workload);
		x->n_whole += x->whole[x->n_whole] != NULL;
		snprintf(text, sizeof text,
			"%s %s: each of its settings is measured by a launch of its own",
			lp->msg.rec.workload,
			x->no_steps ? "shows no steps (neither marks nor progress)"
				    : "ended before a setting could be measured");
		say(x, text);
		(void)unlink(x->log);
		return;
	}
	/* Settings were measured, then the job ended: go on with a new one. */
	if (x->records && !x->overdue && x->exit_code == 0) {
		(void)unlink(x->log);
		return;
	}
	/* Without a keeper nothing was wrong with the job: try again, not for ever. */
	if (lost && ++x->losses <= LOSSES_MAX) {
		(void)unlink(x->log);
		return;
	}
	line[0] = 0;
	if (x->log[0])
		last_line(x->log, line, sizeof line);
	if (lost)
		snprintf(x->why, sizeof x->why, "the keeper died");
	else if (x->overdue)
		snprintf(x->why, sizeof x->why, "no setting was measured within the timeout");
	else if (!x->why[0])
		snprintf(x->why, sizeof x->why, "the job ended with code %d%s%s", x->exit_code,
			line[0] ? ": " : "", line);
	x->failing = true;
}

/* Hand out the open points of a failed group, one a call. */
static enum status fail_next(struct local *x, uint64_t *ticket, struct run_rec *out)
{
	size_t i = first_open(x);
	struct local_point *lp = &x->points[i];

	*out = lp->msg.rec;
	run_rec_init(&lp->msg.rec);
	out->state = RUN_FAILED;
	out->exit_code = x->exit_code;
	run_rec_warn(out, "%s", x->why);
	*ticket = lp->msg.ticket;
	lp->finished = true;
	/* A whole-job launch fails alone; the next point gets its own try. */
	if (x->mode == LAUNCH_WHOLE)
		x->failing = false;
	if (first_open(x) == x->n)
		drop_points(x);
	return ST_OK;
}

static bool take_record(
	struct local *x, struct launch_event *ev, uint64_t *ticket, struct run_rec *out)
{
	for (size_t i = 0; i < x->n; i++) {
		struct local_point *lp = &x->points[i];

		if (lp->msg.ticket != ev->ticket || lp->finished)
			continue;
		lp->finished = true;
		x->records++;
		x->quiet_since_ns = now_ns();
		*ticket = ev->ticket;
		*out = ev->rec;
		run_rec_init(&ev->rec);
		if (out->state == RUN_FAILED && x->log[0] && x->mode == LAUNCH_WHOLE) {
			char line[320];

			last_line(x->log, line, sizeof line);
			run_rec_warn(out, "the job ended with code %d%s%s", out->exit_code,
				line[0] ? ": " : "", line);
		}
		return true;
	}
	return false;
}

/* True when the event is a finished point. */
static bool take_event(
	struct local *x, struct launch_event *ev, uint64_t *ticket, struct run_rec *out)
{
	bool point = false;

	switch (ev->what) {
	case LAUNCH_SETTING:
		if (x->cfg.began)
			x->cfg.began(x->cfg.arg, ev->ticket);
		break;
	case LAUNCH_RECORD:
		point = take_record(x, ev, ticket, out);
		break;
	case LAUNCH_WARN:
		say(x, ev->text);
		break;
	case LAUNCH_NO_STEPS:
		x->no_steps = true;
		launch_stop(x->launch, STOP_NS);
		break;
	case LAUNCH_MEASURED:
		launch_stop(x->launch, STOP_NS);
		break;
	case LAUNCH_EXITED:
		x->exit_code = ev->code;
		if (launch_why(x->launch)[0])
			snprintf(x->why, sizeof x->why, "%s", launch_why(x->launch));
		break;
	case LAUNCH_OVER:
		after_launch(x);
		break;
	}
	run_rec_release(&ev->rec);
	return point;
}

static enum status local_next(
	void *self, int64_t deadline_ns, uint64_t *ticket, struct run_rec *out, struct err *e)
{
	struct local *x = self;

	for (;;) {
		struct launch_event ev;
		enum status st;

		if (!x->launch && x->failing)
			return fail_next(x, ticket, out);
		if (!x->launch && (!x->n || !x->flushed))
			return ST_NOT_FOUND;
		if (!x->launch) {
			st = begin_launch(x, e);
			if (st != ST_OK) {
				drop_points(x);
				return st;
			}
		}
		if (x->mode == LAUNCH_WHOLE && x->cfg.began && !x->records && first_open(x) < x->n)
			x->cfg.began(x->cfg.arg, x->points[first_open(x)].msg.ticket);
		st = launch_next(x->launch, deadline_ns, &ev);
		if (st == ST_OK && take_event(x, &ev, ticket, out))
			return ST_OK;
		if (st == ST_NOT_FOUND) {
			after_launch(x);
			continue;
		}
		if (x->launch && x->n && !x->overdue && x->points[0].timeout_ns &&
			now_ns() - x->quiet_since_ns > x->points[0].timeout_ns) {
			x->overdue = true;
			launch_stop(x->launch, STOP_NS);
		}
		if (st == ST_AGAIN)
			return ST_AGAIN;
	}
}

static void local_cancel(void *self, uint64_t ticket)
{
	struct local *x = self;

	/* Points of a launch are stepped in order; one alone cannot be taken out once it runs. */
	if (ticket != UINT64_MAX && x->launch)
		return;
	if (ticket != UINT64_MAX) {
		for (size_t i = 0; i < x->n; i++)
			x->points[i].finished |= x->points[i].msg.ticket == ticket;
		return;
	}
	x->cancelled = true;
	if (x->launch)
		launch_stop(x->launch, CANCEL_NS);
	else
		drop_points(x);
}

static void local_close(void *self)
{
	struct local *x = self;

	if (!x)
		return;
	if (x->launch) {
		struct launch_event ev;
		int64_t until = now_ns() + 2 * CANCEL_NS;

		launch_stop(x->launch, CANCEL_NS);
		while (now_ns() < until) {
			enum status st = launch_next(x->launch, until, &ev);

			if (st == ST_NOT_FOUND)
				break;
			if (st == ST_OK)
				run_rec_release(&ev.rec);
		}
		launch_close(x->launch);
	}
	drop_points(x);
	mem_free(x->points);
	for (size_t i = 0; i < x->n_whole; i++)
		mem_free(x->whole[i]);
	mem_free(x);
}

const struct exec_ops exec_local = {
	.name = "local",
	.submit = local_submit,
	.next = local_next,
	.cancel = local_cancel,
	.flush = local_flush,
	.close = local_close,
};
