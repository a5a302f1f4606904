/* sim_site.c: `wattlaw sim site`: replay a job trace under power policies. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/opt.h"
#include "cmd/cmd.h"
#include "cmd/commands.h"
#include "cmd/site_laws.h"
#include "sim/site_trace.h"

#define MAX_POLICIES 16

struct site_opts {
	const char *jobs, *classes, *laws, *db;
	struct opt_strings policies;
	int64_t gpus, idle_mw, host_mw, slowdown_ppm, depth;
	double price_kwh, price_gpu_hour, carbon, pue;
	const char *currency;
	bool json;
};

static const struct opt table[] = {
	{.type = OPT_TEXT,
		.short_name = 'j',
		.name = "jobs",
		.offset = offsetof(struct site_opts, jobs),
		.arg = "FILE",
		.help = "job trace: CSV (submit, start, gpus, runtime, class) or the output of "
			"sacct -P",
		.flags = OPT_NO_CONFIG | OPT_REQUIRED},
	{.type = OPT_TEXT,
		.short_name = 'c',
		.name = "classes",
		.offset = offsetof(struct site_opts, classes),
		.arg = "FILE",
		.help = "how each class of jobs slows down and draws under caps (INI)"},
	{.type = OPT_TEXT,
		.short_name = 'l',
		.name = "laws",
		.offset = offsetof(struct site_opts, laws),
		.arg = "CAMPAIGN",
		.help = "instead of --classes: the fitted laws of the workloads of the same names",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_TEXT,
		.name = "db",
		.offset = offsetof(struct site_opts, db),
		.arg = "FILE",
		.help = "database of --laws; default: WATTLAW_DB, else wattlaw.db"},
	{.type = OPT_INT,
		.short_name = 'g',
		.name = "gpus",
		.offset = offsetof(struct site_opts, gpus),
		.min = 1,
		.max = 10000000,
		.arg = "N",
		.help = "GPUs of the site",
		.flags = OPT_REQUIRED},
	{.type = OPT_LIST,
		.short_name = 'p',
		.name = "policy",
		.offset = offsetof(struct site_opts, policies),
		.arg = "POLICY",
		.help = "none, cap=WATTS, class or budget=WATTS; repeatable; none is always shown "
			"first"},
	{.type = OPT_UNIT,
		.short_name = 's',
		.name = "max-slowdown",
		.unit = UNIT_RATIO,
		.offset = offsetof(struct site_opts, slowdown_ppm),
		.def = "5%",
		.min = 0,
		.max = 10000000,
		.arg = "PERCENT",
		.help = "bound of the policies class and budget"},
	{.type = OPT_UNIT,
		.name = "idle-power",
		.unit = UNIT_POWER,
		.offset = offsetof(struct site_opts, idle_mw),
		.def = "25W",
		.min = 0,
		.max = 10000000,
		.arg = "WATTS",
		.help = "power of a free GPU"},
	{.type = OPT_UNIT,
		.name = "host-power",
		.unit = UNIT_POWER,
		.offset = offsetof(struct site_opts, host_mw),
		.def = "0W",
		.min = 0,
		.max = 10000000,
		.arg = "WATTS",
		.help = "share of a GPU in the power of its host, always drawn"},
	{.type = OPT_INT,
		.name = "backfill-depth",
		.offset = offsetof(struct site_opts, depth),
		.def = "100",
		.min = 1,
		.max = 100000,
		.arg = "N",
		.help = "waiting jobs the scheduler looks at"},
	{.type = OPT_GROUP, .help = "Cost"},
	{.type = OPT_DOUBLE,
		.name = "price",
		.offset = offsetof(struct site_opts, price_kwh),
		.arg = "PER-KWH",
		.help = "price of a kWh"},
	{.type = OPT_DOUBLE,
		.name = "gpu-hour-price",
		.offset = offsetof(struct site_opts, price_gpu_hour),
		.arg = "PER-HOUR",
		.help = "price of a GPU-hour; without it nothing is called cheaper"},
	{.type = OPT_DOUBLE,
		.name = "carbon",
		.offset = offsetof(struct site_opts, carbon),
		.arg = "G-PER-KWH",
		.help = "grams of CO2 of a kWh"},
	{.type = OPT_DOUBLE,
		.name = "pue",
		.offset = offsetof(struct site_opts, pue),
		.def = "1",
		.arg = "FACTOR",
		.help = "energy of the site for each unit at the machines"},
	{.type = OPT_TEXT,
		.name = "currency",
		.offset = offsetof(struct site_opts, currency),
		.def = "EUR",
		.arg = "CODE",
		.help = "for printing prices"},
	{.type = OPT_FLAG,
		.name = "json",
		.offset = offsetof(struct site_opts, json),
		.help = "print a JSON document",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_END},
};

static const struct opt_help help = {
	.usage = "wattlaw sim site --jobs TRACE --gpus N (--classes CURVES | --laws CAMPAIGN) "
		 "[--policy POLICY]...",
	.summary = "What would a whole centre have used under another power policy? All simulated.",
	.more = "A trace with start times is replayed from them: policy none gives it back, and "
		"under a\n"
		"slower policy a job starts later only when a slowed one is in its way. Without "
		"start\n"
		"times jobs are scheduled first come first served with backfill.\n\n"
		"Example:\n"
		"  wattlaw sim site -j examples/site-trace.csv -c examples/site-classes.ini -g 64 "
		"\\\n"
		"      -p cap=150W -p class -p budget=9kW --max-slowdown 5%\n",
};

struct row {
	char name[48];
	struct site_config cfg;
	struct site_result r;
};

static enum status parse_policy(
	const char *text, const struct site_opts *o, struct row *row, struct err *e)
{
	static const char *const names[] = {"none", "cap", "class", "budget"};
	const char *eq = strchr(text, '=');
	size_t n = eq ? (size_t)(eq - text) : strlen(text);
	struct err why = ERR_INIT;
	const char *near;
	char word[32];
	int64_t mw = 0;
	int k;

	snprintf(word, sizeof(word), "%.*s", (int)n, text);
	for (k = 0; k < 4 && strcmp(word, names[k]); k++)
		;
	if (k == 4) {
		near = str_nearest(word, names, 4);
		return err_set(e, ST_INVALID,
			"unknown policy '%s'; %s%s%sexpected none, cap=WATTS, class or "
			"budget=WATTS",
			word, near ? "did you mean '" : "", near ? near : "", near ? "'? " : "");
	}
	if ((k == 1 || k == 3) != (eq != NULL))
		return err_set(e, ST_INVALID,
			eq ? "policy '%s' takes no value"
			   : "policy '%s' needs a value, "
			     "as %s=40kW",
			word, word);
	if (eq && unit_parse(UNIT_POWER, eq + 1, &mw, &why))
		return err_set(e, ST_INVALID, "policy '%s': %s", word, why.msg);
	if (eq && mw <= 0)
		return err_set(e, ST_INVALID, "policy '%s': the power must be above 0", word);
	row->cfg = (struct site_config){.policy = (enum site_policy)k,
		.n_gpus = o->gpus,
		.idle_w = (double)o->idle_mw / 1000,
		.host_w = (double)o->host_mw / 1000,
		.cap_w = (double)mw / 1000,
		.budget_w = (double)mw / 1000,
		.max_slowdown = (double)o->slowdown_ppm / 1e6,
		.backfill_depth = (int)o->depth};
	if (k == SITE_CLASS)
		snprintf(row->name, sizeof(row->name), "class <= %g%%",
			(double)o->slowdown_ppm / 1e4);
	else
		snprintf(row->name, sizeof(row->name), "%.40s", text);
	return ST_OK;
}

static double kwh(const struct site_opts *o, const struct site_result *r)
{
	return r->total_j / 3.6e6 * o->pue;
}

static json_t *real_or_null(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static json_t *dist_json(const struct site_dist *d)
{
	return json_pack("{s:f,s:f,s:f,s:f,s:f}", "mean", d->mean, "p50", d->p50, "p90", d->p90,
		"p99", d->p99, "max", d->max);
}

static int print_json(
	const struct site_opts *o, const struct site_trace *t, const struct row *rows, size_t n)
{
	json_t *list = json_array(), *doc;

	for (size_t i = 0; i < n; i++) {
		const struct site_result *r = &rows[i].r;

		json_array_append_new(list,
			json_pack("{s:s,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:f,s:o,s:o,s:o,s:I,s:"
				  "o,s:o,s:o}",
				"policy", rows[i].name, "energy_j", r->total_j, "jobs_j", r->job_j,
				"idle_j", r->idle_j, "host_j", r->host_j, "gpu_hours", r->gpu_hours,
				"peak_w", r->peak_w, "guaranteed_peak_w", r->guaranteed_peak_w,
				"mean_w", r->mean_w, "makespan_s", r->end_s - r->begin_s,
				"jobs_per_hour", r->jobs_per_hour, "slowdown",
				dist_json(&r->slowdown), "wait_s", dist_json(&r->wait_s),
				"turnaround", dist_json(&r->turnaround), "delayed_jobs",
				(json_int_t)r->delayed, "energy_cost",
				real_or_null(kwh(o, r) * o->price_kwh), "gpu_hour_cost",
				real_or_null(r->gpu_hours * o->price_gpu_hour), "co2_kg",
				real_or_null(kwh(o, r) * o->carbon / 1000)));
	}
	doc = json_pack("{s:s,s:b,s:I,s:I,s:b,s:s,s:f,s:o}", "schema", "wattlaw.site/1",
		"simulated", 1, "jobs", (json_int_t)t->n, "rows_left_out",
		(json_int_t)t->n_left_out, "replayed_starts", t->has_starts, "currency",
		o->currency, "pue", o->pue, "policies", list);
	json_dumpf(doc, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(10));
	putchar('\n');
	json_decref(doc);
	return CMD_DONE;
}

static void print_table(
	const struct site_opts *o, const struct site_trace *t, const struct row *rows, size_t n)
{
	const struct site_result *base = &rows[0].r;

	printf("simulated: %zu jobs on %lld GPUs, %s", t->n, (long long)o->gpus,
		t->has_starts ? "replayed from their start times" : "scheduled with backfill");
	if (t->n_left_out)
		printf("; %zu rows of the trace left out (steps, no GPU, never started)",
			t->n_left_out);
	printf("\n\n%-16s %13s %8s %10s %9s %9s %8s %8s %8s %9s %8s\n", "policy", "energy", "saved",
		"GPU-hours", "mean", "peak", "slow p50", "slow p99", "wait p50", "wait p99",
		"jobs/h");
	for (size_t i = 0; i < n; i++) {
		const struct site_result *r = &rows[i].r;
		char peak[32], mean[32];

		unit_format_short(UNIT_POWER, r->peak_w * 1000, 4, peak, sizeof(peak));
		unit_format_short(UNIT_POWER, r->mean_w * 1000, 4, mean, sizeof(mean));
		printf("%-16s %9.4f MWh %7.2f%% %10.1f %9s %9s %7.1f%% %7.1f%% %7.0fs %8.0fs "
		       "%8.1f\n",
			rows[i].name, r->total_j / 3.6e9,
			base->total_j > 0 ? 100 * (1 - r->total_j / base->total_j) : 0,
			r->gpu_hours, mean, peak, 100 * (r->slowdown.p50 - 1),
			100 * (r->slowdown.p99 - 1), r->wait_s.p50, r->wait_s.p99,
			r->jobs_per_hour);
	}
	if (isnan(o->price_kwh) && isnan(o->carbon) && isnan(o->price_gpu_hour))
		return;
	printf("\n");
	for (size_t i = 0; i < n; i++) {
		const struct site_result *r = &rows[i].r;
		const char *comma = "";

		printf("%-16s ", rows[i].name);
		if (!isnan(o->price_kwh)) {
			printf("%.2f %s for energy (PUE %g)", kwh(o, r) * o->price_kwh, o->currency,
				o->pue);
			comma = ", ";
		}
		if (!isnan(o->price_gpu_hour)) {
			printf("%s%.2f %s for GPU-hours", comma, r->gpu_hours * o->price_gpu_hour,
				o->currency);
			comma = ", ";
		}
		if (!isnan(o->carbon))
			printf("%s%.1f kg CO2", comma, kwh(o, r) * o->carbon / 1000);
		printf("\n");
	}
	if (!isnan(o->price_kwh) && isnan(o->price_gpu_hour))
		printf("energy only: without --gpu-hour-price nothing here says which policy is "
		       "cheaper\n");
}

int cmd_sim_site(int argc, char **argv)
{
	struct site_opts o = {.price_kwh = NAN, .price_gpu_hour = NAN, .carbon = NAN};
	struct opt_set *set = opt_set_new();
	struct site_trace trace = {0};
	struct site_class *classes = NULL;
	struct row rows[MAX_POLICIES + 1];
	struct err e = ERR_INIT;
	size_t n = 0;
	int code, operand;
	enum status st;

	if (!cmd_parse(set, &help, table, &o, argc, argv, &operand, &code))
		goto out;
	if (operand < argc) {
		code = cmd_usage("unexpected '%s'", argv[operand]);
		goto out;
	}
	if (!o.classes == !o.laws) {
		code = cmd_usage("give either --classes FILE or --laws CAMPAIGN");
		goto out;
	}
	st = parse_policy("none", &o, &rows[n++], &e);
	for (size_t i = 0; i < o.policies.n && !st; i++) {
		if (!strcmp(o.policies.v[i], "none"))
			continue;
		if (n > MAX_POLICIES)
			st = err_set(&e, ST_INVALID, "more than %d policies", MAX_POLICIES);
		else
			st = parse_policy(o.policies.v[i], &o, &rows[n++], &e);
	}
	if (!st)
		st = site_trace_read(o.jobs, &trace, &e);
	if (!st) {
		classes = mem_calloc(trace.n_classes, sizeof(*classes));
		if (!classes)
			st = err_set(&e, ST_NOMEM, "out of memory");
		else if (o.laws)
			st = site_laws_read(o.db, o.laws, &trace, classes, &e);
		else
			st = site_classes_read(o.classes, &trace, classes, &e);
	}
	for (size_t i = 0; i < n && !st; i++) {
		st = site_run(&rows[i].cfg, classes, trace.n_classes, trace.jobs, trace.n,
			&rows[i].r, NULL, NULL, &e);
		if (st)
			err_prefix(&e, "%s, policy %s", o.jobs, rows[i].name);
	}
	if (st) {
		code = cmd_fail(&e);
		goto out;
	}
	code = CMD_DONE;
	if (o.json)
		code = print_json(&o, &trace, rows, n);
	else
		print_table(&o, &trace, rows, n);
out:
	mem_free(classes);
	site_trace_release(&trace);
	opt_set_free(set);
	return code;
}
