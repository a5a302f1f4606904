/* predict.c: the combined prediction, its interval, and when not to answer. */
#include "model/predict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/combine.h"
#include "model/learned.h"
#include "model/numeric.h"

#define LOO_UNKNOWN 0.1

static double nearest_gap(const struct series *d, double lx)
{
	double gap = INFINITY;

	for (unsigned i = 0; i < d->n; i++)
		gap = fmin(gap, fabs(d->lx[i] - lx));
	return gap;
}

void predict_parts(const struct selection *s, double x, struct error_parts *out)
{
	const struct series *d = &s->series;
	double at = series_effective(d, x), lx = log(at), first = d->lx[0], last = d->lx[d->n - 1];
	double gap = nearest_gap(d, lx);

	combine_log(s, x, &out->spread);
	out->loo = s->combined_loo_rms;
	out->gap = gap * gap;
	out->boot = select_boot_sd(s, at);
	out->sigma = s->best_smooth >= 0 ? s->fits[s->best_smooth].sigma : NAN;
	/* beyond the evidence the error grows with the distance in units of the evidence */
	out->grow = lx > last || lx < first ? 1 + gap / (last - first) : 1;
}

static double part(double k, double v)
{
	return isfinite(v) ? k * k * v * v : 0;
}

double predict_scale(enum factor f, const struct error_parts *p)
{
	const struct learned_factor *k = &learned_factors[f];
	/* a series too short to be left out of is not thereby exact */
	double loo = isfinite(p->loo) ? p->loo : LOO_UNKNOWN;

	return p->grow *
	       sqrt(k->floor * k->floor + part(k->loo, loo) + part(k->spread, p->spread) +
		       part(k->gap, p->gap) + part(k->boot, p->boot) + part(k->sigma, p->sigma));
}

/* Textbook interval of the plain power law: residual scale and parameter covariance. */
static void power_law_interval(
	const struct selection *s, double x, double level, struct interval *out)
{
	const struct fit *f;
	double d[LAW_MAX_PARAMS], var, half, ly;

	*out = (struct interval){NAN, NAN, NAN, level};
	if (s->power < 0)
		return;
	f = &s->fits[s->power];
	out->value = law_eval(f->law, &f->sh, x);
	if (!f->has_cov || f->df == 0)
		return;
	law_jacobian(f->law, &f->sh, x, d);
	var = f->sigma * f->sigma;
	for (unsigned i = 0; i < 2; i++)
		for (unsigned j = 0; j < 2; j++)
			var += d[i] * f->cov[i][j] * d[j];
	half = stat_t_quantile(0.5 + 0.5 * level, f->df) * sqrt(fmax(var, 0));
	ly = log(out->value);
	out->lo = exp(ly - half);
	out->hi = exp(ly + half);
}

/* Sets evidence, distance, nearest and reason; true when the question is refused. */
static bool refuse(const struct selection *s, double x, struct prediction *out)
{
	const struct series *d = &s->series;
	double ratio = learned_factors[d->factor].max_ratio, lo = d->x[0], hi = d->x[d->n - 1];

	if (isfinite(d->x_nominal_min))
		lo = fmin(lo, d->x_nominal_min);
	if (d->n < 3) /* two points have no error estimate: they do not carry far */
		ratio = 1 + (ratio - 1) * 0.25;
	out->distance = x > hi ? log(x / hi) : x < lo ? log(lo / x) : 0;
	if (out->distance < 1e-6) {
		out->distance = 0;
		out->evidence = EVIDENCE_INTERPOLATED;
		return false;
	}
	out->evidence = EVIDENCE_EXTRAPOLATED;
	if (x > hi && x <= hi * ratio * (1 + 1e-9))
		return false;
	/* a limit below the tested ones may be below what the device can hold at all */
	if (x < lo && x >= lo / ratio * (1 - 1e-9))
		return false;
	out->evidence = EVIDENCE_REFUSED;
	out->nearest = x > hi ? hi * ratio : lo / ratio;
	if (d->factor == FACTOR_WORKERS)
		out->nearest = x > hi ? floor(out->nearest + 1e-9) : ceil(out->nearest - 1e-9);
	snprintf(out->reason, sizeof(out->reason),
		"%s %.6g is %.3g times beyond what was measured (%.6g to %.6g, %u settings); "
		"%s to %.6g can be answered",
		factor_name(d->factor), x, x > hi ? x / hi : lo / x, lo, hi, d->n,
		x > hi ? "up" : "down", out->nearest);
	return true;
}

enum status predict_at(
	const struct selection *s, double x, double level, struct prediction *out, struct err *e)
{
	struct error_parts parts;
	double ly, half;

	memset(out, 0, sizeof(*out));
	out->y = out->power_law = (struct interval){NAN, NAN, NAN, level};
	out->nearest = x;
	out->family = "combined";
	if (!(x > 0) || !isfinite(x))
		return err_set(e, ST_INVALID, "%s must be positive", factor_name(s->series.factor));
	if (!(level > 0.5 && level < 0.999))
		return err_set(
			e, ST_INVALID, "the level of an interval must lie between 0.5 and 0.999");
	if (refuse(s, x, out))
		return err_set(e, ST_RANGE, "%s", out->reason);
	ly = combine_log(s, x, NULL);
	if (!isfinite(ly))
		return err_set(
			e, ST_RANGE, "no law answers at %s %.6g", factor_name(s->series.factor), x);
	/* the learnt quantile is for 90 %; other levels go with the normal's */
	predict_parts(s, x, &parts);
	half = predict_scale(s->series.factor, &parts) *
	       learned_factors[s->series.factor].q90[s->series.quantity] *
	       stat_normal_quantile(0.5 + 0.5 * level) / stat_normal_quantile(0.95);
	out->y = (struct interval){exp(ly), exp(ly - half), exp(ly + half), level};
	power_law_interval(s, series_effective(&s->series, x), level, &out->power_law);
	return ST_OK;
}

enum status predict_with_prior(const struct selection *s, const struct prior *prior, double x,
	double level, struct prediction *out, struct err *e)
{
	const struct learned_prior *k = &learned_prior;
	enum status st = predict_at(s, x, level, out, e);
	double lp, sd, ly, spread, half, blend;

	if (st != ST_OK || !prior || prior->factor != s->series.factor ||
		prior->quantity != s->series.quantity)
		return st;
	lp = prior_log(prior, &s->series, x, &sd);
	if (!isfinite(lp))
		return st;
	blend = k->blend[prior->quantity];
	ly = blend * lp + (1 - blend) * log(out->y.value);
	spread = fabs(lp - log(out->y.value));
	half = sqrt(k->floor * k->floor + k->sd * k->sd * sd * sd +
		       k->spread * k->spread * spread * spread) *
	       k->q90[prior->quantity] * stat_normal_quantile(0.5 + 0.5 * level) /
	       stat_normal_quantile(0.95);
	out->y = (struct interval){exp(ly), exp(ly - half), exp(ly + half), level};
	out->family = "prior";
	return ST_OK;
}

const char *evidence_name(enum evidence ev)
{
	static const char *const names[] = {"interpolated", "extrapolated", "refused"};

	return (unsigned)ev < 3 ? names[ev] : "unknown";
}
