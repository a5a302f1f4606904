/* model.c: from the rows of one workload to its laws. */
#include "model/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "model/combine.h"

static bool same(double a, double b)
{
	return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-6 * fabs(b);
}

static bool same_but(const double *a, const double *b, enum factor f)
{
	for (int g = 0; g < FACTOR_COUNT; g++)
		if (g != (int)f && !same(a[g], b[g]))
			return false;
	return true;
}

/* A limit that was left alone is the default's own limit: one setting, not two. */
static void fill_defaults(struct obs *o, size_t n, const double *base)
{
	for (size_t i = 0; i < n; i++)
		for (int f = 0; f < FACTOR_COUNT; f++)
			if (isnan(o[i].x[f]))
				o[i].x[f] = base[f];
}

/* The default setting: that of the rows marked so (the fewest workers of them); without any the
 * fewest workers, the highest limit and the highest clock. */
static void find_base(const struct obs *o, size_t n, double *base)
{
	bool marked = false;

	for (int f = 0; f < FACTOR_COUNT; f++)
		base[f] = NAN;
	for (size_t i = 0; i < n; i++)
		marked = marked || o[i].is_default;
	for (size_t i = 0; i < n; i++) {
		if (marked && !o[i].is_default)
			continue;
		for (int f = 0; f < FACTOR_COUNT; f++) {
			double x = o[i].x[f];

			base[f] = f == FACTOR_WORKERS ? fmin(base[f], x) : fmax(base[f], x);
		}
	}
}

static void base_values(struct model *m, const struct obs *o, size_t n)
{
	for (int q = 0; q < QTY_COUNT; q++) {
		double sum = 0;
		unsigned k = 0;

		for (size_t i = 0; i < n; i++) {
			bool here = true;

			for (int f = 0; f < FACTOR_COUNT; f++)
				here = here && same(o[i].x[f], m->base[f]);
			if (!here || !(o[i].y[q] > 0))
				continue;
			sum += log(o[i].y[q]);
			k++;
		}
		m->base_y[q] = k ? exp(sum / k) : NAN;
	}
}

enum status scaling_of(const struct obs *o, size_t n, enum scaling *out, struct err *e)
{
	const struct obs *first = NULL, *g = NULL, *w = NULL;
	bool counts = false;

	*out = SCALING_UNKNOWN;
	for (size_t i = 0; i < n; i++) {
		if (!(o[i].global_batch > 0) || !(o[i].x[FACTOR_WORKERS] > 0))
			continue;
		if (!first)
			first = &o[i];
		counts = counts || !same(o[i].x[FACTOR_WORKERS], first->x[FACTOR_WORKERS]);
		if (!same(o[i].global_batch, first->global_batch))
			g = &o[i];
		if (!same(o[i].global_batch / o[i].x[FACTOR_WORKERS],
			    first->global_batch / first->x[FACTOR_WORKERS]))
			w = &o[i];
	}
	if (g && w) {
		*out = SCALING_MIXED;
		return err_set(e, ST_INVALID,
			"strong and weak scaling are mixed: row %ld has global batch %g on %g "
			"workers, "
			"row %ld %g on %g, row %ld %g on %g; fit them apart, or as an import with "
			"mixed "
			"scaling",
			first->row, first->global_batch, first->x[FACTOR_WORKERS], g->row,
			g->global_batch, g->x[FACTOR_WORKERS], w->row, w->global_batch,
			w->x[FACTOR_WORKERS]);
	}
	if (counts)
		*out = g ? SCALING_WEAK : SCALING_STRONG;
	return ST_OK;
}

/* What the rows show, or what the caller knows; a mixture only if the caller lets it in. */
static enum status find_scaling(struct model *m, const struct obs *o, size_t n, struct err *e)
{
	struct err why = ERR_INIT;
	enum status st = scaling_of(o, n, &m->scaling, &why);

	if (m->scaling == SCALING_UNKNOWN && m->opts.scaling != SCALING_MIXED)
		m->scaling = m->opts.scaling;
	if (st != ST_OK && m->opts.scaling != SCALING_MIXED)
		return err_set(e, st, "%s", why.msg);
	return ST_OK;
}

