/* fit.c: `wattlaw fit`: the laws behind a campaign, side by side, with their errors. */
#include "cmd/commands.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cmd.h"
#include "cmd/fit_detail.h"
#include "cmd/fit_keep.h"
#include "cmd/laws.h"
#include "cmd/rows.h"
#include "record/record_json.h"

struct fit_cmd {
	const char *db, *workload, *where;
	int factor, quantity; /* 0 = all, else one more than the enum */
	bool json, all, compare, plot;
};

#define MAX_SLICES 4 /* more of one kind are a wall of numbers */

#define AT(m) .offset = offsetof(struct fit_cmd, m)

static const char *const factor_choices[] = {
	"all", "workers", "power_limit", "clock_max", "cpu_rate", NULL};
static const char *const quantity_choices[] = {"all", "time", "power", "energy", NULL};

static const struct opt table[] = {
	ROW_DB(offsetof(struct fit_cmd, db)),
	ROW_WORKLOAD(offsetof(struct fit_cmd, workload)),
	ROW_AXES(offsetof(struct fit_cmd, where)),
	{.type = OPT_CHOICE,
		.name = "factor",
		AT(factor),
		.choices = factor_choices,
		.def = "all",
		.arg = "AXIS",
		.help = "only laws in this factor",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_CHOICE,
		.name = "quantity",
		AT(quantity),
		.choices = quantity_choices,
		.def = "all",
		.arg = "WHAT",
		.help = "only laws of this quantity",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_FLAG,
		.name = "compare",
		AT(compare),
		.help = "list every family with its parameters and errors",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_FLAG,
		.name = "plot",
		AT(plot),
		.help = "draw data and law",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_FLAG,
		.short_name = 'a',
		.name = "all",
		AT(all),
		.help = "every slice, also where there are more than four of a kind",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_FLAG,
		.name = "json",
		AT(json),
		.help = "print a JSON document",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_END},
};

static const struct opt_help help = {
	.usage = "wattlaw fit [options] [CAMPAIGN]",
	.summary = "Fit the laws of time, power and energy of a campaign (the latest; \"all\" for "
		   "every one).",
	.more = "For each workload and factor the exponent b of the power law y = a*x^b with its "
		"95 % interval,\n"
		"R2 in log space, the leave-one-out error (LOO), the mean error (MAPE), the number "
		"of settings,\n"
		"and the family that predicts left-out points best. Nothing is printed that was "
		"not fitted.",
};

static bool wanted(const struct fit_cmd *o, const struct law_series *s)
{
	return law_group_matches(s->group, o->workload, o->where) &&
	       (!o->factor || o->factor == (int)s->factor + 1) &&
	       (!o->quantity || o->quantity == (int)s->quantity + 1);
}

/* The law whose leave-one-out error is best; the power law where none has one. */
static const struct fit *best_of(const struct selection *s)
{
	return s->best >= 0 ? &s->fits[s->best] : NULL;
}

static const struct fit *power_of(const struct selection *s)
{
	return s->power >= 0 && s->fits[s->power].st == ST_OK ? &s->fits[s->power] : NULL;
}

/* Index of the exponent among the parameters, -1 when the law has none. */
static int exponent_of(const struct fit *f)
{
	for (unsigned i = 0; i < f->law->n_shown; i++) {
		if (!strcmp(f->law->params[i], "b"))
			return (int)i;
	}
	return -1;
}

static void add_percent(struct str *out, double v, int width)
{
	char buf[32];

	if (isnan(v))
		snprintf(buf, sizeof(buf), "-");
	else
		snprintf(buf, sizeof(buf), v < 9.95 ? "%.1f %%" : "%.0f %%", v);
	str_addf(out, "  %*s", width, buf);
}

static void exponent_text(const struct selection *sel, char *buf, size_t size)
{
	const struct fit *p = sel ? power_of(sel) : NULL;
	int b = p ? exponent_of(p) : -1;

	if (b < 0)
		snprintf(buf, size, "-");
	else if (isnan(p->ci95[b][0]))
		snprintf(buf, size, "b = %.2f (no error estimate)", p->sh.p[b]);
	else
		snprintf(buf, size, "b = %.2f [%.2f, %.2f]", p->sh.p[b], p->ci95[b][0],
			p->ci95[b][1]);
}

static void range_text(const struct law_series *s, char *buf, size_t size)
{
	const struct series *x = &s->sel->series;
	double least = isfinite(x->x_nominal_min) ? x->x_nominal_min : x->x[0];
	char lo[32], hi[32];

	snprintf(buf, size, "%s..%s", factor_text(s->factor, least, lo, sizeof(lo)),
		factor_text(s->factor, x->x[x->n - 1], hi, sizeof(hi)));
}

