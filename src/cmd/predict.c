/* predict.c: `wattlaw predict`: time, energy and cost of a run at a setting that was never tried.
 */
#include "cmd/commands.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/predict_out.h"
#include "cmd/rows.h"
#include "record/record_json.h"

#define AT(m) .offset = offsetof(struct predict_cmd, m)
#define PLAIN .flags = OPT_NO_CONFIG

static const struct opt table[] = {
	ROW_DB(offsetof(struct predict_cmd, db)),
	ROW_WORKLOAD(offsetof(struct predict_cmd, workload)),
	ROW_AXES(offsetof(struct predict_cmd, where)),
	{.type = OPT_GROUP, .help = "The setting (what is not given stays at its default)"},
	{.type = OPT_INT,
		.name = "workers",
		AT(workers),
		.min = 1,
		.max = 100000000,
		.arg = "N",
		.help = "GPUs or ranks",
		PLAIN},
	{.type = OPT_UNIT,
		.unit = UNIT_POWER,
		.name = "power-limit",
		AT(power_limit),
		.min = 1,
		.max = INT64_MAX,
		.arg = "POWER",
		.help = "power limit of each device",
		PLAIN},
	{.type = OPT_UNIT,
		.unit = UNIT_FREQ,
		.name = "clock-max",
		AT(clock_max),
		.min = 1,
		.max = INT64_MAX,
		.arg = "FREQ",
		.help = "clock limit of each device",
		PLAIN},
	{.type = OPT_UNIT,
		.unit = UNIT_RATIO,
		.name = "cpu-rate",
		AT(cpu_rate),
		.min = 1,
		.max = INT64_MAX,
		.arg = "PERCENT",
		.help = "CPU rate of each rank",
		PLAIN},
	{.type = OPT_GROUP, .help = "The run that is planned (without: one unit of work)"},
	{.type = OPT_DOUBLE,
		.name = "samples",
		AT(samples),
		.arg = "N",
		.help = "samples to train on",
		PLAIN},
	{.type = OPT_DOUBLE,
		.name = "steps",
		AT(steps),
		.arg = "N",
		.help = "optimiser steps",
		PLAIN},
	{.type = OPT_DOUBLE,
		.name = "epochs",
		AT(epochs),
		.arg = "N",
		.help = "passes over the data",
		PLAIN},
	{.type = OPT_DOUBLE,
		.name = "runs",
		AT(runs),
		.arg = "N",
		.help = "whole runs, where these were measured",
		PLAIN},
	{.type = OPT_DOUBLE,
		.name = "epoch-samples",
		AT(epoch_samples),
		.arg = "N",
		.help = "samples in one epoch, for --epochs",
		PLAIN},
	{.type = OPT_GROUP, .help = "Cost (what is not given is not counted)"},
	{.type = OPT_DOUBLE,
		.name = "pue",
		AT(pue),
		.arg = "X",
		.help = "facility over IT energy (power usage effectiveness)"},
	{.type = OPT_DOUBLE,
		.name = "host-power",
		AT(host_power),
		.arg = "WATTS",
		.help = "draw of a host beyond what was measured"},
	{.type = OPT_INT,
		.name = "workers-per-host",
		AT(workers_per_host),
		.min = 0,
		.max = 100000,
		.arg = "N",
		.help = "for --host-power; without, one host has all workers"},
	{.type = OPT_DOUBLE, .name = "price", AT(price), .arg = "X", .help = "price of a kWh"},
	{.type = OPT_DOUBLE,
		.name = "gpu-hour-price",
		AT(gpu_hour_price),
		.arg = "X",
		.help = "price of one worker's hour"},
	{.type = OPT_DOUBLE,
		.name = "gpu-hour-units",
		AT(unit_price),
		.arg = "X",
		.help = "allocation units one worker's hour costs"},
	{.type = OPT_TEXT,
		.name = "currency",
		AT(currency),
		.def = "EUR",
		.arg = "NAME",
		.help = "for printing"},
	{.type = OPT_TEXT,
		.name = "carbon",
		AT(carbon),
		.arg = "G|FILE",
		.help = "g CO2 per kWh, or a CSV file with a column g_per_kwh"},
	{.type = OPT_GROUP, .help = "How"},
	{.type = OPT_UNIT,
		.unit = UNIT_RATIO,
		.name = "level",
		AT(level),
		.def = "90%",
		.min = 510000,
		.max = 998000,
		.arg = "PERCENT",
		.help = "level of the intervals",
		PLAIN},
	{.type = OPT_FLAG,
		.name = "prior",
		AT(prior),
		.def = "1",
		.help = "let other workloads on the device help where probes are few"},
	{.type = OPT_FLAG,
		.name = "mixed",
		AT(mixed),
		.help = "accept runs whose batch changes with the workers",
		PLAIN},
	{.type = OPT_FLAG, .name = "json", AT(json), .help = "print a JSON document", PLAIN},
	{.type = OPT_END},
};

