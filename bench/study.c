/* study.c: laws fitted to half of a simulated study against the other half, in units of the noise
 * that the simulator put in. One JSON line a split.
 *
 * The laws are the product's own (src/model), which share no formula with the simulator's physics.
 *   runs      the first run of every setting predicts the others
 *   settings  every second setting, as on a checkerboard, predicts the settings between
 * rms is the root mean square of ln(predicted / simulated) over the runs that were left out,
 * divided by that of ln(noise-free / simulated) over the same runs: 1 is what the simulator's own
 * formulas would reach. With --check the lines are TAP instead, and the bound is 1.5 for each
 * workload.
 *
 *   wattlaw sweep examples/study.ini --simulate examples/supercloud.ini --db study.db
 *   study [--check] study.db examples/supercloud.ini
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/laws.h"
#include "model/model.h"
#include "sim/cluster.h"
#include "tap.h"

enum split { SPLIT_RUNS, SPLIT_SETTINGS, SPLITS };

static const char *const split_names[] = {"runs", "settings"};

struct tally {
	double error, noise; /* sums of squares of ln */
	size_t n, inside; /* inside: the 90 % interval held */
};

struct simulated {
	const struct cluster *cluster;
	const struct workload *w;
	const struct gpu_load *load;
};

/* Time a sample, power and energy without the noise. */
static bool noise_free(const struct simulated *s, const double *x, double y[QTY_COUNT])
{
	const struct cluster_setting at = {(int)x[FACTOR_WORKERS],
		llrint(x[FACTOR_POWER_LIMIT] * 1e3), llrint(x[FACTOR_CLOCK] * 1e3), 0, 0};
	struct cluster_step step;

	if (cluster_eval(s->cluster, s->w, s->load, &at, &step, NULL))
		return false;
	y[QTY_TIME] = 1 / step.samples_per_s;
	y[QTY_POWER] = (step.gpu_mw * at.workers + step.host_mw) / 1e3;
	y[QTY_ENERGY] = y[QTY_TIME] * y[QTY_POWER];
	return true;
}

static void add(struct tally *t, const struct interval *said, double truth, double seen)
{
	t->error += pow(log(said->value / seen), 2);
	t->noise += pow(log(truth / seen), 2);
	t->inside += said->lo <= seen && seen <= said->hi;
	t->n++;
}

static void add_all(struct tally *sum, const struct tally *t)
{
	for (int q = 0; q < QTY_COUNT; q++) {
		sum[q].error += t[q].error;
		sum[q].noise += t[q].noise;
		sum[q].inside += t[q].inside;
		sum[q].n += t[q].n;
	}
}

static double by_noise(const struct tally *t)
{
	return t->n ? sqrt(t->error / t->noise) : NAN;
}

/* How many distinct values of factor f in the group lie below that of o. */
static unsigned rank_of(const struct law_group *g, const struct obs *o, int f)
{
	double seen[64];
	unsigned n = 0;

	for (size_t i = 0; i < g->n && n < 64; i++) {
		unsigned k = 0;

		if (!(g->obs[i].x[f] < o->x[f]))
			continue;
		while (k < n && seen[k] != g->obs[i].x[f])
			k++;
		if (k == n)
			seen[n++] = g->obs[i].x[f];
	}
	return n;
}

/* Is row i of the group left out of the fit? */
static bool left_out(const struct law_group *g, size_t i, enum split split)
{
	const struct obs *o = &g->obs[i];
	unsigned sum = 0;

	if (split == SPLIT_RUNS) {
		for (size_t k = 0; k < i; k++)
			if (!memcmp(g->obs[k].x, o->x, sizeof(o->x)))
				sum++;
	} else {
		for (int f = 0; f < FACTOR_COUNT; f++)
			sum += isfinite(o->x[f]) ? rank_of(g, o, f) : 0;
	}
	return sum % 2;
}

/* Predict what was left out. ST_RANGE when a setting was refused. */
static enum status judge(const struct law_group *g, enum split split, const struct simulated *sim,
	struct tally t[QTY_COUNT], struct err *e)
{
	struct obs *half = mem_calloc(g->n, sizeof(*half));
	struct model *m = NULL;
	size_t n = 0;
	enum status st;

