/* The simulated instruments: refresh, window, averaging, counter. */
#include "base/csv.h"
#include "sim/gpu.h"
#include "sim/profile.h"
#include "tap.h"

#define MS INT64_C(1000000)
#define S  (1000 * MS)

#define MAX_READINGS 4096

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* What a polled sensor shows of a square wave. */
struct trace {
	int64_t t_ns[MAX_READINGS], mw[MAX_READINGS];
	int n;
};

struct shape {
	double refresh_ms; /* median distance of two different readings */
	double between; /* share of readings that lie between the levels */
	int changes;
};

static struct shape shape_of(const struct trace *tr, int64_t lo, int64_t hi)
{
	static int64_t gaps[MAX_READINGS];
	int64_t last = 0;
	struct shape s = {0, 0, 0};
	int n = 0;

	for (int i = 1; i < tr->n; i++) {
		if (tr->mw[i] == tr->mw[i - 1])
			continue;
		if (last)
			gaps[n++] = tr->t_ns[i] - last;
		last = tr->t_ns[i];
		s.changes++;
		s.between += tr->mw[i] > lo + (hi - lo) / 16 && tr->mw[i] < hi - (hi - lo) / 4;
	}
	qsort(gaps, (size_t)n, sizeof(*gaps), by_value);
	s.refresh_ms = n ? (double)gaps[n / 2] / 1e6 : 0;
	s.between /= s.changes ? s.changes : 1;
	return s;
}

/* Polls and load edges of the public A100 log (GPU_Power_Benchmark): ns since its first edge. */
static int64_t edges[1024];
static int n_edges;

static bool read_log(struct trace *log)
{
	const char *dir = getenv("WATTLAW_DATA");
	struct err e = ERR_INIT;
	char path[4096];
	struct csv c;
	int64_t us, start = 0;

	snprintf(path, sizeof(path), "%s/logs/sensor_a100/timestamps.csv",
		dir ? dir : TEST_SOURCE_ROOT "/../shared/data");
	if (csv_open_file(&c, path, ',', &e))
		return false;
	for (n_edges = 0; csv_next(&c, &e) == ST_OK && n_edges < 1024;) {
		csv_int(&c, 0, &us, &e);
		start = n_edges ? start : us;
		/* Every edge is written twice: the end of one half and the beginning of the next.
		 */
		if (!n_edges || (us - start) * 1000 > edges[n_edges - 1])
			edges[n_edges++] = (us - start) * 1000;
	}
	csv_release(&c);
	snprintf(path, sizeof(path), "%s/logs/sensor_a100/gpudata.csv",
		dir ? dir : TEST_SOURCE_ROOT "/../shared/data");
	if (csv_open_file(&c, path, ',', &e))
		return false;
	for (log->n = 0; csv_next(&c, &e) == ST_OK && log->n < MAX_READINGS;) {
		int h, m;
		double sec, watts;

		if (sscanf(csv_text(&c, 0), "%*d/%*d/%*d %d:%d:%lf", &h, &m, &sec) != 3)
			continue;
		csv_double(&c, csv_column(&c, "power.draw"), &watts, &e);
		/* The two clocks agree but for the hour of the time zone. */
		log->t_ns[log->n] =
			(int64_t)((m * 60 + sec) * 1e9) - start % INT64_C(3600000000) * 1000;
		log->mw[log->n++] = (int64_t)(watts * 1000);
	}
	csv_release(&c);
	return n_edges > 10 && log->n > 100;
}

/* The simulated A100 under the log's own load, polled when the log was. */
static void replay(const struct trace *log, struct trace *sim)
{
	struct gpu_profile p;
	struct gpu_state g;
	struct gpu_load on = {.kind = LOAD_CONST, .const_mw = 178000, .util = 1};
	struct gpu_load off = {.kind = LOAD_CONST, .const_mw = 59000};
	int edge = 0;

	profile_gpu("a100", &p, NULL);
	gpu_init(&g, &p, log->t_ns[0] - S, 7);
	for (int i = 0; i < log->n; i++) {
		while (edge < n_edges && edges[edge] <= log->t_ns[i]) {
			gpu_advance(&g, edges[edge], edge & 1 ? &on : &off);
			edge++;
		}
		gpu_advance(&g, log->t_ns[i], edge & 1 && edge < n_edges ? &on : &off);
		sim->t_ns[i] = log->t_ns[i];
		gpu_read_power(&g, GPU_READ_DEFAULT, &sim->mw[i]);
	}
	sim->n = log->n;
}

/* Only the part under load. */
static void cut(struct trace *tr)
{
	int n = 0;

	for (int i = 0; i < tr->n; i++)
		if (tr->t_ns[i] >= edges[0] + 500 * MS && tr->t_ns[i] <= edges[n_edges - 1]) {
			tr->t_ns[n] = tr->t_ns[i];
			tr->mw[n++] = tr->mw[i];
		}
	tr->n = n;
}

static void test_a100(void)
{
	static struct trace log, sim;
	struct shape a, b;

	if (!read_log(&log)) {
		tap_skip(3, "logs/sensor_a100 (WATTLAW_DATA)");
		return;
	}
	replay(&log, &sim);
	cut(&log);
	cut(&sim);
	a = shape_of(&log, 59000, 178000);
	b = shape_of(&sim, 59000, 178000);
	printf("# log: %d readings, every %.1f ms, %.2f between; simulated: %d, %.1f ms, %.2f\n",
		a.changes, a.refresh_ms, a.between, b.changes, b.refresh_ms, b.between);
	ok(abs(a.changes - b.changes) <= 2,
		"the simulated A100 refreshes as often as the real one");
	is_near(b.refresh_ms, a.refresh_ms, 5, "at the same distance");
	is_near(b.between, a.between, 0.12,
		"and its window catches the edges of a 50 % load as often: the coverage is that "
		"of the log");
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
	is_near(sum / 210000, 1, 2e-3, "a gain of 105% is in the mean reading");
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
