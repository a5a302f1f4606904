/* What a part-time sensor sees: on simulated ones whose truth is known, and on a recorded A100. */
#include "base/clock.h"
#include "measure/sensor.h"
#include "tap.h"

#define MS NS_PER_MS

static struct sensor_reading r[8192];
static int64_t on[1024];

static double truth(int64_t a, int64_t b, size_t n_on, double low, double high)
{
	double busy = 0;

	for (size_t i = 0; i < n_on; i += 2) {
		double x = fmax((double)a, (double)on[i]), y = fmin((double)b, (double)on[i + 1]);

		if (y > x)
			busy += y - x;
	}
	return (low * ((double)(b - a) - busy) + high * busy) * 1e-6;
}

/* 60 W and 190 W, 50 % duty. */
static void simulated(int64_t refresh, int64_t window, int64_t lag, int64_t period)
{
	struct sensor_model m;
	struct err e = ERR_INIT;
	size_t n = 0, n_on = 0;

	for (int64_t t = 2000 * MS; t < 10000 * MS; t += period) {
		on[n_on++] = t;
		on[n_on++] = t + period / 2;
	}
	for (int64_t t = 0; t < 11000 * MS; t += 13 * MS) {
		int64_t published = t / refresh * refresh, end = published - lag;

		r[n++] = (struct sensor_reading){
			t, (int64_t)(truth(end - window, end, n_on, 60000, 190000) /
				     (double)window * 1e6) +
				   (published / refresh * 7919 % 21 - 10) * 20};
	}
	is_int(sensor_fit(r, n, on, n_on, &m, &e), ST_OK,
		"a sensor that sees part of the time is fitted");
	is_near(m.refresh_ns, (double)refresh, 0.01 * (double)refresh, "its refresh");
	is_near(m.window_ns, (double)window, 6e6, "its window");
	is_near(m.coverage, (double)window / (double)refresh, 0.06, "its coverage");
	is_near(m.lag_ns - 6.5e6, (double)lag, 8e6, "its lag (polling adds half a poll)");
	ok(m.window_lo_ns <= m.window_ns && m.window_hi_ns >= m.window_ns &&
			m.window_hi_ns - m.window_lo_ns < 20e6,
		"with a range");
	is_near(sensor_energy(&m, on, n_on, on[0], on[20]) /
			truth(on[0], on[20], n_on, 60000, 190000),
		1, 0.02, "the corrected energy of ten periods is right within 2 %");
	double off =
		sensor_naive(r, n, on[0], on[20]) / truth(on[0], on[20], n_on, 60000, 190000) - 1;
	printf("# refresh %d ms, window %d ms, load period %d ms: naive integral is off by %+.1f "
	       "%%\n",
		(int)(refresh / MS), (int)(window / MS), (int)(period / MS), off * 100);
}

static void refusals(void)
{
	struct sensor_model m;
	struct err e = ERR_INIT;
	double a, b;
	size_t n = 0;

	for (int i = 0; i < 1000; i++)
		r[n++] = (struct sensor_reading){i * 10 * MS, 50000};
	is_int(sensor_refresh(r, n, &a, &b), ST_UNKNOWN, "a constant reading has no refresh");
	ok(isnan(a), "and no number for it");
	for (size_t i = 0; i < n; i++)
		r[i].mw = 50000 + (int64_t)(sqrt((double)i * 40)) % 7; /* ever slower */
	is_int(sensor_refresh(r, n, &a, &b), ST_UNKNOWN, "irregular changes are no refresh");
	is_int(sensor_fit(r, 0, on, 4, &m, &e), ST_UNKNOWN, "no readings");
	for (size_t i = 0; i < n; i++)
		r[i].mw = 50000 + (int64_t)(i / 10 % 7);
	is_int(sensor_fit(r, n, on, 2, &m, &e), ST_INVALID, "a load of one pulse is not enough");
}

