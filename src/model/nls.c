/* nls.c: bounds by p = lo + (hi - lo) (1 + sin u) / 2 around lmder (More 1978). */
#include "model/nls.h"

#include <cminpack.h>
#include <math.h>
#include <stddef.h>

struct nls_call {
	const struct nls_problem *pr;
	double slope[NLS_MAX_PARAMS]; /* dp/du */
};

static void to_p(const struct nls_problem *pr, const double *u, double *p, double *slope)
{
	for (unsigned j = 0; j < pr->n; j++) {
		double half = 0.5 * (pr->hi[j] - pr->lo[j]);

		p[j] = pr->lo[j] + half * (1 + sin(u[j]));
		slope[j] = half * cos(u[j]);
	}
}

static int call(
	void *arg, int m, int n, const double *u, double *r, double *jac, int ldjac, int flag)
{
	struct nls_call *c = arg;
	double p[NLS_MAX_PARAMS], scratch[NLS_MAX_ROWS];

	(void)ldjac;
	to_p(c->pr, u, p, c->slope);
	if (flag != 2) {
		c->pr->residuals(p, (unsigned)m, (unsigned)n, r, NULL, c->pr->ctx);
		return 0;
	}
	c->pr->residuals(p, (unsigned)m, (unsigned)n, scratch, jac, c->pr->ctx);
	for (int j = 0; j < n; j++)
		for (int i = 0; i < m; i++)
			jac[i + j * m] *= c->slope[j];
	return 0;
}

double nls_min(const struct nls_problem *pr, double *p)
{
	struct nls_call c = {.pr = pr};
	double u[NLS_MAX_PARAMS], fvec[NLS_MAX_ROWS], fjac[NLS_MAX_ROWS * NLS_MAX_PARAMS];
	double diag[NLS_MAX_PARAMS], qtf[NLS_MAX_PARAMS], wa1[NLS_MAX_PARAMS], wa2[NLS_MAX_PARAMS];
	double wa3[NLS_MAX_PARAMS], wa4[NLS_MAX_ROWS], sse = 0;
	int ipvt[NLS_MAX_PARAMS], nfev, njev, info;

	if (pr->m < pr->n || pr->m > NLS_MAX_ROWS || pr->n > NLS_MAX_PARAMS)
		return INFINITY;
	for (unsigned j = 0; j < pr->n; j++) {
		double t = 2 * (p[j] - pr->lo[j]) / (pr->hi[j] - pr->lo[j]) - 1;

		/* on a bound the transform has no slope and the search could not leave it */
		u[j] = asin(fmax(-0.98, fmin(0.98, t)));
	}
	info = lmder(call, &c, (int)pr->m, (int)pr->n, u, fvec, fjac, (int)pr->m, 1e-8, 1e-7, 0,
		(int)pr->max_eval, diag, 1, 10, 0, &nfev, &njev, ipvt, qtf, wa1, wa2, wa3, wa4);
	if (info <= 0)
		return INFINITY;
	to_p(pr, u, p, diag);
	for (unsigned i = 0; i < pr->m; i++)
		sse += fvec[i] * fvec[i];
	return isfinite(sse) ? sse : INFINITY;
}
