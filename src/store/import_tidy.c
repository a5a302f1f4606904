/* import_tidy.c: a table with one run a row, columns found by name; the columns of `wattlaw export
 * csv` need no mapping. Units: the one in the field ("200 W"), else that in the header's brackets,
 * else the one in the column's name. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/import_format.h"

/* What a column can mean. The first name is the one we write. */
enum tidy {
	T_SOURCE,
	T_DOMAIN,
	T_TASK,
	T_WORKLOAD,
	T_CONFIG,
	T_SERIES,
	T_GPU,
	T_WORKERS,
	T_NODES,
	T_POWER_LIMIT,
	T_CLOCK,
	T_MEM_CLOCK,
	T_CPU_RATE,
	T_REPEAT,
	T_BASELINE,
	T_SIMULATED,
	T_TIME,
	T_TIME_UNIT,
	T_TIME_OF,
	T_POWER,
	T_ENERGY,
	T_THROUGHPUT,
	T_THROUGHPUT_UNIT,
	T_STEPS,
	T_SAMPLES,
	T_EPOCHS,
	T_WINDOW,
	T_WINDOW_SAMPLES,
	T_WINDOW_STEPS,
	T_GLOBAL_BATCH,
	T_BATCH,
	T_SCALING,
	T_NOTE,
	T_HOST,
	T_COUNT
};

static const char *const names[T_COUNT][6] = {
	[T_SOURCE] = {"source"},
	[T_DOMAIN] = {"domain"},
	[T_TASK] = {"task", "phase"},
	[T_WORKLOAD] = {"workload", "network", "model", "benchmark"},
	[T_CONFIG] = {"config"},
	[T_SERIES] = {"series"},
	[T_GPU] = {"gpu", "accelerator", "gpu_model", "device"},
	[T_WORKERS] = {"workers", "n_gpus", "n_accelerators", "gpus", "ranks"},
	[T_NODES] = {"nodes", "n_nodes"},
	[T_POWER_LIMIT] = {"power_limit_w", "power_limit", "power_cap_w", "cap_w"},
	[T_CLOCK] = {"clock_max_mhz", "sm_clock_mhz", "clock_mhz", "clock_max"},
	[T_MEM_CLOCK] = {"memory_clock_mhz", "mem_clock_mhz", "memory_clock"},
	[T_CPU_RATE] = {"cpu_rate_pct", "cpu_rate"},
	[T_REPEAT] = {"repeat", "run"},
	[T_BASELINE] = {"baseline"},
	[T_SIMULATED] = {"simulated"},
	[T_TIME] = {"time_s", "time", "duration_s", "wall_s", "runtime"},
	[T_TIME_UNIT] = {"time_unit"},
	[T_TIME_OF] = {"time_of"},
	[T_POWER] = {"mean_power_w", "mean_w", "power_w"},
	[T_ENERGY] = {"energy_j", "energy"},
	[T_THROUGHPUT] = {"throughput", "samples_per_s"},
	[T_THROUGHPUT_UNIT] = {"throughput_unit"},
	[T_STEPS] = {"steps"},
	[T_SAMPLES] = {"samples"},
	[T_EPOCHS] = {"epochs"},
	[T_WINDOW] = {"window_s"},
	[T_WINDOW_SAMPLES] = {"window_samples"},
	[T_WINDOW_STEPS] = {"window_steps"},
	[T_GLOBAL_BATCH] = {"global_batch"},
	[T_BATCH] = {"batch_per_rank"},
	[T_SCALING] = {"scaling"},
	[T_NOTE] = {"note"},
	[T_HOST] = {"host"},
};

struct tidy_file {
	struct csv csv;
	const struct import_opts *o;
	int col[T_COUNT];
	int *axis_col; /* columns "axis.NAME" */
	size_t n_axis;
};

