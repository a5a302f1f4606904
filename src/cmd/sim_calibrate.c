/* sim_calibrate.c: `wattlaw sim calibrate`: a workload profile from measured runs. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/commands.h"
#include "sim/calibrate.h"
#include "sim/profile.h"

#define MAX_POINTS 4096

struct calibrate_opts {
	const char *device, *name, *domain, *task, *source;
	struct opt_strings where;
	int64_t batch, gradient_bytes;
	double steps;
};

#define O(field) offsetof(struct calibrate_opts, field)

static const struct opt table[] = {
	{.type = OPT_TEXT,
		.short_name = 'd',
		.name = "device",
		.offset = O(device),
		.arg = "PROFILE",
		.help = "device the runs were made on: a built-in profile or a file",
		.flags = OPT_NO_CONFIG | OPT_REQUIRED},
	{.type = OPT_TEXT,
		.name = "name",
		.offset = O(name),
		.arg = "NAME",
		.help = "name of the new profile",
		.flags = OPT_NO_CONFIG | OPT_REQUIRED},
	{.type = OPT_LIST,
		.short_name = 'w',
		.name = "where",
		.offset = O(where),
		.arg = "COLUMN=VALUE",
		.help = "use only the rows that have this; repeatable",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_INT,
		.name = "batch",
		.offset = O(batch),
		.def = "1",
		.min = 1,
		.max = INT32_MAX,
		.arg = "N",
		.help = "samples of a step"},
	{.type = OPT_DOUBLE,
		.name = "steps",
		.offset = O(steps),
		.def = "1",
		.arg = "N",
		.help = "steps in the time of a row (an epoch's time: steps of an epoch)"},
	{.type = OPT_UNIT,
		.unit = UNIT_BYTES,
		.name = "gradient",
		.offset = O(gradient_bytes),
		.def = "0",
		.max = INT64_MAX,
		.arg = "BYTES",
		.help = "all-reduced in a step"},
	{.type = OPT_TEXT,
		.name = "domain",
		.offset = O(domain),
		.def = "unknown",
		.arg = "TEXT",
		.help = "vision, language, chemistry, ..."},
	{.type = OPT_TEXT,
		.name = "task",
		.offset = O(task),
		.def = "training",
		.arg = "TEXT",
		.help = "what is learnt"},
	{.type = OPT_TEXT,
		.name = "source",
		.offset = O(source),
		.arg = "TEXT",
		.help = "where the runs come from; default: the file's name"},
	{.type = OPT_END},
};

static const struct opt_help help = {
	.usage = "wattlaw sim calibrate --device PROFILE --name NAME [options] RUNS.csv",
	.summary = "Make a workload profile from measured runs on one device.",
	.more = "RUNS.csv has a row a run with time_s (or time_per_work_s), mean_power_w, and the "
		"settings\n"
		"power_limit_w and clock_max_mhz (or sm_clock_mhz), as 'wattlaw export csv' writes "
		"them. The\n"
		"profile is printed on stdout, how well it fits on stderr. Three settings far "
		"apart are enough.\n"
		"\n"
		"Example:\n"
		"  wattlaw export csv caps > runs.csv\n"
		"  wattlaw sim calibrate -d v100 --name mynet --batch 256 runs.csv > mynet.ini\n"
		"  wattlaw sim job ./mynet.ini",
};

struct columns {
	int limit, clock, time, per_work, power;
	int where[16];
	const char *want[16];
	size_t n_where;
};

static enum status find_columns(
	const struct csv *c, const struct calibrate_opts *o, struct columns *k, struct err *e)
{
	enum status st = ST_OK;

	k->limit = csv_column(c, "power_limit_w");
	k->clock = csv_column(c, "clock_max_mhz");
	if (k->clock < 0)
		k->clock = csv_column(c, "sm_clock_mhz");
	k->per_work = csv_column(c, "time_per_work_s");
	k->power = csv_column(c, "mean_power_w");
	k->time = -1;
	if (k->per_work < 0)
		st = csv_need(c, "time_s", &k->time, e);
	for (size_t i = 0; i < o->where.n && !st; i++) {
		const char *eq = strchr(o->where.v[i], '=');
		char name[128];

		if (!eq || k->n_where == 16)
			return err_set(e, ST_INVALID,
				"--where %s: expected COLUMN=VALUE, at most 16 times",
				o->where.v[i]);
		snprintf(name, sizeof(name), "%.*s", (int)(eq - o->where.v[i]), o->where.v[i]);
		st = csv_need(c, name, &k->where[k->n_where], e);
		k->want[k->n_where++] = eq + 1;
	}
	return st;
}

/* ST_AGAIN: not one of the rows asked for. */
static enum status read_row(const struct csv *c, const struct columns *k,
	const struct calibrate_opts *o, struct calib_point *p, struct err *e)
{
	double limit = 0, clock = 0, time = 0, power = 0;
	enum status st;

	for (size_t i = 0; i < k->n_where; i++)
		if (strcmp(csv_text(c, k->where[i]), k->want[i]))
			return ST_AGAIN;
	st = csv_double(c, k->per_work >= 0 ? k->per_work : k->time, &time, e);
	if (st == ST_UNKNOWN)
		return ST_AGAIN; /* a run without a time says nothing */
	if (!st)
		st = csv_double(c, k->limit, &limit, e);
	if (!st || st == ST_UNKNOWN)
		st = csv_double(c, k->clock, &clock, e);
	if (!st || st == ST_UNKNOWN)
		st = csv_double(c, k->power, &power, e);
	if (st && st != ST_UNKNOWN)
		return st;
	if (!(time > 0) || power < 0 || limit < 0 || clock < 0)
		return csv_bad(
			c, -1, e, "time must be above 0; power, limit and clock not negative");
	*p = (struct calib_point){llrint(limit * 1e3), llrint(clock * 1e3), 0,
		k->per_work >= 0 ? time * (double)o->batch : time / o->steps, power * 1e3};
	return ST_OK;
}

