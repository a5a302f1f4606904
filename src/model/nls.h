/* nls.h: non-linear least squares (cminpack's lmder) with box bounds. Pure; no allocation. */
#ifndef WATTLAW_MODEL_NLS_H
#define WATTLAW_MODEL_NLS_H

#include <stdbool.h>

#define NLS_MAX_ROWS   192
#define NLS_MAX_PARAMS 8

struct nls_problem {
	/* Residuals r[m] at p[n]; jac, when not NULL, gets d r[i] / d p[j] at jac[i + j * m]. */
	void (*residuals)(
		const double *p, unsigned m, unsigned n, double *r, double *jac, void *ctx);
	void *ctx;
	unsigned m, n;
	const double *lo, *hi; /* bounds, lo < hi */
	unsigned max_eval;
};

/* Minimise |r|^2 from p (in and out). Bounds are kept by a sine transform; a start outside or on
 * a bound is moved inside. Returns the sum of squares, INFINITY on failure. */
double nls_min(const struct nls_problem *pr, double *p);

#endif