/* "2023/07/14 10:12:46.483" as ns of that day */
static int64_t of_day(const char *text)
{
	int h, m;
	double s;

	return sscanf(text, "%*d/%*d/%*d %d:%d:%lf", &h, &m, &s) == 3
		       ? ((int64_t)h * 3600 + m * 60) * NS_PER_S + (int64_t)llround(s * 1e9)
		       : -1;
}

static void recorded(void)
{
	const char *dir = getenv("WATTLAW_DATA");
	char path[4096], line[512];
	struct sensor_model m;
	struct err e = ERR_INIT;
	size_t n = 0, n_on = 0, k = 0;
	double worst = 0, naive, model;
	FILE *f;

	snprintf(path, sizeof(path), "%s/logs/sensor_a100/gpudata.csv",
		dir ? dir : TEST_SOURCE_ROOT "/../shared/data");
	f = fopen(path, "r");
	if (!f) {
		tap_skip(6, "measured data not found (set WATTLAW_DATA)");
		return;
	}
	while (fgets(line, sizeof(line), f) && n < 8192) {
		double w;
		char *comma = strrchr(line, ',');

		if (of_day(line) < 0 || !comma || sscanf(comma + 1, "%lf", &w) != 1)
			continue;
		r[n++] = (struct sensor_reading){of_day(line), (int64_t)llround(w * 1e3)};
	}
	fclose(f);
	snprintf(path, sizeof(path), "%s/logs/sensor_a100/timestamps.csv",
		dir ? dir : TEST_SOURCE_ROOT "/../shared/data");
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f)) {
		long long us = atoll(line);

		/* Every edge is written twice; the log is in local time, an hour ahead. */
		if (us && k++ % 2 == 0 && n_on < 1024)
			on[n_on++] = us % 86400000000 * 1000 + 3600 * NS_PER_S;
	}
	if (f)
		fclose(f);
	n_on -= n_on % 2;
	is_int(sensor_fit(r, n, on, n_on, &m, &e), ST_OK,
		"a recorded A100 under a 50 % load is fitted");
	printf("# A100: refresh %.1f ms, window %.0f ms (%.0f to %.0f), lag %.0f ms, coverage %.0f "
	       "%%, %.1f to %.1f W, rms %.1f W\n",
		m.refresh_ns / 1e6, m.window_ns / 1e6, m.window_lo_ns / 1e6, m.window_hi_ns / 1e6,
		m.lag_ns / 1e6, m.coverage * 100, m.low_mw / 1e3, m.high_mw / 1e3,
		m.residual_mw / 1e3);
	is_near(m.refresh_ns, 100e6, 3e6, "it refreshes each 100 ms");
	ok(m.window_ns >= 15e6 && m.window_ns <= 40e6, "and looks for about 25 ms of them");
	ok(m.coverage < 0.4, "so it sees less than half of the time");
	ok(m.residual_mw < 0.2 * (m.high_mw - m.low_mw), "the model explains the readings");
	/* A second of this load, wherever it begins: the load is the same, naive readings are not.
	 */
	for (size_t i = 0; i + 20 < n_on; i += 2) {
		naive = sensor_naive(r, n, on[i], on[i + 20]);
		model = sensor_energy(&m, on, n_on, on[i], on[i + 20]);
		worst = fmax(worst, fabs(naive / model - 1));
	}
	naive = sensor_naive(r, n, on[0], on[n_on - 2]);
	model = sensor_energy(&m, on, n_on, on[0], on[n_on - 2]);
	printf("# A100: naive against corrected: %+.1f %% over %.1f s, up to %.1f %% over ten "
	       "periods\n",
		(naive / model - 1) * 100, (double)(on[n_on - 2] - on[0]) / 1e9, worst * 100);
	ok(worst > 0.05,
		"a naive integral of a second is off by more than 5 %%, by luck of the phase");
}

int main(void)
{
	simulated(100 * MS, 25 * MS, 0, 104 * MS);
	simulated(100 * MS, 100 * MS, 10 * MS, 130 * MS);
	simulated(20 * MS * 3, 20 * MS, 5 * MS, 75 * MS);
	refusals();
	recorded();
	return tap_done();
}