static enum status read_points(const char *path, const struct calibrate_opts *o,
	struct calib_point *pts, size_t *n, struct err *e)
{
	struct columns k = {.n_where = 0};
	struct csv c;
	enum status st = csv_open_file(&c, path, 0, e);

	*n = 0;
	if (st)
		return st;
	st = find_columns(&c, o, &k, e);
	while (!st && !(st = csv_next(&c, e))) {
		if (*n == MAX_POINTS)
			st = err_set(e, ST_RANGE, "%s: more than %d runs", path, MAX_POINTS);
		else
			st = read_row(&c, &k, o, &pts[*n], e);
		*n += !st;
		if (st == ST_AGAIN)
			st = ST_OK;
	}
	csv_release(&c);
	if (st == ST_NOT_FOUND && !*n)
		return err_set(e, ST_INVALID, "%s: no row fits", path);
	return st == ST_NOT_FOUND ? ST_OK : st;
}

static enum status make_profile(
	const struct calibrate_opts *o, const char *path, struct str *out, struct err *e)
{
	struct calib_point *pts = mem_calloc(MAX_POINTS, sizeof(*pts));
	struct workload w = {.batch = o->batch, .gradient_bytes = o->gradient_bytes, .n_loads = 1};
	struct gpu_profile gpu;
	struct calib_fit fit;
	double loader_s = 0;
	size_t n;
	enum status st =
		pts ? profile_gpu(o->device, &gpu, e) : err_set(e, ST_NOMEM, "out of memory");

	if (!st)
		st = read_points(path, o, pts, &n, e);
	if (!st)
		st = calibrate(&gpu, pts, n, &w.loads[0].load, &loader_s, &fit, e);
	mem_free(pts);
	if (st)
		return st;
	w.loader_s = loader_s / (double)o->batch;
	snprintf(w.name, sizeof(w.name), "%s", o->name);
	snprintf(w.domain, sizeof(w.domain), "%s", o->domain);
	snprintf(w.task, sizeof(w.task), "%s", o->task);
	snprintf(w.source, sizeof(w.source), "%s", o->source ? o->source : path);
	snprintf(w.loads[0].device, sizeof(w.loads[0].device), "%s", gpu.name);
	workload_format(out, &w);
	cmd_note("%zu runs; time fits within %.1f %% (rms %.1f %%), power within %.1f %% (rms %.1f "
		 "%%)",
		n, 100 * fit.time_max, 100 * fit.time_rms, 100 * fit.power_max,
		100 * fit.power_rms);
	return ST_OK;
}

int cmd_sim_calibrate(int argc, char **argv)
{
	struct opt_set *set = opt_set_new();
	struct calibrate_opts o = {.batch = 1, .steps = 1};
	struct str text = STR_INIT;
	struct err e = ERR_INIT;
	int operand, code = CMD_DONE;

	if (!cmd_parse(set, &help, table, &o, argc, argv, &operand, &code))
		goto out;
	if (operand + 1 != argc)
		code = cmd_usage("give one file of runs");
	else if (!(o.steps > 0))
		code = cmd_usage("--steps must be above 0");
	else if (make_profile(&o, argv[operand], &text, &e))
		code = cmd_fail(&e);
	else
		fputs(str_cstr(&text), stdout);
out:
	str_release(&text);
	opt_set_free(set);
	return code;
}
