#include "cmd/laws.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "model/model.h"

#define MAX_THREADS 16
#define MAX_GROUPS  100000
#define MAX_OBS     10000000

static const struct {
	const char *axis;
	enum unit unit;
} factors[FACTOR_COUNT] = {
	[FACTOR_WORKERS] = {"workers", UNIT_NONE},
	[FACTOR_POWER_LIMIT] = {"power_limit", UNIT_POWER},
	[FACTOR_CLOCK] = {"clock_max", UNIT_FREQ},
	[FACTOR_CPU_RATE] = {"cpu_rate", UNIT_RATIO},
};

const char *factor_axis(enum factor f)
{
	return (unsigned)f < FACTOR_COUNT ? factors[f].axis : "unknown";
}

int factor_of_axis(const char *axis)
{
	for (int f = 0; f < FACTOR_COUNT; f++) {
		if (!strcmp(factors[f].axis, axis))
			return f;
	}
	return -1;
}

const char *factor_text(enum factor f, double x, char *buf, size_t size)
{
	enum unit u = factors[f].unit;

	if (isnan(x))
		snprintf(buf, size, "default");
	else if (u == UNIT_NONE)
		snprintf(buf, size, "%g", x);
	else
		unit_format(u, unit_from_outside(u, x), buf, size);
	return buf;
}

/* What was in force counts, not what was asked for: a limit may be clamped and a clock moved to its
 * grid. A default that nobody wrote down is what the device was found at. */
static double factor_value(const struct run_rec *r, const struct axis_val *a)
{
	double asked = axis_number(a);
	bool by_default = !isfinite(asked) || (a->text && !strcmp(a->text, "default"));

	for (size_t i = 0; i < r->n_devs; i++) {
		const struct dev_rec *d = &r->devs[i];

		for (size_t k = 0; k < d->n_knobs; k++) {
			const struct knob_rec *knob = &d->knobs[k];
			struct qty q = knob->enforced.st == ST_OK ? knob->enforced : knob->found;

			/* a device that was not set says nothing of a setting that was asked for */
			if (!knob->name || strcmp(knob->name, a->name) ||
				(!by_default && (knob->requested.st || knob->enforced.st)))
				continue;
			if (q.st == ST_OK && q.v > 0)
				return unit_to_outside(knob->unit, q.v);
		}
	}
	return asked;
}

/* Which boards a run was on, as a number: boards of one model differ by several percent. */
static uint32_t board_of(const struct run_rec *r)
{
	uint32_t h = 0;

	if (r->source && !r->simulated)
		return 0;
	for (size_t i = 0; i < r->n_devs; i++) {
		uint32_t one = 2166136261u;

		if (!r->devs[i].counted || r->devs[i].kind != DEV_GPU || !r->devs[i].key)
			continue;
		for (const char *p = r->devs[i].key; *p; p++)
			one = (one ^ (unsigned char)*p) * 16777619u;
		h ^= one; /* in whatever order */
	}
	return h;
}

static bool same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static void other_axes(const struct run_rec *r, struct str *out)
{
	struct axis_val others[256];
	size_t n = 0;

	for (size_t i = 0; i < r->n_axes && n < 256; i++) {
		if (factor_of_axis(r->axes[i].name) < 0)
			others[n++] = r->axes[i];
	}
	setting_text(others, n, SETTING_WHOLE, out);
}

/* What the runs of a group were on: the name of the first device that counts, else the axis of an
 * import. */
static bool note_device(struct law_group *g, const struct run_rec *r)
{
	const struct axis_val *a = run_rec_axis_find(r, "gpu");

	if (g->device)
		return true;
	for (size_t i = 0; i < r->n_devs; i++) {
		if (r->devs[i].counted && r->devs[i].kind == DEV_GPU && r->devs[i].name)
			return rec_set(&g->device, r->devs[i].name);
	}
	return !a || !a->text || rec_set(&g->device, a->text);
}

struct reading {
	struct law_set *set;
	bool gpus_alone, failed;
};

/* Mean draw of the GPUs that count, W. */
static double gpu_power(const struct run_rec *r)
{
	double sum = 0;
	bool any = false;

	for (size_t i = 0; i < r->n_devs; i++) {
		const struct dev_rec *d = &r->devs[i];

		if (!d->counted || d->kind != DEV_GPU)
			continue;
		if (d->mean_mw.st != ST_OK)
			return NAN;
		sum += (double)d->mean_mw.v / 1e3;
		any = true;
	}
	return any ? sum : NAN;
}

