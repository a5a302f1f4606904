/* answer.c: what a fitted workload says about a setting. One factor moved: its own law. More than
 * one: the joint law where there is one, otherwise the product of the separate laws.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/combine.h"
#include "model/model.h"
#include "model/numeric.h"

#define PRODUCT_EXTRA 0.05 /* what a product of separate laws is off beyond their own errors */

static bool same(double a, double b)
{
	return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-6 * fabs(b);
}

static void blank(const struct model *m, const double *x, struct answer *out)
{
	memset(out, 0, sizeof(*out));
	for (int q = 0; q < QTY_COUNT; q++)
		out->y[q] = out->ratio[q] = (struct interval){NAN, NAN, NAN, m->opts.level};
	for (int f = 0; f < FACTOR_COUNT; f++)
		out->nearest[f] = isnan(x[f]) ? m->base[f] : x[f];
	out->family = "combined";
}

/* Take over the evidence of one prediction; the weakest counts. Quantities of one factor share
 * their distance (out->distance is what it was before this factor, plus the largest of them). */
static void note_evidence(
	struct answer *out, const struct prediction *p, enum factor f, double before)
{
	out->distance = fmax(out->distance, before + p->distance);
	if (p->evidence > out->evidence)
		out->evidence = p->evidence;
	if (p->evidence == EVIDENCE_REFUSED) {
		out->nearest[f] = p->nearest;
		snprintf(out->reason, sizeof(out->reason), "%s", p->reason);
	}
}

static void note_prior(struct answer *out, const struct prediction *p, enum quantity q)
{
	if (strcmp(p->family, "prior") != 0)
		return;
	out->family = p->family;
	out->from_prior |= QTY_BIT(q);
}

/* Product of independent relative errors: their scales add in squares on ln y. */
static struct interval spread_out(double ly, double half, double level)
{
	return (struct interval){exp(ly), exp(ly - half), exp(ly + half), level};
}

/* Was the law of f taken where the other factors are as asked? */
static bool same_slice(const struct model *m, enum factor f, const double *at)
{
	const struct model_series *s = model_series_of(m, f, QTY_TIME);

	for (int g = 0; g < FACTOR_COUNT; g++)
		if (g != (int)f && !same(s->fixed[g], at[g]))
			return false;
	return true;
}

static enum status one_factor(
	const struct model *m, enum factor f, double x, struct answer *out, struct err *e)
{
	enum status worst = ST_RANGE;

	for (int q = 0; q < QTY_COUNT; q++) {
		const struct model_series *s = model_series_of(m, f, (enum quantity)q);
		struct prediction p;
		enum status st;

		if (!s)
			continue;
		st = predict_with_prior(&s->sel, m->opts.prior[q], x, m->opts.level, &p, e);
		note_evidence(out, &p, f, 0);
		if (st == ST_INVALID)
			return st;
		if (st != ST_OK)
			continue;
		worst = ST_OK;
		out->y[q] = p.y;
		note_prior(out, &p, (enum quantity)q);
	}
	return out->evidence == EVIDENCE_REFUSED ? ST_RANGE : worst;
}

/* Several factors away from the default. shift[q] collects ln ratios, var[q] squared half widths.
 */
static enum status many_factors(
	const struct model *m, const double *x, struct answer *out, struct err *e)
{
	double shift[QTY_COUNT] = {0}, var[QTY_COUNT] = {0};
	bool known[QTY_COUNT] = {true, true, true};
	double before;

	for (int f = 0; f < FACTOR_COUNT; f++) {
		if (same(x[f], m->base[f]))
			continue;
		before = out->distance;
		for (int q = 0; q < QTY_COUNT; q++) {
			const struct model_series *s =
				model_series_of(m, (enum factor)f, (enum quantity)q);
			struct prediction p;
			double half;

			if (!s) {
				known[q] = false;
				continue;
			}
			if (predict_with_prior(&s->sel, m->opts.prior[q], x[f], m->opts.level, &p,
				    e) == ST_INVALID)
				return ST_INVALID;
			if (q == QTY_TIME || p.evidence == EVIDENCE_REFUSED)
				note_evidence(out, &p, (enum factor)f, before);
			if (p.evidence == EVIDENCE_REFUSED)
				return ST_RANGE;
			half = 0.5 * log(p.y.hi / p.y.lo);
			note_prior(out, &p, (enum quantity)q);
			shift[q] += log(p.y.value) - combine_log(&s->sel, m->base[f], NULL);
			var[q] += half * half;
		}
	}
	out->family = "product";
	for (int q = 0; q < QTY_COUNT; q++) {
		if (!known[q] || !isfinite(m->base_y[q]))
			continue;
		out->y[q] = spread_out(
			log(m->base_y[q]) + shift[q], sqrt(var[q]) + PRODUCT_EXTRA, m->opts.level);
	}
	return ST_OK;
}

