/* law_poly.c: power drawn against the clock (or a cap): P0 + k3 f^3, P0 + k1 f + k3 f^3 (dynamic
 * power is C V^2 f and V rises with f), and P0 + k1 f + k2 max(0, f - ft)^2, for devices that hold
 * the voltage at its floor up to a clock ft.
 */
#include "model/law_rows.h"

#include <math.h>

#include "model/numeric.h"

enum { CUBE, MIXED, PIECEWISE };

static void poly_columns(int kind, double x, double ft, double *c)
{
	double d = fmax(0, x - ft);

	c[0] = 1;
	c[1] = kind == CUBE ? x * x * x : x;
	c[2] = kind == MIXED ? x * x * x : kind == PIECEWISE ? d * d : 0;
}

struct poly_ctx {
	const struct pts *p;
	int kind;
	double coef[3];
};

static double poly_sse(double ft, void *arg)
{
	struct poly_ctx *k = arg;
	double v[3][LAW_MAX_KNOTS], b[LAW_MAX_KNOTS];
	const double *const col[3] = {v[0], v[1], v[2]};

	for (unsigned i = 0; i < k->p->n; i++) {
		double c[3], s = sqrt(k->p->w[i]);

		poly_columns(k->kind, k->p->x[i], ft, c);
		b[i] = s;
		for (int j = 0; j < 3; j++)
			v[j][i] = s * c[j] / k->p->y[i];
	}
	k->coef[2] = 0;
	return la_nnls(k->p->n, k->kind == CUBE ? 2 : 3, col, b, k->coef);
}

static bool poly_fit(const struct law *l, const struct pts *p, struct shape *sh)
{
	struct poly_ctx k = {.p = p, .kind = (int)l->variant};
	double ft = 0;

	if (p->n < l->n_params)
		return false;
	if (k.kind == PIECEWISE)
		ft = num_min1(poly_sse, &k, p->x[0], p->x[p->n - 2], 8, 1e-4, NULL);
	poly_sse(ft, &k);
	for (int j = 0; j < 3; j++)
		sh->p[j] = k.coef[j];
	sh->p[3] = ft;
	return k.coef[0] > 0 || k.coef[1] > 0 || k.coef[2] > 0;
}

static double poly_eval(const struct law *l, const struct shape *sh, double x)
{
	double c[3];

	poly_columns((int)l->variant, x, sh->p[3], c);
	return sh->p[0] * c[0] + sh->p[1] * c[1] + sh->p[2] * c[2];
}

static void poly_unscale(const struct law *l, struct shape *sh, double xr, double yr)
{
	sh->p[0] *= yr;
	sh->p[1] *= yr / (l->variant == CUBE ? xr * xr * xr : xr);
	sh->p[2] *= yr / (l->variant == PIECEWISE ? xr * xr : xr * xr * xr);
	sh->p[3] *= xr;
}

#define POLY_ROW(ROW, NAME, FORMULA, N, VARIANT, ...)                                              \
	const struct law ROW = {                                                                   \
		.name = NAME,                                                                      \
		.formula = FORMULA,                                                                \
		.quantities = QTY_BIT(QTY_POWER),                                                  \
		.factors = FACTOR_BIT(FACTOR_POWER_LIMIT) | FACTOR_CLOCKS,                         \
		.n_params = N,                                                                     \
		.n_shown = N,                                                                      \
		.params = {__VA_ARGS__},                                                           \
		.positive = {true, true, true, true},                                              \
		.monotone = LAW_RISES,                                                             \
		.extrapolates = true,                                                              \
		.variant = VARIANT,                                                                \
		.fit = poly_fit,                                                                   \
		.eval = poly_eval,                                                                 \
		.unscale = poly_unscale,                                                           \
	}

POLY_ROW(law_cube, "power-cube", "P0 + k3 f^3", 2, CUBE, "P0", "k3");
POLY_ROW(law_cube_mixed, "power-mixed", "P0 + k1 f + k3 f^3", 3, MIXED, "P0", "k1", "k3");
POLY_ROW(law_piecewise, "power-piecewise", "P0 + k1 f + k2 max(0, f - ft)^2", 4, PIECEWISE, "P0",
	"k1", "k2", "ft");
