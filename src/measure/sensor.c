/* sensor.c: see sensor.h. */
#include "measure/sensor.h"

#include <math.h>
#include "base/clock.h"
#include "base/mem.h"

#define MIN_CHANGES 8
#define MAX_CHANGES ((size_t)1 << 20)
#define STEP_NS     1e6 /* grid of windows and lags */
#define LAG_STEPS   200
#define NEAR_BEST   1.1

/* Refreshes: first reading of each new value. Borrowed indices in *at (free with mem_free). */
static size_t changes(const struct sensor_reading *r, size_t n, size_t **at)
{
	size_t k = 0;

	*at = n && n <= MAX_CHANGES ? mem_alloc(n * sizeof(**at)) : NULL;
	if (!*at)
		return 0;
	for (size_t i = 1; i < n; i++)
		if (r[i].mw != r[i - 1].mw && r[i].t_ns > r[i - 1].t_ns)
			(*at)[k++] = i;
	return k;
}

/* Least squares of change times against whole numbers of periods, which are counted with the latest
 * estimate. */
enum status sensor_refresh(
	const struct sensor_reading *r, size_t n, double *refresh_ns, double *sd_ns)
{
	size_t *at, k = changes(r, n, &at);
	double period = 0, sx = 0, sy = 0, sxx = 0, sxy = 0, sse = 0, count = 0, number = 0;
	enum status st = ST_UNKNOWN;

	*refresh_ns = *sd_ns = NAN;
	if (k < MIN_CHANGES)
		goto out;
	/* Start from the shortest half of the intervals: a repeated value makes a long one, nothing
	 * makes a short one. */
	for (size_t i = 1; i < k; i++) {
		double d = (double)(r[at[i]].t_ns - r[at[i - 1]].t_ns), rank = 0;

		for (size_t j = 1; j < k && j < 512; j++)
			rank += (double)(r[at[j]].t_ns - r[at[j - 1]].t_ns) < d;
		if (rank <= (double)(k < 512 ? k : 512) / 2)
			period = fmax(period, d);
	}
	for (size_t i = 0; i < k; i++) {
		double t = (double)(r[at[i]].t_ns - r[at[0]].t_ns);

		if (i)
			number += fmax(
				nearbyint((double)(r[at[i]].t_ns - r[at[i - 1]].t_ns) / period), 1);
		count++;
		sx += number;
		sy += t;
		sxx += number * number;
		sxy += number * t;
	}
	period = (count * sxy - sx * sy) / (count * sxx - sx * sx);
	for (size_t i = 1; i < k; i++) {
		double d = (double)(r[at[i]].t_ns - r[at[i - 1]].t_ns);
		double off = d - fmax(nearbyint(d / period), 1) * period;

		sse += off * off;
	}
	*sd_ns = sqrt(sse / (double)(k - 1));
	/* Irregular changes are a load's, not a sensor's; one at each poll tells of the poll. */
	if (!(period > 0) || *sd_ns > 0.25 * period ||
		period * (double)(n - 1) < 2 * (double)(r[n - 1].t_ns - r[0].t_ns))
		goto out;
	*refresh_ns = period;
	st = ST_OK;
out:
	mem_free(at);
	return st;
}

