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
		"clock-loo-power", "clock-loo-energy", "caps-3probe-power", "caps-3probe-energy",
		"scale-last-power", "scale-last-energy"};

	return names[p];
}

int name_is_odd(const char *name)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * 0x100000001b3u;
	return (int)(h & 1);
}

static struct test_case *case_get(struct case_list *l, const char *name, const char *group,
	const char *network, const char *unit)
{
	struct test_case *c;

	for (size_t i = l->n; i-- > 0;) /* neighbours in the file are most often of one series */
		if (!strcmp(l->c[i].name, name) && !strcmp(l->c[i].group, group) &&
			!strcmp(l->c[i].unit, unit))
			return &l->c[i];
	if (!mem_grow((void **)&l->c, &l->cap, l->n + 1, sizeof(*l->c), MAX_CASES))
		return NULL;
	c = &l->c[l->n];
	memset(c, 0, sizeof(*c));
	c->name = mem_strdup(name);
	c->group = mem_strdup(group);
	c->network = mem_strdup(network);
	c->unit = mem_strdup(unit);
	l->n++; /* counted even when a copy failed, so that release frees the others */
	return c->name && c->group && c->network && c->unit ? c : NULL;
}

static int case_add(struct test_case *c, const struct obs *o, double rate)
{
	if (!c || !mem_grow((void **)&c->obs, &c->cap, c->n + 1, sizeof(*c->obs), MAX_OBS) ||
		!mem_grow((void **)&c->rate, &c->cap_rate, c->n + 1, sizeof(*c->rate), MAX_OBS))
		return -1;
	c->rate[c->n] = rate;
	c->obs[c->n++] = *o;
	return 0;
}

