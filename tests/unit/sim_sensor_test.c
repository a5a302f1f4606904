/* The simulated instruments: refresh, window, averaging, counter. */
#include "sim/gpu.h"
#include "sim/profile.h"
#include "tap.h"

#define MS INT64_C(1000000)
#define S  (1000 * MS)

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* A 50 % duty cycle of 52.15 ms halves, polled every 14 ms, as the public A100 log
 * (GPU_Power_Benchmark, figures below worked out from its 966 rows): a new value each 101 ms, and
 * because the window is about a quarter of the period, readings between the levels in about half
 * of the refreshes. */
static void test_a100(void)
{
	struct gpu_profile p;
	struct gpu_state g;
	struct gpu_load hi = {.kind = LOAD_CONST, .const_mw = 180000, .util = 1};
	struct gpu_load lo = {.kind = LOAD_CONST, .const_mw = 59000};
	int64_t last = -1, changed = 0, gaps[256], n = 0, poll = 0, between = 0;
	int64_t half = 52150000;

	profile_gpu("a100", &p, NULL);
	gpu_init(&g, &p, 0, 7);
	for (int64_t t = half, i = 0; t < 13 * S; t += half, i++) {
		for (; poll < t; poll += 14 * MS) {
			int64_t mw;

			gpu_advance(&g, poll, i & 1 ? &hi : &lo);
			gpu_read_power(&g, GPU_READ_DEFAULT, &mw);
			if (poll > S && mw != last) {
				if (changed && n < 256)
					gaps[n++] = poll - changed;
				changed = poll;
				between += mw > 65000 && mw < 174000;
			}
			last = mw;
		}
		gpu_advance(&g, t, i & 1 ? &hi : &lo);
	}
	qsort(gaps, (size_t)n, sizeof(*gaps), by_value);
	ok(n > 110 && n < 122, "a new reading about every 101 ms (%d in 12 s)", (int)n);
	is_near((double)gaps[n / 2] / 1e6, 101, 14,
		"median distance as in the log (104 ms, polled)");
	is_near((double)between / (double)n, 0.48, 0.1,
		"readings fall between the levels as often as a 25 ms window does");
}

static void test_counter(void)
{
	struct gpu_profile p;
	struct gpu_state g;
	struct gpu_load l = {.kind = LOAD_CONST, .const_mw = 250000, .util = 1};
	double a, b, prev = -1;
	int steps = 0;
	bool back = false;

	profile_gpu("v100", &p, NULL);
	p.counter_refresh_ns = 100 * MS;
	gpu_init(&g, &p, 0, 3);
	gpu_advance(&g, S, &l);
	gpu_read_counter(&g, &a);
	for (int64_t t = S; t <= 3 * S; t += 5 * MS) {
		gpu_advance(&g, t, &l);
		gpu_read_counter(&g, &b);
		back = back || b < prev;
		steps += prev >= 0 && b != prev;
		prev = b;
	}
	ok(steps >= 19 && steps <= 21, "a 100 ms counter moves 20 times in 2 s (%d)", steps);
	ok(!back, "and never goes back");
	is_near((b - a) / 1e6, 500, 25.1, "250 W for 2 s is 500 J within one refresh");
	gpu_counter_reset(&g);
	gpu_advance(&g, 4 * S, &l);
	gpu_read_counter(&g, &b);
	is_near(b / 1e6, 250, 26, "a reset counter starts from nothing");
	g.prof.counter_refresh_ns = 0;
	ok(!gpu_read_counter(&g, &b), "no counter is no counter, not 0");
}

static void test_average(void)
{
	struct gpu_profile p;
	struct gpu_state g;
	struct gpu_load l = {.kind = LOAD_CONST, .const_mw = 300000, .util = 1};
	int64_t avg, inst;

	profile_gpu("a40", &p, NULL);
	p.noise = 0;
	gpu_init(&g, &p, 0, 3);
	gpu_advance(&g, 5 * S, &(struct gpu_load){.kind = LOAD_IDLE});
	gpu_advance(&g, 5 * S + 500 * MS, &l);
	gpu_read_power(&g, GPU_READ_AVERAGE, &avg);
	gpu_read_power(&g, GPU_READ_INSTANT, &inst);
	is_near((double)inst / 1e3, 300, 0.1, "the instant reading follows within its refresh");
	ok(avg > 100000 && avg < 180000, "the 1 s average is half way after 0.5 s (%d W)",
		(int)(avg / 1000));
	gpu_read_power(&g, GPU_READ_DEFAULT, &inst);
	is_int(inst, avg, "the default reading of an A40 is the average");
	profile_gpu("v100", &p, NULL);
	gpu_init(&g, &p, 0, 3);
	ok(!gpu_read_power(&g, GPU_READ_AVERAGE, &avg), "a V100 has no averaged reading");
}

static void test_gain(void)
{
	struct gpu_profile p;
	struct gpu_state g;
	struct gpu_load l = {.kind = LOAD_CONST, .const_mw = 200000, .util = 1};
	int64_t mw;
	double sum = 0, sq = 0, uj;

	profile_gpu("v100", &p, NULL);
	p.gain = 1.05;
	p.noise = 0.01;
	gpu_init(&g, &p, 0, 9);
	for (int i = 1; i <= 2000; i++) {
		gpu_advance(&g, i * 20 * MS, &l);
		gpu_read_power(&g, GPU_READ_DEFAULT, &mw);
		if (i > 2) {
			sum += (double)mw / 1998;
			sq += (double)mw * (double)mw / 1998;
		}
	}
	is_near(sum / 210000, 1, 2e-3, "a gain of 105%% is in the mean reading");
	is_near(sqrt(sq - sum * sum) / sum, 0.01, 2e-3, "and the noise has the size asked for");
	gpu_read_counter(&g, &uj);
	is_near(uj / (g.energy_uj * 1.05), 1, 2e-3, "the counter has the same gain");
}

int main(void)
{
	test_a100();
	test_counter();
	test_average();
	test_gain();
	return tap_done();
}
