/* R7: a 1 s trailing average taken at the edge of a repetition tells of the one before (atlas PR
 * #1197). */
#include "feed.h"

/* 50 W and 250 W in turns of `half`, from 0 */
static double until(double t, double half)
{
	double cycles = floor(t / (2 * half)), rest = t - cycles * 2 * half;
	double low = fmin(rest, half), high = fmax(rest - half, 0);

	return (50e3 * (cycles * half + low) + 250e3 * (cycles * half + high)) * 1e-6;
}

static void square(int64_t half, double tolerance, const char *what)
{
	struct meter *m = meter_of(20 * MS, POWER_KIND_AVERAGE);
	double worst = 0, naive_worst = 0;

	for (int64_t t = 2 * S; t < 60 * S; t += 100 * MS) {
		int64_t at = t / (20 * MS) * 20 * MS;

		push(m, CH_POWER, t,
			(int64_t)((until((double)at, (double)half) -
					  until((double)at - 1e9, (double)half)) /
				  1e9 * 1e6),
			ST_OK);
	}
	for (int64_t k = 2; (2 * k + 2) * half < 55 * S; k++) {
		int64_t t0 = (2 * k + 1) * half, t1 = t0 + half; /* a repetition at 250 W */
		struct meter_energy e = ask(m, t0, t1);
		double truth = 250e3 * (double)half * 1e-6;

		worst = fmax(worst, fabs((double)e.energy_uj.v / truth - 1));
		/* what a tool gets that takes the reading at the start of each */
		naive_worst =
			fmax(naive_worst, fabs((until((double)t0, (double)half) -
						       until((double)t0 - 1e9, (double)half)) /
							  1e9 * 1e6 / 250e3 -
						  1));
	}
	ok(worst < tolerance,
		"%s: each repetition within %.0f %% of its own energy (worst %.2f %%)", what,
		tolerance * 100, worst * 100);
	ok(naive_worst > 0.5, "where the reading at its start is off by more than half");
	meter_free(m);
}

int main(void)
{
	square(5 * S, 0.01, "repetitions of 5 s");
	/* the same kind: of about the averaging window, where the edges are all there is */
	square(2 * S, 0.04, "repetitions of 2 s");
	return tap_done();
}