void cases_release(struct case_list *l)
{
	for (size_t i = 0; i < l->n; i++) {
		mem_free(l->c[i].name);
		mem_free(l->c[i].group);
		mem_free(l->c[i].network);
		mem_free(l->c[i].unit);
		mem_free(l->c[i].rate);
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

static double positive(double v)
{
	return isfinite(v) && v > 0 ? v : NAN; /* an empty or zero cell is not a measurement */
}

/* "epoch|strong", "tokens/s|weak": what the columns of a row count. */
static void unit_of(const struct tidy *t, size_t row, const char *time_unit, char *out, size_t size)
{
	const char *unit = tidy_text(t, row, time_unit);

	snprintf(out, size, "%s|%s", *unit ? unit : tidy_text(t, row, "throughput_unit"),
		tidy_text(t, row, "scaling"));
}

/* Time of a unit of work is the time itself or one over the throughput, but never both in one
 * series: an epoch is not a sample. The column that more rows have; rows without it are dropped. */
static void choose_time(struct test_case *c)
{
	size_t n_time = 0, n_rate = 0, k = 0;

	for (size_t i = 0; i < c->n; i++) {
		n_time += isfinite(c->obs[i].y[QTY_TIME]);
		n_rate += isfinite(c->rate[i]);
	}
	for (size_t i = 0; i < c->n; i++) {
		double t = n_time >= n_rate ? c->obs[i].y[QTY_TIME] : positive(1 / c->rate[i]);

		if (isnan(t))
			continue;
		c->obs[k] = c->obs[i];
		c->obs[k++].y[QTY_TIME] = t;
	}
	c->n = k;
}

/* Of several entries with one count the best is the one that was tuned for it. */
static void keep_best(struct test_case *c)
{
	size_t k = 0;

	for (size_t i = 0; i < c->n; i++) {
		size_t j = 0;

		while (j < k && c->obs[j].x[FACTOR_WORKERS] != c->obs[i].x[FACTOR_WORKERS])
			j++;
		if (j == k)
			c->obs[k++] = c->obs[i];
		else if (c->obs[i].y[QTY_TIME] < c->obs[j].y[QTY_TIME])
			c->obs[j] = c->obs[i];
	}
	c->n = k;
}

static bool is_window(const struct tidy *t, size_t row)
{
	return strstr(tidy_text(t, row, "time_of"), "window") != NULL;
}

/* A window of a few steps is another measurement than an epoch or a run, and not what a device's
 * yardstick is: a group of its own where the device has rows of the other kind. */
static bool has_whole(const struct tidy *t, size_t row)
{
	for (size_t i = 0; i < t->n_rows; i++)
		if (!is_window(t, i) && !strcmp(tidy_text(t, i, "gpu"), tidy_text(t, row, "gpu")))
			return true;
	return false;
}

static int add_device_row(const struct tidy *t, size_t row, enum protocol p, struct case_list *l)
{
	bool clock = p == CLOCK_LOO || p == CLOCK_LOO_POWER || p == CLOCK_LOO_ENERGY,
	     joint = p == JOINT_HOLDOUT;
	const char *other = clock ? "power_limit_w" : "sm_clock_mhz";
	double rate;
	char name[768], network[128], group[192], unit[256];
	struct obs o;

	obs_blank(&o, row);
	o.x[FACTOR_POWER_LIMIT] = tidy_number(t, row, "power_limit_w");
	o.x[FACTOR_CLOCK] = tidy_number(t, row, "sm_clock_mhz");
	o.x[FACTOR_WORKERS] = positive(tidy_number(t, row, "n_gpus"));
	o.y[QTY_TIME] = positive(tidy_number(t, row, "time_s"));
	o.y[QTY_POWER] = positive(tidy_number(t, row, "mean_power_w"));
	o.y[QTY_ENERGY] = positive(tidy_number(t, row, "energy_j"));
	rate = positive(tidy_number(t, row, "throughput"));
	if (isnan(positive(o.x[clock ? FACTOR_CLOCK : FACTOR_POWER_LIMIT])) ||
		(isnan(o.y[QTY_TIME]) && isnan(rate)) || (joint && isnan(o.x[FACTOR_WORKERS])))
		return 0;
	snprintf(name, sizeof(name), "%s|%s|%s|%s|%s|%s|%s|%s", tidy_text(t, row, "source"),
		tidy_text(t, row, "gpu"), joint ? "" : tidy_text(t, row, "n_gpus"),
		tidy_text(t, row, "workload"), tidy_text(t, row, "config"),
		tidy_text(t, row, "phase"), tidy_text(t, row, other),
		tidy_text(t, row, "mem_clock_mhz"));
	network_of(tidy_text(t, row, "workload"), network, sizeof(network));
	snprintf(group, sizeof(group), "%s%s", tidy_text(t, row, "gpu"),
		is_window(t, row) && !joint && has_whole(t, row) ? " window" : "");
	unit_of(t, row, "time_of", unit, sizeof(unit));
	return case_add(case_get(l, name, group, network, unit), &o, rate);
}

static int add_scale_row(const struct tidy *t, size_t row, struct case_list *l)
{
	char group[128], name[768], unit[256];
	double rate = positive(tidy_number(t, row, "throughput"));
	struct obs o;

	obs_blank(&o, row);
	o.x[FACTOR_WORKERS] = positive(tidy_number(t, row, "n_accelerators"));
	o.y[QTY_TIME] = positive(tidy_number(t, row, "time"));
	o.y[QTY_ENERGY] = positive(tidy_number(t, row, "energy_j"));
	o.y[QTY_POWER] = o.y[QTY_ENERGY] / o.y[QTY_TIME]; /* whatever the unit of time */
	if (isnan(o.x[FACTOR_WORKERS]) || (isnan(o.y[QTY_TIME]) && isnan(rate)))
		return 0;
	set_of(tidy_text(t, row, "source"), group, sizeof(group));
	snprintf(name, sizeof(name), "%s", tidy_text(t, row, "series"));
	unit_of(t, row, "time_unit", unit, sizeof(unit));
	return case_add(case_get(l, name, group, tidy_text(t, row, "workload"), unit), &o, rate);
}

int cases_build(const struct tidy *t, enum protocol p, struct case_list *out)
{
	bool scale = p == SCALE_LAST || p == SCALE_LAST_POWER || p == SCALE_LAST_ENERGY;

	memset(out, 0, sizeof(*out));
	if (scale ? !tidy_has(t, "n_accelerators")
		  : !tidy_has(t, "power_limit_w") && !tidy_has(t, "sm_clock_mhz"))
		return 0; /* the file is of the other kind */
	for (size_t row = 0; row < t->n_rows; row++)
		if ((scale ? add_scale_row(t, row, out) : add_device_row(t, row, p, out)) < 0)
			return -1;
	for (size_t i = 0; i < out->n; i++) {
		choose_time(&out->c[i]);
		if (scale)
			keep_best(&out->c[i]);
	}
	return 0;
}