	for (size_t i = 0; half && i < g->n; i++)
		if (!left_out(g, i, split))
			half[n++] = g->obs[i];
	st = half ? model_fit_workload(half, n, NULL, &m, e) : ST_NOMEM;
	for (size_t i = 0; !st && i < g->n; i++) {
		double truth[QTY_COUNT];
		struct answer a;

		if (!left_out(g, i, split))
			continue;
		st = model_predict(m, g->obs[i].x, &a, e);
		if (!st && !noise_free(sim, g->obs[i].x, truth))
			st = err_set(e, ST_INVALID, "a setting that the cluster does not have");
		for (int q = 0; !st && q < QTY_COUNT; q++)
			add(&t[q], &a.y[q], truth[q], g->obs[i].y[q]);
	}
	model_release(m);
	mem_free(half);
	return st;
}

/* Noise is put into the devices' power, and hosts of steady draw dilute it in what is measured: the
 * bound on power is by what was put in. */
static void print_tap(
	const char *workload, enum split split, const struct tally *t, const struct simulated *s)
{
	double put_in = CLUSTER_POWER_NOISE * hypot(s->cluster->noise, s->w->noise);

	for (int q = 0; q < QTY_COUNT; q++) {
		double by = q == QTY_POWER ? sqrt(t[q].error / (double)t[q].n) / put_in
					   : by_noise(&t[q]);

		ok(by <= 1.5,
			"%s, half the %s: %s of the %zu other runs within %.2f times the noise",
			workload, split_names[split], quantity_name((enum quantity)q), t[q].n, by);
	}
}

static void print_json(const char *workload, enum split split, const struct tally *t)
{
	printf("{\"bench\":\"study\",\"split\":\"%s\",\"workload\":\"%s\",\"predicted\":%zu",
		split_names[split], workload, t->n);
	for (int q = 0; q < QTY_COUNT; q++)
		printf(",\"%s_rms_by_noise\":%.3f,\"%s_noise_pct\":%.3f,\"%s_in_90\":%.3f",
			quantity_name((enum quantity)q), by_noise(&t[q]),
			quantity_name((enum quantity)q), 100 * sqrt(t[q].noise / (double)t[q].n),
			quantity_name((enum quantity)q), (double)t[q].inside / (double)t[q].n);
	printf("}\n");
}

static enum status judge_all(
	const struct law_set *set, const struct cluster *cluster, bool check, struct err *e)
{
	for (int split = 0; split < SPLITS; split++) {
		struct tally all[QTY_COUNT] = {0};

		for (size_t i = 0; i < set->n_groups; i++) {
			const struct law_group *g = &set->groups[i];
			struct tally t[QTY_COUNT] = {0};
			struct workload w;
			struct gpu_load load;
			const struct simulated sim = {cluster, &w, &load};
			enum status st = profile_workload(g->workload, &w, e);

			if (st)
				return st;
			workload_load(&w, &cluster->gpu, &load, NULL);
			st = judge(g, (enum split)split, &sim, t, e);
			if (st)
				return st;
			if (check)
				print_tap(g->workload, (enum split)split, t, &sim);
			else
				print_json(g->workload, (enum split)split, t);
			add_all(all, t);
		}
		if (!check)
			print_json("all", (enum split)split, all);
	}
	return ST_OK;
}

int main(int argc, char **argv)
{
	bool check = argc > 1 && !strcmp(argv[1], "--check");
	struct law_set set = {.n_groups = 0};
	struct campaign_info c = {.id = 0};
	struct store *s = NULL;
	struct cluster cluster;
	struct err e = ERR_INIT;
	int code = 0;

	if (argc - check != 3) {
		fprintf(stderr, "usage: study [--check] STUDY.db CLUSTER.ini\n");
		return 2;
	}
	if (store_open(argv[1 + check], false, &s, &e) || store_campaign_find(s, NULL, &c, &e) ||
		law_set_read(s, c.id, &set, &e) || cluster_read(argv[2 + check], &cluster, &e) ||
		judge_all(&set, &cluster, check, &e)) {
		fprintf(stderr, "study: %s\n", e.msg);
		code = 1;
	}
	law_set_release(&set);
	campaign_info_release(&c);
	store_close(s);
	return code ? code : check ? tap_done() : 0;
}