/* Widths of the columns whose text is as long as the data say. */
struct widths {
	int range, where, exponent;
};

static void widen(int *width, const char *text)
{
	int n = (int)strlen(text);

	if (n > *width)
		*width = n;
}

static void measure_widths(const struct law_set *set, struct widths *w)
{
	char buf[80];

	*w = (struct widths){5, 2, 24};
	for (size_t i = 0; i < set->n_series; i++) {
		const struct law_series *s = &set->series[i];

		if (!s->sel)
			continue;
		range_text(s, buf, sizeof(buf));
		widen(&w->range, buf);
		widen(&w->where, s->where);
		exponent_text(s->sel, buf, sizeof(buf));
		widen(&w->exponent, buf);
	}
}

/* More workers may take longer, but no device is slower for a higher limit or clock. */
static bool rises_with_power(const struct law_series *s)
{
	const struct fit *p = power_of(s->sel);
	int b = p ? exponent_of(p) : -1;

	return b >= 0 && s->quantity == QTY_TIME && s->factor != FACTOR_WORKERS &&
	       s->sel->verdict == VERDICT_SENSITIVE && p->sh.p[b] > 0;
}

static void series_row(const struct law_series *s, const struct widths *w, struct str *out)
{
	const struct fit *power = s->sel ? power_of(s->sel) : NULL;
	const struct fit *best = s->sel ? best_of(s->sel) : NULL;
	char exponent[64], range[80];
	const char *where = *s->where ? s->where : "-";

	exponent_text(s->sel, exponent, sizeof(exponent));
	if (!s->sel) {
		str_addf(out, "  %-6s  %-11s  %-*s  %-*s  not fitted: %s\n",
			quantity_name(s->quantity), factor_axis(s->factor), w->range, "-", w->where,
			where, s->why);
		return;
	}
	range_text(s, range, sizeof(range));
	str_addf(out, "  %-6s  %-11s  %-*s  %-*s  %-*s", quantity_name(s->quantity),
		factor_axis(s->factor), w->range, range, w->where, where, w->exponent, exponent);
	if (power && power->n > 2)
		str_addf(out, "  %5.3f", power->r2_log);
	else
		str_addf(out, "  %5s", "-");
	add_percent(out, power ? power->loo_pct : NAN, 6);
	add_percent(out, power ? power->mape_pct : NAN, 6);
	str_addf(out, "  %2u  ", s->sel->series.n);
	if (s->sel->verdict == VERDICT_INSENSITIVE)
		str_add(out, "insensitive");
	else if (best && !isnan(best->loo_pct))
		str_addf(out, "%s (LOO %.1f %%)", best->law->name, best->loo_pct);
	else
		str_add(out, "-");
	if (s->sel->verdict == VERDICT_UNDETERMINED && s->sel->repeats_needed)
		str_addf(out, "; effect undetermined, %u runs a setting would tell",
			s->sel->repeats_needed);
	if (rises_with_power(s))
		str_add(out, "; time RISES with it: is this what was measured?");
	str_addc(out, '\n');
}

/* What cannot be fitted for want of energy, said once for all groups with the same reason. */
static void energy_notes(const struct law_set *set, struct str *out)
{
	for (size_t i = 0; i < set->n_groups; i++) {
		const struct law_group *g = &set->groups[i];
		const char *why = g->energy_note ? g->energy_note : "no energy was measured";
		bool said = false;

		for (size_t k = 0; k < i && !said; k++) {
			const struct law_group *o = &set->groups[k];

			said = !o->n_energy &&
			       !strcmp(why,
				       o->energy_note ? o->energy_note : "no energy was measured");
		}
		if (!g->n_energy && !said)
			str_addf(out, "Energy is unknown: %s. Laws of energy are left out.\n", why);
	}
}

static void group_head(const struct law_group *g, struct str *out)
{
	str_addf(out, "\n%s", *g->workload ? g->workload : "(no name)");
	if (g->domain)
		str_addf(out, " (%s)", g->domain);
	if (*g->where)
		str_addf(out, ", %s", g->where);
	str_addf(out, ": per %s, %s", g->work_unit, g->label);
	if (g->source && strcmp(g->label, "measured"))
		str_addf(out, " [%s]", g->source);
	str_addf(out, ", %zu run%s\n", g->n, g->n == 1 ? "" : "s");
}

