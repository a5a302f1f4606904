/* numeric.c: see numeric.h. */
#include "model/numeric.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

bool la_cholesky(unsigned n, unsigned stride, double *a)
{
	for (unsigned j = 0; j < n; j++) {
		double *aj = a + (size_t)j * stride, d = aj[j], scale = fabs(d);

		for (unsigned k = 0; k < j; k++)
			d -= aj[k] * aj[k];
		if (!(d > 1e-13 * scale))
			return false;
		aj[j] = sqrt(d);
		for (unsigned i = j + 1; i < n; i++) {
			double *ai = a + (size_t)i * stride, s = ai[j];

			for (unsigned k = 0; k < j; k++)
				s -= ai[k] * aj[k];
			ai[j] = s / aj[j];
		}
	}
	return true;
}

void la_cholesky_solve(unsigned n, unsigned stride, const double *l, const double *b, double *x)
{
	for (unsigned i = 0; i < n; i++) {
		const double *li = l + (size_t)i * stride;
		double s = b[i];

		for (unsigned k = 0; k < i; k++)
			s -= li[k] * x[k];
		x[i] = s / li[i];
	}
	for (unsigned i = n; i-- > 0;) {
		double s = x[i];

		for (unsigned k = i + 1; k < n; k++)
			s -= l[(size_t)k * stride + i] * x[k];
		x[i] = s / l[(size_t)i * stride + i];
	}
}

bool la_solve_spd(unsigned n, double a[LA_MAX][LA_MAX], const double *b, double *x)
{
	if (!la_cholesky(n, LA_MAX, a[0]))
		return false;
	la_cholesky_solve(n, LA_MAX, a[0], b, x);
	return true;
}

bool la_invert_spd(unsigned n, double a[LA_MAX][LA_MAX], double inv[LA_MAX][LA_MAX])
{
	if (!la_cholesky(n, LA_MAX, a[0]))
		return false;
	for (unsigned j = 0; j < n; j++) {
		double e[LA_MAX] = {0}, x[LA_MAX] = {0};

		e[j] = 1;
		la_cholesky_solve(n, LA_MAX, a[0], e, x);
		for (unsigned i = 0; i < n; i++)
			inv[i][j] = x[i];
	}
	return true;
}

/* Two columns in closed form: the free solution, else the better of the single columns. */
static double nnls2(double g[3][3], const double *c, double bb, double *x)
{
	double det = g[0][0] * g[1][1] - g[0][1] * g[0][1], s0, s1;

	x[0] = x[1] = 0;
	if (det > 1e-13 * g[0][0] * g[1][1]) {
		double a = (c[0] * g[1][1] - c[1] * g[0][1]) / det;
		double b = (c[1] * g[0][0] - c[0] * g[0][1]) / det;

		if (a >= 0 && b >= 0) {
			x[0] = a;
			x[1] = b;
			return fmax(bb - a * c[0] - b * c[1], 0);
		}
	}
	s0 = g[0][0] > 0 && c[0] > 0 ? c[0] * c[0] / g[0][0] : 0;
	s1 = g[1][1] > 0 && c[1] > 0 ? c[1] * c[1] / g[1][1] : 0;
	if (s0 >= s1 && s0 > 0)
		x[0] = c[0] / g[0][0];
	else if (s1 > 0)
		x[1] = c[1] / g[1][1];
	return fmax(bb - fmax(s0, s1), 0);
}

double la_nnls(unsigned m, unsigned n, const double *const col[], const double *b, double *x)
{
	double g[3][3] = {{0}}, c[3] = {0}, bb = 0, best;

	for (unsigned i = 0; i < m; i++)
		bb += b[i] * b[i];
	for (unsigned j = 0; j < n; j++) {
		for (unsigned k = 0; k <= j; k++) {
			double s = 0;

			for (unsigned i = 0; i < m; i++)
				s += col[j][i] * col[k][i];
			g[j][k] = g[k][j] = s;
		}
		for (unsigned i = 0; i < m; i++)
			c[j] += col[j][i] * b[i];
		x[j] = 0;
	}
	if (n == 2)
		return nnls2(g, c, bb, x);
	best = bb;
	for (unsigned set = 1; set < (1u << n); set++) {
		double a[LA_MAX][LA_MAX], rhs[3], sol[3], sse = bb;
		unsigned idx[3], k = 0;
		bool feasible = true;

		for (unsigned j = 0; j < n; j++)
			if (set & (1u << j))
				idx[k++] = j;
		for (unsigned r = 0; r < k; r++) {
			rhs[r] = c[idx[r]];
			for (unsigned s = 0; s < k; s++)
				a[r][s] = g[idx[r]][idx[s]];
		}
		if (!la_solve_spd(k, a, rhs, sol))
			continue;
		for (unsigned r = 0; r < k; r++) {
			feasible = feasible && sol[r] >= 0;
			sse -= sol[r] * rhs[r];
		}
		if (!feasible || !(sse < best))
			continue;
		best = sse;
		for (unsigned j = 0; j < n; j++)
			x[j] = 0;
		for (unsigned r = 0; r < k; r++)
			x[idx[r]] = sol[r];
	}
	return best > 0 ? best : 0;
}

