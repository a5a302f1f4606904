/* sampler: what sampling GPUs costs, as a share of one core.
 *
 *   bench_sampler [HZ [SECONDS [all|same|empty]]]
 *
 * Opens the NVIDIA back end (under `wattlaw sim exec` the simulated one), samples every GPU at HZ
 * as the keeper does, drains each second, and prints one JSON line. "all" reads what a run reads;
 * "same" the eight readings that sampler_pynvml.py asks for, where two samplers are compared;
 * "empty" keeps the same deadlines and reads nothing after the first: what this sampler must pay to
 * wake up, subtracted from both.
 */
#include <limits.h>
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

#define BIT(ch) (UINT64_C(1) << (ch))
#define SAME                                                                                       \
	(BIT(CH_ENERGY) | BIT(CH_POWER) | BIT(CH_CLOCK) | BIT(CH_UTIL) | BIT(CH_THROTTLE) |        \
		BIT(CH_TEMP) | BIT(CH_MEM_USED) | BIT(CH_MEM_CLOCK))

int main(int argc, char **argv)
{
	static struct tagged_sample buf[65536];
	double hz = argc > 1 ? atof(argv[1]) : 10, seconds = argc > 2 ? atof(argv[2]) : 5;
	const char *what = argc > 3 ? argv[3] : "all";
	bool empty = !strcmp(what, "empty");
	struct sampler_config cfg = {.period_ns = (int64_t)(1e9 / (hz > 0 ? hz : 10))};
	struct clock *c = clock_system();
	struct backend_env env;
	struct err e = ERR_INIT;
	struct hw *hw = NULL;
	struct sampler *s = NULL;
	int64_t cpu, start, end, samples = 0, ticks = 0;
	uint64_t missed = 0;
	size_t gpus = 0;

	if (hw_env_default(&env, &e) != ST_OK || hw_open(&env, "nvml", &hw, &e) != ST_OK) {
		fprintf(stderr, "bench_sampler: %s\n", e.msg);
		return 1;
	}
	cfg.n = gpus = hw_n_devices(hw);
	if (empty) { /* temperature changes slowly: once, then never again */
		cfg.channels = BIT(CH_TEMP);
		cfg.slow_every = UINT_MAX;
	} else if (!strcmp(what, "same")) {
		cfg.channels = SAME;
	}
	if (sampler_start(hw, &cfg, &s, &e) != ST_OK) {
		fprintf(stderr, "bench_sampler: %s (run it under `wattlaw sim exec`)\n", e.msg);
		return 1;
	}
	cpu = cpu_ns();
	start = c->now(c);
	end = start + (int64_t)(seconds * 1e9);
	while (c->now(c) < end) {
		size_t n;

		c->sleep_until(c, c->now(c) + NS_PER_S);
		while ((n = sampler_drain(s, buf, sizeof(buf) / sizeof(buf[0]))))
			samples += (int64_t)n;
	}
	cpu = cpu_ns() - cpu;
	end = c->now(c);
	ticks = (end - start) / cfg.period_ns;
	missed = sampler_missed(s);
	sampler_stop(s, NS_PER_S);
	hw_close(hw);
	printf("{\"bench\":\"sampler\",\"empty\":%s,\"gpus\":%zu,\"hz\":%g,\"seconds\":%.2f,"
	       "\"ticks\":%lld,"
	       "\"samples\":%lld,\"missed\":%llu,\"cpu_us_per_tick\":%.2f,\"core_pct\":%.4f}\n",
		empty ? "true" : "false", gpus, hz, (double)(end - start) / 1e9, (long long)ticks,
		(long long)samples, (unsigned long long)missed,
		ticks ? (double)cpu / 1e3 / (double)ticks : 0.0,
		(double)cpu / (double)(end - start) * 100);
	return 0;
}