/* Written by export csv, made again from the rest here. */
static bool is_derived(const char *head)
{
	static const char *const derived[] = {"run_id", "campaign", "label", "state", "work_unit",
		"time_per_work_s", "energy_per_work_j", "net_j", "energy_method", "energy_scope",
		"energy_note"};

	for (size_t i = 0; i < sizeof(derived) / sizeof(derived[0]); i++) {
		if (!strcmp(derived[i], head))
			return true;
	}
	return false;
}

static bool is_axis(const char *head)
{
	return str_starts(head, "axis.") && head[5];
}

/* Find the columns; those that mean nothing are named, so that a misspelt one is not lost silently.
 */
static enum status find_columns(struct tidy_file *t, struct import_sink *sink, struct err *e)
{
	const struct csv *c = &t->csv;

	t->axis_col = mem_calloc(c->n_head + 1, sizeof(int));
	if (!t->axis_col)
		return import_no_memory(e);
	for (int i = 0; i < T_COUNT; i++)
		t->col[i] = import_column(c, t->o, names[i]);
	for (size_t i = 0; i < c->n_head; i++) {
		bool used = false;

		for (int k = 0; k < T_COUNT; k++)
			used |= t->col[k] == (int)i;
		if (is_axis(c->head[i])) {
			t->axis_col[t->n_axis++] = (int)i;
		} else if (!used && !is_derived(c->head[i])) {
			if (sink->ignored.len)
				str_add(&sink->ignored, ", ");
			str_add(&sink->ignored, c->head[i]);
		}
	}
	for (size_t m = 0; m < t->o->n_map; m++) {
		const char *eq = strrchr(t->o->map[m], '=');
		bool known = false;

		for (int k = 0; eq && k < T_COUNT; k++) {
			for (size_t i = 0; i < 6 && names[k][i]; i++)
				known |= !strcmp(eq + 1, names[k][i]);
		}
		if (!known)
			return err_set(e, ST_INVALID,
				"--map %s: write THEIRS=OURS with OURS one of time_s, energy_j, "
				"mean_power_w, workload, workers, power_limit_w, clock_max_mhz, "
				"throughput, …",
				t->o->map[m]);
	}
	if (t->col[T_TIME] < 0 && t->col[T_THROUGHPUT] < 0 && t->col[T_WINDOW] < 0)
		return csv_need(c, "time_s", &t->col[T_TIME], e);
	sink->has_repeats = t->col[T_REPEAT] >= 0;
	return ST_OK;
}

static const char *text_of(const struct tidy_file *t, enum tidy k)
{
	return t->col[k] < 0 || csv_missing(&t->csv, t->col[k]) ? NULL
								: csv_text(&t->csv, t->col[k]);
}

static enum status text_axis(struct run_rec *r, const char *name, const char *text, struct err *e)
{
	long long n;
	struct qty v = str_to_i64(text, &n) ? QTY(n) : QTY_NONE(ST_UNSUPPORTED);

	if (run_rec_axis_find(r, name))
		return ST_OK;
	return run_rec_axis(r, name, text, UNIT_NONE, v) ? ST_OK : import_no_memory(e);
}

/* "batch=1024;opt=adam;FULL_SHARD" as axes; words without a value stand for themselves. */
static enum status config_axes(struct run_rec *r, const char *config, struct err *e)
{
	char *copy = mem_strdup(config), *save = NULL;
	enum status st = copy ? ST_OK : import_no_memory(e);

	for (char *p = copy ? strtok_r(copy, ";", &save) : NULL; p && !st;
		p = strtok_r(NULL, ";", &save)) {
		char *word = str_trim(p), *eq = strchr(word, '=');

		if (!eq) {
			if (*word)
				st = text_axis(r, "config", word, e);
			continue;
		}
		*eq = '\0';
		if (*word && eq[1])
			st = text_axis(r, word, eq + 1, e);
	}
	mem_free(copy);
	return st;
}

