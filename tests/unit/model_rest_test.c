/* What a law leaves over on a grid: a surface where there is one, nothing where there is none. */
#include <stdlib.h>

#include "model/rest.h"
#include "tap.h"

#define SIDE 6
#define ROWS (SIDE * SIDE)

static double x[ROWS][REST_DIMS], r[ROWS], runs[ROWS], work[ROWS * ROWS];

/* Sum of uniforms: nearly normal, standard deviation 1, from a generator of its own. */
static double noise(void)
{
	static unsigned state = 7;
	double sum = 0;

	for (int i = 0; i < 12; i++) {
		state = state * 1664525u + 1013904223u;
		sum += (state >> 8) / 16777216.0;
	}
	return sum - 6;
}

static double hill(const double *at)
{
	return 0.05 * sin(2 * at[0]) * cos(1.5 * at[1]);
}

static void grid(double height, double sd, double level)
{
	for (unsigned i = 0; i < ROWS; i++) {
		unsigned row = i / SIDE;

		x[i][0] = 0.4 * row;
		x[i][1] = 0.4 * (i % SIDE);
		x[i][2] = 0;
		r[i] = height * hill(x[i]) + sd * noise() + (row % 2 ? level : -level);
		runs[i] = 1;
	}
}

static double rms(void)
{
	double sum = 0;

	for (int i = 0; i < ROWS; i++)
		sum += r[i] * r[i];
	return sqrt(sum / ROWS);
}

static void fit(unsigned n, struct rest *s)
{
	rest_fit(n, (const double(*)[REST_DIMS])x, r, runs, rms(), NULL, work, s);
}

int main(void)
{
	const double between[REST_DIMS] = {0.6, 1, 0}, far[REST_DIMS] = {40, 40, 0};
	struct rest s, again;

	grid(1, 0.002, 0);
	fit(ROWS, &s);
	ok(s.n == ROWS && fabs(rest_at(&s, between) - hill(between)) < 0.003,
		"a smooth remainder is found between its rows (%.4f, truth %.4f)",
		rest_at(&s, between), hill(between));
	ok(s.loo_rms > 0.0015 && s.loo_rms < 0.004,
		"the error of rows left out is near the noise, 0.002 (%.4f)", s.loo_rms);
	ok(fabs(rest_at(&s, far)) < 1e-9, "far away it is nothing");
	rest_fit(ROWS - 1, (const double(*)[REST_DIMS])(x + 1), r + 1, runs + 1, rms(), &s, work,
		&again);
	ok(fabs(rest_at(&again, x[0]) - hill(x[0])) < 0.02,
		"with its lengths taken over it predicts a corner left out (%.4f, truth %.4f)",
		rest_at(&again, x[0]), hill(x[0]));

	grid(0, 0.01, 0);
	fit(ROWS, &s);
	is_int(s.n, 0, "noise alone gives no surface");
	ok(rest_at(&s, between) == 0, "and no correction");
	ok(fabs(s.loo_rms - rms()) < 1e-12, "the error without one is kept");

	grid(0, 0.002, 0.02);
	fit(ROWS, &s);
	ok(s.n == ROWS && fabs(rest_at(&s, x[SIDE]) - 0.02) < 0.004 &&
			fabs(rest_at(&s, x[2 * SIDE]) + 0.02) < 0.004,
		"levels of the first factor are kept apart (%.4f and %.4f, truth 0.02 and -0.02)",
		rest_at(&s, x[SIDE]), rest_at(&s, x[2 * SIDE]));

	grid(1, 0.002, 0);
	fit(12, &s);
	ok(s.n == 0 && s.loo_rms == 0, "a dozen rows are too few to say");
	return tap_done();
}
