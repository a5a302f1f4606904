/* cases.c: rows of a tidy file into the cases of a protocol. */
#include "protocol.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define MAX_CASES (1u << 20)
#define MAX_OBS   (1u << 24)

const char *protocol_name(enum protocol p)
{
	static const char *const names[PROTOCOL_COUNT] = {"caps-loo", "caps-3probe", "clock-loo",
		"scale-last", "joint-holdout", "caps-loo-power", "caps-loo-energy",
		"clock-loo-power", "clock-loo-energy"};

	return names[p];
}

int name_is_odd(const char *name)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3u;
	return (int)(h & 1);
}

static struct test_case *case_get(
	struct case_list *l, const char *name, const char *group, const char *network)
{
	struct test_case *c;

	for (size_t i = l->n; i-- > 0;) /* neighbours in the file are most often of one series */
		if (!strcmp(l->c[i].name, name) && !strcmp(l->c[i].group, group))
			return &l->c[i];
	if (!mem_grow((void **)&l->c, &l->cap, l->n + 1, sizeof(*l->c), MAX_CASES))
		return NULL;
	c = &l->c[l->n];
	memset(c, 0, sizeof(*c));
	c->name = mem_strdup(name);
	c->group = mem_strdup(group);
	c->network = mem_strdup(network);
	l->n++; /* counted even when a copy failed, so that release frees the others */
	return c->name && c->group && c->network ? c : NULL;
}

static int case_add(struct test_case *c, const struct obs *o)
{
	if (!c || !mem_grow((void **)&c->obs, &c->cap, c->n + 1, sizeof(*c->obs), MAX_OBS))
		return -1;
	c->obs[c->n++] = *o;
	return 0;
}

void cases_release(struct case_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		mem_free(l->c[i].name);
		mem_free(l->c[i].group);
		mem_free(l->c[i].network);
		mem_free(l->c[i].obs);
		mem_free(l->c[i].out);
	}
	mem_free(l->c);
	memset(l, 0, sizeof(*l));
}

/* "squad/bert_base_uncased" and "bert-base-uncased" are one network: the last part of the path, in
 * small letters and digits. */
static void network_of(const char *workload, char *out, size_t size)
{
	const char *s = strrchr(workload, '/');
	size_t n = 0;

	for (s = s ? s + 1 : workload; *s && n + 1 < size; s++)
		if (isalnum((unsigned char)*s))
			out[n++] = (char)tolower((unsigned char)*s);
	out[n] = '\0';
}

/* "mlperf_training_v2.1" is a set of "mlperf", "llm_foundry" is itself: up to the version, and of
 * a versioned suite its first word. */
static void set_of(const char *source, char *out, size_t size)
{
	const char *v = strstr(source, "_v");

	snprintf(out, size, "%s", source);
	while (v && !isdigit((unsigned char)v[2]))
		v = strstr(v + 1, "_v");
	if (v) {
		const char *first = strchr(source, '_');

		snprintf(out, size, "%.*s", (int)(first - source), source);
	}
}

static void obs_blank(struct obs *o, size_t row)
{
	memset(o, 0, sizeof(*o));
	for (int f = 0; f < FACTOR_COUNT; f++)
		o->x[f] = NAN;
	for (int q = 0; q < QTY_COUNT; q++)
		o->y[q] = NAN;
	o->weight = 1;
	o->row = (long)row + 2; /* the header is line 1 */
}

/* Time of one unit of work: the time itself, or one over the throughput. */
static double time_of(const struct tidy *t, size_t row, const char *column)
{
	double v = tidy_number(t, row, column);

	return v > 0 ? v : 1 / tidy_number(t, row, "throughput");
}

static int add_device_row(const struct tidy *t, size_t row, enum protocol p, struct case_list *l)
{
	bool clock = p == CLOCK_LOO || p == CLOCK_LOO_POWER || p == CLOCK_LOO_ENERGY,
	     joint = p == JOINT_HOLDOUT;
	const char *other = clock ? "power_limit_w" : "sm_clock_mhz";
	char name[768], network[128], group[192];
	struct obs o;

	obs_blank(&o, row);
	o.x[FACTOR_POWER_LIMIT] = tidy_number(t, row, "power_limit_w");
	o.x[FACTOR_CLOCK] = tidy_number(t, row, "sm_clock_mhz");
	o.x[FACTOR_WORKERS] = tidy_number(t, row, "n_gpus");
	o.y[QTY_TIME] = time_of(t, row, "time_s");
	o.y[QTY_POWER] = tidy_number(t, row, "mean_power_w");
	o.y[QTY_ENERGY] = tidy_number(t, row, "energy_j");
	if (!(o.y[QTY_ENERGY] > 0))
		o.y[QTY_ENERGY] = NAN;
	if (!(o.y[QTY_POWER] > 0)) /* an empty or zero cell is not a measurement */
		o.y[QTY_POWER] = NAN;
	if (!(o.x[clock ? FACTOR_CLOCK : FACTOR_POWER_LIMIT] > 0) || !(o.y[QTY_TIME] > 0) ||
		!isfinite(o.y[QTY_TIME]))
		return 0;
	snprintf(name, sizeof(name), "%s|%s|%s|%s|%s|%s|%s|%s", tidy_text(t, row, "source"),
		tidy_text(t, row, "gpu"), joint ? "" : tidy_text(t, row, "n_gpus"),
		tidy_text(t, row, "workload"), tidy_text(t, row, "config"),
		tidy_text(t, row, "phase"), tidy_text(t, row, other),
		tidy_text(t, row, "mem_clock_mhz"));
	network_of(tidy_text(t, row, "workload"), network, sizeof(network));
	/* a window of a few steps is another measurement than an epoch or a run: its own group */
	snprintf(group, sizeof(group), "%s%s", tidy_text(t, row, "gpu"),
		strstr(tidy_text(t, row, "time_of"), "window") && !joint ? " window" : "");
	return case_add(case_get(l, name, group, network), &o);
}

static int add_scale_row(const struct tidy *t, size_t row, struct case_list *l)
{
	char group[128], name[768];
	struct test_case *c;
	struct obs o;

	obs_blank(&o, row);
	o.x[FACTOR_WORKERS] = tidy_number(t, row, "n_accelerators");
	o.y[QTY_TIME] = time_of(t, row, "time");
	if (!(o.x[FACTOR_WORKERS] > 0) || !(o.y[QTY_TIME] > 0) || !isfinite(o.y[QTY_TIME]))
		return 0;
	set_of(tidy_text(t, row, "source"), group, sizeof(group));
	snprintf(name, sizeof(name), "%s", tidy_text(t, row, "series"));
	c = case_get(l, name, group, tidy_text(t, row, "workload"));
	if (!c)
		return -1;
	/* of several entries with one count the best is the one that was tuned for it */
	for (size_t i = 0; i < c->n; i++) {
		if (c->obs[i].x[FACTOR_WORKERS] == o.x[FACTOR_WORKERS]) {
			c->obs[i].y[QTY_TIME] = fmin(c->obs[i].y[QTY_TIME], o.y[QTY_TIME]);
			return 0;
		}
	}
	return case_add(c, &o);
}

int cases_build(const struct tidy *t, enum protocol p, struct case_list *out)
{
	bool scale = p == SCALE_LAST;

	memset(out, 0, sizeof(*out));
	if (!tidy_has(t, scale ? "n_accelerators" : "gpu"))
		return 0; /* the file is of the other kind */
	for (size_t row = 0; row < t->n_rows; row++)
		if ((scale ? add_scale_row(t, row, out) : add_device_row(t, row, p, out)) < 0)
			return -1;
	return 0;
}
