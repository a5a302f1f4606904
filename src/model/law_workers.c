/* law_workers.c: time, energy and power against the number of workers n, families whose
 * coefficients are linear and cannot be negative: Amdahl, the universal scalability law, a step
 * with its all-reduce, workers that wait. Time is per sample: per step it would mix in the batch.
 */
#include "model/law_rows.h"

#include <math.h>

#include "model/numeric.h"

/* The columns multiplying the non-negative coefficients of each family. */
static void amdahl_columns(double n, double *c)
{
	c[0] = 1;
	c[1] = 1 / n;
	c[2] = 0;
}

static void usl_columns(double n, double *c)
{
	c[0] = 1 / n;
	c[1] = (n - 1) / n;
	c[2] = n - 1;
}

/* Weak scaling: a step is compute + 2 (n-1)/n M/B (ring) + 2 (n-1) latency, over n samples' worth.
 */
static void ring_columns(double n, double *c)
{
	c[0] = 1 / n;
	c[1] = (n - 1) / (n * n);
	c[2] = (n - 1) / n;
}

/* The same with a hierarchical all-reduce: latency grows with the depth of the tree. */
static void tree_columns(double n, double *c)
{
	c[0] = 1 / n;
	c[1] = (n - 1) / (n * n);
	c[2] = log2(n) / n;
}

/* Energy of a unit of work: what the work takes, and what every further worker draws while it
 * waits. Power times time of waiting-power below. */
static void waiting_columns(double n, double *c)
{
	c[0] = 1;
	c[1] = n;
	c[2] = 0;
}

enum { AMDAHL, USL, RING, TREE, WAITING };
static void (*const columns[])(double n, double *c) = {
	amdahl_columns, usl_columns, ring_columns, tree_columns, waiting_columns};

static bool linear_fit(const struct law *l, const struct pts *p, struct shape *sh)
{
	double v[3][LAW_MAX_KNOTS], b[LAW_MAX_KNOTS], x[3] = {0};
	const double *const col[3] = {v[0], v[1], v[2]};

	if (p->n < l->n_params)
		return false;
	for (unsigned i = 0; i < p->n; i++) {
		double c[3], s = sqrt(p->w[i]);

		columns[(int)l->variant](p->x[i], c);
		b[i] = s;
		for (unsigned j = 0; j < 3; j++)
			v[j][i] = s * c[j] / p->y[i];
	}
	la_nnls(p->n, l->n_params, col, b, x);
	for (unsigned j = 0; j < 3; j++)
		sh->p[j] = x[j];
	return x[0] > 0 || x[1] > 0;
}

static double linear_eval(const struct law *l, const struct shape *sh, double n)
{
	double c[3];

	columns[(int)l->variant](n, c);
	return sh->p[0] * c[0] + sh->p[1] * c[1] + sh->p[2] * c[2];
}

static void linear_jacobian(const struct law *l, const struct shape *sh, double n, double *d)
{
	double c[3], y;

	columns[(int)l->variant](n, c);
	y = sh->p[0] * c[0] + sh->p[1] * c[1] + sh->p[2] * c[2];
	for (unsigned j = 0; j < l->n_params; j++)
		d[j] = c[j] / y;
}

static void linear_unscale(const struct law *l, struct shape *sh, double xr, double yr)
{
	(void)l;
	(void)xr; /* counts are not scaled: 1 worker is special */
	for (unsigned j = 0; j < 3; j++)
		sh->p[j] *= yr;
}

#define LINEAR_ROW(ROW, NAME, FORMULA, QTY, N, VARIANT, MONO, ...)                                 \
	const struct law ROW = {                                                                   \
		.name = NAME,                                                                      \
		.formula = FORMULA,                                                                \
		.quantities = QTY_BIT(QTY),                                                        \
		.factors = FACTOR_BIT(FACTOR_WORKERS),                                             \
		.n_params = N,                                                                     \
		.n_shown = N,                                                                      \
		.params = {__VA_ARGS__},                                                           \
		.positive = {true, true, true},                                                    \
		.monotone = MONO,                                                                  \
		.extrapolates = true,                                                              \
		.variant = VARIANT,                                                                \
		.fit = linear_fit,                                                                 \
		.eval = linear_eval,                                                               \
		.jacobian = linear_jacobian,                                                       \
		.unscale = linear_unscale,                                                         \
	}