static struct law_group *find_group(struct law_set *set, const struct figures *f, const char *where)
{
	struct law_group *g;

	/* The last ones first: runs of one group mostly follow each other. */
	for (size_t i = set->n_groups; i-- > 0;) {
		g = &set->groups[i];
		if (same(g->workload, f->workload) && same(g->where, where) &&
			same(g->label, f->label) && same(g->work_unit, f->work_unit))
			return g;
	}
	if (!mem_grow((void **)&set->groups, &set->cap_groups, set->n_groups + 1, sizeof(*g),
		    MAX_GROUPS))
		return NULL;
	g = &set->groups[set->n_groups];
	memset(g, 0, sizeof(*g));
	set->n_groups++;
	if (!rec_set(&g->workload, f->workload ? f->workload : "") ||
		!rec_set(&g->domain, f->domain) || !rec_set(&g->where, where) ||
		!rec_set(&g->label, f->label) || !rec_set(&g->source, f->run->source) ||
		!rec_set(&g->work_unit, f->work_unit))
		return NULL;
	return g;
}

static bool note_energy(struct law_group *g, const struct figures *f)
{
	if (isfinite(f->energy_j)) {
		g->n_energy++;
		return g->scope || rec_set(&g->scope, f->run->scope);
	}
	return g->energy_note || rec_set(&g->energy_note, f->run->energy_note);
}

static bool note_host(struct law_set *set, const char *host)
{
	if (!host || same(set->host, host))
		return true;
	return rec_set(&set->host, set->host ? "several hosts" : host);
}

static bool add_run(void *arg, const struct figures *f)
{
	struct reading *rd = arg;
	struct str where = STR_INIT;
	struct law_group *g;
	const struct run_rec *r = f->run;
	struct obs *o;

	other_axes(r, &where);
	g = where.failed ? NULL : find_group(rd->set, f, str_cstr(&where));
	str_release(&where);
	if (!g || !note_energy(g, f) || !note_device(g, r) || !note_host(rd->set, r->host) ||
		!mem_grow((void **)&g->obs, &g->cap, g->n + 1, sizeof(*g->obs), MAX_OBS)) {
		rd->failed = true;
		return false;
	}
	o = &g->obs[g->n++];
	memset(o, 0, sizeof(*o));
	for (int k = 0; k < FACTOR_COUNT; k++) {
		const struct axis_val *a = run_rec_axis_find(r, factors[k].axis);

		o->x[k] = a ? factor_value(r, a) : NAN;
	}
	o->y[QTY_TIME] = f->time_s;
	o->y[QTY_POWER] = rd->gpus_alone ? gpu_power(r) : f->mean_w;
	o->y[QTY_ENERGY] = rd->gpus_alone ? o->y[QTY_POWER] * f->time_s : f->energy_j;
	o->weight = 1;
	o->global_batch = r->train.global_batch.st == ST_OK ? (double)r->train.global_batch.v : 0;
	o->worker_batch =
		r->train.batch_per_rank.st == ST_OK ? (double)r->train.batch_per_rank.v : 0;
	/* "GPU", "GPUs": of an imported run nothing else is known */
	o->beside = !rd->gpus_alone && r->scope && strchr(r->scope, '+') != NULL;
	o->board = board_of(r);
	o->is_default = f->baseline;
	o->row = (long)++rd->set->n_runs;
	return true;
}

/* By workload, since runs come in random order; within one as they came. */
static int compare_groups(const void *pa, const void *pb)
{
	const struct law_group *a = pa, *b = pb;
	int by_name = strcmp(a->workload, b->workload);

	return by_name                         ? by_name
	       : a->obs[0].row < b->obs[0].row ? -1
					       : a->obs[0].row > b->obs[0].row;
}

static enum status read_set(
	struct store *s, int64_t campaign_id, bool gpus_alone, struct law_set *out, struct err *e)
{
	struct reading rd = {out, gpus_alone, false};
	enum status st;

