/* campaign.c: see campaign.h. */
#include "sweep/campaign.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"

#define WAIT_NS   (200 * NS_PER_MS)
#define CANCEL_NS (10 * NS_PER_S)
#define RETRIES   1 /* of a point disturbed by heat or a hardware brake */

static enum status make_arrays(struct campaign *c, struct err *e)
{
	c->done = mem_calloc(c->plan->n_points + 1, sizeof *c->done);
	c->ticket = mem_calloc(c->plan->n_points + 1, sizeof *c->ticket);
	c->disturbed = mem_calloc(c->plan->n_points + 1, sizeof *c->disturbed);
	return c->done && c->ticket && c->disturbed ? ST_OK : err_set(e, ST_NOMEM, "out of memory");
}

enum status campaign_new(struct campaign *c, bool simulated, struct err *e)
{
	const struct plan *p = c->plan;
	enum status st = make_arrays(c, e);

	if (st == ST_OK)
		st = store_campaign_begin(c->store, p->name, p->text, p->text, p->seed, simulated,
			simulated ? "sim" : NULL, &c->info, e);
	if (st == ST_OK)
		st = store_campaign_points(c->store, c->info.id, (int64_t)p->n_points, e);
	return st;
}

/* "name" or "name-7" */
static bool same_series(const char *have, const char *name)
{
	size_t n = strlen(name);

	if (strncmp(have, name, n) != 0)
		return false;
	if (!have[n])
		return true;
	if (have[n] != '-' || !have[n + 1])
		return false;
	return strspn(have + n + 1, "0123456789") == strlen(have + n + 1);
}

struct search {
	const char *name;
	char *found;
};

static bool look_at(void *arg, const struct campaign_info *c)
{
	struct search *s = arg;

	if (same_series(c->name, s->name)) {
		mem_free(s->found);
		s->found = mem_strdup(c->name);
	}
	return true;
}

enum status campaign_find(
	struct store *s, const char *name, struct campaign_info *out, struct err *e)
{
	struct search search = {name, NULL};
	enum status st = store_each_campaign(s, look_at, &search, e);

	if (st == ST_OK && !search.found)
		st = err_set(e, ST_NOT_FOUND, "there is no campaign '%s' to go on with", name);
	if (st == ST_OK)
		st = store_campaign_find(s, search.found, out, e);
	mem_free(search.found);
	return st;
}

/* Failed points are done: what is missing is what was not run, was broken off, or was disturbed and
 * not yet run again. */
static bool mark_done(void *arg, const struct run_rec *r)
{
	struct campaign *c = arg;
	struct str want = STR_INIT, have = STR_INIT;
	size_t i = (size_t)r->order;
	const struct plan *p = c->plan;
	struct plan_buf buf;
	struct point pt;

	if (r->order < 0 || i >= p->n_points || r->state == RUN_INTERRUPTED || c->done[i])
		return true;
	if (plan_point(p, i, &buf, &pt, NULL))
		return false;
	setting_text(pt.axes, pt.n_axes, SETTING_WHOLE, &want);
	setting_text(r->axes, r->n_axes, SETTING_WHOLE, &have);
	/* A default visit has learnt what the default is; its place in the order is enough. */
	if (p->points[i].repeat == r->repeat && r->workload && !strcmp(pt.workload, r->workload) &&
		(p->points[i].visit || pt.baseline || !strcmp(str_cstr(&want), str_cstr(&have))))
		c->done[i] = r->state != RUN_DISTURBED || ++c->disturbed[i] > RETRIES;
	str_release(&want);
	str_release(&have);
	plan_point_release(&buf);
	return true;
}

enum status campaign_resume(struct campaign *c, struct err *e)
{
	enum status st = make_arrays(c, e);

	if (st == ST_OK)
		st = campaign_find(c->store, c->plan->name, &c->info, e);
	if (st == ST_OK && c->info.plan && c->plan->text &&
		strcmp(c->info.plan, c->plan->text) != 0)
		st = err_set(e, ST_INVALID,
			"%s is not what campaign '%s' was begun with; start a new one without "
			"--resume",
			c->plan->file, c->info.name);
	if (st == ST_OK)
		st = store_each_run(c->store, c->info.id, mark_done, c, e);
	return st;
}

size_t campaign_n_done(const struct campaign *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->plan->n_points; i++)
		n += c->done[i];
	return n;
}

void campaign_release(struct campaign *c)
{
	campaign_info_release(&c->info);
	mem_free(c->done);
	mem_free(c->ticket);
	mem_free(c->disturbed);
	c->done = NULL;
	c->ticket = NULL;
	c->disturbed = NULL;
}

/* One group being carried out. */
struct turn {
	size_t first, end; /* indices of its points */
	size_t n_gpus;
	double virtual_gpu_ns; /* of simulated runs, whose time is not this machine's */
	bool again; /* a point was disturbed and is open again */
};

