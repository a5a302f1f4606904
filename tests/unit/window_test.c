/* window_test.c: time per step under a CPU quota does not depend on where the window begins. */
#include "exec/window.h"
#include "tap.h"

#define MS 1000000.0

/* Ends of steps of cpu_ms each, of a job that runs run_ms of every 100 ms, seen from from_ms for
 * hold_ms. */
static size_t steps(double cpu_ms, double run_ms, double from_ms, double hold_ms, int64_t *end)
{
	size_t n = 0;

	for (double done = cpu_ms; n < 10000; done += cpu_ms) {
		double periods = floor(done / run_ms),
		       t = periods * 100 + (done - periods * run_ms);

		if (t >= from_ms + hold_ms)
			break;
		if (t >= from_ms)
			end[n++] = (int64_t)(t * MS);
	}
	return n;
}

static double worst(double cpu_ms, double run_ms, double hold_ms, int whole)
{
	static int64_t end[10000];
	double most = 0;

	for (int phase = 0; phase < 100; phase++) {
		size_t n = steps(cpu_ms, run_ms, 1000 + phase, hold_ms, end), from = 0, to = n - 1;
		double mean, error;

		if (whole)
			window_whole_periods(end, n, (int64_t)(100 * MS), &from, &to);
		mean = (double)(end[to] - end[from]) / (double)(to - from) / MS;
		error = fabs(mean / (cpu_ms * 100 / run_ms) - 1);
		if (error > most)
			most = error;
	}
	return most;
}

int main(void)
{
	static const double rate[] = {80, 60, 40, 20, 10};
	static const int64_t few[] = {5, 9, 30};
	size_t from, to;

	for (size_t i = 0; i < sizeof rate / sizeof *rate; i++) {
		double plain = worst(7.5, rate[i], 2000, 0), whole = worst(7.5, rate[i], 2000, 1);

		ok(whole < 0.02 && whole <= plain,
			"at %g %% the mean is within 2 %% wherever a 2 s window begins (%.2f %%, "
			"from end to end %.2f %%)",
			rate[i], 100 * whole, 100 * plain);
	}
	ok(worst(2.9, 40, 1500, 1) < 0.01, "short steps: within 1 %% at 40 %%");
	window_whole_periods(few, 3, (int64_t)(100 * MS), &from, &to);
	ok(from == 0 && to == 2, "a range shorter than a period is taken whole");
	window_whole_periods(few, 1, 100, &from, &to);
	ok(from == 0 && to == 0, "one end gives no window");
	return tap_done();
}
