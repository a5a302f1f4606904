/* accuracy.c: how well the laws predict what they have not seen.
 *
 *   accuracy FILE [--threads N] [--dump]
 *
 * One JSON line for each protocol, group and half. half "odd" holds the series whose name hash is
 * odd: no constant was learnt from them. Errors are per series (mean over its hidden settings),
 * median and p90 over the series; refused counts questions beyond the evidence, which have none;
 * coverage is of the 90 % intervals over all hidden settings; interval_score is the mean of
 * Gneiting and Raftery (2007) on 100 ln y, so its unit is percent. power_law holds the same figures
 * of the plain power law, product those of the product of single factors where several vary. --dump
 * prints what the learning script reads instead.
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
	unsigned n_series, n_points, n_intervals, n_hits, n_short, n_refused;
	double score, worst;
};

enum answer_of { OURS, PLAIN, PRODUCT };

static double interval_score(double y, double lo, double hi)
{
	double s = hi - lo;

	if (y < lo)
		s += 2 / (1 - LEVEL) * (lo - y);
	if (y > hi)
		s += 2 / (1 - LEVEL) * (y - hi);
	return 100 * s;
}

static void outcome_answer(
	const struct outcome *o, enum answer_of who, double *y, double *lo, double *hi)
{
	*y = who == OURS ? o->pred : who == PLAIN ? o->plain : o->product;
	*lo = who == OURS ? o->lo : who == PLAIN ? o->plain_lo : NAN;
	*hi = who == OURS ? o->hi : who == PLAIN ? o->plain_hi : NAN;
}

static void tally_add(struct tally *t, const struct test_case *c, enum answer_of who)
{
	double sum = 0;
	unsigned n = 0;

	t->n_refused += c->n_refused;
	for (size_t i = 0; i < c->n_out; i++) {
		const struct outcome *o = &c->out[i];
		double y, lo, hi, e;

		outcome_answer(o, who, &y, &lo, &hi);
		if (!isfinite(y))
			continue;
		e = 100 * fabs(expm1(y - o->truth));
		sum += e;
		n++;
		t->worst = fmax(t->worst, e);
		t->n_points++;
		t->n_short += y < o->truth;
		if (isfinite(lo) && isfinite(hi)) {
			t->n_intervals++;
			t->n_hits += lo <= o->truth && o->truth <= hi;
			t->score += interval_score(o->truth, lo, hi);
		}
	}
	if (n)
		t->err[t->n_series++] = sum / n;
}

/* Names come from the file; JSON allows neither quotes nor control characters in them. */
static void print_text(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		if ((unsigned char)*s < 0x20)
			printf("\\u%04x", (unsigned)(unsigned char)*s);
		else if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else
			putchar(*s);
	}
	putchar('"');
}

static void print_number(const char *key, double v, int digits)
{
	if (isfinite(v))
		printf(",\"%s\":%.*f", key, digits, v);
	else
		printf(",\"%s\":null", key);
}

static void print_tally(const struct tally *t, double *err)
{
	double n = t->n_intervals ? (double)t->n_intervals : (double)NAN;

	printf("\"n\":%u", t->n_series);
	print_number("median_pct", stat_quantile(err, t->n_series, 0.5), 3);
	print_number("p90_pct", stat_quantile(err, t->n_series, 0.9), 3);
	print_number("coverage_pct", 100.0 * t->n_hits / n, 2);
	print_number("interval_score", t->score / n, 3);
	print_number("short_pct", 100.0 * t->n_short / t->n_points, 1);
	printf(",\"points\":%u", t->n_points);
	print_number("binomial_p",
		t->n_intervals ? stat_binomial_two_sided(t->n_hits, t->n_intervals, LEVEL)
			       : (double)NAN,
		4);
	print_number("max_pct", t->worst, 3);
}

static void print_beside(const char *name, const struct tally *t)
{
	if (!t->n_points)
		return;
	printf(",\"%s\":{", name);
	print_tally(t, t->err);
	printf("}");
}

/* group NULL: all groups together. */
static int print_line(enum protocol p, const struct case_list *l, const char *group, bool odd)
{
	struct tally t[3] = {{0}};
	int rc = 0;

	for (int who = OURS; who <= PRODUCT; who++) {
		t[who].err = mem_calloc(l->n + 1, sizeof(double));
		if (!t[who].err)
			rc = -1;
		for (size_t i = 0; rc == 0 && i < l->n; i++)
			if ((!group || !strcmp(l->c[i].group, group)) &&
				(!odd || name_is_odd(l->c[i].name)))
				tally_add(&t[who], &l->c[i], (enum answer_of)who);
	}
	if (rc == 0 && t[OURS].n_points) {
		printf("{\"protocol\":\"%s\",\"group\":", protocol_name(p));
		print_text(group ? group : "*");
		printf(",\"half\":\"%s\",", odd ? "odd" : "all");
		print_tally(&t[OURS], t[OURS].err);
		printf(",\"refused\":%u", t[OURS].n_refused);
		print_beside("power_law", &t[PLAIN]);
		print_beside("product", &t[PRODUCT]);
		printf("}\n");
	}
	for (int who = OURS; who <= PRODUCT; who++)
		mem_free(t[who].err);
	return rc;
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
			       "\t%.6g\t%.6g\t%.9g",
				protocol_name(p), l->c[i].group, l->c[i].name,
				name_is_odd(l->c[i].name), o->x, o->truth, o->pred, e->spread,
				e->loo, e->gap, e->boot, o->prior, o->prior_sd,
				interval_score(o->truth, o->plain_lo, o->plain_hi), e->sigma,
				e->grow, o->laws);
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