#define GOLD 0.3819660112501051

double num_min1(double (*f)(double x, void *ctx), void *ctx, double lo, double hi, unsigned n,
	double tol, double *best)
{
	double a = lo, b = hi, x = lo, fx = INFINITY, w, v, fw, fv, d = 0, e = 0;

	for (unsigned i = 0; i < n; i++) {
		double t = lo + (hi - lo) * i / (n - 1), ft = f(t, ctx);

		if (ft < fx) {
			fx = ft;
			x = t;
		}
	}
	a = fmax(lo, x - (hi - lo) / (n - 1));
	b = fmin(hi, x + (hi - lo) / (n - 1));
	w = v = x;
	fw = fv = fx;
	/* Brent (1973): parabolic steps, golden section when they do not help */
	for (int it = 0; it < 60; it++) {
		double mid = 0.5 * (a + b), u, fu, p = 0, q = 0, r;

		if (fabs(x - mid) + 0.5 * (b - a) <= 2 * tol)
			break;
		if (fabs(e) > tol) {
			r = (x - w) * (fx - fv);
			q = (x - v) * (fx - fw);
			p = (x - v) * q - (x - w) * r;
			q = 2 * (q - r);
			if (q > 0)
				p = -p;
			q = fabs(q);
			r = e;
			e = d;
			if (fabs(p) >= fabs(0.5 * q * r) || p <= q * (a - x) || p >= q * (b - x))
				q = 0;
		}
		if (q > 0) {
			d = p / q;
		} else {
			e = x >= mid ? a - x : b - x;
			d = GOLD * e;
		}
		u = x + (fabs(d) >= tol ? d : (d >= 0 ? tol : -tol));
		if (u < lo || u > hi)
			u = u < lo ? lo : hi;
		fu = f(u, ctx);
		if (fu <= fx) {
			if (u >= x)
				a = x;
			else
				b = x;
			v = w, fv = fw, w = x, fw = fx, x = u, fx = fu;
		} else {
			if (u < x)
				a = u;
			else
				b = u;
			if (fu <= fw || w == x)
				v = w, fv = fw, w = u, fw = fu;
			else if (fu <= fv || v == x || v == w)
				v = u, fv = fu;
		}
	}
	if (best)
		*best = fx;
	return x;
}

void num_isotonic(unsigned n, const double *w, double *y, int dir)
{
	double val[64], wt[64];
	unsigned len[64], k = 0;

	for (unsigned i = 0; i < n && i < 64; i++) {
		val[k] = dir * y[i];
		wt[k] = w ? w[i] : 1;
		len[k++] = 1;
		while (k > 1 && val[k - 2] > val[k - 1]) {
			double tw = wt[k - 2] + wt[k - 1];

			val[k - 2] = (val[k - 2] * wt[k - 2] + val[k - 1] * wt[k - 1]) / tw;
			wt[k - 2] = tw;
			len[k - 2] += len[k - 1];
			k--;
		}
	}
	for (unsigned j = 0, i = 0; j < k; j++)
		for (unsigned t = 0; t < len[j]; t++)
			y[i++] = dir * val[j];
}

static double end_slope(double h0, double h1, double d0, double d1)
{
	double m = ((2 * h0 + h1) * d0 - h0 * d1) / (h0 + h1);

	if (m * d0 <= 0)
		return 0;
	if (d0 * d1 <= 0 && fabs(m) > 3 * fabs(d0))
		return 3 * d0;
	return m;
}