	memset(out, 0, sizeof(*out));
	st = store_each_figures(s, FIGURES_RUN, campaign_id, add_run, &rd, e);
	if (!st && rd.failed)
		st = err_set(e, ST_NOMEM, "reading runs: out of memory");
	if (st) {
		law_set_release(out);
		return st;
	}
	if (out->n_groups)
		qsort(out->groups, out->n_groups, sizeof(*out->groups), compare_groups);
	for (size_t i = 0; i < out->n_groups; i++) {
		size_t k = 0;

		while (k < i && !same(out->groups[k].workload, out->groups[i].workload))
			k++;
		out->n_workloads += k == i;
	}
	return ST_OK;
}

enum status law_set_read(struct store *s, int64_t campaign_id, struct law_set *out, struct err *e)
{
	return read_set(s, campaign_id, false, out, e);
}

enum status law_set_read_gpus(
	struct store *s, int64_t campaign_id, struct law_set *out, struct err *e)
{
	return read_set(s, campaign_id, true, out, e);
}

static bool same_x(double a, double b)
{
	return (isnan(a) && isnan(b)) || a == b;
}

/* Equal in every factor but f. */
static bool same_slice(const struct obs *a, const struct obs *b, enum factor f)
{
	for (int k = 0; k < FACTOR_COUNT; k++) {
		if (k != (int)f && !same_x(a->x[k], b->x[k]))
			return false;
	}
	return true;
}

static size_t distinct_x(const struct obs *obs, size_t n, enum factor f)
{
	size_t distinct = 0;

	for (size_t i = 0; i < n; i++) {
		size_t k = 0;

		while (k < i && !same_x(obs[k].x[f], obs[i].x[f]))
			k++;
		distinct += k == i && isfinite(obs[i].x[f]);
	}
	return distinct;
}

/* "cpu_rate=60% workers=2", without f. */
static bool slice_text(const struct obs *o, enum factor f, char **out)
{
	struct str s = STR_INIT;
	char buf[64];
	bool good;

	for (int k = 0; k < FACTOR_COUNT; k++) {
		if (k == (int)f || isnan(o->x[k]))
			continue;
		str_addf(&s, "%s%s=%s", s.len ? " " : "", factors[k].axis,
			factor_text((enum factor)k, o->x[k], buf, sizeof(buf)));
	}
	good = !s.failed && rec_set(out, str_cstr(&s));
	str_release(&s);
	return good;
}

/* At the default: the knobs of a default run of this group, whatever the worker count; a worker
 * count has no default but its smallest. */
static bool slice_is_default(const struct law_group *g, const struct obs *o, enum factor f)
{
	bool any = false;

	for (size_t i = 0; i < g->n; i++) {
		const struct obs *d = &g->obs[i];
		bool equal = true;

		if (f != FACTOR_WORKERS && isfinite(d->x[FACTOR_WORKERS]) &&
			d->x[FACTOR_WORKERS] < o->x[FACTOR_WORKERS])
			return false;
		any |= d->is_default;
		for (int k = 0; k < FACTOR_COUNT; k++)
			equal &= k == (int)f || k == FACTOR_WORKERS || same_x(d->x[k], o->x[k]);
		if (d->is_default && equal)
			return true;
	}
	return !any;
}

/* One curve to be fitted later. */
static enum status add_series(struct law_set *set, const struct law_group *g, enum factor f,
	enum quantity q, struct obs *obs, size_t n, struct err *e)
{
	struct law_series *s;
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		known += isfinite(obs[i].x[f]) && isfinite(obs[i].y[q]);
	if (!known)
		return ST_OK;
	if (!mem_grow((void **)&set->series, &set->cap_series, set->n_series + 1, sizeof(*s),
		    MAX_GROUPS))
		return err_set(e, ST_NOMEM, "fitting: out of memory");
	s = &set->series[set->n_series++];
	memset(s, 0, sizeof(*s));
	s->group = g;
	s->factor = f;
	s->quantity = q;
	s->at_baseline = slice_is_default(g, &obs[0], f);
	s->obs = mem_calloc(n, sizeof(*obs));
	if (!s->obs || !slice_text(&obs[0], f, &s->where))
		return err_set(e, ST_NOMEM, "fitting: out of memory");
	memcpy(s->obs, obs, n * sizeof(*obs));
	s->n = n;
	return ST_OK;
}

static enum status add_slices(
	struct law_set *set, const struct law_group *g, enum factor f, struct err *e)
{
	struct obs *slice = mem_calloc(g->n, sizeof(*slice));
	enum status st = slice ? ST_OK : err_set(e, ST_NOMEM, "fitting: out of memory");

