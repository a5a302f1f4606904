/* law_waiting.c: power and energy against the number of workers n. Where time follows Amdahl's law,
 * or a part of every step is exposed communication, each worker is busy for 1/(1 + s (n - 1)) of
 * the time and waits, at a lower draw, for the rest: P = n (p_wait + p_busy/(1 + s (n - 1))), and
 * the energy of a unit of work, that power times the time, is a straight line in n: what the work
 * takes, and what every further worker draws while it waits.
 */
#include "model/law_rows.h"

#include <math.h>

#include "model/numeric.h"

/* Weighted relative least squares on two non-negative coefficients. Returns the sum of squares. */
static double two_columns(const struct pts *p, const double *c0, const double *c1, double *coef)
{
	double v[2][LAW_MAX_KNOTS], b[LAW_MAX_KNOTS];
	const double *const col[2] = {v[0], v[1]};

	for (unsigned i = 0; i < p->n; i++) {
		b[i] = sqrt(p->w[i]);
		v[0][i] = b[i] * c0[i] / p->y[i];
		v[1][i] = b[i] * c1[i] / p->y[i];
	}
	return la_nnls(p->n, 2, col, b, coef);
}

static bool energy_fit(const struct law *l, const struct pts *p, struct shape *sh)
{
	double one[LAW_MAX_KNOTS];

	if (p->n < l->n_params)
		return false;
	for (unsigned i = 0; i < p->n; i++)
		one[i] = 1;
	two_columns(p, one, p->x, sh->p);
	return (sh->p[0] > 0 || sh->p[1] > 0);
}

static double energy_eval(const struct law *l, const struct shape *sh, double n)
{
	(void)l;
	return sh->p[0] + sh->p[1] * n;
}

static double busy(double s, double n)
{
	return 1 / (1 + s * (n - 1));
}

static double power_sse(const struct pts *p, double s, double *coef)
{
	double c[LAW_MAX_KNOTS];

	for (unsigned i = 0; i < p->n; i++)
		c[i] = p->x[i] * busy(s, p->x[i]);
	return two_columns(p, p->x, c, coef);
}

static double power_sse_at(double ls, void *arg)
{
	double coef[2];

	return power_sse(arg, exp(ls), coef);
}

static bool power_fit(const struct law *l, const struct pts *p, struct shape *sh)
{
	struct pts own = *p;

	if (p->n < l->n_params)
		return false;
	/* from a share that shows only at thousands of workers to one that rules at two */
	sh->p[2] = exp(num_min1(power_sse_at, &own, log(1e-4), log(10), 24, 1e-6, NULL));
	power_sse(p, sh->p[2], sh->p);
	return (sh->p[0] > 0 || sh->p[1] > 0);
}

static double power_eval(const struct law *l, const struct shape *sh, double n)
{
	(void)l;
	return n * (sh->p[0] + sh->p[1] * busy(sh->p[2], n));
}

static void unscale(const struct law *l, struct shape *sh, double xr, double yr)
{
	(void)l;
	(void)xr; /* counts are not scaled: 1 worker is special */
	sh->p[0] *= yr;
	sh->p[1] *= yr;
}

#define WAITING_ROW(ROW, NAME, FORMULA, QTY, N, FIT, EVAL, ...)                                    \
	const struct law ROW = {                                                                   \
		.name = NAME,                                                                      \
		.formula = FORMULA,                                                                \
		.quantities = QTY_BIT(QTY),                                                        \
		.factors = FACTOR_BIT(FACTOR_WORKERS),                                             \
		.n_params = N,                                                                     \
		.n_shown = N,                                                                      \
		.params = {__VA_ARGS__},                                                           \
		.positive = {true, true, true},                                                    \
		.monotone = LAW_RISES,                                                             \
		.extrapolates = true,                                                              \
		.fit = FIT,                                                                        \
		.eval = EVAL,                                                                      \
		.unscale = unscale,                                                                \
	}

WAITING_ROW(law_waiting_energy, "waiting-energy", "e_work + e_wait n", QTY_ENERGY, 2, energy_fit,
	energy_eval, "e_work", "e_wait");
WAITING_ROW(law_waiting_power, "waiting-power", "n (p_wait + p_busy/(1 + s(n-1)))", QTY_POWER, 3,
	power_fit, power_eval, "p_wait", "p_busy", "s");