LINEAR_ROW(law_amdahl, "amdahl", "t_serial + t_parallel/n", QTY_TIME, 2, AMDAHL, LAW_FALLS,
	"t_serial", "t_parallel");
LINEAR_ROW(law_usl, "usl", "(1 + alpha(n-1) + beta n(n-1)) t1/n", QTY_TIME, 3, USL, LAW_FREE, "t1",
	"t1_alpha", "t1_beta");
LINEAR_ROW(law_ring, "step-ring", "(t_c + t_bw (n-1)/n + t_lat (n-1))/n", QTY_TIME, 3, RING,
	LAW_FALLS, "t_c", "t_bw", "t_lat");
LINEAR_ROW(law_tree, "step-tree", "(t_c + t_bw (n-1)/n + t_lat log2 n)/n", QTY_TIME, 3, TREE,
	LAW_FREE, "t_c", "t_bw", "t_lat");
LINEAR_ROW(law_waiting_energy, "waiting-energy", "e_work + e_wait n", QTY_ENERGY, 2, WAITING,
	LAW_RISES, "e_work", "e_wait");

/* Where time follows Amdahl's law, or a part of every step is exposed communication, each worker is
 * busy for 1/(1 + s (n - 1)) of the time and waits, at a lower draw, for the rest. */
static double busy(double s, double n)
{
	return 1 / (1 + s * (n - 1));
}

/* The two draws that fit that s best. Returns the sum of squares. */
static double draws(const struct pts *p, double s, double *coef)
{
	double v[2][LAW_MAX_KNOTS], b[LAW_MAX_KNOTS];
	const double *const col[2] = {v[0], v[1]};

	for (unsigned i = 0; i < p->n; i++) {
		b[i] = sqrt(p->w[i]);
		v[0][i] = b[i] * p->x[i] / p->y[i];
		v[1][i] = v[0][i] * busy(s, p->x[i]);
	}
	return la_nnls(p->n, 2, col, b, coef);
}

static double draws_sse(double ls, void *arg)
{
	double coef[2];

	return draws(arg, exp(ls), coef);
}

static bool power_fit(const struct law *l, const struct pts *p, struct shape *sh)
{
	struct pts own = *p;

	if (p->n < l->n_params)
		return false;
	/* from a share that shows only at thousands of workers to one that rules at two */
	sh->p[2] = exp(num_min1(draws_sse, &own, log(1e-4), log(10), 24, 1e-6, NULL));
	draws(p, sh->p[2], sh->p);
	return sh->p[0] > 0 || sh->p[1] > 0;
}

static double power_eval(const struct law *l, const struct shape *sh, double n)
{
	(void)l;
	return n * (sh->p[0] + sh->p[1] * busy(sh->p[2], n));
}

/* The first two parameters are in units of y. */
static void two_unscale(const struct law *l, struct shape *sh, double xr, double yr)
{
	(void)l;
	(void)xr;
	sh->p[0] *= yr;
	sh->p[1] *= yr;
}

const struct law law_waiting_power = {
	.name = "waiting-power",
	.formula = "n (p_wait + p_busy/(1 + s(n-1)))",
	.quantities = QTY_BIT(QTY_POWER),
	.factors = FACTOR_BIT(FACTOR_WORKERS),
	.n_params = 3,
	.n_shown = 3,
	.params = {"p_wait", "p_busy", "s"},
	.positive = {true, true, true},
	.monotone = LAW_RISES,
	.extrapolates = true,
	.fit = power_fit,
	.eval = power_eval,
	.unscale = two_unscale,
};

