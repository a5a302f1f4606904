#include "model/rest.h"

#include <math.h>
#include <string.h>

#include "model/numeric.h"

#define MIN_ROWS 24 /* fewer do not tell three lengths and a noise */
#define MIN_GAIN 0.95 /* of the error of left-out rows */
#define ROUNDS   6 /* of the search */

struct rows {
	unsigned n;
	const double (*x)[REST_DIMS];
	const double *r, *runs;
	double *k; /* n by n, lower triangle */
	double span[REST_DIMS];
};

static double covariance(const double *a, const double *b, const double *knob)
{
	double d2 = 0;

	for (int d = 0; d < REST_DIMS; d++) {
		double u;

		if (!isfinite(knob[d]))
			continue;
		u = (a[d] - b[d]) / knob[d];
		d2 += u * u;
	}
	return exp(-0.5 * d2) + (a[0] == b[0] ? knob[REST_LEVEL] : 0);
}

/* Cholesky factor of the covariance of the rows in w->k; ln of its determinant, or NAN. */
static double factorise(const struct rows *w, const double *knob)
{
	double log_det = 0;

	for (unsigned i = 0; i < w->n; i++) {
		double *ki = w->k + (size_t)i * w->n;

		for (unsigned j = 0; j <= i; j++)
			ki[j] = covariance(w->x[i], w->x[j], knob);
		ki[i] += knob[REST_NOISE] / w->runs[i];
	}
	if (!la_cholesky(w->n, w->n, w->k))
		return NAN;
	for (unsigned i = 0; i < w->n; i++)
		log_det += 2 * log(w->k[(size_t)i * w->n + i]);
	return log_det;
}

static void solve(const struct rows *w, const double *b, double *x)
{
	la_cholesky_solve(w->n, w->n, w->k, b, x);
}

/* Minus twice the log marginal likelihood, with the best signal variance for these lengths. */
static double badness(const struct rows *w, const double *knob)
{
	double log_det = factorise(w, knob), a[REST_MAX], fit = 0;

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
static void search(const struct rows *w, double *knob)
{
	double f = badness(w, knob), step = log(2);

	for (int round = 0; round < ROUNDS; round++) {
		bool moved = false;

		for (int c = 0; c < REST_KNOBS; c++) {
			double best = knob[c];

			for (int dir = -1; isfinite(best) && dir <= 1; dir += 2) {
				double ft;

				knob[c] = best * exp(dir * step * (c < REST_DIMS ? 1 : 2));
				ft = within(w, c, knob[c]) ? badness(w, knob) : INFINITY;
				if (ft < f) {
					f = ft;
					moved = true;
					break;
				}
				knob[c] = best;
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
static void begin(struct rows *w, double *knob)
{
	for (int d = 0; d < REST_DIMS; d++) {
		double lo = INFINITY, hi = -INFINITY;

		for (unsigned i = 0; i < w->n; i++) {
			lo = fmin(lo, w->x[i][d]);
			hi = fmax(hi, w->x[i][d]);
		}
		w->span[d] = hi - lo;
		knob[d] = hi > lo ? 0.5 * w->span[d] : INFINITY;
	}
	knob[REST_NOISE] = 0.3;
	knob[REST_LEVEL] = 0.01;
}

void rest_fit(unsigned n, const double (*x)[REST_DIMS], const double *r, const double *runs,
	double plain, const struct rest *near, double *work, struct rest *out)
{
	struct rows w = {n, x, r, runs, work, {0}};
	double fit = 0, total = 0, hidden;

	memset(out, 0, sizeof(*out));
	if (n < MIN_ROWS || n > REST_MAX || (near && !near->n))
		return;
	if (near) {
		memcpy(out->knob, near->knob, sizeof(out->knob));
	} else {
		begin(&w, out->knob);
		search(&w, out->knob);
	}
	if (isnan(factorise(&w, out->knob)))
		return;
	solve(&w, r, out->alpha);
	memcpy(out->x, x, n * sizeof(*x));
	for (unsigned i = 0; i < n; i++) {
		fit += r[i] * out->alpha[i];
		total += runs[i];
	}
	/* the part of one run's noise that rows of several runs do not show */
	hidden = out->knob[REST_NOISE] * fit / n * (1 - n / fmax(total, n));
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
	double sum = 0;

	for (unsigned i = 0; i < s->n; i++)
		sum += s->alpha[i] * covariance(x, s->x[i], s->knob);
	return sum;
}
