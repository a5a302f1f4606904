/* accuracy.c: how well the laws predict what they have not seen.
 *
 *   accuracy FILE [--threads N] [--dump]
 *
 * One JSON line for each protocol, group and half. half "odd" holds the series whose name hash is
 * odd: no constant was learnt from them. Errors are per series (mean over its hidden settings),
 * median and p90 over the series; refused counts questions beyond the evidence, which have none;
 * coverage is of the 90 % intervals over all hidden settings; interval_score is the mean of
 * Gneiting and Raftery (2007) on 100 ln y, so its unit is percent. power_law holds the same figures
 * of the plain power law. --dump prints what the learning script reads instead.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/numeric.h"
#include "protocol.h"

#define LEVEL       0.9
#define MAX_THREADS 64

struct job {
	enum protocol p;
	struct case_list *list;
	atomic_size_t next;
	atomic_int failed;
};

static void *worker(void *arg)
{
	struct job *j = arg;
	size_t i;

	/* a case writes only its own outcomes: the order of the threads changes nothing */
	while ((i = atomic_fetch_add(&j->next, 1)) < j->list->n)
		if (case_run(j->p, &j->list->c[i], j->list) < 0)
			atomic_store(&j->failed, 1);
	return NULL;
}

static int run_all(enum protocol p, struct case_list *l, unsigned n_threads)
{
	struct job j = {.p = p, .list = l};
	pthread_t th[MAX_THREADS];
	unsigned started = 0;

	while (started + 1 < n_threads && !pthread_create(&th[started], NULL, worker, &j))
		started++;
	worker(&j);
	for (unsigned i = 0; i < started; i++)
		pthread_join(th[i], NULL);
	return atomic_load(&j.failed) ? -1 : 0;
}

struct tally {
	double *err; /* one per series */
	unsigned n_series, n_points, n_hits, n_short, n_refused;
	double score, worst;
};

static double interval_score(double y, double lo, double hi)
{
	double s = hi - lo;

	if (y < lo)
		s += 2 / (1 - LEVEL) * (lo - y);
	if (y > hi)
		s += 2 / (1 - LEVEL) * (y - hi);
	return 100 * s;
}

static void tally_add(struct tally *t, const struct test_case *c, bool plain)
{
	double sum = 0;
	unsigned n = 0;

	t->n_refused += c->n_refused;
	for (size_t i = 0; i < c->n_out; i++) {
		const struct outcome *o = &c->out[i];
		double y = plain ? o->plain : o->pred, lo = plain ? o->plain_lo : o->lo,
		       hi = plain ? o->plain_hi : o->hi, e;

		if (!isfinite(y))
			continue;
		e = 100 * fabs(expm1(y - o->truth));
		sum += e;
		n++;
		t->worst = fmax(t->worst, e);
		t->n_points++;
		t->n_short += y < o->truth;
		if (isfinite(lo) && isfinite(hi)) {
			t->n_hits += lo <= o->truth && o->truth <= hi;
			t->score += interval_score(o->truth, lo, hi);
		}
	}
	if (n)
		t->err[t->n_series++] = sum / n;
}

static void print_tally(struct tally *t, double max)
{
	printf("\"n\":%u,\"median_pct\":%.3f,\"p90_pct\":%.3f,\"coverage_pct\":%.2f,"
	       "\"interval_score\":%.3f,\"short_pct\":%.1f,\"points\":%u,\"binomial_p\":%.4f",
		t->n_series, stat_quantile(t->err, t->n_series, 0.5),
		stat_quantile(t->err, t->n_series, 0.9), 100.0 * t->n_hits / t->n_points,
		t->score / t->n_points, 100.0 * t->n_short / t->n_points, t->n_points,
		stat_binomial_two_sided(t->n_hits, t->n_points, LEVEL));
	if (max > 0)
		printf(",\"max_pct\":%.3f,\"refused\":%u", max, t->n_refused);
}