static const struct opt_help help = {
	.usage = "wattlaw predict [options] [CAMPAIGN]",
	.summary = "Time, energy and cost at a setting, with an interval, from the runs of a "
		   "campaign (the "
		   "latest; \"all\" for every one).",
	.more = "Says whether the setting lies between measured ones or beyond them, and refuses "
		"what the\n"
		"evidence does not reach: exit code 4 then, with the nearest setting that can be "
		"answered.\n"
		"Without --gpu-hour-price the money is for energy only.",
};

/* 0 stands for "not given" in the option struct; no real value is 0. */
static double given(double v)
{
	return v > 0 ? v : NAN;
}

static enum status make_question(const struct predict_cmd *o, struct question *q, struct err *e)
{
	q->o = o;
	q->x[FACTOR_WORKERS] = given((double)o->workers);
	q->x[FACTOR_POWER_LIMIT] = given(unit_to_outside(UNIT_POWER, o->power_limit));
	q->x[FACTOR_CLOCK] = given(unit_to_outside(UNIT_FREQ, o->clock_max));
	q->x[FACTOR_CPU_RATE] = given(unit_to_outside(UNIT_RATIO, o->cpu_rate));
	q->work = (struct planned_work){o->samples, o->steps, o->epochs, o->runs, o->epoch_samples};
	q->terms = (struct cost_terms){.pue = given(o->pue),
		.host_w = given(o->host_power),
		.workers_per_host = given((double)o->workers_per_host),
		.per_kwh = given(o->price),
		.per_gpu_hour = given(o->gpu_hour_price),
		.units_per_gpu_hour = given(o->unit_price),
		.carbon_g_kwh = NAN};
	if ((o->samples > 0) + (o->steps > 0) + (o->epochs > 0) + (o->runs > 0) > 1)
		return err_set(
			e, ST_INVALID, "give one of --samples, --steps, --epochs and --runs");
	if (o->samples < 0 || o->steps < 0 || o->epochs < 0 || o->runs < 0 || o->price < 0 ||
		o->gpu_hour_price < 0 || o->host_power < 0 || o->epoch_samples < 0)
		return err_set(e, ST_INVALID, "work, prices and power must not be negative");
	if (o->pue != 0 && !(o->pue >= 1))
		return err_set(e, ST_INVALID, "a PUE is at least 1");
	return o->carbon ? planned_carbon(o->carbon, &q->terms.carbon_g_kwh, e) : ST_OK;
}

