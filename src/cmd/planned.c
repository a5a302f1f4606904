/* planned.c: see planned.h. */
#include "cmd/planned.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "base/mem.h"
#include "base/str.h"

/* Samples in one step at that many workers, NAN unknown. */
static double batch_at(const struct law_group *g, const struct model *m, double workers)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct obs *o = &g->obs[i];

		if (!(o->global_batch > 0))
			continue;
		if (m->scaling == SCALING_WEAK && o->x[FACTOR_WORKERS] > 0)
			return o->global_batch / o->x[FACTOR_WORKERS] * workers;
		return m->scaling == SCALING_MIXED ? NAN : o->global_batch;
	}
	return NAN;
}

enum status planned_units(const struct law_group *g, const struct model *m,
	const struct planned_work *w, double workers, double *units, struct err *e)
{
	const char *unit = g->work_unit;
	double samples = w->samples, batch;

	*units = 1;
	if (!(w->samples > 0) && !(w->steps > 0) && !(w->epochs > 0) && !(w->runs > 0))
		return ST_OK;
	if ((w->steps > 0 && !strcmp(unit, "step")) || (w->epochs > 0 && !strcmp(unit, "epoch")) ||
		(w->runs > 0 && !strcmp(unit, "run"))) {
		*units = w->steps > 0 ? w->steps : w->epochs > 0 ? w->epochs : w->runs;
		return ST_OK;
	}
	if (strcmp(unit, "sample"))
		return err_set(e, ST_INVALID,
			"%s: its runs are measured per %s, so give the plan in %ss", g->workload,
			unit, unit);
	if (w->epochs > 0) {
		if (!(w->samples_per_epoch > 0))
			return err_set(e, ST_INVALID,
				"%s: runs are measured per sample; --epochs needs --epoch-samples",
				g->workload);
		samples = w->epochs * w->samples_per_epoch;
	}
	if (w->steps > 0) {
		batch = batch_at(g, m, workers);
		if (!(batch > 0))
			return err_set(e, ST_INVALID,
				"%s: the samples of a step are not known; give --samples",
				g->workload);
		samples = w->steps * batch;
	}
	if (w->runs > 0)
		return err_set(e, ST_INVALID,
			"%s: runs are measured per sample, so give --samples, --steps or --epochs",
			g->workload);
	*units = samples;
	return ST_OK;
}

static struct interval times(const struct interval *v, double k)
{
	return (struct interval){v->value * k, v->lo * k, v->hi * k, v->level};
}

enum status planned_ask(const struct law_group *g, const struct model *m, const double *x,
	const struct planned_work *w, const struct cost_terms *terms, struct planned *out,
	struct err *e)
{
	enum status st;
	const struct interval *t;

	memset(out, 0, sizeof(*out));
	out->warning = "";
	out->workers = isnan(x[FACTOR_WORKERS]) ? m->base[FACTOR_WORKERS] : x[FACTOR_WORKERS];
	if (isnan(out->workers))
		out->workers = 1;
	st = model_predict(m, x, &out->per_unit, e);
	if (st == ST_OK)
		st = planned_units(g, m, w, out->workers, &out->units, e);
	if (st != ST_OK)
		return st;
	t = &out->per_unit.y[QTY_TIME];
	out->time_s = times(t, out->units);
	out->energy_j = times(&out->per_unit.y[QTY_ENERGY], out->units);
	out->power_w = out->per_unit.y[QTY_POWER];
	out->throughput = (struct interval){1 / t->value, 1 / t->hi, 1 / t->lo, t->level};
	cost_of(terms, out->workers, &out->time_s, &out->energy_j, &out->cost);
	if (!strcmp(g->work_unit, "step") && isfinite(m->base[FACTOR_WORKERS]) &&
		out->workers != m->base[FACTOR_WORKERS])
		out->warning = "times are per step: another worker count may do another amount of "
			       "work in one";
	if (w->epochs > 0 && m->scaling != SCALING_STRONG && isfinite(m->base[FACTOR_WORKERS]) &&
		out->workers != m->base[FACTOR_WORKERS])
		out->warning =
			"another worker count means another global batch here: how many epochs it "
			"then takes to converge is not predicted";
	return ST_OK;
}

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

struct prior *planned_prior(
	const struct law_set *all, const struct law_group *g, enum factor f, enum quantity q)
{
	struct prior *p = NULL;
	double lo = INFINITY, hi = -INFINITY;

	for (size_t i = 0; i < g->n; i++) {
		lo = fmin(lo, g->obs[i].x[f]);
		hi = fmax(hi, g->obs[i].x[f]);
	}
	if (!g->device || !(hi > lo))
		return NULL;
	p = mem_calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	prior_init(p, f, q, g->device, lo, hi);
	for (size_t i = 0; i < all->n_groups; i++) {
		const struct law_group *o = &all->groups[i];
		struct series s;

		if (!same_text(o->device, g->device) || !same_text(o->label, g->label) ||
			same_text(o->workload, g->workload) ||
			(q != QTY_TIME && !same_text(o->scope, g->scope)))
			continue;
		if (law_group_series(o, f, q, &s) == ST_OK)
			prior_add(p, &s);
	}
	if (p->n_curves >= 3)
		return p;
	mem_free(p);
	return NULL;
}

enum status planned_carbon(const char *text, double *g_kwh, struct err *e)
{
	struct csv c;
	enum status st;
	int col;
	double sum = 0;
	size_t n = 0;

	if (str_to_double(text, g_kwh))
		return *g_kwh >= 0
			       ? ST_OK
			       : err_set(e, ST_INVALID, "carbon intensity must not be negative");
	st = csv_open_file(&c, text, 0, e);
	if (st != ST_OK)
		return st;
	col = csv_column(&c, "g_per_kwh");
	if (col < 0)
		col = csv_column(&c, "carbon_intensity");
	if (col < 0)
		st = csv_need(&c, "g_per_kwh", &col, e);
	while (st == ST_OK && csv_next(&c, e) == ST_OK) {
		double v;

		st = csv_double(&c, col, &v, e);
		if (st == ST_UNKNOWN) {
			st = ST_OK;
			continue;
		}
		sum += v;
		n += st == ST_OK;
	}
	csv_release(&c);
	if (st == ST_OK && n == 0)
		st = err_set(e, ST_INVALID, "%s has no number of grams per kWh", text);
	*g_kwh = n ? sum / (double)n : NAN;
	return st;
}
