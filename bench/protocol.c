/* protocol.c: hide, fit, ask. Nothing of the hidden settings reaches the model: series are built
 * anew from the rows that remain, and every choice (weights, best family, scale) is made on them.
 */
#include "protocol.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/combine.h"

#define MIN_CAPS    5
#define MIN_EFFECT  1.05 /* workloads whose time moves less say nothing about a law */
#define MIN_COUNTS  4
#define LOO_ALL     20
#define LOO_FOLDS   10
#define MAX_OUTCOME (1u << 20)

static struct outcome *outcome_new(struct test_case *c)
{
	struct outcome *o;

	if (!mem_grow((void **)&c->out, &c->cap_out, c->n_out + 1, sizeof(*c->out), MAX_OUTCOME))
		return NULL;
	o = &c->out[c->n_out++];
	memset(o, 0, sizeof(*o));
	o->product = NAN;
	return o;
}

/* Mean ln y of the rows at x of factor f, the truth that a prediction is held against. */
static double truth_at(const struct test_case *c, enum factor f, enum quantity q, double x)
{
	double sum = 0;
	unsigned n = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (c->obs[i].x[f] != x || isnan(c->obs[i].y[q]))
			continue;
		sum += log(c->obs[i].y[q]);
		n++;
	}
	return sum / n;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Distinct values of a factor in rising order; *n of them. NULL out of memory. */
static double *levels(const struct test_case *c, enum factor f, unsigned *n)
{
	double *v = mem_calloc(c->n + 1, sizeof(*v));
	size_t m = 0;
	unsigned k = 0;

	if (!v)
		return NULL;
	for (size_t i = 0; i < c->n; i++)
		if (!isnan(c->obs[i].x[f]))
			v[m++] = c->obs[i].x[f];
	qsort(v, m, sizeof(*v), by_value);
	for (size_t i = 0; i < m; i++)
		if (k == 0 || v[i] != v[k - 1])
			v[k++] = v[i];
	*n = k;
	return v;
}

/* The laws of some rows. NULL when none can be fitted. */
static struct selection *fit_rows(const struct obs *o, size_t n, enum factor f, enum quantity q)
{
	struct selection *s = mem_calloc(1, sizeof(*s));
	struct series d;

	if (s && o && series_build(o, n, f, q, &d, NULL) == ST_OK &&
		select_laws(&d, s, NULL) == ST_OK)
		return s;
	mem_free(s);
	return NULL;
}

/* Those of the rows whose level index is not hidden. */
static struct selection *fit_rest(const struct test_case *c, enum factor f, enum quantity q,
	const double *lv, unsigned n, const bool *hidden)
{
	struct obs *rest = mem_calloc(c->n + 1, sizeof(*rest));
	struct selection *s;
	size_t k = 0;

	for (size_t i = 0; rest && i < c->n; i++)
		for (unsigned j = 0; j < n; j++)
			if (c->obs[i].x[f] == lv[j] && !hidden[j])
				rest[k++] = c->obs[i];
	s = fit_rows(rest, k, f, q);
	mem_free(rest);
	return s;
}

static int ask(struct test_case *c, const struct selection *s, const struct prior *prior,
	enum factor f, double x)
{
	struct prediction p;
	struct outcome *o;
	double at = series_effective(&s->series, x);
	double truth = truth_at(c, f, s->series.quantity, x);

	/* a refusal is an answer too, but there is no error to count */
	if (predict_with_prior(s, prior, x, 0.9, &p, NULL) != ST_OK) {
		c->n_refused++;
		return 0;
	}
	if (!isfinite(truth))
		return 0;
	o = outcome_new(c);
	if (!o)
		return -1;
	o->x = x;
	o->truth = truth;
	o->pred = log(p.y.value);
	o->lo = log(p.y.lo);
	o->hi = log(p.y.hi);
	o->plain = log(p.power_law.value);
	o->plain_lo = log(p.power_law.lo);
	o->plain_hi = log(p.power_law.hi);
	predict_parts(s, x, &o->parts);
	o->prior = o->prior_sd = NAN;
	o->laws = o->pred;
	if (prior && predict_at(s, x, 0.9, &p, NULL) == ST_OK)
		o->laws = log(p.y.value);
	if (prior)
		o->prior = prior_log(prior, &s->series, x, &o->prior_sd);
	for (unsigned j = 0; j < s->n_fits; j++) {
		if (s->fits[j].st != ST_OK)
			continue;
		o->part[o->n_parts].law = s->fits[j].law->name;
		o->part[o->n_parts].ly = log(law_eval(s->fits[j].law, &s->fits[j].sh, at));
		o->part[o->n_parts++].loo = s->fits[j].loo_rms;
	}
	return 0;
}