/* Time in [a, b] during which the load was on. */
static double on_time(const int64_t *on, size_t n_on, double a, double b)
{
	size_t lo = 0, hi = n_on / 2;
	double sum = 0;

	while (lo < hi) { /* first pair that ends after a */
		size_t mid = lo + (hi - lo) / 2;

		if ((double)on[2 * mid + 1] <= a)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (; lo < n_on / 2 && (double)on[2 * lo] < b; lo++)
		sum += fmin(b, (double)on[2 * lo + 1]) - fmax(a, (double)on[2 * lo]);
	return sum;
}

/* Straight line through (share of the window with load, reading); rms of what is left. */
static double try_window(const struct sensor_reading *r, const size_t *at, size_t k,
	const int64_t *on, size_t n_on, double w, double lag, double *low, double *high)
{
	double sx = 0, sy = 0, sxx = 0, sxy = 0, syy = 0, n = 0, slope, base, sse;
	double first = (double)on[0], last = (double)on[n_on - 1];

	for (size_t i = 0; i < k; i++) {
		double end = (double)r[at[i]].t_ns - lag, x, y = (double)r[at[i]].mw;

		/* Outside the known load only the neighbourhood counts: idle drifts for seconds
		 * after work. */
		if (end < first - 1e9 || end > last)
			continue;
		x = on_time(on, n_on, end - w, end) / w;
		n++;
		sx += x;
		sy += y;
		sxx += x * x;
		sxy += x * y;
		syy += y * y;
	}
	if (n < MIN_CHANGES || n * sxx - sx * sx < 1e-9)
		return INFINITY;
	slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
	base = (sy - slope * sx) / n;
	sse = syy - base * sy - slope * sxy;
	*low = base;
	*high = base + slope;
	return sqrt(fmax(sse, 0) / n);
}

enum status sensor_fit(const struct sensor_reading *r, size_t n, const int64_t *on, size_t n_on,
	struct sensor_model *out, struct err *e)
{
	double best = INFINITY, sd, low, high, widest;
	size_t *at = NULL, k;
	enum status st;

	*out = (struct sensor_model){0};
	st = sensor_refresh(r, n, &out->refresh_ns, &sd);
	if (st != ST_OK)
		return err_set(e, st, "no regular refresh in %zu readings", n);
	if (n_on < 4 || n_on % 2)
		return err_set(e, ST_INVALID, "the load needs at least two pairs of start and end");
	k = changes(r, n, &at);
	widest = 1.5 * out->refresh_ns;
	for (double w = STEP_NS; w <= widest; w += STEP_NS)
		for (int i = 0; i < LAG_STEPS; i++) {
			double lag = (double)i * STEP_NS,
			       rms = try_window(r, at, k, on, n_on, w, lag, &low, &high);

			if (rms >= best)
				continue;
			best = rms;
			out->window_ns = w;
			out->lag_ns = lag;
			out->low_mw = low;
			out->high_mw = high;
		}
	st = isfinite(best) ? ST_OK : err_set(e, ST_UNKNOWN, "the readings do not follow the load");
	out->residual_mw = best;
	out->window_lo_ns = out->window_hi_ns = out->window_ns;
	for (double w = STEP_NS; w <= widest && st == ST_OK; w += STEP_NS) {
		/* A wider window with the same middle. */
		double lag = out->lag_ns + (out->window_ns - w) / 2;

		if (lag < 0 ||
			try_window(r, at, k, on, n_on, w, lag, &low, &high) > NEAR_BEST * best)
			continue;
		out->window_lo_ns = fmin(out->window_lo_ns, w);
		out->window_hi_ns = fmax(out->window_hi_ns, w);
	}
	out->coverage = fmin(out->window_ns / out->refresh_ns, 1);
	mem_free(at);
	return st;
}

double sensor_energy(
	const struct sensor_model *m, const int64_t *on, size_t n_on, int64_t t0, int64_t t1)
{
	double busy = on_time(on, n_on, (double)t0, (double)t1);

	return (m->low_mw * ((double)(t1 - t0) - busy) + m->high_mw * busy) * 1e-6;
}

double sensor_naive(const struct sensor_reading *r, size_t n, int64_t t0, int64_t t1)
{
	double sum = 0;

	for (size_t i = 1; i < n; i++) {
		double a = fmax((double)r[i - 1].t_ns, (double)t0),
		       b = fmin((double)r[i].t_ns, (double)t1);

		if (b > a)
			sum += 0.5 * (double)(r[i - 1].mw + r[i].mw) * (b - a) * 1e-6;
	}
	return sum;
}