void num_pchip_slopes(unsigned n, const double *x, const double *y, double *m)
{
	if (n == 2) {
		m[0] = m[1] = (y[1] - y[0]) / (x[1] - x[0]);
		return;
	}
	for (unsigned i = 1; i + 1 < n; i++) {
		double h0 = x[i] - x[i - 1], h1 = x[i + 1] - x[i];
		double d0 = (y[i] - y[i - 1]) / h0, d1 = (y[i + 1] - y[i]) / h1;

		if (d0 * d1 <= 0) {
			m[i] = 0;
		} else {
			double w0 = 2 * h1 + h0, w1 = h1 + 2 * h0;

			m[i] = (w0 + w1) / (w0 / d0 + w1 / d1);
		}
		if (i == 1)
			m[0] = end_slope(h0, h1, d0, d1);
		if (i + 2 == n)
			m[n - 1] = end_slope(h1, h0, d1, d0);
	}
}

double num_pchip_eval(unsigned n, const double *x, const double *y, const double *m, double at)
{
	unsigned lo = 0, hi = n - 1;
	double h, t;

	if (at <= x[0])
		return y[0] + m[0] * (at - x[0]);
	if (at >= x[n - 1])
		return y[n - 1] + m[n - 1] * (at - x[n - 1]);
	while (hi - lo > 1) {
		unsigned mid = (lo + hi) / 2;

		if (x[mid] <= at)
			lo = mid;
		else
			hi = mid;
	}
	h = x[hi] - x[lo];
	t = (at - x[lo]) / h;
	return (1 + 2 * t) * (1 - t) * (1 - t) * y[lo] + t * (1 - t) * (1 - t) * h * m[lo] +
	       t * t * (3 - 2 * t) * y[hi] + t * t * (t - 1) * h * m[hi];
}

uint64_t num_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

double num_uniform(uint64_t *state)
{
	return (double)(num_random(state) >> 11) * 0x1p-53;
}

double stat_normal_quantile(double p)
{
	double x = p > 0.5 ? 1 : -1;

	/* Newton on erfc: quadratic, and exact to the C library's erfc */
	for (int i = 0; i < 60; i++) {
		double f = 0.5 * erfc(-x / M_SQRT2) - p;
		double d = exp(-0.5 * x * x) / sqrt(2 * M_PI);
		double step = f / d;

		step = fmax(-0.5, fmin(0.5, step));
		x -= step;
		if (fabs(step) < 1e-12)
			break;
	}
	return x;
}

/* Exact finite sums for integer degrees of freedom (Abramowitz and Stegun 26.7.3, 26.7.4). */
double stat_t_cdf(double t, unsigned df)
{
	double th = atan2(fabs(t), sqrt((double)df)), c = cos(th), s = sin(th), a;

	if (df > 2000)
		return 0.5 * erfc(-t / M_SQRT2);
	if (df % 2) {
		double sum = 0, term = c;

		for (unsigned k = 3; k <= df; k += 2) {
			sum += term;
			term *= c * c * (k - 1) / k;
		}
		a = 2 / M_PI * (th + (df > 1 ? s * sum : 0));
	} else {
		double sum = 0, term = 1;

		for (unsigned k = 2; k <= df; k += 2) {
			sum += term;
			term *= c * c * (k - 1) / k;
		}
		a = s * sum;
	}
	return t >= 0 ? 0.5 + 0.5 * a : 0.5 - 0.5 * a;
}

double stat_t_quantile(double p, unsigned df)
{
	double lo = 0, hi = 1, q = p < 0.5 ? 1 - p : p;

	if (df == 0)
		return NAN;
	while (stat_t_cdf(hi, df) < q && hi < 1e9)
		hi *= 2;
	for (int i = 0; i < 100 && hi - lo > 1e-10 * hi; i++) {
		double mid = 0.5 * (lo + hi);

		if (stat_t_cdf(mid, df) < q)
			lo = mid;
		else
			hi = mid;
	}
	return p < 0.5 ? -0.5 * (lo + hi) : 0.5 * (lo + hi);
}

double stat_binomial_two_sided(unsigned k, unsigned n, double p)
{
	double lk, sum = 0, lp = log(p), lq = log1p(-p);

	if (n == 0)
		return 1;
	lk = lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) + k * lp + (n - k) * lq;
	for (unsigned j = 0; j <= n; j++) {
		double lj = lgamma(n + 1.0) - lgamma(j + 1.0) - lgamma(n - j + 1.0) + j * lp +
			    (n - j) * lq;

		if (lj <= lk + 1e-9)
			sum += exp(lj);
	}
	return sum > 1 ? 1 : sum;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double stat_quantile(double *v, unsigned n, double p)
{
	double pos;
	unsigned i;

	if (n == 0)
		return NAN;
	qsort(v, n, sizeof(*v), by_value);
	pos = p * (n - 1);
	i = (unsigned)pos;
	return i + 1 < n ? v[i] + (pos - i) * (v[i + 1] - v[i]) : v[n - 1];
}
