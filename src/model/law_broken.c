/* law_broken.c: the smoothly broken power law, y = y0 (1 + (k/x)^(|b| s))^(-sgn(b)/s), and its
 * sharp limit, the hinge.
 *
 * Far above k the curve is flat at y0 (a cap that does not bite), far below it follows x^b. Time
 * has b < 0, the power drawn under a cap b > 0. s is how sharp the knee is: 4 in the table; the
 * data seldom determine it. The form is that of astronomy's broken power laws.
 */
#include "model/law_rows.h"

#include <math.h>

#include "model/nls.h"
#include "model/numeric.h"

struct broken_ctx {
	const struct pts *p;
	double s;
	int sign; /* of b */
};

/* parameters: ln y0, ln k, ln |b| */
static void broken_residuals(
	const double *q, unsigned m, unsigned n, double *r, double *jac, void *arg)
{
	const struct broken_ctx *c = arg;
	double b = exp(q[2]), sg = -c->sign;

	(void)n;
	for (unsigned i = 0; i < m; i++) {
		double w = sqrt(c->p->w[i]), z = b * c->s * (q[1] - c->p->lx[i]);
		double soft = z > 30 ? z : log1p(exp(z)), share = z > 30 ? 1 : 1 / (1 + exp(-z));

		r[i] = w * (q[0] + sg * soft / c->s - c->p->ly[i]);
		if (!jac)
			continue;
		jac[i] = w;
		jac[i + m] = w * sg * share * b;
		jac[i + 2 * m] = w * sg * share * b * (q[1] - c->p->lx[i]);
	}
}

/* Best (k, b) on a coarse grid with y0 projected out: where the search starts. */
static void broken_start(const struct broken_ctx *c, const double *lo, const double *hi, double *q)
{
	static const double slopes[] = {0.4, 1.2};
	double best = INFINITY;

	for (unsigned ik = 0; ik < 5; ik++) {
		double lk = lo[1] + (hi[1] - lo[1]) * (ik + 0.5) / 5;

		for (unsigned ib = 0; ib < 2; ib++) {
			double g[LAW_MAX_KNOTS], sw = 0, sr = 0, sse = 0, b = slopes[ib];

			for (unsigned i = 0; i < c->p->n; i++) {
				double z = b * c->s * (lk - c->p->lx[i]);

				g[i] = c->p->ly[i] + c->sign * (z > 30 ? z : log1p(exp(z))) / c->s;
				sw += c->p->w[i];
				sr += c->p->w[i] * g[i];
			}
			for (unsigned i = 0; i < c->p->n; i++)
				sse += c->p->w[i] * (g[i] - sr / sw) * (g[i] - sr / sw);
			if (sse < best) {
				best = sse;
				q[0] = sr / sw;
				q[1] = lk;
				q[2] = log(b);
			}
		}
	}
}

static bool broken_fit(const struct law *l, const struct pts *p, struct shape *sh)
{
	struct broken_ctx c = {p, l->variant, law_direction(p) > 0 ? 1 : -1};
	double span = p->lx[p->n - 1] - p->lx[0];
	double lo[3] = {-20, p->lx[0] - 0.3 * span - 0.1, log(0.05)};
	double hi[3] = {20, p->lx[p->n - 1] + 0.3 * span + 0.1, log(4.0)}, q[3];
	struct nls_problem pr = {broken_residuals, &c, p->n, 3, lo, hi, 60};

	if (p->n < 4)
		return false;
	for (unsigned i = 0; i < p->n; i++) {
		lo[0] = i && lo[0] < p->ly[i] - 3 ? lo[0] : p->ly[i] - 3;
		hi[0] = i && hi[0] > p->ly[i] + 3 ? hi[0] : p->ly[i] + 3;
	}
	broken_start(&c, lo, hi, q);
	if (!isfinite(nls_min(&pr, q)))
		return false;
	sh->p[0] = exp(q[0]);
	sh->p[1] = exp(q[1]);
	sh->p[2] = c.sign * exp(q[2]);
	return true;
}

static double broken_eval(const struct law *l, const struct shape *sh, double x)
{
	double z = fabs(sh->p[2]) * l->variant * log(sh->p[1] / x);
	double soft = z > 30 ? z : log1p(exp(z));

	return sh->p[0] * exp((sh->p[2] > 0 ? -soft : soft) / l->variant);
}

