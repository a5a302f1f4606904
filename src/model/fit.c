/* fit.c: one law on one series, with its errors. */
#include "model/fit.h"

#include <math.h>
#include <string.h>

#include "model/numeric.h"

#define LOO_ALL   20 /* up to this many points each is left out alone */
#define LOO_FOLDS 10
#define HUBER     2.0 /* robust standard deviations where a residual starts to count less */
#define SCALE_MIN 0.003

static bool fit_weighted(
	const struct law *l, const struct series *s, const double *w, struct shape *sh)
{
	double x[LAW_MAX_KNOTS], y[LAW_MAX_KNOTS], lx[LAW_MAX_KNOTS], ly[LAW_MAX_KNOTS];
	struct pts p = {s->n, s->factor, x, y, lx, ly, w};
	double lxr = s->factor == FACTOR_WORKERS ? 0 : s->lx[s->n - 1], lyr = 0;

	for (unsigned i = 0; i < s->n; i++)
		lyr += s->ly[i] / s->n;
	for (unsigned i = 0; i < s->n; i++) {
		lx[i] = s->lx[i] - lxr;
		ly[i] = s->ly[i] - lyr;
		x[i] = s->factor == FACTOR_WORKERS ? s->x[i] : exp(lx[i]);
		y[i] = exp(ly[i]);
	}
	memset(sh->p, 0, sizeof(sh->p));
	sh->n_knots = 0;
	if (!l->fit(l, &p, sh))
		return false;
	l->unscale(l, sh, exp(lxr), exp(lyr));
	return true;
}

/* Residual scale that a few outliers do not move. */
static double robust_scale(const double *r, unsigned n)
{
	double a[LAW_MAX_KNOTS];

	for (unsigned i = 0; i < n; i++)
		a[i] = fabs(r[i]);
	return fmax(SCALE_MIN, 1.4826 * stat_quantile(a, n, 0.5));
}

bool fit_shape(const struct law *l, const struct series *s, struct shape *sh)
{
	double w[LAW_MAX_KNOTS], r[LAW_MAX_KNOTS];

	if (s->n == 0 || !fit_weighted(l, s, s->w, sh))
		return false;
	/* an interpolating law has no residuals; a short series cannot tell an outlier */
	if (sh->n_knots || s->n < l->n_params + 4)
		return true;
	for (int round = 0; round < 2; round++) {
		double scale, sum = 0;
		bool outlier = false;
		struct shape again;

		for (unsigned i = 0; i < s->n; i++)
			r[i] = s->ly[i] - log(l->eval(l, sh, s->x[i]));
		scale = robust_scale(r, s->n);
		for (unsigned i = 0; i < s->n; i++) {
			double u = fabs(r[i]) / (HUBER * scale);

			w[i] = s->w[i] * (u > 1 ? 1 / u : 1);
			outlier = outlier || u > 1.5;
			sum += w[i];
		}
		if (!outlier || !(sum > 0))
			break;
		for (unsigned i = 0; i < s->n; i++)
			w[i] *= s->n / sum;
		if (!fit_weighted(l, s, w, &again))
			break;
		*sh = again;
	}
	return true;
}

/* Squared scale of ln y and its degrees of freedom: lack of fit where points are left over, the
 * scatter of repeats where not. */
static double variance(const struct series *s, const double *r, unsigned n_params, unsigned *df)
{
	double sse = 0, pure = 0;

	for (unsigned i = 0; i < s->n; i++)
		sse += s->w[i] * r[i] * r[i];
	*df = s->n > n_params ? s->n - n_params : 0;
	if (s->repeat_df) {
		double reps = 0;

		for (unsigned i = 0; i < s->n; i++)
			reps += s->reps[i] / s->n;
		pure = s->repeat_sd * s->repeat_sd / reps;
	}
	if (*df == 0) {
		*df = s->repeat_df;
		return pure;
	}
	if (sse / *df < pure) {
		*df += s->repeat_df;
		return pure;
	}
	return sse / *df;
}

static void covariance(struct fit *f, const struct series *s, double var)
{
	double a[LA_MAX][LA_MAX] = {{0}}, inv[LA_MAX][LA_MAX] = {{0}}, scale[LA_MAX];
	bool blind[LA_MAX] = {false};
	unsigned np = f->law->n_shown;

	for (unsigned i = 0; i < s->n; i++) {
		double d[LAW_MAX_PARAMS] = {0};

		law_jacobian(f->law, &f->sh, s->x[i], d);
		for (unsigned j = 0; j < np; j++)
			for (unsigned k = 0; k < np; k++)
				a[j][k] += s->w[i] * d[j] * d[k];
	}
	for (unsigned j = 0; j < np; j++) {
		scale[j] = a[j][j] > 0 ? sqrt(a[j][j]) : 1;
		blind[j] = !(a[j][j] > 0); /* the data say nothing about it */
		if (blind[j])
			a[j][j] = 1;
	}
	for (unsigned j = 0; j < np; j++)
		for (unsigned k = 0; k < np; k++)
			a[j][k] /= scale[j] * scale[k];
	f->has_cov = la_invert_spd(np, a, inv);
	for (unsigned j = 0; j < np && f->has_cov; j++)
		for (unsigned k = 0; k < np; k++)
			f->cov[j][k] = blind[j] || blind[k]
					       ? (j == k ? INFINITY : 0)
					       : var * inv[j][k] / (scale[j] * scale[k]);
}