static void print_text(
	const struct law_set *set, const char *campaign, const struct fit_cmd *o, struct str *out)
{
	const struct law_group *last = NULL;
	struct widths w;
	bool any = false;
	size_t hidden = 0;

	measure_widths(set, &w);
	str_addf(out, "Campaign '%s': %zu runs of %zu workload%s%s%s\n", campaign, set->n_runs,
		set->n_workloads, set->n_workloads == 1 ? "" : "s", set->host ? " on " : "",
		set->host ? set->host : "");
	for (size_t i = 0; i < set->n_series; i++) {
		const struct law_series *s = &set->series[i];

		if (!wanted(o, s))
			continue;
		if (s->skipped) {
			hidden++;
			continue;
		}
		if (s->group != last) {
			if (last)
				fit_joint(last, out);
			group_head(s->group, out);
			str_addf(out, "  %-6s  %-11s  %-*s  %-*s  %-*s  %5s  %6s  %6s  %2s  %s\n",
				"", "factor", w.range, "range", w.where, "at", w.exponent,
				"power law, 95 % interval", "R2", "LOO", "MAPE", "n",
				"best family");
		}
		last = s->group;
		any = true;
		series_row(s, &w, out);
		if (s->sel && o->compare)
			fit_compare(s, out);
		if (s->sel && o->plot)
			fit_plot(s, out);
	}
	if (last)
		fit_joint(last, out);
	if (!any)
		str_add(out, "\nNo factor (workers, power_limit, clock_max, cpu_rate) takes two "
			     "values: nothing to fit.\n");
	str_addc(out, '\n');
	if (hidden)
		str_addf(out,
			"%zu more laws away from the default of the other factors are left out "
			"here: "
			"--all fits them\n",
			hidden);
	energy_notes(set, out);
}

static void set(json_t *j, const char *key, json_t *value, bool *failed)
{
	if (!value || json_object_set_new(j, key, value))
		*failed = true;
}

static json_t *law_json(
	const struct law_series *s, const struct fit *f, bool selected, bool *failed)
{
	const struct selection *sel = s->sel;
	json_t *j = json_object(), *params = json_object(), *ci = json_object();

	for (unsigned i = 0; i < f->law->n_shown; i++) {
		set(params, f->law->params[i], json_number(f->sh.p[i]), failed);
		set(ci, f->law->params[i],
			isnan(f->ci95[i][0]) ? json_null()
					     : json_pack("[f,f]", f->ci95[i][0], f->ci95[i][1]),
			failed);
	}
	set(j, "workload", json_text(s->group->workload), failed);
	set(j, "domain", json_text(s->group->domain), failed);
	set(j, "group", json_text(s->group->where), failed);
	set(j, "at", json_text(s->where), failed);
	set(j, "at_baseline", json_boolean(s->at_baseline), failed);
	set(j, "quantity", json_text(quantity_name(s->quantity)), failed);
	set(j, "per", json_text(s->group->work_unit), failed);
	set(j, "factors", json_pack("[s]", factor_name(s->factor)), failed);
	set(j, "family", json_text(f->law->name), failed);
	set(j, "formula", json_text(f->law->formula), failed);
	set(j, "params", params, failed);
	set(j, "ci95", ci, failed);
	set(j, "r2_log", json_number(f->r2_log), failed);
	set(j, "mape_pct", json_number(f->mape_pct), failed);
	set(j, "loo_pct", json_number(f->loo_pct), failed);
	set(j, "n", json_integer(f->n), failed);
	set(j, "runs", json_integer((json_int_t)s->n), failed);
	set(j, "selected", json_boolean(selected), failed);
	set(j, "sensitive",
		sel->verdict == VERDICT_UNDETERMINED
			? json_null()
			: json_boolean(sel->verdict == VERDICT_SENSITIVE),
		failed);
	set(j, "verdict", json_string(verdict_name(sel->verdict)), failed);
	set(j, "repeats_needed",
		sel->repeats_needed ? json_integer(sel->repeats_needed) : json_null(), failed);
	set(j, "aicc", json_number(f->aicc), failed);
	set(j, "weight", json_number(sel->weight[f - sel->fits]), failed);
	set(j, "combined_loo_pct", json_number(sel->combined_loo_pct), failed);
	set(j, "range", json_pack("[f,f]", f->x_min, f->x_max), failed);
	set(j, "note", *f->note ? json_text(f->note) : json_null(), failed);
	set(j, "label", json_text(s->group->label), failed);
	set(j, "simulated", json_boolean(!strcmp(s->group->label, "simulated")), failed);
	set(j, "source", json_text(s->group->source), failed);
	return j;
}