	for (size_t i = 0; i < g->n && !st; i++) {
		size_t n = 0, x;
		bool first = true;

		for (size_t k = 0; k < i && first; k++)
			first = !same_slice(&g->obs[k], &g->obs[i], f);
		if (!first)
			continue;
		for (size_t k = i; k < g->n; k++) {
			if (same_slice(&g->obs[k], &g->obs[i], f))
				slice[n++] = g->obs[k];
		}
		x = distinct_x(slice, n, f);
		if (x < 2 || (x < 3 && !slice_is_default(g, slice, f)))
			continue;
		for (int q = 0; q < QTY_COUNT && !st; q++)
			st = add_series(set, g, f, (enum quantity)q, slice, n, e);
	}
	mem_free(slice);
	return st;
}

/* Groups as they came; in each the factors, time before power before energy, then the slices in
 * order of the other factors. */
static int compare_series(const void *pa, const void *pb)
{
	const struct law_series *a = pa, *b = pb;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->factor != b->factor)
		return a->factor < b->factor ? -1 : 1;
	if (a->quantity != b->quantity)
		return a->quantity < b->quantity ? -1 : 1;
	for (int k = 0; k < FACTOR_COUNT; k++) {
		double x = a->obs[0].x[k], y = b->obs[0].x[k];

		/* Within a slice the factor itself may begin anywhere. */
		if (k != (int)a->factor && x != y && !(isnan(x) && isnan(y)))
			return x < y ? -1 : 1;
	}
	return 0;
}

static void fit_one(struct law_series *s)
{
	struct selection *sel = mem_calloc(1, sizeof(*sel));
	struct series points;
	struct err why = ERR_INIT;
	enum scaling scaling;

	s->st = sel ? ST_OK : err_set(&why, ST_NOMEM, "out of memory");
	/* an import is taken as it is, and predict labels it; of our own runs a mixture is a
	 * mistake */
	if (s->st == ST_OK && s->factor == FACTOR_WORKERS && strcmp(s->group->label, "imported"))
		s->st = scaling_of(s->obs, s->n, &scaling, &why);
	if (s->st == ST_OK)
		s->st = series_build(s->obs, s->n, s->factor, s->quantity, &points, &why);
	if (s->st == ST_OK)
		s->st = select_laws(&points, sel, &why);
	if (s->st == ST_OK) {
		s->sel = sel;
		return;
	}
	mem_free(sel);
	snprintf(s->why, sizeof(s->why), "%.150s", why.msg);
}

/* Fitting is pure and one curve does not know the others: a thread a CPU, same numbers whatever
 * their count. */
struct crew {
	struct law_set *set;
	_Atomic size_t next;
};

static void *fit_some(void *arg)
{
	struct crew *c = arg;

	for (size_t i; (i = atomic_fetch_add(&c->next, 1)) < c->set->n_series;)
		if (!c->set->series[i].skipped)
			fit_one(&c->set->series[i]);
	return NULL;
}

static void fit_all(struct law_set *set)
{
	struct crew crew = {.set = set};
	pthread_t thread[MAX_THREADS];
	long crew_size = set->threads ? (long)set->threads : sysconf(_SC_NPROCESSORS_ONLN);
	int n = 0;

	/* a few curves are fitted sooner than a thread starts */
	while (n < MAX_THREADS && n + 1 < crew_size && (size_t)n * 8 < set->n_series &&
		!pthread_create(&thread[n], NULL, fit_some, &crew))
		n++;
	fit_some(&crew);
	while (n > 0)
		pthread_join(thread[--n], NULL);
}

size_t law_set_slices(const struct law_set *set, const struct law_series *s)
{
	size_t n = 0;

	for (size_t i = 0; i < set->n_series; i++) {
		const struct law_series *o = &set->series[i];

		n += o->group == s->group && o->factor == s->factor && o->quantity == s->quantity;
	}
	return n;
}

enum status law_set_fit(struct law_set *set, size_t max_slices, struct err *e)
{
	enum status st = ST_OK;

