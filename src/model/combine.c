/* combine.c: the weighted geometric mean of the families. */
#include "model/combine.h"

#include <math.h>
#include <string.h>

#include "model/learned.h"

/* Power and energy have families of their own; without a learnt weight each counts the same. */
static double prior_weight(const struct selection *s, const struct law *l)
{
	const struct learned_factor *f = &learned_factors[s->series.factor];

	if (s->series.quantity != QTY_TIME)
		return l->n_params <= 3 ? 1 : 0.3;
	for (unsigned i = 0; i < sizeof(f->weights) / sizeof(f->weights[0]) && f->weights[i].law;
		i++)
		if (!strcmp(f->weights[i].law, l->name))
			return f->weights[i].weight;
	return 0;
}

static double loo_power(const struct selection *s)
{
	return s->series.quantity == QTY_TIME ? learned_factors[s->series.factor].loo_power : 2;
}

static void combined_loo(struct selection *s)
{
	double sum = 0, sq = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < s->series.n; i++) {
		double e = 0, w = 0;

		for (unsigned j = 0; j < s->n_fits; j++) {
			if (!(s->weight[j] > 0) || isnan(s->loo_err[j][i]))
				continue;
			e += s->weight[j] * s->loo_err[j][i];
			w += s->weight[j];
		}
		if (!(w > 0))
			continue;
		sum += fabs(expm1(e / w));
		sq += e / w * (e / w);
		n++;
	}
	s->combined_loo_pct = n ? 100 * sum / n : NAN;
	s->combined_loo_rms = n ? sqrt(sq / n) : NAN;
}

void combine_weights(struct selection *s)
{
	const struct learned_factor *f = &learned_factors[s->series.factor];
	double total = 0, worst = 0;

	for (unsigned j = 0; j < s->n_fits; j++)
		if (s->fits[j].st == ST_OK && isfinite(s->fits[j].loo_rms))
			worst = fmax(worst, s->fits[j].loo_rms);
	for (unsigned j = 0; j < s->n_fits; j++) {
		const struct fit *fit = &s->fits[j];
		/* a family that could not be left out is trusted no more than the worst */
		double loo = isfinite(fit->loo_rms) ? fit->loo_rms : worst;

		s->weight[j] = fit->st != ST_OK
				       ? 0
				       : prior_weight(s, fit->law) *
						 pow(loo * loo + f->loo_floor * f->loo_floor,
							 -0.5 * loo_power(s));
		total += s->weight[j];
	}
	if (!(total > 0)) {
		/* too few points for any learnt family: the plain power law */
		for (unsigned j = 0; j < s->n_fits; j++)
			s->weight[j] = (int)j == s->power ? 1 : 0;
		total = 1;
	}
	for (unsigned j = 0; j < s->n_fits; j++)
		s->weight[j] /= total;
	combined_loo(s);
}

/* Does a family take part beyond the points? In workers the end slope of the curve of time is one
 * like any other; a curve through power or energy says nothing there. */
static bool says_outside(const struct selection *s, const struct law *l)
{
	if (s->series.factor != FACTOR_WORKERS)
		return l->extrapolates;
	return s->series.quantity == QTY_TIME || (l->extrapolates && l->monotone != LAW_FREE);
}

double combine_log(const struct selection *s, double x, double *spread)
{
	double at = series_effective(&s->series, x), ly[SELECT_MAX], mean = 0, w = 0, var = 0;
	bool outside = at < s->series.x[0] || at > s->series.x[s->series.n - 1];

	for (unsigned j = 0; j < s->n_fits; j++) {
		const struct fit *f = &s->fits[j];

		ly[j] = NAN;
		if (!(s->weight[j] > 0))
			continue;
		if (outside && !says_outside(s, f->law))
			continue;
		ly[j] = log(law_eval(f->law, &f->sh, at));
		if (!isfinite(ly[j]))
			continue;
		mean += s->weight[j] * ly[j];
		w += s->weight[j];
	}
	if (!(w > 0))
		return NAN;
	mean /= w;
	for (unsigned j = 0; j < s->n_fits; j++)
		if (isfinite(ly[j]))
			var += s->weight[j] / w * (ly[j] - mean) * (ly[j] - mean);
	if (spread)
		*spread = sqrt(var);
	return mean;
}
