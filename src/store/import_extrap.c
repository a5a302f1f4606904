/* import_extrap.c: Extra-P's text and JSON: each value of a region at a point is one repeat of a
 * run whose axes are the parameters. Metrics named time or energy are taken in s and J; others need
 * --map NAME=time_s. p, processes and ranks are workers. */
#include "store/import_extrap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

int extrap_name(char ***list, size_t *n, size_t *cap, const char *name)
{
	for (size_t i = 0; i < *n; i++) {
		if (!strcmp((*list)[i], name))
			return (int)i;
	}
	if (!mem_grow((void **)list, cap, *n + 1, sizeof(char *), 1000000) ||
		!((*list)[*n] = mem_strdup(name)))
		return -1;
	return (int)(*n)++;
}

bool extrap_add(struct extrap *x, const struct extrap_value *v)
{
	if (!mem_grow((void **)&x->values, &x->cap_values, x->n_values + 1, sizeof(*v), 10000000))
		return false;
	x->values[x->n_values++] = *v;
	return true;
}

static void release(struct extrap *x)
{
	for (size_t i = 0; i < x->n_params; i++)
		mem_free(x->params[i]);
	for (size_t i = 0; i < x->n_regions; i++)
		mem_free(x->regions[i]);
	for (size_t i = 0; i < x->n_metrics; i++)
		mem_free(x->metrics[i]);
	mem_free(x->regions);
	mem_free(x->metrics);
	mem_free(x->points);
	mem_free(x->values);
}

enum role { ROLE_NONE, ROLE_TIME, ROLE_ENERGY };

static enum role role_of(const char *metric, const struct import_opts *o)
{
	for (size_t i = 0; i < o->n_map; i++) {
		const char *eq = strrchr(o->map[i], '=');

		if (!eq || strncmp(o->map[i], metric, (size_t)(eq - o->map[i])) ||
			metric[eq - o->map[i]])
			continue;
		return !strcmp(eq + 1, "time_s")     ? ROLE_TIME
		       : !strcmp(eq + 1, "energy_j") ? ROLE_ENERGY
						     : ROLE_NONE;
	}
	/* The format has no metric by default: it is time. */
	if (!*metric || !strcasecmp(metric, "time") || !strcasecmp(metric, "runtime") ||
		!strcasecmp(metric, "time_s"))
		return ROLE_TIME;
	return !strcasecmp(metric, "energy") || !strcasecmp(metric, "energy_j") ? ROLE_ENERGY
										: ROLE_NONE;
}

/* What the user says with --map, else workers for the usual names of a process count. */
static const char *axis_name(const char *param, const struct import_opts *o)
{
	static const char *const workers[] = {"p", "processes", "procs", "ranks", "workers"};

	for (size_t i = 0; i < o->n_map; i++) {
		const char *eq = strrchr(o->map[i], '=');

		if (eq && eq[1] && !strncmp(o->map[i], param, (size_t)(eq - o->map[i])) &&
			!param[eq - o->map[i]])
			return eq + 1;
	}
	for (size_t i = 0; i < sizeof(workers) / sizeof(workers[0]); i++) {
		if (!strcasecmp(param, workers[i]))
			return "workers";
	}
	return param;
}

static int compare_values(const void *pa, const void *pb)
{
	const struct extrap_value *a = pa, *b = pb;

	if (a->region != b->region)
		return a->region < b->region ? -1 : 1;
	if (a->point != b->point)
		return a->point < b->point ? -1 : 1;
	if (a->repeat != b->repeat)
		return a->repeat < b->repeat ? -1 : 1;
	return a->metric < b->metric ? -1 : a->metric > b->metric;
}

/* The region's name; our own export appends the label. */
static enum status set_workload(const char *region, struct run_rec *r, struct err *e)
{
	static const char label[] = " (simulated)";
	size_t n = strlen(region);

	if (!rec_set(&r->workload, region))
		return import_no_memory(e);
	if (n >= sizeof(label) && !strcmp(region + n - (sizeof(label) - 1), label)) {
		r->simulated = true;
		r->workload[n - (sizeof(label) - 1)] = '\0';
	}
	return ST_OK;
}

