/* law_power.c: y = a x^b, the published form (exact least squares in log-log), and the constant. */
#include "model/law_rows.h"

#include <math.h>

static bool power_fit(const struct law *l, const struct pts *p, struct shape *sh)
{
	double sw = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;

	(void)l;
	for (unsigned i = 0; i < p->n; i++) {
		sw += p->w[i];
		sx += p->w[i] * p->lx[i];
		sy += p->w[i] * p->ly[i];
	}
	for (unsigned i = 0; i < p->n; i++) {
		double dx = p->lx[i] - sx / sw;

		sxx += p->w[i] * dx * dx;
		sxy += p->w[i] * dx * (p->ly[i] - sy / sw);
	}
	if (p->n < 2 || !(sxx > 0))
		return false;
	sh->p[1] = sxy / sxx;
	sh->p[0] = exp(sy / sw - sh->p[1] * sx / sw);
	return true;
}

static double power_eval(const struct law *l, const struct shape *sh, double x)
{
	(void)l;
	return sh->p[0] * pow(x, sh->p[1]);
}

static void power_jacobian(const struct law *l, const struct shape *sh, double x, double *d)
{
	(void)l;
	d[0] = 1 / sh->p[0];
	d[1] = log(x);
}

static void power_unscale(const struct law *l, struct shape *sh, double xr, double yr)
{
	(void)l;
	sh->p[0] *= yr * pow(xr, -sh->p[1]);
}

const struct law law_power = {
	.name = "power",
	.formula = "a x^b",
	.quantities = QTY_BIT(QTY_TIME) | QTY_BIT(QTY_POWER) | QTY_BIT(QTY_ENERGY),
	.factors = FACTOR_BIT(FACTOR_WORKERS) | FACTOR_BIT(FACTOR_POWER_LIMIT) | FACTOR_CLOCKS,
	.n_params = 2,
	.n_shown = 2,
	.params = {"a", "b"},
	.positive = {true, false},
	.monotone = LAW_MONOTONE_EITHER,
	.extrapolates = true,
	.fit = power_fit,
	.eval = power_eval,
	.jacobian = power_jacobian,
	.unscale = power_unscale,
};

static bool constant_fit(const struct law *l, const struct pts *p, struct shape *sh)
{
	double sw = 0, sy = 0;

	(void)l;
	for (unsigned i = 0; i < p->n; i++) {
		sw += p->w[i];
		sy += p->w[i] * p->ly[i];
	}
	if (p->n < 1)
		return false;
	sh->p[0] = exp(sy / sw);
	return true;
}

static double constant_eval(const struct law *l, const struct shape *sh, double x)
{
	(void)l;
	(void)x;
	return sh->p[0];
}

static void constant_jacobian(const struct law *l, const struct shape *sh, double x, double *d)
{
	(void)l;
	(void)x;
	d[0] = 1 / sh->p[0];
}

static void constant_unscale(const struct law *l, struct shape *sh, double xr, double yr)
{
	(void)l;
	(void)xr;
	sh->p[0] *= yr;
}

const struct law law_constant = {
	.name = "constant",
	.formula = "a",
	.quantities = QTY_BIT(QTY_TIME) | QTY_BIT(QTY_POWER) | QTY_BIT(QTY_ENERGY),
	.factors = FACTOR_BIT(FACTOR_POWER_LIMIT) | FACTOR_CLOCKS,
	.n_params = 1,
	.n_shown = 1,
	.params = {"a"},
	.positive = {true},
	.monotone = LAW_MONOTONE_EITHER,
	.extrapolates = true,
	.fit = constant_fit,
	.eval = constant_eval,
	.jacobian = constant_jacobian,
	.unscale = constant_unscale,
};