static void parameter_intervals(struct fit *f)
{
	double t = stat_t_quantile(0.975, f->df);

	for (unsigned i = 0; i < f->law->n_shown; i++) {
		double half = t * sqrt(f->cov[i][i]);

		if (!isfinite(half))
			continue;

		f->ci95[i][0] = f->sh.p[i] - half;
		f->ci95[i][1] = f->sh.p[i] + half;
		if (f->law->positive[i] && f->ci95[i][0] < 0)
			f->ci95[i][0] = 0;
	}
}

void fit_law(const struct law *l, const struct series *s, struct fit *f)
{
	double r[LAW_MAX_KNOTS], sse = 0, sst = 0, mean = 0, ape = 0, sw = 0, var;

	memset(f, 0, offsetof(struct fit, sh));
	f->law = l;
	f->st = ST_RANGE;
	f->n = s->n;
	f->note = "";
	f->x_min = s->n ? s->x[0] : NAN;
	f->x_max = s->n ? s->x[s->n - 1] : NAN;
	f->r2_log = f->mape_pct = f->loo_pct = f->loo_rms = f->aicc = f->sigma = NAN;
	f->df = 0;
	f->has_cov = false;
	memset(f->cov, 0, sizeof(f->cov));
	for (unsigned i = 0; i < LAW_MAX_PARAMS; i++)
		f->ci95[i][0] = f->ci95[i][1] = NAN;
	if (s->n < 2) {
		f->note = "one setting is not enough for a law";
		return;
	}
	if (!fit_shape(l, s, &f->sh)) {
		f->note = s->n < l->n_params ? "fewer points than parameters"
					     : "the points do not determine this law";
		return;
	}
	f->st = ST_OK;
	for (unsigned i = 0; i < s->n; i++) {
		r[i] = s->ly[i] - log(law_eval(l, &f->sh, s->x[i]));
		sse += s->w[i] * r[i] * r[i];
		sw += s->w[i];
		mean += s->w[i] * s->ly[i];
		ape += s->w[i] * fabs(expm1(-r[i]));
	}
	mean /= sw;
	for (unsigned i = 0; i < s->n; i++)
		sst += s->w[i] * (s->ly[i] - mean) * (s->ly[i] - mean);
	f->r2_log = sst > 0 ? 1 - sse / sst : NAN;
	f->mape_pct = 100 * ape / sw;
	if (s->n > l->n_params + 2 && !f->sh.n_knots)
		f->aicc = s->n * log(fmax(sse / s->n, 1e-10)) + 2.0 * (l->n_params + 1) +
			  2.0 * (l->n_params + 1) * (l->n_params + 2) / (s->n - l->n_params - 2.0);
	var = variance(s, r, l->n_params, &f->df);
	if (f->df == 0) {
		f->note = "no error estimate";
		return;
	}
	f->sigma = sqrt(var);
	if (f->sh.n_knots)
		return;
	covariance(f, s, var);
	if (f->has_cov)
		parameter_intervals(f);
}

int fit_fold(const struct series *s, unsigned i, unsigned *folds)
{
	/* Caps and clocks are asked inside their range. Worker counts are asked above it, so there
	 * the largest is left out too. */
	unsigned last = s->n - 1, end = s->factor == FACTOR_WORKERS && s->n >= 4 ? s->n : last;
	unsigned inner = end > 1 ? end - 1 : 0;

	*folds = inner > LOO_ALL ? LOO_FOLDS : inner;
	if (i == 0 || i >= end)
		return -1;
	return (int)(inner > LOO_ALL ? (i - 1) % LOO_FOLDS : i - 1);
}

void fit_loo(const struct law *l, const struct series *s, struct fit *f, double *err)
{
	double own[LAW_MAX_KNOTS], sum = 0, sq = 0;
	unsigned folds = 0, n = 0;

	if (!err)
		err = own;
	for (unsigned i = 0; i < LAW_MAX_KNOTS; i++)
		err[i] = NAN;
	f->loo_pct = f->loo_rms = NAN;
	if (s->n < 3)
		return;
	fit_fold(s, 0, &folds);
	for (unsigned k = 0; k < folds; k++) {
		bool drop[LAW_MAX_KNOTS];
		struct series part;
		struct shape sh;

		for (unsigned i = 0; i < s->n; i++)
			drop[i] = fit_fold(s, i, &folds) == (int)k;
		series_without(s, drop, &part);
		if (part.n < l->n_params || !fit_shape(l, &part, &sh))
			continue;
		for (unsigned i = 0; i < s->n; i++) {
			if (!drop[i])
				continue;
			err[i] = log(law_eval(l, &sh, s->x[i])) - s->ly[i];
			if (!isfinite(err[i])) {
				err[i] = NAN;
				continue;
			}
			sum += fabs(expm1(err[i]));
			sq += err[i] * err[i];
			n++;
		}
	}
	if (n) {
		f->loo_pct = 100 * sum / n;
		f->loo_rms = sqrt(sq / n);
	}
}
