/* plan_points.c: a plan's axes and jobs laid out as points, and a point as the executor wants it.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "sweep/plan.h"

#define NO_VALUE UINT32_MAX

/* SplitMix64: the order is a function of the seed alone. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static void shuffle(uint32_t *v, size_t n, uint64_t *state)
{
	for (size_t i = n; i > 1; i--) {
		size_t k = (size_t)(next_random(state) % i);
		uint32_t t = v[i - 1];

		v[i - 1] = v[k];
		v[k] = t;
	}
}

/* Length of "{name}" at s when name could be an axis, 0 otherwise; "${name}" is the shell's. */
static size_t brace_at(const char *start, const char *s, char *name, size_t size)
{
	size_t n;

	if (*s != '{' || (s > start && s[-1] == '$'))
		return 0;
	n = strspn(s + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
	if (!n || n >= size || s[1 + n] != '}')
		return 0;
	memcpy(name, s + 1, n);
	name[n] = '\0';
	return n + 2;
}

static int find_axis(const struct plan *p, const char *name)
{
	for (size_t i = 0; i < p->n_axes; i++)
		if (!strcmp(p->axes[i].name, name))
			return (int)i;
	return -1;
}

/* Which axes a text uses. A {word} that is nearly an axis is a mistake; any other is left alone
 * (awk, shell). */
static enum status check_braces(
	const struct plan *p, const struct plan_job *j, const char *text, bool *used, struct err *e)
{
	const char *names[PLAN_MAX_AXES + 1], *near;
	char name[64];

	for (size_t i = 0; i < p->n_axes; i++)
		names[i] = p->axes[i].name;
	names[p->n_axes] = "repeat";
	for (const char *s = text; s && (s = strchr(s, '{')); s++) {
		size_t len = brace_at(text, s, name, sizeof(name));
		int axis = len ? find_axis(p, name) : -1;

		if (axis >= 0)
			used[axis] = true;
		if (!len || axis >= 0 || !strcmp(name, "repeat"))
			continue;
		near = str_nearest(name, names, p->n_axes + 1);
		if (near)
			return err_at(e, p->file, j->line, 0,
				"job '%s' uses {%s}, which is not an axis; did you mean {%s}?",
				j->name, name, near);
	}
	return ST_OK;
}

static enum status check_job(const struct plan *p, const struct plan_job *j, struct err *e)
{
	static const char *const known[] = {
		"workers", "nodes", "power_limit", "clock_max", "memory_clock", "cpu_rate"};
	bool used[PLAN_MAX_AXES] = {false};
	enum status st = check_braces(p, j, j->command, used, e);

	if (!st)
		st = check_braces(p, j, j->launch, used, e);
	for (size_t i = 0; i < p->n_axes && !st; i++) {
		const struct plan_axis *a = &p->axes[i];
		const char *near = a->known ? NULL : str_nearest(a->name, known, 6);

		if (used[i] || a->stepped || (a->known && a->n == 1 && a->values[0].value.v == 1))
			continue;
		if (near)
			return err_at(e, p->file, a->line, 0,
				"axis '%s' is not used by job '%s' as {%s}; did you mean the axis "
				"'%s'?",
				a->name, j->name, a->name, near);
		return err_at(e, p->file, a->line, 0,
			"axis '%s' is not used by job '%s'; its launch or command must contain "
			"{%s}",
			a->name, j->name, a->name);
	}
	return st;
}

/* Axes that the site's own command sets: each of their settings needs a launch. */
static enum status find_site_axes(struct plan *p, struct err *e)
{
	for (size_t i = 0; i < p->n_knobs; i++) {
		const struct plan_knob *k = &p->knobs[i];
		int axis = find_axis(p, k->name);

		if (axis < 0)
			return err_at(e, p->file, k->line, k->col,
				"knob.%s has no axis: give %s = … with the values to set", k->name,
				k->name);
		for (size_t j = 0; j < p->n_jobs && k->command[0] == '-'; j++)
			if (!p->jobs[j].launch)
				return err_at(e, p->file, k->line, k->col,
					"knob.%s is an option, and job '%s' has no launch to add "
					"it "
					"to",
					k->name, p->jobs[j].name);
		p->axes[axis].site = k->command;
		p->relaunch = true;
	}
	return ST_OK;
}

/* Put combination number c of the axes whose `stepped` equals which into pt. */
static void set_combination(const struct plan *p, size_t c, bool which, struct plan_point *pt)
{
	for (size_t i = p->n_axes; i-- > 0;) {
		if (p->axes[i].stepped != which)
			continue;
		pt->value[i] = (uint32_t)(c % p->axes[i].n);
		c /= p->axes[i].n;
	}
}

static bool combination_is_default(const struct plan *p, const struct plan_point *pt)
{
	for (size_t i = 0; i < p->n_axes; i++)
		if (p->axes[i].stepped && pt->value[i] != NO_VALUE &&
			!p->axes[i].values[pt->value[i]].is_default)
			return false;
	return true;
}

static enum status add_point(struct plan *p, const struct plan_point *pt, struct err *e)
{
	if (!mem_grow((void **)&p->points, &p->cap_points, p->n_points + 1, sizeof(*p->points),
		    PLAN_MAX_POINTS))
		return p->n_points >= PLAN_MAX_POINTS
			       ? err_set(e, ST_RANGE, "%s: more than %d points", p->file,
					 PLAN_MAX_POINTS)
			       : err_set(e, ST_NOMEM, "out of memory");
	p->points[p->n_points] = *pt;
	p->points[p->n_points].order = (int)p->n_points;
	p->n_points++;
	return ST_OK;
}

static enum status add_default_visit(
	struct plan *p, const struct plan_point *launch, int visit, struct err *e)
{
	struct plan_point pt = *launch;

	for (size_t i = 0; i < p->n_axes; i++)
		if (p->axes[i].stepped)
			pt.value[i] = NO_VALUE;
	pt.baseline = true;
	pt.visit = visit;
	return add_point(p, &pt, e);
}

/* The points of one launch (or, with relaunch, of one block of launches). */
static enum status add_group(struct plan *p, const struct plan_point *launch, uint32_t *order,
	size_t n_stepped, uint64_t *state, struct err *e)
{
	bool steps = false;
	enum status st = ST_OK;

	for (size_t i = 0; i < p->n_axes; i++)
		steps |= p->axes[i].stepped;
	for (uint32_t i = 0; i < n_stepped; i++)
		order[i] = i;
	if (p->order == PLAN_RANDOM)
		shuffle(order, n_stepped, state);
	if (steps)
		st = add_default_visit(p, launch, 1, e);
	for (size_t i = 0; i < n_stepped && !st; i++) {
		struct plan_point pt = *launch;

		/* The middle visit only where there is a middle. */
		if (steps && n_stepped > 2 && i == n_stepped / 2)
			st = add_default_visit(p, launch, 2, e);
		set_combination(p, order[i], true, &pt);
		pt.baseline = combination_is_default(p, &pt);
		/* An explicit default is what the visits measure already. */
		if (!st && !(steps && pt.baseline))
			st = add_point(p, &pt, e);
	}
	if (!st && steps)
		st = add_default_visit(p, launch, 3, e);
	return st;
}

static enum status lay_out(struct plan *p, struct err *e)
{
	size_t n_launch = 1, n_stepped = 1, n_groups;
	uint32_t *groups = NULL, *order = NULL;
	uint64_t state = (uint64_t)p->seed, group = 0;
	enum status st = ST_OK;

	for (size_t i = 0; i < p->n_axes; i++) {
		size_t *n = p->axes[i].stepped ? &n_stepped : &n_launch;

		*n *= p->axes[i].n;
		if (*n > PLAN_MAX_POINTS)
			return err_set(
				e, ST_RANGE, "%s: more than %d points", p->file, PLAN_MAX_POINTS);
	}
	n_groups = p->n_jobs * n_launch * (size_t)p->repeats;
	if (n_groups > PLAN_MAX_POINTS || n_groups * n_stepped > PLAN_MAX_POINTS)
		return err_set(e, ST_RANGE, "%s: more than %d points", p->file, PLAN_MAX_POINTS);
	groups = mem_calloc(n_groups, sizeof(*groups));
	order = mem_calloc(n_stepped, sizeof(*order));
	if (!groups || !order) {
		st = err_set(e, ST_NOMEM, "out of memory");
		goto out;
	}
	for (uint32_t i = 0; i < n_groups; i++)
		groups[i] = i;
	if (p->order == PLAN_RANDOM)
		shuffle(groups, n_groups, &state);
	for (size_t g = 0; g < n_groups && !st; g++) {
		size_t c = groups[g], first = p->n_points;
		struct plan_point launch = {.repeat = (int)(c / (p->n_jobs * n_launch))};

		c %= p->n_jobs * n_launch;
		launch.job = (uint32_t)(c / n_launch);
		set_combination(p, c % n_launch, false, &launch);
		launch.baseline = true;
		st = add_group(p, &launch, order, n_stepped, &state, e);
		for (size_t i = first; i < p->n_points && !st; i++) {
			group += p->relaunch || i == first;
			p->points[i].group = group;
		}
	}
	p->n_groups = (size_t)group;
out:
	mem_free(groups);
	mem_free(order);
	return st;
}

enum status plan_finish(struct plan *p, int64_t fallback_seed, struct err *e)
{
	enum status st = ST_OK;

	if (!p->n_jobs)
		return err_set(e, ST_INVALID, "nothing to run: give a sweep file or -- COMMAND");
	if (!p->have_seed)
		p->seed = fallback_seed;
	p->have_seed = true;
	if (!p->name)
		p->name = mem_strdup(p->jobs[0].name);
	if (!p->name)
		return err_set(e, ST_NOMEM, "out of memory");
	for (size_t i = 0; i < p->n_jobs && !st; i++)
		st = check_job(p, &p->jobs[i], e);
	if (!st)
		st = find_site_axes(p, e);
	p->n_points = 0;
	return st ? st : lay_out(p, e);
}

static const struct plan_value *value_of(
	const struct plan *p, const struct plan_point *pt, size_t axis)
{
	static const struct plan_value by_default = {(char *)"default", {0, ST_UNKNOWN}, true};

	return pt->value[axis] == NO_VALUE ? &by_default : &p->axes[axis].values[pt->value[axis]];
}

static void expand(
	const struct plan *p, const struct plan_point *pt, const char *text, struct str *out)
{
	char name[64];

	for (const char *s = text; *s;) {
		size_t len = brace_at(text, s, name, sizeof(name));
		int axis = len ? find_axis(p, name) : -1;

		if (axis >= 0) {
			str_add(out, value_of(p, pt, (size_t)axis)->text);
		} else if (len && !strcmp(name, "repeat")) {
			str_addf(out, "%d", pt->repeat);
		} else {
			str_addc(out, *s++);
			continue;
		}
		s += len;
	}
}

/* The site's command for one value: "helper {value}" as "helper 200". A plain number is what every
 * such command takes. */
static void expand_site(const struct plan_axis *a, const struct plan_value *v, struct str *out)
{
	static const char key[] = "{value}";
	const char *s = a->site, *at;
	double per = a->unit == UNIT_POWER || a->unit == UNIT_FREQ ? 1e3 : 1; /* mW, kHz */
	char number[40];

	snprintf(number, sizeof(number), "%.10g", (double)v->value.v / per);
	for (; (at = strstr(s, key)); s = at + strlen(key)) {
		str_addn(out, s, (size_t)(at - s));
		str_add(out, number);
	}
	str_add(out, s);
}

/* Helpers go before the launch, options behind it. */
static void launch_text(const struct plan *p, const struct plan_point *pt, struct str *out)
{
	const struct plan_job *j = &p->jobs[pt->job];

	for (int options = 0; options < 2; options++) {
		for (size_t i = 0; i < p->n_axes; i++) {
			const struct plan_axis *a = &p->axes[i];
			const struct plan_value *v = value_of(p, pt, i);

			if (!a->site || v->is_default || (a->site[0] == '-') != options)
				continue;
			if (out->len)
				str_addc(out, ' ');
			expand_site(a, v, out);
		}
		if (!options && j->launch) {
			if (out->len)
				str_addc(out, ' ');
			expand(p, pt, j->launch, out);
		}
	}
}

enum status plan_point(
	const struct plan *p, size_t i, struct plan_buf *buf, struct point *out, struct err *e)
{
	const struct plan_point *pt = &p->points[i];
	const struct plan_job *j = &p->jobs[pt->job];
	uint32_t site = 0;

	memset(buf, 0, sizeof(*buf));
	expand(p, pt, j->command, &buf->command);
	launch_text(p, pt, &buf->launch);
	for (size_t k = 0; k < p->n_axes; k++) {
		const struct plan_value *v = value_of(p, pt, k);

		buf->axes[k] =
			(struct axis_val){p->axes[k].name, v->text, p->axes[k].unit, v->value};
		if (p->axes[k].site)
			site |= UINT32_C(1) << k;
	}
	*out = (struct point){.campaign = p->name,
		.workload = j->name,
		.domain = j->domain,
		.task = j->task,
		.command = str_cstr(&buf->command),
		.launch = buf->launch.len ? str_cstr(&buf->launch) : NULL,
		.axes = buf->axes,
		.n_axes = p->n_axes,
		.site_axes = site,
		.repeat = pt->repeat,
		.order = pt->order,
		.group = pt->group,
		.relaunch = p->relaunch,
		.baseline = pt->baseline,
		.warmup_ns = p->warmup_ns,
		.hold_min_ns = p->interval > 0 ? p->point_time_ns / 4 : p->point_time_ns,
		.hold_max_ns = p->point_time_ns,
		.ci_target = p->interval,
		.settle_ns = p->settle_ns,
		.timeout_ns = p->timeout_ns,
		.progress = j->progress,
		.options = p->text};
	if (buf->command.failed || buf->launch.failed) {
		plan_point_release(buf);
		return err_set(e, ST_NOMEM, "out of memory");
	}
	return ST_OK;
}

void plan_point_release(struct plan_buf *buf)
{
	str_release(&buf->command);
	str_release(&buf->launch);
}

void plan_point_key(const struct plan *p, size_t i, struct str *out)
{
	const struct plan_point *pt = &p->points[i];

	str_add(out, p->jobs[pt->job].name);
	for (size_t k = 0; k < p->n_axes; k++)
		str_addf(out, " %s=%s", p->axes[k].name, value_of(p, pt, k)->text);
	str_addf(out, " #%d", pt->repeat + 1);
	if (pt->visit)
		str_addf(out, " (default %d)", pt->visit);
}

int64_t plan_length_ns(const struct plan *p, int64_t start_ns)
{
	return (int64_t)p->n_points * (p->point_time_ns + p->settle_ns) +
	       (int64_t)p->n_groups * (p->warmup_ns + start_ns);
}

int64_t plan_max_workers(const struct plan *p)
{
	int axis = find_axis(p, "workers");
	int64_t most = 1;

	for (size_t i = 0; axis >= 0 && i < p->axes[axis].n; i++)
		if (p->axes[axis].values[i].value.v > most)
			most = p->axes[axis].values[i].value.v;
	return most;
}