/* Does factor f take two values anywhere? */
static bool varies(const struct obs *o, size_t n, enum factor f)
{
	double first = NAN;

	for (size_t i = 0; i < n; i++) {
		if (isnan(o[i].x[f]))
			continue;
		if (isnan(first))
			first = o[i].x[f];
		else if (!same(o[i].x[f], first))
			return true;
	}
	return false;
}

/* Number of distinct x[f] among the rows that agree with `like` in the other factors and have y. */
static unsigned slice_size(
	const struct obs *o, size_t n, enum factor f, enum quantity q, const double *like)
{
	double seen[LAW_MAX_KNOTS];
	unsigned k = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned j = 0;

		if (isnan(o[i].x[f]) || isnan(o[i].y[q]) || !same_but(o[i].x, like, f))
			continue;
		while (j < k && !same(seen[j], o[i].x[f]))
			j++;
		if (j == k && k < LAW_MAX_KNOTS)
			seen[k++] = o[i].x[f];
	}
	return k;
}

/* The slice in which f takes most values: at the default if no other has more. */
static unsigned best_slice(const struct model *m, const struct obs *o, size_t n, enum factor f,
	enum quantity q, double *fixed)
{
	unsigned best = slice_size(o, n, f, q, m->base);

	memcpy(fixed, m->base, sizeof(m->base));
	for (size_t i = 0; i < n; i++) {
		unsigned k;

		if ((i > 0 && same_but(o[i].x, o[i - 1].x, f)) || same_but(o[i].x, fixed, f))
			continue; /* neighbours are most often of one slice */
		k = slice_size(o, n, f, q, o[i].x);
		if (k > best) {
			best = k;
			memcpy(fixed, o[i].x, sizeof(m->base));
		}
	}
	fixed[f] = NAN;
	return best;
}

static enum status fit_series(struct model *m, const struct obs *o, size_t n, enum factor f,
	enum quantity q, struct err *e)
{
	struct model_series *s = NULL;
	struct obs *part = NULL;
	double fixed[FACTOR_COUNT];
	struct series d;
	size_t k = 0;
	enum status st;

	if (best_slice(m, o, n, f, q, fixed) < 2)
		return ST_OK;
	part = mem_calloc(n, sizeof(*part));
	s = mem_calloc(1, sizeof(*s));
	if (!part || !s) {
		st = err_set(e, ST_NOMEM, "out of memory for %zu rows", n);
		goto out;
	}
	for (size_t i = 0; i < n; i++) {
		if (!same_but(o[i].x, fixed, f))
			continue;
		part[k] = o[i];
		part[k++].is_default = same(o[i].x[f], m->base[f]);
	}
	memcpy(s->fixed, fixed, sizeof(fixed));
	st = series_build(part, k, f, q, &d, e);
	if (st == ST_OK)
		st = select_laws(&d, &s->sel, e);
	if (st == ST_OK) {
		m->series[m->n_series++] = s;
		s = NULL;
	} else if (st == ST_RANGE) {
		st = ST_OK; /* nothing to say about this pair; the others may do */
	}
out:
	mem_free(part);
	mem_free(s);
	return st;
}

const struct model_series *model_series_of(const struct model *m, enum factor f, enum quantity q)
{
	for (unsigned i = 0; i < m->n_series; i++)
		if (m->series[i]->sel.series.factor == f && m->series[i]->sel.series.quantity == q)
			return m->series[i];
	return NULL;
}

/* ln y at x by the product of separate laws: the default's value times each factor's own ratio. */
static double product_log(const struct model *m, const double *x, enum quantity q)
{
	double ly = NAN;

	for (int f = 0; f < FACTOR_COUNT; f++) {
		const struct model_series *s = model_series_of(m, (enum factor)f, q);
		double base;

		if (!s || same(x[f], m->base[f]))
			continue;
		base = combine_log(&s->sel, m->base[f], NULL);
		if (isnan(ly))
			ly = isfinite(m->base_y[q]) ? log(m->base_y[q]) : base;
		ly += combine_log(&s->sel, x[f], NULL) - base;
	}
	return ly;
}

/* Joint law against product, on the rows that lie on no slice through the default: each fifth of
 * them is predicted by a joint law that did not see it. The product never sees them. */