static bool stopping(const struct campaign *c)
{
	return c->stop && *c->stop;
}

static enum status submit_group(struct campaign *c, const struct turn *t, size_t *n, struct err *e)
{
	enum status st = ST_OK;

	*n = 0;
	for (size_t i = t->first; i < t->end && st == ST_OK; i++) {
		struct plan_buf buf;
		struct point pt;

		c->ticket[i] = 0;
		if (c->done[i])
			continue;
		st = plan_point(c->plan, i, &buf, &pt, e);
		if (st != ST_OK)
			return st;
		pt.campaign = c->info.name;
		st = c->ops->submit(c->exec, &pt, &c->ticket[i], e);
		*n += st == ST_OK;
		plan_point_release(&buf);
	}
	if (c->ops->flush)
		c->ops->flush(c->exec);
	return st;
}

static void count_gpus(struct turn *t, const struct run_rec *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_devs; i++)
		n += r->devs[i].kind == DEV_GPU && r->devs[i].counted;
	if (n > t->n_gpus)
		t->n_gpus = n;
	/* Many simulated GPUs may be told as one device: the workers say how many there are. */
	for (size_t i = 0; i < r->n_axes; i++)
		if (n && !strcmp(r->axes[i].name, "workers") && r->axes[i].value.v > (int64_t)n)
			n = (size_t)r->axes[i].value.v;
	if (r->wall_ns.st == ST_OK)
		t->virtual_gpu_ns += (double)n * (double)r->wall_ns.v;
}

static enum status keep(struct campaign *c, struct turn *t, size_t i, const struct run_rec *r,
	struct campaign_result *out, struct err *e)
{
	enum status st = store_put(c->store, c->info.id, r, e);

	if (st != ST_OK)
		return st;
	count_gpus(t, r);
	if (r->state == RUN_INTERRUPTED)
		return ST_OK;
	if (r->state == RUN_DISTURBED && ++c->disturbed[i] <= RETRIES) {
		t->again = true;
	} else {
		c->done[i] = true;
		if (r->state == RUN_FAILED)
			out->failed++;
		else
			out->done++;
	}
	if (c->point)
		c->point(c->arg, i, r);
	return ST_OK;
}

static enum status collect(
	struct campaign *c, struct turn *t, struct campaign_result *out, struct err *e)
{
	struct clock *clock = clock_system();
	int64_t give_up = INT64_MAX;

	for (;;) {
		int64_t now = clock->now(clock);
		struct run_rec rec;
		uint64_t ticket = 0;
		enum status st;

		if (stopping(c) && give_up == INT64_MAX) {
			give_up = now + CANCEL_NS;
			c->ops->cancel(c->exec, UINT64_MAX);
		}
		run_rec_init(&rec);
		st = c->ops->next(c->exec, now + WAIT_NS, &ticket, &rec, e);
		if (c->idle)
			c->idle(c->arg);
		if (st == ST_NOT_FOUND || (st == ST_AGAIN && now > give_up))
			return ST_OK;
		if (st == ST_AGAIN || st == ST_CANCELLED)
			continue;
		if (st != ST_OK)
			return st;
		for (size_t i = t->first; i < t->end; i++)
			if (c->ticket[i] == ticket) {
				c->ticket[i] = 0;
				st = keep(c, t, i, &rec, out, e);
				break;
			}
		run_rec_release(&rec);
		if (st != ST_OK) {
			c->ops->cancel(c->exec, UINT64_MAX);
			return st;
		}
	}
}

static enum status run_group(
	struct campaign *c, struct turn *t, struct campaign_result *out, struct err *e)
{
	enum status st;
	size_t n;

	do {
		t->again = false;
		st = submit_group(c, t, &n, e);
		if (st == ST_OK && n)
			st = collect(c, t, out, e);
	} while (st == ST_OK && t->again && !stopping(c));
	return st;
}

enum status campaign_run(struct campaign *c, struct campaign_result *out, struct err *e)
{
	struct clock *clock = clock_system();
	const struct plan *p = c->plan;
	enum status st = ST_OK;

	memset(out, 0, sizeof *out);
	for (size_t i = 0; i < p->n_points && st == ST_OK && !stopping(c);) {
		struct turn t = {.first = i, .end = i};
		int64_t began = clock->now(clock);

		while (t.end < p->n_points && p->points[t.end].group == p->points[i].group)
			t.end++;
		i = t.end;
		if (p->max_gpu_hours > 0 && out->gpu_hours >= p->max_gpu_hours) {
			out->out_of_hours = true;
			break;
		}
		st = run_group(c, &t, out, e);
		out->gpu_hours +=
			c->info.simulated
				? t.virtual_gpu_ns / 3600e9
				: (double)t.n_gpus * (double)(clock->now(clock) - began) / 3600e9;
	}
	out->interrupted = stopping(c);
	out->left = p->n_points - campaign_n_done(c);
	return st;
}
