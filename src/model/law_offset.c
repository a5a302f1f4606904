/* law_offset.c: y = a x^b + c with a, c >= 0: a power law with a part that x does not touch.
 *
 * Separable: for each exponent the two coefficients are a bounded linear problem, so the search is
 * one-dimensional (variable projection, Golub and Pereyra 1973). The loss is on relative error.
 */
#include "model/law_rows.h"

#include <math.h>

#include "model/numeric.h"

#define B_MIN     0.02
#define B_MAX     8.0
#define B_WORKERS 1.2 /* no job gains much more than in proportion to its workers */

struct offset_ctx {
	const struct pts *p;
	int dir;
	double coef[2];
};

static double offset_sse(double t, void *arg)
{
	struct offset_ctx *c = arg;
	const struct pts *p = c->p;
	double u[LAW_MAX_KNOTS], v[LAW_MAX_KNOTS], one[LAW_MAX_KNOTS], b = c->dir * exp(t);
	const double *const col[2] = {u, v};

	for (unsigned i = 0; i < p->n; i++) {
		double s = sqrt(p->w[i]);

		u[i] = s * exp(b * p->lx[i]) / p->y[i];
		v[i] = s / p->y[i];
		one[i] = s;
	}
	return la_nnls(p->n, 2, col, one, c->coef);
}

static bool offset_fit(const struct law *l, const struct pts *p, struct shape *sh)
{
	struct offset_ctx c = {.p = p};
	double t;

	(void)l;
	if (p->n < 3)
		return false;
	c.dir = law_direction(p);
	if (c.dir == 0)
		c.dir = -1;
	t = num_min1(offset_sse, &c, log(B_MIN),
		log(p->factor == FACTOR_WORKERS ? B_WORKERS : B_MAX), 9, 1e-5, NULL);
	offset_sse(t, &c);
	sh->p[0] = c.coef[0];
	sh->p[1] = c.dir * exp(t);
	sh->p[2] = c.coef[1];
	return c.coef[0] > 0 || c.coef[1] > 0;
}

static double offset_eval(const struct law *l, const struct shape *sh, double x)
{
	(void)l;
	return sh->p[0] * pow(x, sh->p[1]) + sh->p[2];
}

static void offset_jacobian(const struct law *l, const struct shape *sh, double x, double *d)
{
	double xb = pow(x, sh->p[1]), y = sh->p[0] * xb + sh->p[2];

	(void)l;
	d[0] = xb / y;
	d[1] = sh->p[0] * xb * log(x) / y;
	d[2] = 1 / y;
}

static void offset_unscale(const struct law *l, struct shape *sh, double xr, double yr)
{
	(void)l;
	sh->p[0] *= yr * pow(xr, -sh->p[1]);
	sh->p[2] *= yr;
}

const struct law law_offset = {
	.name = "offset",
	.formula = "a x^b + c",
	.quantities = QTY_BIT(QTY_TIME) | QTY_BIT(QTY_POWER) | QTY_BIT(QTY_ENERGY),
	.factors = FACTOR_BIT(FACTOR_WORKERS) | FACTOR_BIT(FACTOR_POWER_LIMIT) | FACTOR_CLOCKS,
	.n_params = 3,
	.n_shown = 3,
	.params = {"a", "b", "c"},
	.positive = {true, false, true},
	.monotone = LAW_MONOTONE_EITHER,
	.extrapolates = true,
	.fit = offset_fit,
	.eval = offset_eval,
	.jacobian = offset_jacobian,
	.unscale = offset_unscale,
};
