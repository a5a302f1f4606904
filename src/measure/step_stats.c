/* step_stats.c: how long steps take, and how sure that is. See marks.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"
#include "measure/marks.h"

#define BATCHES    10
#define T9_975     2.262157 /* Student t, 9 degrees of freedom, two-sided 95 % */
#define T8_975     2.306004
#define FLAT       0.02
#define FLAT_NOISY 0.10

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Linear interpolation between order statistics (the usual "type 7"). */
static double quantile(const double *sorted, size_t n, double q)
{
	double at = q * (double)(n - 1);
	size_t i = (size_t)at;

	return i + 1 < n ? sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i])
			 : sorted[n - 1];
}

/* Slope, its significance and the interval of the mean, from the means of BATCHES batches. */
static void batches(const int64_t *end_ns, size_t n, struct step_stats *out)
{
	double y[BATCHES], mean = 0, sxy = 0, sxx = 0, sse = 0, var = 0, slope, se;

	for (size_t b = 0; b < BATCHES; b++) {
		size_t i = b * n / BATCHES, j = (b + 1) * n / BATCHES;

		y[b] = (double)(end_ns[j] - end_ns[i]) / (double)(j - i);
		mean += y[b] / BATCHES;
	}
	for (size_t b = 0; b < BATCHES; b++) {
		double x = (double)b - (BATCHES - 1) / 2.0;

		sxy += x * (y[b] - mean);
		sxx += x * x;
		var += (y[b] - mean) * (y[b] - mean) / (BATCHES - 1);
	}
	slope = sxy / sxx;
	for (size_t b = 0; b < BATCHES; b++) {
		double r = y[b] - mean - slope * ((double)b - (BATCHES - 1) / 2.0);

		sse += r * r;
	}
	se = sqrt(sse / (BATCHES - 2) / sxx);
	out->slope_rel = slope * (BATCHES - 1) / out->mean_ns;
	out->ci95_rel = T9_975 * sqrt(var / BATCHES) / out->mean_ns;
	out->steady = fabs(out->slope_rel) <= FLAT ||
		      (fabs(out->slope_rel) <= FLAT_NOISY && fabs(slope) <= T8_975 * se);
}

void step_stats(const int64_t *end_ns, size_t n_ends, struct step_stats *out)
{
	double *d, ss = 0;
	size_t n = n_ends ? n_ends - 1 : 0;

	*out = (struct step_stats){.mean_ns = NAN,
		.sd_ns = NAN,
		.p10_ns = NAN,
		.median_ns = NAN,
		.p90_ns = NAN,
		.min_ns = NAN,
		.max_ns = NAN,
		.slope_rel = NAN,
		.ci95_rel = NAN};
	for (size_t i = 0; i < n; i++)
		if (end_ns[i + 1] < end_ns[i])
			return;
	if (!n)
		return;
	out->n = (int64_t)n;
	out->mean_ns = (double)(end_ns[n] - end_ns[0]) / (double)n;
	if (n >= 2 * BATCHES && out->mean_ns > 0)
		batches(end_ns, n, out);
	d = n <= SIZE_MAX / sizeof(*d) ? mem_alloc(n * sizeof(*d)) : NULL;
	if (!d)
		return;
	for (size_t i = 0; i < n; i++) {
		d[i] = (double)(end_ns[i + 1] - end_ns[i]);
		ss += (d[i] - out->mean_ns) * (d[i] - out->mean_ns);
	}
	if (n > 1)
		out->sd_ns = sqrt(ss / (double)(n - 1));
	qsort(d, n, sizeof(*d), by_value);
	out->min_ns = d[0];
	out->max_ns = d[n - 1];
	out->p10_ns = quantile(d, n, 0.1);
	out->median_ns = quantile(d, n, 0.5);
	out->p90_ns = quantile(d, n, 0.9);
	mem_free(d);
}
