/* law_physical.c: the device law. A step is t0 (memory, host: no clock touches it) plus t1/f.
 *
 * Against the clock that is all: T = t0 + t1/f. Under a cap C the device runs at the clock where
 * its draw P0 + k f^m meets C, so f/fmax = ((C - P0)/(Cs - P0))^(1/m) below the saturation cap Cs
 * and 1 above it: T = t0 + t1 max(1, (Cs - P0)/(C - P0))^(1/m). t0 and t1 are linear; P0 and Cs
 * are searched (variable projection). m is 2: voltage rises with the clock, less than in step.
 */
#include "model/law_rows.h"

#include <math.h>

#include "model/numeric.h"

static bool clock_fit(const struct law *l, const struct pts *p, struct shape *sh)
{
	double u[LAW_MAX_KNOTS], v[LAW_MAX_KNOTS], b[LAW_MAX_KNOTS];
	const double *const col[2] = {u, v};

	(void)l;
	if (p->n < 2)
		return false;
	for (unsigned i = 0; i < p->n; i++) {
		double s = sqrt(p->w[i]);

		b[i] = s;
		u[i] = s / p->y[i];
		v[i] = s / (p->x[i] * p->y[i]);
	}
	la_nnls(p->n, 2, col, b, sh->p);
	return sh->p[0] > 0 || sh->p[1] > 0;
}

static double clock_eval(const struct law *l, const struct shape *sh, double x)
{
	(void)l;
	return sh->p[0] + sh->p[1] / x;
}

static void clock_unscale(const struct law *l, struct shape *sh, double xr, double yr)
{
	(void)l;
	sh->p[0] *= yr;
	sh->p[1] *= yr * xr;
}

const struct law law_device_clock = {
	.name = "device-clock",
	.formula = "t0 + t1/f",
	.quantities = QTY_BIT(QTY_TIME),
	.factors = FACTOR_CLOCKS,
	.n_params = 2,
	.n_shown = 2,
	.params = {"t0", "t1"},
	.positive = {true, true},
	.monotone = LAW_FALLS,
	.extrapolates = true,
	.fit = clock_fit,
	.eval = clock_eval,
	.unscale = clock_unscale,
};

struct cap_ctx {
	const struct pts *p;
	double m, p0, cs, coef[2];
};

static double cap_clock(double c, double p0, double cs, double m)
{
	double f = (c - p0) / (cs - p0);

	if (c >= cs)
		return 1;
	return m == 2 ? sqrt(f) : pow(f, 1 / m);
}

static double cap_sse(struct cap_ctx *c)
{
	double u[LAW_MAX_KNOTS], v[LAW_MAX_KNOTS], b[LAW_MAX_KNOTS];
	const double *const col[2] = {u, v};

	for (unsigned i = 0; i < c->p->n; i++) {
		double s = sqrt(c->p->w[i]);

		b[i] = s;
		u[i] = s / c->p->y[i];
		v[i] = u[i] / cap_clock(c->p->x[i], c->p0, c->cs, c->m);
	}
	return la_nnls(c->p->n, 2, col, b, c->coef);
}

static double over_cs(double t, void *arg)
{
	struct cap_ctx *c = arg;

	c->cs = exp(t);
	return cap_sse(c);
}

static double over_p0(double t, void *arg)
{
	struct cap_ctx *c = arg;

	c->p0 = t;
	return cap_sse(c);
}

static bool cap_fit(const struct law *l, const struct pts *p, struct shape *sh)
{
	struct cap_ctx c = {.p = p, .m = l->variant};
	double x0, lo, hi, best = INFINITY, best_p0 = 0;

	if (p->n < 5)
		return false;
	x0 = p->x[0];
	lo = p->lx[0] + 1e-3;
	hi = p->lx[p->n - 1] + 0.2;
	for (int k = 0; k < 4; k++) {
		double sse;

		c.p0 = x0 * 0.25 * k;
		num_min1(over_cs, &c, lo, hi, 6, 1e-2, &sse);
		if (sse < best) {
			best = sse;
			best_p0 = c.p0;
		}
	}
	c.p0 = best_p0;
	for (int round = 0; round < 2; round++) {
		c.cs = exp(num_min1(over_cs, &c, lo, hi, 8, 1e-4, NULL));
		c.p0 = num_min1(over_p0, &c, 0, 0.9 * x0, 4, 1e-4, NULL);
	}
	cap_sse(&c);
	sh->p[0] = c.coef[0];
	sh->p[1] = c.coef[1];
	sh->p[2] = c.p0;
	sh->p[3] = c.cs;
	return c.coef[0] > 0 || c.coef[1] > 0;
}

static double cap_eval(const struct law *l, const struct shape *sh, double x)
{
	/* a cap near the static draw would ask for a clock of 0: no device goes there */
	double f = cap_clock(
		fmax(x, sh->p[2] + 0.02 * (sh->p[3] - sh->p[2])), sh->p[2], sh->p[3], l->variant);

	return sh->p[0] + sh->p[1] / f;
}

static void cap_unscale(const struct law *l, struct shape *sh, double xr, double yr)
{
	(void)l;
	sh->p[0] *= yr;
	sh->p[1] *= yr;
	sh->p[2] *= xr;
	sh->p[3] *= xr;
}

const struct law law_device_cap = {
	.name = "device-cap",
	.formula = "t0 + t1 max(1, (Cs - P0)/(C - P0))^(1/2)",
	.quantities = QTY_BIT(QTY_TIME),
	.factors = FACTOR_BIT(FACTOR_POWER_LIMIT),
	.n_params = 4,
	.n_shown = 4,
	.params = {"t0", "t1", "P0", "Cs"},
	.positive = {true, true, true, true},
	.monotone = LAW_FALLS,
	.extrapolates = true,
	.variant = 2,
	.fit = cap_fit,
	.eval = cap_eval,
	.unscale = cap_unscale,
};