	for (size_t i = 0; i < set->n_groups && !st; i++) {
		for (int f = 0; f < FACTOR_COUNT && !st; f++)
			st = add_slices(set, &set->groups[i], (enum factor)f, e);
	}
	if (st)
		return st;
	if (set->n_series)
		qsort(set->series, set->n_series, sizeof(*set->series), compare_series);
	for (size_t i = 0; max_slices && i < set->n_series; i++) {
		struct law_series *s = &set->series[i];

		s->skipped = !s->at_baseline && law_set_slices(set, s) > max_slices;
	}
	fit_all(set);
	return ST_OK;
}

static bool has_word(const char *text, const char *word, size_t n)
{
	for (const char *p = text; (p = strstr(p, word)) != NULL; p++) {
		if (strlen(p) >= n && (p == text || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return true;
	}
	return false;
}

bool law_group_matches(const struct law_group *g, const char *workload, const char *where)
{
	if (workload && strcmp(g->workload, workload))
		return false;
	while (where && *where) {
		char word[256];
		size_t n = strcspn(where, " ,");

		snprintf(word, sizeof(word), "%.*s", (int)n, where);
		if (n && !has_word(g->where, word, strlen(word)))
			return false;
		where += n + (where[n] != '\0');
	}
	return true;
}

enum status law_set_expect(
	const struct law_set *set, const char *workload, const char *where, struct err *e)
{
	const char *names[32], *near;
	struct str there = STR_INIT;
	size_t n = 0;
	enum status st;

	if (!set->n_groups)
		return err_set(e, ST_UNKNOWN, "there is no run that can be used");
	for (size_t i = 0; i < set->n_groups; i++) {
		const struct law_group *g = &set->groups[i];
		const char *name = g->workload;

		if (law_group_matches(g, workload, where))
			return ST_OK;
		if (workload && !strcmp(name, workload))
			return err_set(e, ST_NOT_FOUND, "no usable run of %s at '%s'", name, where);
		if (n < sizeof(names) / sizeof(names[0]) && (!n || strcmp(names[n - 1], name)))
			names[n++] = name;
	}
	if (!workload)
		return err_set(e, ST_NOT_FOUND, "no usable run at '%s'", where);
	near = str_nearest(workload, names, n);
	for (size_t i = 0; i < n; i++)
		str_addf(&there, "%s%s", i ? ", " : "", names[i]);
	st = near ? err_set(e, ST_NOT_FOUND, "no usable run of '%s'; did you mean '%s'?", workload,
			    near)
		  : err_set(e, ST_NOT_FOUND, "no usable run of '%s', only of %s", workload,
			    str_cstr(&there));
	str_release(&there);
	return st;
}

enum status law_group_series(
	const struct law_group *g, enum factor f, enum quantity q, struct series *out)
{
	struct obs *slice = mem_calloc(g->n, sizeof(*slice));
	size_t best = 0, at = 0, n = 0;
	enum status st = ST_RANGE;

	for (size_t i = 0; slice && i < g->n; i++) {
		if (i > 0 && same_slice(&g->obs[i], &g->obs[i - 1], f))
			continue;
		n = 0;
		for (size_t k = 0; k < g->n; k++) {
			if (same_slice(&g->obs[k], &g->obs[i], f))
				slice[n++] = g->obs[k];
		}
		n = distinct_x(slice, n, f);
		if (n > best) {
			best = n;
			at = i;
		}
	}
	n = 0;
	for (size_t k = 0; slice && k < g->n; k++) {
		if (same_slice(&g->obs[k], &g->obs[at], f))
			slice[n++] = g->obs[k];
	}
	if (slice)
		st = series_build(slice, n, f, q, out, NULL);
	mem_free(slice);
	return st;
}

void law_set_release(struct law_set *set)
{
	for (size_t i = 0; i < set->n_groups; i++) {
		struct law_group *g = &set->groups[i];

		mem_free(g->workload);
		mem_free(g->domain);
		mem_free(g->where);
		mem_free(g->label);
		mem_free(g->source);
		mem_free(g->work_unit);
		mem_free(g->device);
		mem_free(g->energy_note);
		mem_free(g->scope);
		mem_free(g->obs);
	}
	for (size_t i = 0; i < set->n_series; i++) {
		mem_free(set->series[i].where);
		mem_free(set->series[i].obs);
		mem_free(set->series[i].sel);
	}
	mem_free(set->groups);
	mem_free(set->series);
	mem_free(set->host);
	memset(set, 0, sizeof(*set));
}