static void reply_make(const struct question *q, const struct law_set *all,
	const struct law_group *g, struct reply *r)
{
	struct model_opts opts = {.level = unit_to_outside(UNIT_RATIO, q->o->level) / 100,
		.scaling = q->o->mixed || !strcmp(g->label, "imported") ? SCALING_MIXED
									: SCALING_UNKNOWN};

	memset(r, 0, sizeof(*r));
	r->group = g;
	for (int k = 0; q->o->prior && k < QTY_COUNT; k++) {
		for (int f = 0; f < FACTOR_COUNT && !r->prior[k]; f++)
			if (isfinite(q->x[f]) && f != FACTOR_WORKERS)
				r->prior[k] =
					planned_prior(all, g, (enum factor)f, (enum quantity)k);
		opts.prior[k] = r->prior[k];
	}
	r->st = model_fit_workload(g->obs, g->n, &opts, &r->model, &r->e);
	if (r->st == ST_OK)
		r->st = planned_ask(g, r->model, q->x, &q->work, &q->terms, &r->plan, &r->e);
}

static void reply_release(struct reply *r)
{
	model_release(r->model);
	for (int k = 0; k < QTY_COUNT; k++)
		mem_free(r->prior[k]);
}

/* Exit code of several answers: all 0, none 4 (or what went wrong), some 3. */
static int code_of(const struct reply *r, size_t n)
{
	size_t good = 0, refused = 0;

	for (size_t i = 0; i < n; i++) {
		good += r[i].st == ST_OK;
		refused += r[i].st == ST_RANGE;
	}
	if (good == n)
		return CMD_DONE;
	if (good)
		return CMD_PARTIAL;
	if (refused == n)
		return CMD_NO_ANSWER;
	return r[0].st == ST_INVALID ? CMD_USAGE : CMD_FAILED;
}

static int answer(const struct question *q, const struct law_set *laws, const struct law_set *all)
{
	struct reply *r = mem_calloc(laws->n_groups + 1, sizeof(*r));
	struct str out = STR_INIT;
	size_t n = 0;
	int code = CMD_FAILED;

	for (size_t i = 0; r && i < laws->n_groups; i++)
		if (law_group_matches(&laws->groups[i], q->o->workload, q->o->where))
			reply_make(q, all, &laws->groups[i], &r[n++]);
	if (q->o->json) {
		if (!r || !json_line(predict_document(q, r, n), &out))
			out.failed = true;
	} else {
		for (size_t i = 0; r && i < n; i++)
			predict_print(q, &r[i], &out);
	}
	if (!r || out.failed) {
		cmd_error("out of memory");
		goto out;
	}
	fputs(str_cstr(&out), stdout);
	code = code_of(r, n);
out:
	for (size_t i = 0; i < n; i++)
		reply_release(&r[i]);
	mem_free(r);
	str_release(&out);
	return code;
}

static int run_predict(const struct predict_cmd *o, const char *name)
{
	struct campaign_info c = {.id = 0};
	struct law_set laws = {.n_groups = 0}, all = {.n_groups = 0};
	struct question q;
	struct store *s = NULL;
	struct err e = ERR_INIT;
	int code;

	if (make_question(o, &q, &e) || store_open(store_default_path(o->db), false, &s, &e) ||
		(!(name && !strcmp(name, "all")) && store_campaign_find(s, name, &c, &e)) ||
		law_set_read(s, c.id, &laws, &e) ||
		law_set_expect(&laws, o->workload, o->where, &e) ||
		(o->prior && law_set_read(s, 0, &all, &e)))
		code = cmd_fail(&e);
	else
		code = answer(&q, &laws, &all);
	law_set_release(&laws);
	law_set_release(&all);
	campaign_info_release(&c);
	store_close(s);
	return code;
}

int cmd_predict(int argc, char **argv)
{
	struct opt_set *opts = opt_set_new();
	struct predict_cmd o = {0};
	int i, code = CMD_DONE;

	if (cmd_parse(opts, &help, table, &o, argc, argv, &i, &code)) {
		if (argc - i > 1)
			code = cmd_usage("expected one CAMPAIGN, found '%s'", argv[i + 1]);
		else
			code = run_predict(&o, i < argc ? argv[i] : NULL);
	}
	opt_set_free(opts);
	return code;
}
