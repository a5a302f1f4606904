/* model_speed.c: how long all families with leave-one-out, the combination, the winner's bootstrap
 * and one prediction take for a series of 8 points.
 *
 *   model_speed [SERIES]
 *
 * One JSON line: {"series","points","cpu_s","mean_ms","checksum"}; the checksum shows that two
 * runs did the same.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "model/predict.h"

#define POINTS 8

/* CPU time: the machine may have other work. */
static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Invented sweeps: a knee between 120 and 220 W, a slope below it, 1 % of noise. */
static void invent(unsigned seed, double *x, double *y)
{
	double knee = 120 + seed % 101, slope = 0.3 + 0.01 * (seed % 97);

	for (int i = 0; i < POINTS; i++) {
		unsigned h = (seed * POINTS + (unsigned)i) * 2654435761u;

		x[i] = 100 + 25 * i;
		y[i] = pow(1 + pow(knee / x[i], 4 * slope), 0.25) *
		       (1 + 0.02 * ((h >> 8) / 16777216.0 - 0.5));
	}
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
	struct selection *s = mem_calloc(1, sizeof(*s));
	double start = now_s(), sum = 0;
	int rc = 1;

	if (!s || n < 1)
		goto out;
	for (long k = 0; k < n; k++) {
		double x[POINTS], y[POINTS];
		struct series d;
		struct prediction p;

		invent((unsigned)k, x, y);
		if (series_from_xy(x, y, NULL, POINTS, FACTOR_POWER_LIMIT, QTY_TIME, &d, NULL) !=
				ST_OK ||
			select_laws(&d, s, NULL) != ST_OK ||
			predict_at(s, 160, 0.9, &p, NULL) != ST_OK)
			goto out;
		sum += p.y.value + p.y.hi - p.y.lo;
	}
	printf("{\"series\":%ld,\"points\":%d,\"cpu_s\":%.3f,\"mean_ms\":%.3f,\"checksum\":%.12g}"
	       "\n",
		n, POINTS, now_s() - start, 1e3 * (now_s() - start) / (double)n, sum);
	rc = 0;
out:
	mem_free(s);
	return rc;
}
