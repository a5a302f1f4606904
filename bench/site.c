/* site.c: a million jobs on 10,000 GPUs under each policy. One JSON line. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/mem.h"
#include "sim/site.h"

static uint64_t rng = 42;

static double uniform(void)
{
	rng = rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return ((double)(rng >> 11) + 0.5) / 9007199254740992.0;
}

int main(int argc, char **argv)
{
	static const struct site_class curve = {"c", 4, {100, 150, 200, 250}, {1.9, 1.18, 1.05, 1},
		{98.7, 147.3, 191.1, 227.9}, {0}};
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
	struct site_job *jobs = mem_calloc(n, sizeof(*jobs));
	struct site_config cfg = {.n_gpus = 10000,
		.idle_w = 25,
		.host_w = 60,
		.cap_w = 150,
		.max_slowdown = 0.05,
		.budget_w = 10000 * 85 + 10000 * 110.0};
	struct rusage ru;
	double t = 0, worst = 0;

	if (!jobs)
		return 1;
	/* About 90 % of the site wanted: 4.2 GPUs × 2220 s a job on average. */
	for (size_t i = 0; i < n; i++) {
		t += -log(uniform()) * 1.04;
		jobs[i] = (struct site_job){floor(t), NAN, floor(300 * pow(uniform(), -0.85)),
			1 << (int)(uniform() * uniform() * 7), 0};
		if (jobs[i].runtime_s > 86400)
			jobs[i].runtime_s = 86400;
	}
	printf("{\"bench\":\"site\",\"jobs\":%zu,\"gpus\":10000", n);
	for (int p = SITE_NONE; p <= SITE_BUDGET; p++) {
		static const char *const names[] = {"none", "static", "class", "budget"};
		int64_t t0 = clock_system()->now(clock_system());
		struct site_result r;
		struct err e = ERR_INIT;

		cfg.policy = (enum site_policy)p;
		if (site_run(&cfg, &curve, 1, jobs, n, &r, NULL, NULL, &e)) {
			fprintf(stderr, "%s\n", e.msg);
			return 1;
		}
		printf(",\"%s_s\":%.3f,\"%s_utilisation\":%.3f,\"%s_wait_p50_s\":%.0f", names[p],
			(double)(clock_system()->now(clock_system()) - t0) / 1e9, names[p],
			r.utilisation, names[p], r.wait_s.p50);
		worst = fmax(worst, fabs(r.total_j / r.integral_j - 1));
	}
	getrusage(RUSAGE_SELF, &ru);
	printf(",\"energy_error_rel\":%.3g,\"max_rss_mib\":%ld}\n", worst, ru.ru_maxrss / 1024);
	mem_free(jobs);
	return 0;
}
