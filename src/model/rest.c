#include "model/rest.h"

#include <math.h>
#include <string.h>

#define MIN_ROWS 24 /* fewer do not tell three lengths and a noise */
#define MIN_GAIN 0.95 /* of the error of left-out rows */
#define ROUNDS   6 /* of the search */

enum { RATIO = REST_DIMS, LEVEL, KNOBS };

/* Lengths; then variances relative to the surface's: of one run's noise, and of the levels. */
struct trial {
	double v[KNOBS];
};

struct rows {
	unsigned n;
	const double (*x)[REST_DIMS];
	const double *r, *runs;
	double *k; /* n by n, lower triangle */
	double span[REST_DIMS];
};

static double covariance(const double *a, const double *b, const double *length, double level)
{
	double d2 = 0;

	for (int d = 0; d < REST_DIMS; d++) {
		double u;

		if (!isfinite(length[d]))
			continue;
		u = (a[d] - b[d]) / length[d];
		d2 += u * u;
	}
	return exp(-0.5 * d2) + (a[0] == b[0] ? level : 0);
}

/* Cholesky factor of the covariance in the lower triangle of w->k; ln of its determinant, or NAN.
 */
static double factorise(const struct rows *w, const struct trial *t)
{
	double log_det = 0;

	for (unsigned i = 0; i < w->n; i++) {
		double *ki = w->k + (size_t)i * w->n;

		for (unsigned j = 0; j < i; j++)
			ki[j] = covariance(w->x[i], w->x[j], t->v, t->v[LEVEL]);
		ki[i] = 1 + t->v[LEVEL] + t->v[RATIO] / w->runs[i];
	}
	for (unsigned i = 0; i < w->n; i++) {
		double *ki = w->k + (size_t)i * w->n;

		for (unsigned j = 0; j <= i; j++) {
			const double *kj = w->k + (size_t)j * w->n;
			double s = ki[j];

			for (unsigned m = 0; m < j; m++)
				s -= ki[m] * kj[m];
			if (j < i) {
				ki[j] = s / kj[j];
			} else if (s > 1e-10) {
				ki[i] = sqrt(s);
				log_det += log(s);
			} else {
				return NAN;
			}
		}
	}
	return log_det;
}

static void solve(const struct rows *w, const double *b, double *x)
{
	unsigned n = w->n;

	for (unsigned i = 0; i < n; i++) {
		double s = b[i];

		for (unsigned m = 0; m < i; m++)
			s -= w->k[(size_t)i * n + m] * x[m];
		x[i] = s / w->k[(size_t)i * n + i];
	}
	for (unsigned i = n; i-- > 0;) {
		double s = x[i];

		for (unsigned m = i + 1; m < n; m++)
			s -= w->k[(size_t)m * n + i] * x[m];
		x[i] = s / w->k[(size_t)i * n + i];
	}
}

/* Minus twice the log marginal likelihood, with the best signal variance for these lengths. */
static double badness(const struct rows *w, const struct trial *t)
{
	double log_det = factorise(w, t), a[REST_MAX], fit = 0;

	if (isnan(log_det))
		return INFINITY;
	solve(w, w->r, a);
	for (unsigned i = 0; i < w->n; i++)
		fit += w->r[i] * a[i];
	return w->n * log(fit / w->n) + log_det;
}

/* Is that knob within what can be told from these rows? */
static bool within(const struct rows *w, int knob, double v)
{
	if (knob < REST_DIMS)
		return v >= 0.05 * w->span[knob] && v <= 10 * w->span[knob];
	return v >= 1e-6 && v <= 100;
}

