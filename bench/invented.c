/* invented.c: do the intervals of power and energy against workers hold? Public sweeps hardly have
 * energy at more than two counts, so jobs are invented: a serial part (Amdahl) or exposed
 * communication, workers that draw less while they wait, hosts of eight, noise of 0.3 to 3 %; 3 to
 * 5 counts are known, one 2 to 8 times larger is asked.
 *
 *   invented [JOBS]
 *
 * One JSON line a quantity: {"quantity","n","median_pct","coverage_pct","q90"}; q90 is the 90 %
 * quantile of errors in the learnt scale, which tools/learn-constants takes over.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "model/numeric.h"
#include "model/predict.h"

#define MAX_KNOWN 5

struct job {
	double serial, comm; /* shares of one worker's time */
	double wait; /* draw while waiting, share of the full draw */
	double host; /* draw of a host, of one worker's full draw */
	double noise;
	unsigned known;
	double ask; /* times the largest known count */
};

static double normal(uint64_t *state)
{
	double u = num_uniform(state);

	return stat_normal_quantile(fmin(fmax(u, 1e-9), 1 - 1e-9));
}

static struct job invent(uint64_t *seed)
{
	static const double noise[] = {0.003, 0.01, 0.03};
	struct job j = {0};

	if (num_uniform(seed) < 0.5)
		j.serial = 0.1 * num_uniform(seed);
	else
		j.comm = 0.1 * num_uniform(seed);
	j.wait = 0.15 + 0.45 * num_uniform(seed);
	j.host = num_uniform(seed) < 0.5 ? 0 : 0.5 * num_uniform(seed);
	j.noise = noise[(unsigned)(3 * num_uniform(seed))];
	j.known = 3 + (unsigned)(3 * num_uniform(seed));
	j.ask = exp2(1 + (unsigned)(3 * num_uniform(seed)));
	return j;
}

static double truth(const struct job *j, double n, enum quantity q)
{
	double work = (1 - j->serial) / n, t = work + j->serial + j->comm * (n - 1) / n;
	double w = n * (j->wait + (1 - j->wait) * work / t) + j->host * ceil(n / 8);

	return q == QTY_POWER ? w : w * t;
}

/* Ask one job; false when there is no answer. */
static bool ask(const struct job *j, enum quantity q, uint64_t *seed, struct selection *s,
	double *error, bool *hit, double *ratio)
{
	double x[MAX_KNOWN], y[MAX_KNOWN], at = exp2(j->known - 1) * j->ask, e;
	struct error_parts parts;
	struct prediction p;
	struct series d;

	for (unsigned i = 0; i < j->known; i++) {
		x[i] = exp2(i);
		y[i] = truth(j, x[i], q) * exp(j->noise * normal(seed));
	}
	if (series_from_xy(x, y, NULL, j->known, FACTOR_WORKERS, q, &d, NULL) != ST_OK ||
		select_laws(&d, s, NULL) != ST_OK || predict_at(s, at, 0.9, &p, NULL) != ST_OK)
		return false;
	e = log(truth(j, at, q));
	*hit = log(p.y.lo) <= e && e <= log(p.y.hi);
	e -= log(p.y.value);
	*error = 100 * fabs(expm1(e));
	predict_parts(s, at, &parts);
	*ratio = fabs(e) / predict_scale(FACTOR_WORKERS, &parts);
	return true;
}

static int run(enum quantity q, unsigned jobs, struct selection *s)
{
	double *error = mem_calloc(jobs, sizeof(*error)), *ratio = mem_calloc(jobs, sizeof(*ratio));
	uint64_t seed = 1;
	unsigned n = 0, hits = 0;

	for (unsigned k = 0; error && ratio && k < jobs; k++) {
		struct job j = invent(&seed);
		bool hit = false;

		if (!ask(&j, q, &seed, s, &error[n], &hit, &ratio[n]))
			continue;
		hits += hit;
		n++;
	}
	if (n)
		printf("{\"quantity\":\"%s\",\"n\":%u,\"median_pct\":%.2f,\"coverage_pct\":%.1f,"
		       "\"q90\":%.4g}\n",
			quantity_name(q), n, stat_quantile(error, n, 0.5), 100.0 * hits / n,
			stat_quantile(ratio, n, 0.9));
	mem_free(error);
	mem_free(ratio);
	return n ? 0 : 1;
}

int main(int argc, char **argv)
{
	long jobs = argc > 1 ? strtol(argv[1], NULL, 10) : 3000;
	struct selection *s = mem_calloc(1, sizeof(*s));
	int rc = 1;

	if (s && jobs > 0 && jobs <= 1000000)
		rc = run(QTY_POWER, (unsigned)jobs, s) | run(QTY_ENERGY, (unsigned)jobs, s);
	mem_free(s);
	return rc;
}
