/* predict_out.c: see predict_out.h. */
#include "cmd/predict_out.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "record/record_json.h"

static void duration_text(double s, char *buf, size_t size)
{
	if (s >= 2 * 86400)
		snprintf(buf, size, "%.3g d", s / 86400);
	else if (s >= 2 * 3600)
		snprintf(buf, size, "%.3g h", s / 3600);
	else if (s >= 120)
		snprintf(buf, size, "%.3g min", s / 60);
	else if (s >= 0.1)
		snprintf(buf, size, "%.3g s", s);
	else
		snprintf(buf, size, "%.3g ms", s * 1e3);
}

static void energy_text(double j, char *buf, size_t size)
{
	if (j >= 3.6e6)
		snprintf(buf, size, "%.3g kWh", j / 3.6e6);
	else if (j >= 1e4)
		snprintf(buf, size, "%.3g kJ", j / 1e3);
	else
		snprintf(buf, size, "%.4g J", j);
}

static void plain_text(double v, char *buf, size_t size)
{
	snprintf(buf, size, v >= 1e5 ? "%.0f" : v >= 0.01 ? "%.4g" : "%.3g", v);
}

static void watt_text(double w, char *buf, size_t size)
{
	if (w >= 1e4)
		snprintf(buf, size, "%.3g kW", w / 1e3);
	else
		snprintf(buf, size, "%.3g W", w);
}

/* "  time        3.21 h   [3.05 h, 3.38 h]   1.17 x default [1.12, 1.23]" */
static void line(struct str *out, const char *what, const struct interval *v,
	const struct interval *ratio, void (*text)(double, char *, size_t), const char *unit)
{
	char a[48], lo[48], hi[48];

	if (isnan(v->value))
		return;
	text(v->value, a, sizeof(a));
	text(v->lo, lo, sizeof(lo));
	text(v->hi, hi, sizeof(hi));
	str_addf(out, "  %-12s %12s%s   [%s, %s]", what, a, unit, lo, hi);
	if (ratio && isfinite(ratio->value))
		str_addf(out, "   %.3f x default [%.3f, %.3f]", ratio->value, ratio->lo, ratio->hi);
	str_addc(out, '\n');
}

static void setting_line(const double *x, struct str *out)
{
	char buf[64];
	bool any = false;

	for (int f = 0; f < FACTOR_COUNT; f++) {
		if (isnan(x[f]))
			continue;
		str_addf(out, "%s%s=%s", any ? " " : "", factor_axis((enum factor)f),
			factor_text((enum factor)f, x[f], buf, sizeof(buf)));
		any = true;
	}
	if (!any)
		str_add(out, "default");
}

static void head(const struct question *q, const struct reply *r, struct str *out)
{
	const struct law_group *g = r->group;

	str_addf(out, "%s", *g->workload ? g->workload : "(no name)");
	if (*g->where)
		str_addf(out, ", %s", g->where);
	str_add(out, " at ");
	setting_line(q->x, out);
	str_addf(out, ": %s, from %zu run%s", g->label, g->n, g->n == 1 ? "" : "s");
	if (r->model && r->model->scaling != SCALING_UNKNOWN)
		str_addf(out, ", %s scaling", scaling_name(r->model->scaling));
	str_addc(out, '\n');
}

static void cost_lines(const struct question *q, const struct planned *p, struct str *out)
{
	const struct cost *c = &p->cost;
	char what[80];

	line(out, "GPU-hours", &c->gpu_hours, NULL, plain_text, "");
	if (c->has_host || isfinite(q->terms.pue))
		line(out, "facility", &c->energy_kwh, NULL, plain_text, " kWh");
	snprintf(what, sizeof(what), " %s%s", q->o->currency,
		c->energy_only ? " (energy only)" : "");
	line(out, "cost", &c->money, NULL, plain_text, what);
	line(out, "allocation", &c->units, NULL, plain_text, " units");
	line(out, "CO2", &c->co2_g, NULL, plain_text, " g");
}

static void evidence_line(const struct reply *r, struct str *out)
{
	const struct answer *a = &r->plan.per_unit;

	str_addf(out, "  %s", evidence_name(a->evidence));
	if (a->distance > 0)
		str_addf(out, " by a factor of %.2f beyond the measured range", exp(a->distance));
	str_addf(out, "; %s",
		!strcmp(a->family, "joint") ? "joint law of the factors"
		: !strcmp(a->family, "product")
			? "product of separate laws: their interplay is not known"
		: !strcmp(a->family, "prior") ? "laws and curves of other workloads"
					      : "several laws combined");
	if (a->from_prior) {
		const char *device = NULL;

		str_add(out, " (");
		for (int k = 0; k < QTY_COUNT; k++) {
			if (!(a->from_prior & QTY_BIT(k)))
				continue;
			str_addf(out, "%s%u of %s", device ? ", " : "", r->prior[k]->n_curves,
				quantity_name((enum quantity)k));
			device = r->prior[k]->device;
		}
		str_addf(out, " on %s; --no-prior leaves them out)", device);
	}
	str_addf(out, "; %g %% intervals\n", 100 * a->y[QTY_TIME].level);
	if (*r->plan.warning)
		str_addf(out, "  note: %s\n", r->plan.warning);
}