static enum status knob_axis(const struct tidy_file *t, struct run_rec *r, enum tidy k,
	const char *name, enum unit unit, struct err *e)
{
	struct qty v;
	char text[64];
	enum status st;

	if (t->col[k] >= 0 && !strcmp(csv_text(&t->csv, t->col[k]), "default"))
		return run_rec_axis(r, name, "default", unit, QTY_NONE(ST_UNKNOWN))
			       ? ST_OK
			       : import_no_memory(e);
	st = import_qty(&t->csv, t->col[k], unit, NULL, &v, e);
	if (st || v.st)
		return st;
	if (v.v <= 0)
		return csv_bad(&t->csv, t->col[k], e, "%s must be more than 0", name);
	return run_rec_axis(r, name, unit_format(unit, v.v, text, sizeof(text)), unit, v)
		       ? ST_OK
		       : import_no_memory(e);
}

static enum status count(const struct tidy_file *t, enum tidy k, struct qty *out, struct err *e)
{
	int64_t n;
	enum status st;

	*out = QTY_NONE(ST_UNKNOWN);
	if (t->col[k] < 0)
		return ST_OK;
	st = csv_int(&t->csv, t->col[k], &n, e);
	if (st)
		return st == ST_UNKNOWN ? ST_OK : st;
	if (n < 0)
		return csv_bad(&t->csv, t->col[k], e, "must not be negative");
	*out = QTY(n);
	return ST_OK;
}

static enum status read_axes(const struct tidy_file *t, struct run_rec *r, struct err *e)
{
	struct qty workers;
	enum status st = count(t, T_WORKERS, &workers, e);
	char text[32];

	if (!st && workers.st == ST_OK) {
		snprintf(text, sizeof(text), "%lld", (long long)workers.v);
		st = workers.v > 0 ? text_axis(r, "workers", text, e)
				   : csv_bad(&t->csv, t->col[T_WORKERS], e, "must be at least 1");
	}
	if (!st)
		st = knob_axis(t, r, T_POWER_LIMIT, "power_limit", UNIT_POWER, e);
	if (!st)
		st = knob_axis(t, r, T_CLOCK, "clock_max", UNIT_FREQ, e);
	if (!st)
		st = knob_axis(t, r, T_MEM_CLOCK, "memory_clock", UNIT_FREQ, e);
	if (!st)
		st = knob_axis(t, r, T_CPU_RATE, "cpu_rate", UNIT_RATIO, e);
	if (!st && text_of(t, T_NODES))
		st = text_axis(r, "nodes", text_of(t, T_NODES), e);
	if (!st && text_of(t, T_GPU))
		st = text_axis(r, "gpu", text_of(t, T_GPU), e);
	if (!st && text_of(t, T_SERIES))
		st = text_axis(r, "series", text_of(t, T_SERIES), e);
	else if (!st && text_of(t, T_CONFIG))
		/* A series is already one group; its configuration may differ from point to point.
		 */
		st = config_axes(r, text_of(t, T_CONFIG), e);
	if (!st && text_of(t, T_SCALING))
		st = text_axis(r, "scaling", text_of(t, T_SCALING), e);
	for (size_t i = 0; i < t->n_axis && !st; i++) {
		const char *field = csv_text(&t->csv, t->axis_col[i]);

		if (*field)
			st = text_axis(r, t->csv.head[t->axis_col[i]] + 5, field, e);
	}
	return st;
}

/* "per 1M images" → 1e6, "per epoch" → 0 */
static double per_number(const char *of)
{
	const char *p = strstr(of, "per ");
	char *end;
	double v;

	if (!p || !isdigit((unsigned char)p[4]))
		return 0;
	v = strtod(p + 4, &end);
	return v * (*end == 'M' ? 1e6 : *end == 'k' ? 1e3 : 1);
}

/* time_unit may go on after the unit: "min to quality target", "s per epoch", "s per 1M images". */
static enum status read_time(const struct tidy_file *t, struct run_rec *r, struct err *e)
{
	const char *unit = text_of(t, T_TIME_UNIT), *of = text_of(t, T_TIME_OF);
	char word[16] = "";
	double samples;
	enum status st;

