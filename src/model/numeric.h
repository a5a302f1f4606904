/* numeric.h: the small numerical tools the laws share: least squares with up to LA_MAX columns,
 * one-dimensional search, monotone regression, random numbers, quantiles. No state, no allocation.
 */
#ifndef WATTLAW_MODEL_NUMERIC_H
#define WATTLAW_MODEL_NUMERIC_H

#include <stdbool.h>
#include <stdint.h>

#define LA_MAX 8

/* Cholesky factor of a symmetric positive definite matrix of any n, rows `stride` apart, into its
 * lower triangle, which alone is read. False when it is not positive definite to working precision.
 */
bool la_cholesky(unsigned n, unsigned stride, double *a);
/* Solve with that factor; x may be b. */
void la_cholesky_solve(unsigned n, unsigned stride, const double *l, const double *b, double *x);
/* Solve A x = b for symmetric positive definite A (n <= LA_MAX, row major, stride LA_MAX) by
 * Cholesky. False when A is not positive definite to working precision. A is overwritten. */
bool la_solve_spd(unsigned n, double a[LA_MAX][LA_MAX], const double *b, double *x);
/* Inverse of the same. inv may not alias a. */
bool la_invert_spd(unsigned n, double a[LA_MAX][LA_MAX], double inv[LA_MAX][LA_MAX]);

/* min |A x - b|^2 with x >= 0, m rows, n <= 3 columns given as col[j][i]. Exact: every subset of
 * columns is tried. Returns the sum of squares; x gets the solution (zeros where none is feasible).
 */
double la_nnls(unsigned m, unsigned n, const double *const col[], const double *b, double *x);

/* Minimum of f on [lo, hi]: a grid of n points, then Brent's search around the best of them to a
 * tolerance of tol (absolute). Deterministic. *best (may be NULL) gets the value there. */
double num_min1(double (*f)(double x, void *ctx), void *ctx, double lo, double hi, unsigned n,
	double tol, double *best);

/* Weighted isotonic regression in place (pool adjacent violators): y never rises (dir -1) or never
 * falls (dir +1). n <= 64. */
void num_isotonic(unsigned n, const double *w, double *y, int dir);

/* Slopes of the shape-preserving cubic (Fritsch and Carlson 1980, in the weighted harmonic form of
 * Fritsch and Butland 1984) through n >= 2 knots. */
void num_pchip_slopes(unsigned n, const double *x, const double *y, double *m);
/* Its value; beyond the ends the end slope goes on. */
double num_pchip_eval(unsigned n, const double *x, const double *y, const double *m, double at);

/* splitmix64 (Steele, Lea and Flood 2014): small, and the same on every machine; any seed will do.
 */
uint64_t num_random(uint64_t *state);
/* In [0, 1). */
double num_uniform(uint64_t *state);

/* Quantiles: p in (0, 1); df >= 1. Absolute error below 1e-6 for p in [0.001, 0.999]. */
double stat_normal_quantile(double p);
double stat_t_quantile(double p, unsigned df);
double stat_t_cdf(double t, unsigned df);
/* Two-sided p-value of k hits in n tries at probability p (sum of all outcomes not more likely). */
double stat_binomial_two_sided(unsigned k, unsigned n, double p);
/* Median and a quantile (linear interpolation between order statistics); v is sorted in place. */
double stat_quantile(double *v, unsigned n, double p);

#endif