static json_t *document(const struct law_set *laws, const char *campaign, const struct fit_cmd *o)
{
	json_t *doc = json_object(), *list = json_array(), *unfitted = json_array();
	json_t *joint = json_array();
	bool failed = false;
	size_t omitted = 0;

	for (size_t i = 0; i < laws->n_series; i++) {
		const struct law_series *s = &laws->series[i];

		if (!wanted(o, s))
			continue;
		if (s->skipped) {
			omitted++;
			continue;
		}
		if (!s->sel) {
			json_array_append_new(
				unfitted, json_pack("{s:s,s:s,s:s,s:s,s:s,s:b}", "workload",
						  s->group->workload, "at", s->where, "quantity",
						  quantity_name(s->quantity), "factor",
						  factor_name(s->factor), "why", s->why,
						  "bad_input", s->st == ST_INVALID));
			continue;
		}
		for (unsigned k = 0; k < s->sel->n_fits; k++) {
			if (s->sel->fits[k].st != ST_OK)
				continue;
			json_array_append_new(list,
				law_json(s, &s->sel->fits[k], (int)k == s->sel->best, &failed));
		}
	}
	set(doc, "schema", json_string("wattlaw.fit/1"), &failed);
	set(doc, "campaign", json_text(campaign), &failed);
	set(doc, "runs", json_integer((json_int_t)laws->n_runs), &failed);
	set(doc, "laws", list, &failed);
	for (size_t i = 0; i < laws->n_groups; i++) {
		json_t *j = law_group_matches(&laws->groups[i], o->workload, o->where)
				    ? fit_joint_json(&laws->groups[i])
				    : NULL;

		if (j && json_array_append_new(joint, j))
			failed = true;
	}
	set(doc, "joint", joint, &failed);
	set(doc, "unfitted", unfitted, &failed);
	set(doc, "omitted", json_integer((json_int_t)omitted), &failed);
	if (!failed)
		return doc;
	json_decref(doc);
	return NULL;
}

/* Runs that contradict each other are the user's to mend: 2 when they are all there is, 3 when
 * other laws could be fitted. */
static int code_of(const struct law_set *laws, const struct fit_cmd *o)
{
	size_t good = 0, bad = 0;

	for (size_t i = 0; i < laws->n_series; i++) {
		const struct law_series *s = &laws->series[i];

		if (!wanted(o, s) || s->skipped)
			continue;
		good += s->sel != NULL;
		bad += s->st == ST_INVALID;
	}
	if (bad)
		cmd_warn("%zu law%s not fitted: runs contradict each other; rows count as 'wattlaw "
			 "export csv' lists them",
			bad, bad == 1 ? " was" : "s were");
	return !bad ? CMD_DONE : good ? CMD_PARTIAL : CMD_USAGE;
}

static int run_fit(const struct fit_cmd *o, const char *name)
{
	struct campaign_info c = {.id = 0};
	struct law_set laws = {.n_groups = 0};
	struct store *s = NULL;
	struct str out = STR_INIT;
	struct err e = ERR_INIT, unkept = ERR_INIT;
	int code = CMD_DONE;

	if (store_open(store_default_path(o->db), false, &s, &e) ||
		(!(name && !strcmp(name, "all")) && store_campaign_find(s, name, &c, &e)) ||
		law_set_read(s, c.id, &laws, &e) ||
		law_set_expect(&laws, o->workload, o->where, &e) ||
		law_set_fit(&laws, o->all ? 0 : MAX_SLICES, &e)) {
		code = cmd_fail(&e);
		goto out;
	}
	/* Whatever is shown, every law was fitted. A store that cannot be written can be read. */
	if (fit_keep(store_default_path(o->db), c.id, &laws, &unkept))
		cmd_note("the laws are not kept in the store: %s", unkept.msg);
	if (!o->json)
		print_text(&laws, c.name ? c.name : "all", o, &out);
	else if (!json_line(document(&laws, c.name ? c.name : "all", o), &out))
		out.failed = true;
	if (out.failed) {
		cmd_error("out of memory");
		code = CMD_FAILED;
	} else {
		fputs(str_cstr(&out), stdout);
		code = code_of(&laws, o);
	}
out:
	str_release(&out);
	law_set_release(&laws);
	campaign_info_release(&c);
	store_close(s);
	return code;
}

int cmd_fit(int argc, char **argv)
{
	struct opt_set *opts = opt_set_new();
	struct fit_cmd o = {0};
	int i, code = CMD_DONE;

	if (cmd_parse(opts, &help, table, &o, argc, argv, &i, &code)) {
		if (argc - i > 1)
			code = cmd_usage("expected one CAMPAIGN, found '%s'", argv[i + 1]);
		else
			code = run_fit(&o, i < argc ? argv[i] : NULL);
	}
	opt_set_free(opts);
	return code;
}