static void broken_jacobian(const struct law *l, const struct shape *sh, double x, double *d)
{
	double b = fabs(sh->p[2]), lr = log(sh->p[1] / x), z = b * l->variant * lr;
	double share = z > 30 ? 1 : 1 / (1 + exp(-z)), sg = sh->p[2] > 0 ? -1 : 1;

	d[0] = 1 / sh->p[0];
	d[1] = sg * share * b / sh->p[1];
	d[2] = -share * lr;
}

static void broken_unscale(const struct law *l, struct shape *sh, double xr, double yr)
{
	(void)l;
	sh->p[0] *= yr;
	sh->p[1] *= xr;
}

const struct law law_broken = {
	.name = "broken",
	.formula = "y0 (1 + (k/x)^(4|b|))^(-sgn(b)/4)",
	.quantities = QTY_BIT(QTY_TIME) | QTY_BIT(QTY_POWER),
	.factors = FACTOR_BIT(FACTOR_POWER_LIMIT) | FACTOR_CLOCKS,
	.n_params = 3,
	.n_shown = 3,
	.params = {"y0", "k", "b"},
	.positive = {true, true, false},
	.monotone = LAW_MONOTONE_EITHER,
	.extrapolates = true,
	.variant = 4,
	.fit = broken_fit,
	.eval = broken_eval,
	.jacobian = broken_jacobian,
	.unscale = broken_unscale,
};

struct hinge_ctx {
	const struct pts *p;
	double y0, b;
};

/* For a knee at lk, ln y = ln y0 + b min(0, lx - lk) is a straight line in its two numbers. */
static double hinge_sse(double lk, void *arg)
{
	struct hinge_ctx *c = arg;
	const struct pts *p = c->p;
	double sw = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, sse = 0;

	for (unsigned i = 0; i < p->n; i++) {
		sw += p->w[i];
		sx += p->w[i] * fmin(0, p->lx[i] - lk);
		sy += p->w[i] * p->ly[i];
	}
	for (unsigned i = 0; i < p->n; i++) {
		double h = fmin(0, p->lx[i] - lk) - sx / sw;

		sxx += p->w[i] * h * h;
		sxy += p->w[i] * h * (p->ly[i] - sy / sw);
	}
	c->b = sxx > 0 ? sxy / sxx : 0;
	c->y0 = sy / sw - c->b * sx / sw;
	for (unsigned i = 0; i < p->n; i++) {
		double r = p->ly[i] - c->y0 - c->b * fmin(0, p->lx[i] - lk);

		sse += p->w[i] * r * r;
	}
	return sse;
}

static bool hinge_fit(const struct law *l, const struct pts *p, struct shape *sh)
{
	struct hinge_ctx c = {.p = p};
	double lk;

	(void)l;
	if (p->n < 4)
		return false;
	/* at least two points below the knee, or its slope is anything */
	lk = num_min1(hinge_sse, &c, p->lx[1] + 1e-3 * (p->lx[2] - p->lx[1]), p->lx[p->n - 1], 12,
		1e-5, NULL);
	hinge_sse(lk, &c);
	sh->p[0] = exp(c.y0);
	sh->p[1] = exp(lk);
	sh->p[2] = c.b;
	return true;
}

static double hinge_eval(const struct law *l, const struct shape *sh, double x)
{
	(void)l;
	return sh->p[0] * exp(sh->p[2] * fmin(0, log(x / sh->p[1])));
}

static void hinge_jacobian(const struct law *l, const struct shape *sh, double x, double *d)
{
	bool below = x < sh->p[1];

	(void)l;
	d[0] = 1 / sh->p[0];
	d[1] = below ? -sh->p[2] / sh->p[1] : 0;
	d[2] = below ? log(x / sh->p[1]) : 0;
}

const struct law law_hinge = {
	.name = "hinge",
	.formula = "y0 min(1, x/k)^b",
	.quantities = QTY_BIT(QTY_TIME) | QTY_BIT(QTY_POWER),
	.factors = FACTOR_BIT(FACTOR_POWER_LIMIT) | FACTOR_CLOCKS,
	.n_params = 3,
	.n_shown = 3,
	.params = {"y0", "k", "b"},
	.positive = {true, true, false},
	.monotone = LAW_MONOTONE_EITHER,
	.extrapolates = true,
	.fit = hinge_fit,
	.eval = hinge_eval,
	.jacobian = hinge_jacobian,
	.unscale = broken_unscale,
};