/* group NULL: all groups together. */
static int print_line(enum protocol p, const struct case_list *l, const char *group, bool odd)
{
	struct tally ours = {0}, plain = {0};

	ours.err = mem_calloc(l->n + 1, sizeof(double));
	plain.err = mem_calloc(l->n + 1, sizeof(double));
	if (!ours.err || !plain.err)
		return -1;
	for (size_t i = 0; i < l->n; i++) {
		if ((group && strcmp(l->c[i].group, group)) || (odd && !name_is_odd(l->c[i].name)))
			continue;
		tally_add(&ours, &l->c[i], false);
		tally_add(&plain, &l->c[i], true);
	}
	if (ours.n_points) {
		printf("{\"protocol\":\"%s\",\"group\":\"%s\",\"half\":\"%s\",", protocol_name(p),
			group ? group : "*", odd ? "odd" : "all");
		print_tally(&ours, ours.worst);
		if (plain.n_points) {
			printf(",\"power_law\":{");
			print_tally(&plain, 0);
			printf("}");
		}
		printf("}\n");
	}
	mem_free(ours.err);
	mem_free(plain.err);
	return 0;
}

static int print_groups(enum protocol p, const struct case_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		bool seen = false;

		for (size_t j = 0; j < i && !seen; j++)
			seen = !strcmp(l->c[j].group, l->c[i].group);
		if (seen)
			continue;
		if (print_line(p, l, l->c[i].group, false) < 0 ||
			print_line(p, l, l->c[i].group, true) < 0)
			return -1;
	}
	return 0;
}

static void dump(enum protocol p, const struct case_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		for (size_t k = 0; k < l->c[i].n_out; k++) {
			const struct outcome *o = &l->c[i].out[k];

			const struct error_parts *e = &o->parts;

			printf("%s\t%s\t%s\t%d\t%.9g\t%.9g\t%.9g\t%.6g\t%.6g\t%.6g\t%.6g\t%.9g\t%."
			       "6g\t%.6g"
			       "\t%.6g\t%.6g",
				protocol_name(p), l->c[i].group, l->c[i].name,
				name_is_odd(l->c[i].name), o->x, o->truth, o->pred, e->spread,
				e->loo, e->gap, e->boot, o->prior, o->prior_sd,
				interval_score(o->truth, o->plain_lo, o->plain_hi), e->sigma,
				e->grow);
			for (unsigned j = 0; j < o->n_parts; j++)
				printf("\t%s=%.9g:%.6g", o->part[j].law, o->part[j].ly,
					o->part[j].loo);
			printf("\n");
		}
	}
}

int main(int argc, char **argv)
{
	const char *path = NULL;
	bool want_dump = false;
	long n_threads = 1;
	struct tidy t;
	char err[256];
	int rc = 0;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--dump"))
			want_dump = true;
		else if (!strcmp(argv[i], "--threads") && i + 1 < argc)
			n_threads = strtol(argv[++i], NULL, 10);
		else
			path = argv[i];
	}
	if (!path || n_threads < 1 || n_threads > MAX_THREADS) {
		fprintf(stderr, "usage: accuracy FILE [--threads N] [--dump]\n");
		return 2;
	}
	if (tidy_read(path, &t, err, sizeof(err)) < 0) {
		fprintf(stderr, "accuracy: %s\n", err);
		return 1;
	}
	for (int p = 0; p < PROTOCOL_COUNT && rc == 0; p++) {
		struct case_list l;

		rc = cases_build(&t, (enum protocol)p, &l) < 0 ||
		     run_all((enum protocol)p, &l, (unsigned)n_threads) < 0;
		if (rc == 0 && want_dump)
			dump((enum protocol)p, &l);
		else if (rc == 0)
			rc = print_groups((enum protocol)p, &l) < 0;
		cases_release(&l);
	}
	if (rc)
		fprintf(stderr, "accuracy: out of memory\n");
	tidy_release(&t);
	return rc;
}