/* Replace time and power by the joint law's; its level is that of the measured default. */
static void use_joint(const struct model *m, const double *x, struct answer *out)
{
	double t, pw, half = joint_half_width(&m->joint, QTY_TIME, x, m->opts.level), ph;

	joint_eval(&m->joint, x, &t, &pw);
	out->family = "joint";
	out->from_prior = 0;
	out->y[QTY_TIME] = spread_out(log(t), half, m->opts.level);
	if (!isfinite(pw))
		return;
	ph = joint_half_width(&m->joint, QTY_POWER, x, m->opts.level);
	out->y[QTY_POWER] = spread_out(log(pw), ph, m->opts.level);
	out->y[QTY_ENERGY] = spread_out(log(t * pw), hypot(half, ph), m->opts.level);
}

/* Energy is time times power. Where only two of the three have a law, the third follows. */
static void complete(struct answer *out, double level)
{
	struct interval *t = &out->y[QTY_TIME], *p = &out->y[QTY_POWER], *en = &out->y[QTY_ENERGY];

	if (isnan(en->value) && t->value > 0 && p->value > 0)
		*en = spread_out(log(t->value * p->value),
			hypot(0.5 * log(t->hi / t->lo), 0.5 * log(p->hi / p->lo)), level);
	if (isnan(p->value) && t->value > 0 && en->value > 0)
		*p = spread_out(log(en->value / t->value),
			hypot(0.5 * log(t->hi / t->lo), 0.5 * log(en->hi / en->lo)), level);
}

static void ratios(const struct model *m, struct answer *out)
{
	for (int q = 0; q < QTY_COUNT; q++) {
		double base = m->base_y[q];

		if (!(base > 0) || isnan(out->y[q].value))
			continue;
		out->ratio[q] = (struct interval){out->y[q].value / base, out->y[q].lo / base,
			out->y[q].hi / base, out->y[q].level};
	}
}

/* Left-out error of one factor's law in time and power together; INFINITY where one of them has no
 * estimate. */
static double left_out(const struct model *m, enum factor f)
{
	const struct model_series *t = model_series_of(m, f, QTY_TIME);
	const struct model_series *p = model_series_of(m, f, QTY_POWER);
	double both = t && p ? hypot(t->sel.combined_loo_rms, p->sel.combined_loo_rms) : NAN;

	return isfinite(both) ? both : INFINITY;
}

/* Does the grid answer, whose joint law has its remainder learnt? Inside it, and where it was
 * better on what was left out than the law of the one factor that moved (FACTOR_COUNT: several). */
static bool grid_knows(const struct model *m, const double *at, enum factor one)
{
	const struct joint *j = &m->joint;

	if (!(j->rest_time.loo_rms > 0) || !(j->rest_power.loo_rms > 0))
		return false;
	for (int f = 0; f < FACTOR_COUNT; f++)
		if (isfinite(at[f]) && isfinite(j->lo[f]) &&
			(at[f] < j->lo[f] * (1 - 1e-6) || at[f] > j->hi[f] * (1 + 1e-6)))
			return false;
	return one == FACTOR_COUNT ||
	       hypot(j->rest_time.loo_rms, j->rest_power.loo_rms) < left_out(m, one);
}

enum status model_predict(
	const struct model *m, const double x[FACTOR_COUNT], struct answer *out, struct err *e)
{
	double at[FACTOR_COUNT];
	unsigned moved = 0, one = FACTOR_COUNT;
	enum status st;
	bool joint;

	blank(m, x, out);
	for (int f = 0; f < FACTOR_COUNT; f++) {
		at[f] = isnan(x[f]) ? m->base[f] : x[f];
		if (!isnan(at[f]) && !(at[f] > 0))
			return err_set(
				e, ST_INVALID, "%s must be positive", factor_name((enum factor)f));
		if (same(at[f], m->base[f]))
			continue;
		if (!model_series_of(m, (enum factor)f, QTY_TIME) &&
			!model_series_of(m, (enum factor)f, QTY_ENERGY) &&
			!model_series_of(m, (enum factor)f, QTY_POWER)) {
			out->evidence = EVIDENCE_REFUSED;
			out->nearest[f] = m->base[f];
			snprintf(out->reason, sizeof(out->reason),
				"no run moved %s: only its default can be answered",
				factor_name((enum factor)f));
			return err_set(e, ST_RANGE, "%s", out->reason);
		}
		moved++;
		one = (unsigned)f;
	}
	/* at the default any factor's law will do; the first that has a series */
	for (unsigned f = 0; moved == 0 && one == FACTOR_COUNT && f < FACTOR_COUNT; f++)
		if (isfinite(m->base[f]) && model_series_of(m, (enum factor)f, QTY_TIME))
			one = f;
	if (one == FACTOR_COUNT)
		return err_set(e, ST_RANGE, "no law of time was fitted");
	joint = m->has_joint && joint_covers(&m->joint, at);
	if (joint && grid_knows(m, at, moved <= 1 ? (enum factor)one : FACTOR_COUNT)) {
		use_joint(m, at, out);
		ratios(m, out);
		return ST_OK;
	}
	if (moved <= 1 && (!model_series_of(m, (enum factor)one, QTY_TIME) ||
				  same_slice(m, (enum factor)one, at)))
		st = one_factor(m, (enum factor)one, at[one], out, e);
	else
		st = many_factors(m, at, out, e);
	if (st != ST_OK)
		return st;
	if (joint && (moved > 1 || !strcmp(out->family, "product")))
		use_joint(m, at, out);
	complete(out, m->opts.level);
	ratios(m, out);
	return ST_OK;
}