static void compare_joint(struct model *m, const struct obs *o, size_t n)
{
	struct obs *rest = mem_calloc(n, sizeof(*rest));
	double ej = 0, ep = 0;
	unsigned count = 0;

	m->joint_loo_pct = m->product_loo_pct = NAN;
	for (unsigned fold = 0; rest && fold < 5; fold++) {
		struct joint j;
		size_t k = 0, corner = 0;

		for (int keep = 1; keep >= 0; keep--) {
			corner = 0;
			for (size_t i = 0; i < n; i++) {
				unsigned moved = 0;
				bool hide;
				double t, p;

				for (int f = 0; f < FACTOR_COUNT; f++)
					moved += !same(o[i].x[f], m->base[f]);
				hide = moved >= 2 && corner++ % 5 == fold;
				if (keep && !hide)
					rest[k++] = o[i];
				if (keep || !hide || !(o[i].y[QTY_TIME] > 0) ||
					!joint_covers(&j, o[i].x))
					continue;
				joint_eval(&j, o[i].x, &t, NULL);
				p = product_log(m, o[i].x, QTY_TIME);
				if (!isfinite(t) || !isfinite(p))
					continue;
				ej += fabs(t / o[i].y[QTY_TIME] - 1);
				ep += fabs(exp(p) / o[i].y[QTY_TIME] - 1);
				count++;
			}
			if (keep && joint_fit_near(rest, k, m->base, &m->joint, &j, NULL) != ST_OK)
				break;
		}
	}
	if (count) {
		m->joint_loo_pct = 100 * ej / count;
		m->product_loo_pct = 100 * ep / count;
	}
	mem_free(rest);
}

static enum status fit_all(struct model *m, struct obs *o, size_t n, struct err *e)
{
	unsigned varying = 0;
	enum status st = find_scaling(m, o, n, e);

	if (st != ST_OK)
		return st;
	find_base(o, n, m->base);
	fill_defaults(o, n, m->base);
	base_values(m, o, n);
	for (int f = 0; f < FACTOR_COUNT; f++) {
		if (!varies(o, n, (enum factor)f))
			continue;
		varying++;
		if (m->opts.factors && !(m->opts.factors & FACTOR_BIT(f)))
			continue;
		for (int q = 0; q < QTY_COUNT && st == ST_OK; q++)
			if (!m->opts.quantities || (m->opts.quantities & QTY_BIT(q)))
				st = fit_series(m, o, n, (enum factor)f, (enum quantity)q, e);
		if (st != ST_OK)
			return st;
	}
	if (m->n_series == 0)
		return err_set(e, ST_RANGE,
			varying ? "nothing that was asked for varies or was measured"
				: "all runs (%zu) have one setting: a law needs a factor that "
				  "takes "
				  "two values",
			n);
	if (varying < 2)
		return ST_OK;
	/* a joint law that cannot be fitted is no failure: separate laws still answer */
	m->has_joint = joint_fit(o, n, m->base, &m->joint, e) == ST_OK;
	if (m->has_joint)
		compare_joint(m, o, n);
	else if (e && e->msg[0])
		snprintf(m->note, sizeof(m->note), "no joint law: %.200s", e->msg);
	return ST_OK;
}

enum status model_fit_workload(const struct obs *obs, size_t n, const struct model_opts *opts,
	struct model **out, struct err *e)
{
	struct model *m = mem_calloc(1, sizeof(*m));
	struct obs *own = mem_calloc(n ? n : 1, sizeof(*own));
	enum status st;

	*out = NULL;
	if (!m || !own) {
		st = err_set(e, ST_NOMEM, "out of memory for %zu runs", n);
		goto out;
	}
	if (opts)
		m->opts = *opts;
	if (!(m->opts.level > 0))
		m->opts.level = 0.9;
	m->n_obs = (unsigned)n;
	m->joint_loo_pct = m->product_loo_pct = NAN;
	for (size_t i = 0; i < n; i++) {
		own[i] = obs[i];
		if (!own[i].row)
			own[i].row = (long)i + 1;
	}
	st = fit_all(m, own, n, e);
	if (st == ST_OK) {
		*out = m;
		m = NULL;
	}
out:
	mem_free(own);
	model_release(m);
	return st;
}

void model_release(struct model *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < m->n_series; i++)
		mem_free(m->series[i]);
	mem_free(m);
}

const char *scaling_name(enum scaling s)
{
	static const char *const names[] = {"unknown", "strong", "weak", "mixed"};

	return (unsigned)s < 4 ? names[s] : "unknown";
}