/* Does time move enough, and over enough settings, for the series to be asked about? */
static bool telling(const struct test_case *c, enum factor f, const double *lv, unsigned n)
{
	double lo = INFINITY, hi = -INFINITY;

	for (unsigned i = 0; i < n; i++) {
		double t = truth_at(c, f, QTY_TIME, lv[i]);

		lo = fmin(lo, t);
		hi = fmax(hi, t);
	}
	return n >= MIN_CAPS && hi - lo >= log(MIN_EFFECT);
}

/* Leave interior levels out: one at a time, ten folds above 20. */
static int run_loo(struct test_case *c, enum factor f, enum quantity q)
{
	unsigned n = 0, inner, folds;
	double *lv = levels(c, f, &n);
	bool *hidden = mem_calloc(n + 1, sizeof(*hidden));
	int rc = lv && hidden ? 0 : -1;

	if (rc || !telling(c, f, lv, n))
		goto out;
	inner = n - 2;
	folds = inner > LOO_ALL ? LOO_FOLDS : inner;
	for (unsigned k = 0; k < folds && rc == 0; k++) {
		struct selection *s;

		for (unsigned i = 0; i < n; i++)
			hidden[i] = i > 0 && i + 1 < n && (i - 1) % folds == k;
		s = fit_rest(c, f, q, lv, n, hidden);
		for (unsigned i = 0; s && i < n && rc == 0; i++)
			if (hidden[i])
				rc = ask(c, s, NULL, f, lv[i]);
		mem_free(s);
	}
out:
	mem_free(hidden);
	mem_free(lv);
	return rc;
}

/* Curves of every other network on the same device (the same group). */
static struct prior *others(const struct test_case *c, const struct case_list *all, enum quantity q,
	double lo, double hi)
{
	struct prior *p = mem_calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	prior_init(p, FACTOR_POWER_LIMIT, q, c->group, lo, hi);
	for (size_t i = 0; i < all->n; i++) {
		const struct test_case *o = &all->c[i];
		struct series d;

		if (strcmp(o->group, c->group) || !strcmp(o->network, c->network))
			continue;
		if (series_build(o->obs, o->n, FACTOR_POWER_LIMIT, q, &d, NULL) == ST_OK)
			prior_add(p, &d);
	}
	return p;
}

/* Lowest, middle and highest cap are known; the others are asked. */
static int run_3probe(struct test_case *c, const struct case_list *all, enum quantity q)
{
	unsigned n = 0;
	double *lv = levels(c, FACTOR_POWER_LIMIT, &n);
	bool *hidden = mem_calloc(n + 1, sizeof(*hidden));
	struct prior *prior = NULL;
	struct selection *s = NULL;
	int rc = lv && hidden ? 0 : -1;

	if (rc || !telling(c, FACTOR_POWER_LIMIT, lv, n))
		goto out;
	for (unsigned i = 0; i < n; i++)
		hidden[i] = i != 0 && i != n / 2 && i + 1 != n;
	prior = others(c, all, q, lv[0], lv[n - 1]);
	s = fit_rest(c, FACTOR_POWER_LIMIT, q, lv, n, hidden);
	if (!prior)
		rc = -1;
	for (unsigned i = 0; s && i < n && rc == 0; i++)
		if (hidden[i])
			rc = ask(c, s, prior, FACTOR_POWER_LIMIT, lv[i]);
out:
	mem_free(s);
	mem_free(prior);
	mem_free(hidden);
	mem_free(lv);
	return rc;
}

static int run_scale(struct test_case *c, enum quantity q)
{
	unsigned n = 0;
	double *lv = levels(c, FACTOR_WORKERS, &n);
	bool *hidden = mem_calloc(n + 1, sizeof(*hidden));
	struct selection *s = NULL;
	int rc = lv && hidden ? 0 : -1;

	if (rc == 0 && n >= MIN_COUNTS) {
		hidden[n - 1] = true;
		s = fit_rest(c, FACTOR_WORKERS, q, lv, n, hidden);
		if (s)
			rc = ask(c, s, NULL, FACTOR_WORKERS, lv[n - 1]);
	}
	mem_free(s);
	mem_free(hidden);
	mem_free(lv);
	return rc;
}

static double truth_cell(const struct test_case *c, double workers, double cap)
{
	double sum = 0;
	unsigned n = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (c->obs[i].x[FACTOR_WORKERS] != workers ||
			c->obs[i].x[FACTOR_POWER_LIMIT] != cap)
			continue;
		sum += log(c->obs[i].y[QTY_TIME]);
		n++;
	}
	return n ? sum / n : NAN;
}

/* What the published form makes of it: the power law of the caps on the fewest workers, times the
 * ratio of the two counts that was measured at the highest cap. */
static void plain_joint(
	const struct selection *s, struct outcome *o, double cap, double top, double ratio)
{
	struct prediction p, q;

	o->plain = o->plain_lo = o->plain_hi = NAN;
	if (!s || predict_at(s, cap, 0.9, &p, NULL) != ST_OK ||
		predict_at(s, top, 0.9, &q, NULL) != ST_OK)
		return;
	o->plain = log(p.power_law.value) + ratio;
	o->plain_lo = log(p.power_law.lo) + ratio;
	o->plain_hi = log(p.power_law.hi) + ratio;
}

