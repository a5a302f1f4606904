/* sampler: what sampling GPUs costs, as a share of one core.
 *
 *   bench_sampler [HZ [SECONDS [empty]]]
 *
 * Opens the NVIDIA back end (under `wattlaw sim exec` the simulated one), samples every GPU at HZ
 * as the keeper does, drains each second, and prints one JSON line. "empty" keeps the same
 * deadlines and reads nothing: what any sampler must pay to wake up, subtracted when two are
 * compared.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/clock.h"
#include "measure/sampler.h"

static int64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

/* Sleep to absolute deadlines for the given time. */
static int64_t wake_up(struct clock *c, int64_t period, int64_t end)
{
	int64_t t = c->now(c), ticks = 0;

	while (t < end) {
		c->sleep_until(c, t += period);
		ticks++;
	}
	return ticks;
}

int main(int argc, char **argv)
{
	static struct tagged_sample buf[65536];
	double hz = argc > 1 ? atof(argv[1]) : 10, seconds = argc > 2 ? atof(argv[2]) : 5;
	bool empty = argc > 3 && !strcmp(argv[3], "empty");
	struct sampler_config cfg = {.period_ns = (int64_t)(1e9 / (hz > 0 ? hz : 10))};
	struct clock *c = clock_system();
	struct backend_env env;
	struct err e = ERR_INIT;
	struct hw *hw = NULL;
	struct sampler *s = NULL;
	int64_t cpu, start, end, samples = 0, ticks = 0;
	uint64_t missed = 0;
	size_t gpus = 0;

	if (!empty) {
		if (hw_env_default(&env, &e) != ST_OK || hw_open(&env, "nvml", &hw, &e) != ST_OK) {
			fprintf(stderr, "bench_sampler: %s\n", e.msg);
			return 1;
		}
		cfg.n = gpus = hw_n_devices(hw);
		if (sampler_start(hw, &cfg, &s, &e) != ST_OK) {
			fprintf(stderr, "bench_sampler: %s (run it under `wattlaw sim exec`)\n",
				e.msg);
			return 1;
		}
	}
	cpu = cpu_ns();
	start = c->now(c);
	end = start + (int64_t)(seconds * 1e9);
	if (empty)
		ticks = wake_up(c, cfg.period_ns, end);
	while (!empty && c->now(c) < end) {
		size_t n;

		c->sleep_until(c, c->now(c) + NS_PER_S);
		while ((n = sampler_drain(s, buf, sizeof(buf) / sizeof(buf[0]))))
			samples += (int64_t)n;
	}
	cpu = cpu_ns() - cpu;
	end = c->now(c);
	if (!empty) {
		ticks = (end - start) / cfg.period_ns;
		missed = sampler_missed(s);
		sampler_stop(s, NS_PER_S);
		hw_close(hw);
	}
	printf("{\"bench\":\"sampler\",\"empty\":%s,\"gpus\":%zu,\"hz\":%g,\"seconds\":%.2f,"
	       "\"ticks\":%lld,"
	       "\"samples\":%lld,\"missed\":%llu,\"cpu_us_per_tick\":%.2f,\"core_pct\":%.4f}\n",
		empty ? "true" : "false", gpus, hz, (double)(end - start) / 1e9, (long long)ticks,
		(long long)samples, (unsigned long long)missed,
		ticks ? (double)cpu / 1e3 / (double)ticks : 0.0,
		(double)cpu / (double)(end - start) * 100);
	return 0;
}
