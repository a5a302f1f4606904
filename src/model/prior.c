/* prior.c: conditional mean of a curve given its probes, with the mean and covariance of the other
 * workloads' curves (the dual form of ridge regression on them; Gaussian process with an empirical
 * covariance).
 */
#include "model/prior.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/learned.h"
#include "model/numeric.h"

#define MIN_CURVES 3
#define MAX_PROBES 4 /* with more the laws need no help, and the learnt shares do not hold */

void prior_init(struct prior *p, enum factor f, enum quantity q, const char *device, double x_lo,
	double x_hi)
{
	memset(p, 0, sizeof(*p));
	p->factor = f;
	p->quantity = q;
	snprintf(p->device, sizeof(p->device), "%s", device ? device : "");
	p->gx_lo = log(x_lo);
	p->gx_hi = log(x_hi);
}

static double grid_x(const struct prior *p, unsigned g)
{
	return p->gx_lo + (p->gx_hi - p->gx_lo) * g / (PRIOR_GRID - 1);
}

bool prior_add(struct prior *p, const struct series *s)
{
	double y[LAW_MAX_KNOTS], m[LAW_MAX_KNOTS];
	double *curve = p->curve[p->n_curves];

	if (s->n < 4 || p->n_curves == PRIOR_MAX_CURVES || s->factor != p->factor ||
		s->quantity != p->quantity)
		return false;
	memcpy(y, s->ly, s->n * sizeof(*y));
	if (p->quantity == QTY_TIME)
		num_isotonic(s->n, s->w, y, -1);
	num_pchip_slopes(s->n, s->lx, y, m);
	for (unsigned g = 0; g < PRIOR_GRID; g++) {
		double x = grid_x(p, g);
		/* a little beyond its ends a curve goes on straight: caps are seldom the same ones
		 */
		bool near = x > s->lx[0] - 0.25 && x < s->lx[s->n - 1] + 0.25;

		curve[g] = near ? num_pchip_eval(s->n, s->lx, y, m, x) : NAN;
	}
	p->n_curves++;
	return true;
}

static double curve_at(const struct prior *p, const double *curve, double lx)
{
	double t = (lx - p->gx_lo) / (p->gx_hi - p->gx_lo) * (PRIOR_GRID - 1);
	unsigned g = t <= 0 ? 0 : t >= PRIOR_GRID - 2 ? PRIOR_GRID - 2 : (unsigned)t;

	return curve[g] + (t - g) * (curve[g + 1] - curve[g]);
}

/* Values of one curve at the probes and at x, less its mean over the probes. False with holes. */
static bool centred(
	const struct prior *p, unsigned c, const double *px, unsigned n, double lx, double *v)
{
	double mean = 0;

	for (unsigned i = 0; i < n; i++) {
		v[i] = curve_at(p, p->curve[c], px[i]);
		mean += v[i] / n;
	}
	v[n] = curve_at(p, p->curve[c], lx);
	for (unsigned i = 0; i <= n; i++)
		v[i] -= mean;
	return isfinite(mean) && isfinite(v[n]);
}

/* A mean and a covariance of few curves are themselves uncertain: Student's t, as for a prediction
 * from a sample, less the degrees of freedom that the probes have taken (the trace of the ridge
 * regression's hat matrix; Hastie and Tibshirani 1990). ridge: the Cholesky factor of cov + noise.
 */
static double few_curves(
	unsigned n, double cov[LA_MAX][LA_MAX], double ridge[LA_MAX][LA_MAX], unsigned used)
{
	double taken = 1, hat[LA_MAX];

	for (unsigned i = 0; i < n; i++) {
		la_cholesky_solve(n, LA_MAX, ridge[0], cov[i], hat);
		taken += hat[i];
	}
	return sqrt(1 + 1.0 / used) *
	       stat_t_quantile(0.95, (unsigned)fmax(1, floor(used - taken))) /
	       stat_normal_quantile(0.95);
}

double prior_log(const struct prior *p, const struct series *s, double x, double *sd)
{
	double mu[LA_MAX] = {0}, cov[LA_MAX][LA_MAX] = {{0}}, a[LA_MAX][LA_MAX], rhs[LA_MAX],
	       w[LA_MAX];
	double v[LA_MAX], level = 0, out, var, lx = log(series_effective(s, x));
	double noise = learned_prior.noise * learned_prior.noise;
	unsigned n = s->n, used = 0;

	if (sd)
		*sd = NAN;
	if (n < 2 || n > MAX_PROBES || lx < p->gx_lo - 1e-9 || lx > p->gx_hi + 1e-9)
		return NAN;
	for (unsigned c = 0; c < p->n_curves; c++) {
		if (!centred(p, c, s->lx, n, lx, v))
			continue;
		for (unsigned i = 0; i <= n; i++)
			mu[i] += v[i];
		used++;
	}
	if (used < MIN_CURVES)
		return NAN;
	for (unsigned i = 0; i <= n; i++)
		mu[i] /= used;
	for (unsigned c = 0; c < p->n_curves; c++) {
		if (!centred(p, c, s->lx, n, lx, v))
			continue;
		for (unsigned i = 0; i <= n; i++)
			for (unsigned j = 0; j <= n; j++)
				cov[i][j] += (v[i] - mu[i]) * (v[j] - mu[j]) / (used - 1);
	}
	for (unsigned i = 0; i < n; i++) {
		level += s->ly[i] / n;
		for (unsigned j = 0; j < n; j++)
			a[i][j] = cov[i][j] + (i == j ? noise : 0);
	}
	for (unsigned i = 0; i < n; i++)
		rhs[i] = cov[i][n];
	if (!la_cholesky(n, LA_MAX, a[0]))
		return NAN;
	la_cholesky_solve(n, LA_MAX, a[0], rhs, w);
	out = level + mu[n];
	var = cov[n][n] + noise;
	for (unsigned i = 0; i < n; i++) {
		out += w[i] * (s->ly[i] - level - mu[i]);
		var -= w[i] * cov[i][n];
	}
	if (sd)
		*sd = sqrt(fmax(var, noise)) * few_curves(n, cov, a, used);
	return out;
}