/* Performance-model normal form with one term (Calotoiu et al. 2013, Extra-P): c0 + c1 n^i log2^j
 * n, here also with i < 0 and j = 0, since time per sample falls. The term is the one with the
 * least exact leave-one-out error of its linear fit. */
static const double exponents[] = {-2, -1.5, -1.25, -1, -0.75, -2. / 3, -0.5, -1. / 3, -0.25, 0,
	0.25, 1. / 3, 0.5, 2. / 3, 0.75, 1, 1.5, 2};

static double press(const struct pts *p, double i, double j, double *coef)
{
	double u[LAW_MAX_KNOTS], v[LAW_MAX_KNOTS], b[LAW_MAX_KNOTS], guu = 0, guv = 0, gvv = 0,
								     sum = 0, det;
	const double *const col[2] = {u, v};

	for (unsigned k = 0; k < p->n; k++) {
		double s = sqrt(p->w[k]), t = exp(i * p->lx[k]);

		for (int r = 0; r < (int)j; r++)
			t *= p->lx[k] / M_LN2;
		b[k] = s;
		u[k] = s / p->y[k];
		v[k] = u[k] * t;
		guu += u[k] * u[k];
		guv += u[k] * v[k];
		gvv += v[k] * v[k];
	}
	la_nnls(p->n, 2, col, b, coef);
	if (!(coef[1] > 0))
		return INFINITY;
	det = guu * gvv - guv * guv;
	for (unsigned k = 0; k < p->n; k++) {
		double r = b[k] - coef[0] * u[k] - coef[1] * v[k], h;

		if (coef[0] > 0 && det > 1e-14 * guu * gvv)
			h = (gvv * u[k] * u[k] - 2 * guv * u[k] * v[k] + guu * v[k] * v[k]) / det;
		else
			h = v[k] * v[k] / gvv;
		r /= fmax(1 - h, 1e-3);
		sum += r * r;
	}
	return sum;
}

static bool pmnf_fit(const struct law *l, const struct pts *p, struct shape *sh)
{
	double best = INFINITY;

	(void)l;
	if (p->n < 4)
		return false;
	for (unsigned a = 0; a < sizeof(exponents) / sizeof(exponents[0]); a++) {
		for (int j = 0; j <= 2; j++) {
			double coef[2], e;

			if ((exponents[a] == 0 && j == 0) || (exponents[a] < 0 && j > 0))
				continue;
			e = press(p, exponents[a], j, coef);
			if (!(e < best))
				continue;
			best = e;
			sh->p[0] = coef[0];
			sh->p[1] = coef[1];
			sh->p[2] = exponents[a];
			sh->p[3] = j;
		}
	}
	return isfinite(best);
}

static double pmnf_eval(const struct law *l, const struct shape *sh, double n)
{
	(void)l;
	return sh->p[0] + sh->p[1] * pow(n, sh->p[2]) * (sh->p[3] > 0 ? pow(log2(n), sh->p[3]) : 1);
}

static void pmnf_jacobian(const struct law *l, const struct shape *sh, double n, double *d)
{
	double y = pmnf_eval(l, sh, n);

	d[0] = 1 / y;
	d[1] = (y - sh->p[0]) / (sh->p[1] * y);
	d[2] = d[3] = 0; /* chosen from a list, not fitted */
}

const struct law law_pmnf = {
	.name = "pmnf",
	.formula = "c0 + c1 n^i log2(n)^j",
	.quantities = QTY_BIT(QTY_TIME),
	.factors = FACTOR_BIT(FACTOR_WORKERS),
	.n_params = 3,
	.n_shown = 4,
	.params = {"c0", "c1", "i", "j"},
	.positive = {true, true, false, false},
	.monotone = LAW_MONOTONE_EITHER,
	.extrapolates = true,
	.fit = pmnf_fit,
	.eval = pmnf_eval,
	.jacobian = pmnf_jacobian,
	.unscale = two_unscale,
};