/* Coordinate search in the logarithms of all knobs, with halving steps. */
static void search(const struct rows *w, struct trial *best)
{
	double f = badness(w, best), step = log(2);

	for (int round = 0; round < ROUNDS; round++) {
		bool moved = false;

		for (int c = 0; c < KNOBS; c++) {
			for (int dir = -1; dir <= 1; dir += 2) {
				struct trial t = *best;
				double ft;

				if (!isfinite(t.v[c]))
					break;
				t.v[c] *= exp(dir * step * (c < REST_DIMS ? 1 : 2));
				if (!within(w, c, t.v[c]))
					continue;
				ft = badness(w, &t);
				if (ft < f) {
					f = ft;
					*best = t;
					moved = true;
					break;
				}
			}
		}
		if (!moved)
			step /= 2;
	}
}

/* Left-out residuals without fitting again: alpha_i over the i-th diagonal of the inverse. */
static double left_out_rms(const struct rows *w, const double *alpha)
{
	double sum = 0, e[REST_MAX] = {0}, col[REST_MAX];

	for (unsigned i = 0; i < w->n; i++) {
		e[i] = 1;
		solve(w, e, col);
		e[i] = 0;
		sum += (alpha[i] / col[i]) * (alpha[i] / col[i]);
	}
	return sqrt(sum / w->n);
}

/* Where the search begins. */
static void begin(struct rows *w, const struct rest *near, struct trial *t)
{
	for (int d = 0; d < REST_DIMS; d++) {
		double lo = INFINITY, hi = -INFINITY;

		for (unsigned i = 0; i < w->n; i++) {
			lo = fmin(lo, w->x[i][d]);
			hi = fmax(hi, w->x[i][d]);
		}
		w->span[d] = hi - lo;
		t->v[d] = near ? near->length[d] : hi > lo ? 0.5 * w->span[d] : INFINITY;
	}
	t->v[RATIO] = near ? near->ratio : 0.3;
	t->v[LEVEL] = near ? near->level : 0.01;
}

void rest_fit(unsigned n, const double (*x)[REST_DIMS], const double *r, const double *runs,
	double plain, const struct rest *near, double *work, struct rest *out)
{
	struct rows w = {n, x, r, runs, work, {0}};
	double fit = 0, total = 0, hidden;
	struct trial t;

	memset(out, 0, sizeof(*out));
	if (n < MIN_ROWS || n > REST_MAX || (near && !near->n))
		return;
	begin(&w, near, &t);
	if (!near)
		search(&w, &t);
	if (isnan(factorise(&w, &t)))
		return;
	solve(&w, r, out->alpha);
	for (unsigned i = 0; i < n; i++)
		for (int d = 0; d < REST_DIMS; d++)
			out->at[i][d] = isfinite(t.v[d]) ? x[i][d] / t.v[d] : 0;
	memcpy(out->length, t.v, sizeof(out->length));
	out->ratio = t.v[RATIO];
	out->level = t.v[LEVEL];
	for (unsigned i = 0; i < n; i++) {
		fit += r[i] * out->alpha[i];
		total += runs[i];
	}
	/* the part of one run's noise that rows of several runs do not show */
	hidden = t.v[RATIO] * fit / n * (1 - n / fmax(total, n));
	out->loo_rms = near ? near->loo_rms : left_out_rms(&w, out->alpha);
	out->n = n;
	if (!near && !(out->loo_rms < MIN_GAIN * plain)) {
		out->loo_rms = plain;
		out->n = 0;
	}
	out->run_rms = sqrt(out->loo_rms * out->loo_rms + hidden);
}

double rest_at(const struct rest *s, const double x[REST_DIMS])
{
	double sum = 0, at[REST_DIMS];

	for (int d = 0; d < REST_DIMS; d++)
		at[d] = isfinite(s->length[d]) ? x[d] / s->length[d] : 0;
	for (unsigned i = 0; i < s->n; i++) {
		double d2 = 0;

		for (int d = 0; d < REST_DIMS; d++)
			d2 += (at[d] - s->at[i][d]) * (at[d] - s->at[i][d]);
		sum += s->alpha[i] * (exp(-0.5 * d2) + (at[0] == s->at[i][0] ? s->level : 0));
	}
	return sum;
}