static enum status set_axes(const struct extrap *x, const double *point,
	const struct import_opts *o, struct run_rec *r, struct err *e)
{
	char text[32];

	for (size_t k = 0; k < x->n_params; k++) {
		double v = point[k];
		bool whole = v == floor(v) && fabs(v) < 1e15;

		snprintf(text, sizeof(text), "%.12g", v);
		if (!run_rec_axis_find(r, axis_name(x->params[k], o)) &&
			!run_rec_axis(r, axis_name(x->params[k], o), text, UNIT_NONE,
				whole ? QTY((int64_t)v) : QTY_NONE(ST_UNSUPPORTED)))
			return import_no_memory(e);
	}
	return ST_OK;
}

static enum status set_value(const struct extrap *x, const struct extrap_value *v, enum role role,
	struct run_rec *r, struct err *e)
{
	struct qty q = import_outside(role == ROLE_TIME ? UNIT_TIME : UNIT_ENERGY, v->v);

	if (q.st || v->v <= 0)
		return err_set(e, ST_INVALID, "%s: region '%s': value %g is not a %s in %s",
			x->file, x->regions[v->region], v->v, role == ROLE_TIME ? "time" : "energy",
			role == ROLE_TIME ? "s" : "J");
	if (role == ROLE_TIME) {
		r->wall_ns = q;
		return ST_OK;
	}
	r->energy_uj = q;
	r->method = ENERGY_IMPORTED;
	return rec_set(&r->scope, "as imported") ? ST_OK : import_no_memory(e);
}

/* Values of one region, point and repeat from i on become one record; *i moves past them. */
static enum status emit(const struct extrap *x, size_t *i, const struct import_opts *o,
	struct import_sink *sink, struct err *e)
{
	const struct extrap_value *first = &x->values[*i];
	struct run_rec r;
	bool any = false;
	enum status st = import_begin(&r, "extra-p", o, e);

	if (st)
		return st;
	for (; !st && *i < x->n_values; ++*i) {
		const struct extrap_value *v = &x->values[*i];
		enum role role = role_of(x->metrics[v->metric], o);

		if (v->region != first->region || v->point != first->point ||
			v->repeat != first->repeat)
			break;
		if (role == ROLE_NONE)
			continue;
		any = true;
		st = set_value(x, v, role, &r, e);
	}
	r.repeat = first->repeat;
	if (!st)
		st = set_workload(x->regions[first->region], &r, e);
	if (!st && r.energy_uj.st && !rec_set(&r.energy_note, "not in the imported file"))
		st = import_no_memory(e);
	if (!st)
		st = set_axes(x, x->points[first->point], o, &r, e);
	if (!st && any)
		return import_end(&r, sink, e);
	run_rec_release(&r);
	return st;
}

static enum status check_metrics(const struct extrap *x, const struct import_opts *o,
	struct import_sink *sink, struct err *e)
{
	bool any = false;

	for (size_t i = 0; i < x->n_metrics; i++) {
		if (role_of(x->metrics[i], o) != ROLE_NONE) {
			any = true;
			continue;
		}
		str_addf(&sink->ignored, "%s%s", sink->ignored.len ? ", " : "", x->metrics[i]);
	}
	if (any)
		return ST_OK;
	if (!x->n_metrics)
		return err_set(e, ST_INVALID, "%s: holds no measurements of Extra-P", x->file);
	return err_set(e, ST_INVALID,
		"%s: metric '%s' is neither time nor energy; say which, e.g. --map %s=time_s",
		x->file, x->metrics[0], x->metrics[0]);
}

static enum status read_extrap(const char *file, const char *text, size_t len,
	const struct import_opts *o, struct import_sink *sink, struct err *e)
{
	struct extrap x = {.file = file};
	const char *p = text;
	enum status st;

	if (memchr(text, 0, len))
		return err_at(e, file, 0, 0, "is not a text");
	while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')
		p++;
	st = *p == '{' ? extrap_json(&x, text, len, e) : extrap_text(&x, text, e);
	if (!st)
		st = check_metrics(&x, o, sink, e);
	sink->has_repeats = true;
	if (!st)
		qsort(x.values, x.n_values, sizeof(*x.values), compare_values);
	for (size_t i = 0; i < x.n_values && !st;)
		st = emit(&x, &i, o, sink, e);
	release(&x);
	return st;
}

const struct import_format import_extrap = {
	.name = "extrap",
	.what = "measurements of Extra-P, text or JSON",
	.read = read_extrap,
};