void predict_print(const struct question *q, const struct reply *r, struct str *out)
{
	const struct planned *p = &r->plan;
	const struct answer *a = &p->per_unit;
	char what[48];

	head(q, r, out);
	if (r->st != ST_OK) {
		str_addf(out, "  no answer: %s\n", r->e.msg);
		return;
	}
	snprintf(what, sizeof(what), "time");
	line(out, what, &p->time_s, &a->ratio[QTY_TIME], duration_text, "");
	line(out, "energy", &p->energy_j, &a->ratio[QTY_ENERGY], energy_text, "");
	line(out, "mean power", &p->power_w, &a->ratio[QTY_POWER], watt_text, "");
	snprintf(what, sizeof(what), " %ss/s", r->group->work_unit);
	line(out, "throughput", &p->throughput, NULL, plain_text, what);
	cost_lines(q, p, out);
	evidence_line(r, out);
	if (isnan(p->energy_j.value))
		str_addf(out, "  energy is unknown: %s\n",
			r->group->energy_note ? r->group->energy_note : "no energy was measured");
}

static void set(json_t *j, const char *key, json_t *value, bool *failed)
{
	if (!value || json_object_set_new(j, key, value))
		*failed = true;
}

static json_t *interval_json(const struct interval *v, bool *failed)
{
	json_t *j;

	if (isnan(v->value))
		return json_null();
	j = json_object();
	set(j, "value", json_number(v->value), failed);
	set(j, "lo", json_number(v->lo), failed);
	set(j, "hi", json_number(v->hi), failed);
	set(j, "level", json_number(v->level), failed);
	return j;
}

static json_t *setting_json(const double *x, bool *failed)
{
	json_t *j = json_object();

	for (int f = 0; f < FACTOR_COUNT; f++)
		set(j, factor_name((enum factor)f), json_number(x[f]), failed);
	return j;
}

static json_t *cost_json(const struct question *q, const struct cost *c, bool *failed)
{
	json_t *j;

	if (isnan(c->money.value))
		return json_null();
	j = interval_json(&c->money, failed);
	set(j, "amount", json_number(c->money.value), failed);
	set(j, "currency", json_text(q->o->currency), failed);
	set(j, "energy_only", json_boolean(c->energy_only), failed);
	return j;
}

/* Curves of other workloads behind each answer; 0 where they took no part. */
static json_t *prior_json(const struct reply *r, bool *failed)
{
	json_t *j = json_object();

	for (int k = 0; k < QTY_COUNT; k++) {
		bool used = r->st == ST_OK && (r->plan.per_unit.from_prior & QTY_BIT(k));

		set(j, quantity_name((enum quantity)k),
			json_integer(used ? r->prior[k]->n_curves : 0), failed);
	}
	return j;
}

static json_t *reply_json(const struct question *q, const struct reply *r, bool *failed)
{
	const struct planned *p = &r->plan;
	const struct answer *a = &p->per_unit;
	bool good = r->st == ST_OK, fitted = r->model != NULL;
	json_t *j = json_object();

	set(j, "workload", json_text(r->group->workload), failed);
	set(j, "group", json_text(r->group->where), failed);
	set(j, "label", json_text(r->group->label), failed);
	set(j, "simulated", json_boolean(!strcmp(r->group->label, "simulated")), failed);
	set(j, "source", json_text(r->group->source), failed);
	set(j, "setting", setting_json(q->x, failed), failed);
	set(j, "per", json_text(r->group->work_unit), failed);
	set(j, "units", good ? json_number(p->units) : json_null(), failed);
	set(j, "time_s", good ? interval_json(&p->time_s, failed) : json_null(), failed);
	set(j, "energy_j", good ? interval_json(&p->energy_j, failed) : json_null(), failed);
	set(j, "mean_w", good ? interval_json(&p->power_w, failed) : json_null(), failed);
	set(j, "throughput_per_s", good ? interval_json(&p->throughput, failed) : json_null(),
		failed);
	set(j, "slowdown", good ? interval_json(&a->ratio[QTY_TIME], failed) : json_null(), failed);
	set(j, "gpu_hours", good ? interval_json(&p->cost.gpu_hours, failed) : json_null(), failed);
	set(j, "facility_kwh", good ? interval_json(&p->cost.energy_kwh, failed) : json_null(),
		failed);
	set(j, "cost", good ? cost_json(q, &p->cost, failed) : json_null(), failed);
	set(j, "allocation_units", good ? interval_json(&p->cost.units, failed) : json_null(),
		failed);
	set(j, "co2_g", good ? interval_json(&p->cost.co2_g, failed) : json_null(), failed);
	set(j, "evidence", fitted ? json_text(evidence_name(a->evidence)) : json_null(), failed);
	set(j, "distance", fitted ? json_number(a->distance) : json_null(), failed);
	set(j, "family", good ? json_text(a->family) : json_null(), failed);
	set(j, "prior_curves", prior_json(r, failed), failed);
	set(j, "scaling", fitted ? json_text(scaling_name(r->model->scaling)) : json_null(),
		failed);
	set(j, "reason", good ? json_null() : json_text(r->e.msg), failed);
	set(j, "nearest",
		!good && a->evidence == EVIDENCE_REFUSED ? setting_json(a->nearest, failed)
							 : json_null(),
		failed);
	set(j, "warning", good && *p->warning ? json_text(p->warning) : json_null(), failed);
	return j;
}

json_t *predict_document(const struct question *q, const struct reply *r, size_t n)
{
	bool failed = false;
	json_t *doc;

	if (n == 1) {
		doc = reply_json(q, r, &failed);
	} else {
		json_t *list = json_array();

		for (size_t i = 0; i < n; i++)
			if (json_array_append_new(list, reply_json(q, &r[i], &failed)))
				failed = true;
		doc = json_object();
		set(doc, "predictions", list, &failed);
	}
	set(doc, "schema", json_string("wattlaw.predict/1"), &failed);
	if (!failed)
		return doc;
	json_decref(doc);
	return NULL;
}