	if (unit) {
		size_t n = strcspn(unit, " ");

		if (n >= sizeof(word))
			return csv_bad(&t->csv, t->col[T_TIME_UNIT], e,
				"'%s' is not a unit of time", unit);
		memcpy(word, unit, n);
		of = unit[n] ? unit + n + 1 : of;
	}
	st = import_qty(&t->csv, t->col[T_TIME], UNIT_TIME, *word ? word : NULL, &r->wall_ns, e);
	if (st || r->wall_ns.st)
		return st;
	if (r->wall_ns.v <= 0)
		return csv_bad(&t->csv, t->col[T_TIME], e, "must be more than 0");
	if (!of)
		return ST_OK;
	samples = per_number(of);
	if (samples >= 1 && samples < 1e15)
		r->train.samples = QTY((int64_t)samples);
	else if (strstr(of, "epoch"))
		r->train.epochs = QTY(1);
	return rec_set(&r->options, of) ? ST_OK : import_no_memory(e);
}

static enum status read_rate(const struct tidy_file *t, struct run_rec *r, struct err *e)
{
	double rate, window = 0;
	enum status st = ST_UNKNOWN;

	if (t->col[T_THROUGHPUT] >= 0)
		st = csv_double(&t->csv, t->col[T_THROUGHPUT], &rate, e);
	if (st)
		return st == ST_UNKNOWN ? ST_OK : st;
	/* Time is what laws are fitted to; a rate stands in for it. */
	if (r->wall_ns.st == ST_OK || r->train.window_ns.st == ST_OK)
		return ST_OK;
	if (rate > 0)
		window = 1e9 * (1e6 / rate);
	if (!(window >= 1 && window < 9.2e18))
		return csv_bad(&t->csv, t->col[T_THROUGHPUT], e, "'%s' is not a rate",
			csv_text(&t->csv, t->col[T_THROUGHPUT]));
	r->train.window_ns = QTY((int64_t)window);
	r->train.window_samples = QTY(1000000);
	return ST_OK;
}

static enum status read_device(const struct tidy_file *t, struct run_rec *r, struct err *e)
{
	struct qty power, energy;
	struct dev_rec *d;
	const struct axis_val *limit = run_rec_axis_find(r, "power_limit");
	enum status st = import_qty(&t->csv, t->col[T_POWER], UNIT_POWER, NULL, &power, e);

	if (!st)
		st = import_qty(&t->csv, t->col[T_ENERGY], UNIT_ENERGY, NULL, &energy, e);
	if (st)
		return st;
	r->energy_uj = energy;
	r->method = energy.st == ST_OK ? ENERGY_IMPORTED : ENERGY_NONE;
	if (!rec_set(&r->scope, energy.st == ST_OK ? "as imported" : NULL) ||
		!rec_set(&r->energy_note, energy.st == ST_OK ? NULL : "not in the imported file"))
		return import_no_memory(e);
	if (!text_of(t, T_GPU) && power.st && energy.st)
		return ST_OK;
	d = run_rec_dev(r);
	if (!d || !rec_set(&d->key, "imported") || !rec_set(&d->name, text_of(t, T_GPU)))
		return import_no_memory(e);
	d->kind = DEV_GPU;
	d->counted = true;
	d->mean_mw = power;
	d->energy_uj = energy;
	d->method = r->method;
	if (limit && limit->value.st == ST_OK) {
		struct knob_rec *k = dev_rec_knob(d, "power_limit", UNIT_POWER);

		if (!k)
			return import_no_memory(e);
		k->requested = limit->value;
	}
	return ST_OK;
}

static bool says_yes(const char *text)
{
	return text &&
	       (!strcmp(text, "1") || !strcasecmp(text, "true") || !strcasecmp(text, "yes"));
}

