/* law_interp.c: a curve through the points: shape-preserving cubic in log-log, after monotone
 * regression where the quantity must go one way (time falls and power rises with a cap or clock).
 * The parabola in log-log stands here too: the smooth form for energy, which has a minimum.
 */
#include "model/law_rows.h"

#include <math.h>

#include "model/numeric.h"

#define KNOTS_SMOOTH 12 /* a long series is averaged to this many knots: noise is not shape */
#define SMOOTH_ABOVE 20

static bool interp_fit(const struct law *l, const struct pts *p, struct shape *sh)
{
	double w[LAW_MAX_KNOTS];
	unsigned n = p->n > SMOOTH_ABOVE ? KNOTS_SMOOTH : p->n;

	if (p->n < 2)
		return false;
	for (unsigned k = 0; k < n; k++)
		sh->kx[k] = sh->ky[k] = w[k] = 0;
	for (unsigned i = 0; i < p->n; i++) {
		unsigned k = i * n / p->n;

		sh->kx[k] += p->w[i] * p->lx[i];
		sh->ky[k] += p->w[i] * p->ly[i];
		w[k] += p->w[i];
	}
	for (unsigned k = 0; k < n; k++) {
		sh->kx[k] /= w[k];
		sh->ky[k] /= w[k];
	}
	if (l->monotone == LAW_FALLS || l->monotone == LAW_RISES)
		num_isotonic(n, w, sh->ky, l->monotone == LAW_FALLS ? -1 : 1);
	num_pchip_slopes(n, sh->kx, sh->ky, sh->km);
	sh->n_knots = n;
	return true;
}

static double interp_eval(const struct law *l, const struct shape *sh, double x)
{
	(void)l;
	return exp(num_pchip_eval(sh->n_knots, sh->kx, sh->ky, sh->km, log(x)));
}

static void interp_unscale(const struct law *l, struct shape *sh, double xr, double yr)
{
	(void)l;
	for (unsigned k = 0; k < sh->n_knots; k++) {
		sh->kx[k] += log(xr);
		sh->ky[k] += log(yr);
	}
}

#define INTERP_ROW(ROW, NAME, FORMULA, QTY, DIR)                                                   \
	const struct law ROW = {                                                                   \
		.name = (NAME),                                                                    \
		.formula = (FORMULA),                                                              \
		.quantities = QTY_BIT(QTY),                                                        \
		.factors = FACTOR_BIT(FACTOR_WORKERS) | FACTOR_BIT(FACTOR_POWER_LIMIT) |           \
			   FACTOR_CLOCKS,                                                          \
		.n_params = 2,                                                                     \
		.n_shown = 0,                                                                      \
		.monotone = (DIR),                                                                 \
		.extrapolates = false,                                                             \
		.fit = interp_fit,                                                                 \
		.eval = interp_eval,                                                               \
		.unscale = interp_unscale,                                                         \
	}

INTERP_ROW(law_interp_falls, "monotone", "falling cubic through the points, log-log", QTY_TIME,
	LAW_FALLS);
INTERP_ROW(law_interp_rises, "monotone-rising", "rising cubic through the points, log-log",
	QTY_POWER, LAW_RISES);
INTERP_ROW(law_interp_free, "cubic", "cubic through the points, log-log", QTY_ENERGY, LAW_FREE);

static bool parabola_fit(const struct law *l, const struct pts *p, struct shape *sh)
{
	double a[LA_MAX][LA_MAX] = {{0}}, b[3] = {0};

	(void)l;
	if (p->n < 3)
		return false;
	for (unsigned i = 0; i < p->n; i++) {
		double t[3] = {1, p->lx[i], p->lx[i] * p->lx[i]};

		for (unsigned j = 0; j < 3; j++) {
			b[j] += p->w[i] * t[j] * p->ly[i];
			for (unsigned k = 0; k < 3; k++)
				a[j][k] += p->w[i] * t[j] * t[k];
		}
	}
	return la_solve_spd(3, a, b, sh->p);
}

static double parabola_eval(const struct law *l, const struct shape *sh, double x)
{
	double lx = log(x);

	(void)l;
	return exp(sh->p[0] + lx * (sh->p[1] + lx * sh->p[2]));
}

static void parabola_jacobian(const struct law *l, const struct shape *sh, double x, double *d)
{
	(void)l;
	(void)sh;
	d[0] = 1;
	d[1] = log(x);
	d[2] = d[1] * d[1];
}

static void parabola_unscale(const struct law *l, struct shape *sh, double xr, double yr)
{
	double u = log(xr), *p = sh->p;

	(void)l;
	p[0] += log(yr) - p[1] * u + p[2] * u * u;
	p[1] -= 2 * p[2] * u;
}

const struct law law_parabola = {
	.name = "parabola",
	.formula = "exp(c0 + c1 ln x + c2 ln^2 x)",
	.quantities = QTY_BIT(QTY_ENERGY) | QTY_BIT(QTY_POWER),
	.factors = FACTOR_BIT(FACTOR_WORKERS) | FACTOR_BIT(FACTOR_POWER_LIMIT) | FACTOR_CLOCKS,
	.n_params = 3,
	.n_shown = 3,
	.params = {"c0", "c1", "c2"},
	.monotone = LAW_FREE,
	.extrapolates = true,
	.fit = parabola_fit,
	.eval = parabola_eval,
	.jacobian = parabola_jacobian,
	.unscale = parabola_unscale,
};
