/* rest.h: what a law leaves over on a grid of settings, as a smooth surface.
 *
 * A formula in three factors is off by a few percent in places, and neighbouring settings are off
 * alike. With enough settings that can be learnt: the residuals of ln y are taken as a Gaussian
 * process in the logarithms of the factors (squared-exponential covariance with a length for each
 * factor; Rasmussen and Williams 2006, chapters 2 and 5), and rows that are equal in the first
 * factor, which is the number of workers and so the boards, share a level besides. Its mean is
 * added to the law, its variance goes into the interval. Far from what was measured it fades to
 * nothing: the law alone answers there.
 */
#ifndef WATTLAW_MODEL_REST_H
#define WATTLAW_MODEL_REST_H

#include <stdbool.h>

#define REST_DIMS 3
#define REST_MAX  192

/* Lengths, INFINITY where nothing varies; then variances over the surface's: of one run's noise, of
 * the levels. */
enum { REST_NOISE = REST_DIMS, REST_LEVEL, REST_KNOBS };

struct rest {
	unsigned n; /* settings; 0 = there is no surface */
	double x[REST_MAX][REST_DIMS];
	double alpha[REST_MAX]; /* weights of the mean */
	double knob[REST_KNOBS];
	double loo_rms; /* root mean square of ln residuals of rows left out, with the surface or,
			 * where it did not help, without; 0 = too few rows to say */
	double run_rms; /* the same where a row is one run */
};

/* x: logarithms of the factors, r: residual of ln y, runs: how many runs a row stands for, plain:
 * root mean square error without a surface. out has none when there are too few rows or it predicts
 * rows left out no better than that. near (may be NULL): take its knobs over instead of
 * searching for them. work holds at least n * n doubles. */
void rest_fit(unsigned n, const double (*x)[REST_DIMS], const double *r, const double *runs,
	double plain, const struct rest *near, double *work, struct rest *out);
/* Its mean at x, to be added to the law's residual; 0 without a surface. */
double rest_at(const struct rest *s, const double x[REST_DIMS]);

#endif