/* The steady window of our own exports. */
static enum status read_window(const struct tidy_file *t, struct run_rec *r, struct err *e)
{
	enum status st =
		import_qty(&t->csv, t->col[T_WINDOW], UNIT_TIME, NULL, &r->train.window_ns, e);

	if (!st)
		st = count(t, T_WINDOW_SAMPLES, &r->train.window_samples, e);
	if (!st)
		st = count(t, T_WINDOW_STEPS, &r->train.window_steps, e);
	return st;
}

static enum status read_row(const struct tidy_file *t, struct run_rec *r, struct err *e)
{
	struct qty repeat;
	enum status st = read_axes(t, r, e);

	if (!st)
		st = read_time(t, r, e);
	if (!st)
		st = read_window(t, r, e);
	if (!st)
		st = read_rate(t, r, e);
	if (!st)
		st = read_device(t, r, e);
	if (!st)
		st = count(t, T_REPEAT, &repeat, e);
	if (!st)
		st = count(t, T_STEPS, &r->train.steps, e);
	if (!st && t->col[T_SAMPLES] >= 0)
		st = count(t, T_SAMPLES, &r->train.samples, e);
	if (!st && t->col[T_EPOCHS] >= 0)
		st = count(t, T_EPOCHS, &r->train.epochs, e);
	if (!st)
		st = count(t, T_GLOBAL_BATCH, &r->train.global_batch, e);
	if (!st)
		st = count(t, T_BATCH, &r->train.batch_per_rank, e);
	if (st)
		return st;
	if (repeat.st == ST_OK && repeat.v < INT32_MAX)
		r->repeat = (int)repeat.v;
	r->baseline = says_yes(text_of(t, T_BASELINE));
	r->simulated = says_yes(text_of(t, T_SIMULATED));
	if (text_of(t, T_WORKLOAD) && !rec_set(&r->workload, text_of(t, T_WORKLOAD)))
		return import_no_memory(e);
	if (text_of(t, T_DOMAIN) && !rec_set(&r->domain, text_of(t, T_DOMAIN)))
		return import_no_memory(e);
	if (!rec_set(&r->task, text_of(t, T_TASK)) || !rec_set(&r->host, text_of(t, T_HOST)))
		return import_no_memory(e);
	if (text_of(t, T_NOTE) && !run_rec_warn(r, "%s", text_of(t, T_NOTE)))
		return import_no_memory(e);
	return ST_OK;
}

static enum status read_tidy(const char *file, const char *text, size_t len,
	const struct import_opts *o, struct import_sink *sink, struct err *e)
{
	struct tidy_file t = {.o = o};
	struct run_rec r;
	enum status st = csv_open_text(&t.csv, file, text, len, 0, e);

	if (st)
		return st;
	st = find_columns(&t, sink, e);
	while (!st) {
		const char *source;

		st = csv_next(&t.csv, e);
		if (st)
			break;
		source = text_of(&t, T_SOURCE);
		if (source && str_starts(source, "import:"))
			source += strlen("import:");
		st = import_begin(&r, source ? source : "csv", o, e);
		if (st)
			break;
		st = read_row(&t, &r, e);
		if (st) {
			run_rec_release(&r);
			break;
		}
		/* A row without time or rate says nothing that a law could use; energy alone may.
		 */
		if (r.wall_ns.st && r.train.window_ns.st && r.energy_uj.st) {
			st = csv_bad(&t.csv,
				t.col[T_TIME] >= 0 ? t.col[T_TIME] : t.col[T_THROUGHPUT], e,
				"a row needs a time, a throughput or an energy");
			run_rec_release(&r);
			break;
		}
		st = import_end(&r, sink, e);
	}
	mem_free(t.axis_col);
	csv_release(&t.csv);
	return st == ST_NOT_FOUND ? ST_OK : st;
}

const struct import_format import_tidy = {
	.name = "csv",
	.what = "a table with one run a row (columns by name, see --map)",
	.read = read_tidy,
};