/* The limits on `few` workers. */
static struct selection *fit_few(const struct test_case *c, double few)
{
	struct obs *part = mem_calloc(c->n, sizeof(*part));
	struct selection *s;
	size_t k = 0;

	for (size_t i = 0; part && i < c->n; i++)
		if (c->obs[i].x[FACTOR_WORKERS] == few)
			part[k++] = c->obs[i];
	s = fit_rows(part, k, FACTOR_POWER_LIMIT, QTY_TIME);
	mem_free(part);
	return s;
}

static int ask_joint(struct test_case *c, const struct joint *j, const struct selection *plain,
	double few, double many, double cap, double top)
{
	const double x[FACTOR_COUNT] = {many, cap, NAN, NAN};
	double truth = truth_cell(c, many, cap), t, half, ratio;
	struct outcome *o;

	if (!isfinite(truth))
		return 0;
	o = outcome_new(c);
	if (!o)
		return -1;
	joint_eval(j, x, &t, NULL);
	half = joint_half_width(j, QTY_TIME, x, 0.9);
	o->x = cap;
	o->truth = truth;
	o->pred = log(t);
	o->lo = o->pred - half;
	o->hi = o->pred + half;
	ratio = truth_cell(c, many, top) - truth_cell(c, few, top);
	o->product = truth_cell(c, few, cap) + ratio;
	plain_joint(plain, o, cap, top, ratio);
	o->prior = o->prior_sd = NAN;
	return 0;
}

/* Every cap is known on the fewest workers, the lowest and highest cap on the most; the others
 * there are asked. Beside it the product of what one factor at a time shows: T(1, cap) T(n,
 * highest) / T(1, highest).
 */
static int run_joint(struct test_case *c)
{
	unsigned n = 0, nw = 0;
	double *lv = levels(c, FACTOR_POWER_LIMIT, &n), *wk = levels(c, FACTOR_WORKERS, &nw);
	struct obs *known = mem_calloc(c->n + 1, sizeof(*known));
	double base[FACTOR_COUNT] = {NAN, NAN, NAN, NAN};
	struct selection *plain = NULL;
	struct joint j;
	size_t k = 0;
	int rc = lv && wk && known ? 0 : -1;

	if (rc || n < 4 || nw < 2)
		goto out;
	for (size_t i = 0; i < c->n; i++) {
		double w = c->obs[i].x[FACTOR_WORKERS], cap = c->obs[i].x[FACTOR_POWER_LIMIT];

		if (w == wk[0] || (w == wk[nw - 1] && (cap == lv[0] || cap == lv[n - 1])))
			known[k++] = c->obs[i];
	}
	base[FACTOR_WORKERS] = wk[0];
	base[FACTOR_POWER_LIMIT] = lv[n - 1];
	if (joint_fit(known, k, base, &j, NULL) != ST_OK)
		goto out;
	plain = fit_few(c, wk[0]);
	for (unsigned i = 1; i + 1 < n && rc == 0; i++)
		rc = ask_joint(c, &j, plain, wk[0], wk[nw - 1], lv[i], lv[n - 1]);
out:
	mem_free(plain);
	mem_free(known);
	mem_free(wk);
	mem_free(lv);
	return rc;
}

int case_run(enum protocol p, struct test_case *c, const struct case_list *all)
{
	switch (p) {
	case CAPS_LOO:
		return run_loo(c, FACTOR_POWER_LIMIT, QTY_TIME);
	case CLOCK_LOO:
		return run_loo(c, FACTOR_CLOCK, QTY_TIME);
	case CAPS_3PROBE:
		return run_3probe(c, all, QTY_TIME);
	case CAPS_3PROBE_POWER:
		return run_3probe(c, all, QTY_POWER);
	case CAPS_3PROBE_ENERGY:
		return run_3probe(c, all, QTY_ENERGY);
	case SCALE_LAST:
		return run_scale(c, QTY_TIME);
	case SCALE_LAST_POWER:
		return run_scale(c, QTY_POWER);
	case SCALE_LAST_ENERGY:
		return run_scale(c, QTY_ENERGY);
	case JOINT_HOLDOUT:
		return run_joint(c);
	case CAPS_LOO_POWER:
		return run_loo(c, FACTOR_POWER_LIMIT, QTY_POWER);
	case CAPS_LOO_ENERGY:
		return run_loo(c, FACTOR_POWER_LIMIT, QTY_ENERGY);
	case CLOCK_LOO_POWER:
		return run_loo(c, FACTOR_CLOCK, QTY_POWER);
	case CLOCK_LOO_ENERGY:
		return run_loo(c, FACTOR_CLOCK, QTY_ENERGY);
	default:
		return 0;
	}
}
