#include "record/record_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Length of the UTF-8 sequence at s, 0 when it is not one (overlong, surrogate, cut). */
static size_t utf8_len(const unsigned char *s)
{
	static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = s[0] < 0x80       ? 1
		   : s[0] >> 5 == 6  ? 2
		   : s[0] >> 4 == 14 ? 3
		   : s[0] >> 3 == 30 ? 4
				     : 0;
	uint32_t c;

	if (n < 2)
		return n;
	c = s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	return c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0 : n;
}

json_t *json_text(const char *text)
{
	struct str s = STR_INIT;
	json_t *j = NULL;

	if (!text)
		return json_null();
	j = json_string(text);
	if (j)
		return j;
	for (const char *p = text; *p;) {
		size_t n = utf8_len((const unsigned char *)p);

		str_addn(&s, n ? p : "\xef\xbf\xbd", n ? n : 3);
		p += n ? n : 1;
	}
	if (!s.failed)
		j = json_string(str_cstr(&s));
	str_release(&s);
	return j;
}

json_t *json_number(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

json_t *json_qty(struct qty q, enum unit u)
{
	if (q.st != ST_OK)
		return json_null();
	return u == UNIT_NONE || u == UNIT_BYTES ? json_integer(q.v)
						 : json_real(unit_to_outside(u, q.v));
}

/* json_object_set_new with a NULL value makes jansson fail the set; the document is then short of a
 * key, which must not happen silently. */
struct doc {
	json_t *j;
	bool failed;
};

static void set(struct doc *d, json_t *object, const char *key, json_t *value)
{
	if (!object || !value || json_object_set_new(object, key, value))
		d->failed = true;
}

static void append(struct doc *d, json_t *array, json_t *value)
{
	if (!array || !value || json_array_append_new(array, value))
		d->failed = true;
}

json_t *json_setting(const struct axis_val *axes, size_t n)
{
	struct doc d = {json_object(), false};
	char key[128];

	for (size_t i = 0; i < n; i++) {
		const struct axis_val *a = &axes[i];
		double v = axis_number(a);
		json_t *value;

		if (!isfinite(v))
			value = json_text(a->text);
		else if (a->unit == UNIT_NONE && a->value.st == ST_OK)
			value = json_integer(a->value.v);
		else
			value = json_real(v);
		set(&d, d.j, axis_column(a->name, a->unit, key, sizeof(key)), value);
	}
	if (!d.failed)
		return d.j;
	json_decref(d.j);
	return NULL;
}

static json_t *strings(struct doc *d, char *const *v, size_t n)
{
	json_t *a = json_array();

	for (size_t i = 0; i < n; i++)
		append(d, a, json_text(v[i]));
	return a;
}

/* A whole number of things over a time, per second. */
static json_t *rate(struct qty n, struct qty ns)
{
	return n.st == ST_OK && ns.st == ST_OK && ns.v > 0
		       ? json_real((double)n.v * 1e9 / (double)ns.v)
		       : json_null();
}

static json_t *train_json(struct doc *d, const struct train_rec *t)
{
	json_t *j = json_object(), *step = json_object();
	bool window = t->window_ns.st == ST_OK && t->window_samples.st == ST_OK &&
		      t->window_samples.v > 0;

	set(d, j, "ranks", t->n_ranks ? json_integer(t->n_ranks) : json_null());
	set(d, j, "steps", json_qty(t->steps, UNIT_NONE));
	set(d, j, "samples", json_qty(t->samples, UNIT_NONE));
	set(d, j, "epochs", json_qty(t->epochs, UNIT_NONE));
	set(d, step, "p10", json_qty(t->step_p10_ns, UNIT_TIME));
	set(d, step, "median", json_qty(t->step_median_ns, UNIT_TIME));
	set(d, step, "p90", json_qty(t->step_p90_ns, UNIT_TIME));
	set(d, step, "mean", json_qty(t->step_mean_ns, UNIT_TIME));
	set(d, step, "sd", json_qty(t->step_sd_ns, UNIT_TIME));
	set(d, step, "n", json_qty(t->window_steps, UNIT_NONE));
	set(d, j, "step_s", step);
	set(d, j, "window_s", json_qty(t->window_ns, UNIT_TIME));
	set(d, j, "sample_s",
		window ? json_real((double)t->window_ns.v / 1e9 / (double)t->window_samples.v)
		       : json_null());
	set(d, j, "samples_per_s", rate(t->window_samples, t->window_ns));
	set(d, j, "batch_per_rank", json_qty(t->batch_per_rank, UNIT_NONE));
	set(d, j, "global_batch", json_qty(t->global_batch, UNIT_NONE));
	set(d, j, "gradient_bytes", json_qty(t->gradient_bytes, UNIT_BYTES));
	set(d, j, "loss_first", t->has_loss ? json_number(t->loss_first) : json_null());
	set(d, j, "loss_last", t->has_loss ? json_number(t->loss_last) : json_null());
	set(d, j, "steady", t->from_marks ? json_boolean(t->steady) : json_null());
	return j;
}

static json_t *energy_json(struct doc *d, const struct run_rec *r)
{
	json_t *j = json_object();
	struct qty part = r->energy_uj;

	set(d, j, "total_j", json_qty(r->energy_uj, UNIT_ENERGY));
	set(d, j, "net_j", json_qty(r->net_uj, UNIT_ENERGY));
	if (part.st == ST_PARTIAL) {
		part.st = ST_OK;
		set(d, j, "partial_j", json_qty(part, UNIT_ENERGY));
	}
	set(d, j, "method", json_text(energy_method_name(r->method)));
	set(d, j, "resolution_pct", json_qty(r->resolution_ppm, UNIT_RATIO));
	set(d, j, "coverage_pct", json_qty(r->coverage_ppm, UNIT_RATIO));
	set(d, j, "scope", json_text(r->scope));
	set(d, j, "shared_node", json_boolean(r->shared_node));
	set(d, j, "note", json_text(r->energy_note));
	return j;
}

static json_t *knob_json(struct doc *d, const struct dev_rec *dev, const char *name, enum unit unit)
{
	json_t *j = json_object();
	struct qty none = QTY_NONE(ST_UNKNOWN), requested = none, enforced = none, found = none;

	for (size_t i = 0; i < dev->n_knobs; i++) {
		if (dev->knobs[i].name && !strcmp(dev->knobs[i].name, name)) {
			requested = dev->knobs[i].requested;
			enforced = dev->knobs[i].enforced;
			found = dev->knobs[i].found;
		}
	}
	set(d, j, "requested", json_qty(requested, unit));
	set(d, j, "enforced", json_qty(enforced, unit));
	set(d, j, "found", json_qty(found, unit));
	return j;
}

static json_t *dev_json(struct doc *d, const struct dev_rec *v)
{
	json_t *j = json_object(), *temp = json_object(), *throttle = json_object();

	set(d, j, "id", json_text(v->key));
	set(d, j, "kind", json_text(dev_kind_name(v->kind)));
	set(d, j, "name", json_text(v->name));
	set(d, j, "host", json_text(v->host));
	set(d, j, "parent", json_text(v->parent));
	set(d, j, "counted", json_boolean(v->counted));
	set(d, j, "energy_j", json_qty(v->energy_uj, UNIT_ENERGY));
	set(d, j, "counter_j", json_qty(v->energy_counter_uj, UNIT_ENERGY));
	set(d, j, "integral_j", json_qty(v->energy_integral_uj, UNIT_ENERGY));
	set(d, j, "net_j", json_qty(v->net_uj, UNIT_ENERGY));
	set(d, j, "method", json_text(energy_method_name(v->method)));
	set(d, j, "resolution_pct", json_qty(v->resolution_ppm, UNIT_RATIO));
	set(d, j, "coverage_pct", json_qty(v->coverage_ppm, UNIT_RATIO));
	set(d, j, "idle_w", json_qty(v->idle_mw, UNIT_POWER));
	set(d, j, "mean_w", json_qty(v->mean_mw, UNIT_POWER));
	set(d, j, "p95_w", json_qty(v->p95_mw, UNIT_POWER));
	set(d, j, "max_w", json_qty(v->max_mw, UNIT_POWER));
	set(d, j, "clock_mhz", json_qty(v->clock_khz, UNIT_FREQ));
	set(d, j, "memory_clock_mhz", json_qty(v->mem_clock_khz, UNIT_FREQ));
	set(d, j, "util_pct", json_qty(v->util_ppm, UNIT_RATIO));
	set(d, j, "memory_util_pct", json_qty(v->mem_util_ppm, UNIT_RATIO));
	set(d, j, "memory_used_bytes", json_qty(v->mem_used_max_bytes, UNIT_BYTES));
	set(d, temp, "start", json_qty(v->temp_start_mdegc, UNIT_TEMP));
	set(d, temp, "end", json_qty(v->temp_end_mdegc, UNIT_TEMP));
	set(d, temp, "max", json_qty(v->temp_max_mdegc, UNIT_TEMP));
	set(d, j, "temp_c", temp);
	set(d, j, "power_limit_w", knob_json(d, v, "power_limit", UNIT_POWER));
	set(d, j, "clock_limit_mhz", knob_json(d, v, "clock_max", UNIT_FREQ));
	set(d, j, "cpu_rate_pct", knob_json(d, v, "cpu_rate", UNIT_RATIO));
	set(d, throttle, "power_cap", json_qty(v->throttle_power_cap_ppm, UNIT_RATIO));
	set(d, throttle, "thermal", json_qty(v->throttle_thermal_ppm, UNIT_RATIO));
	set(d, throttle, "hardware", json_qty(v->throttle_hw_ppm, UNIT_RATIO));
	set(d, throttle, "other", json_qty(v->throttle_other_ppm, UNIT_RATIO));
	set(d, j, "throttle_pct", throttle);
	set(d, j, "status", json_text(status_name(v->st)));
	set(d, j, "note", json_text(v->note));
	return j;
}

static json_t *phase_json(struct doc *d, const struct phase_rec *p)
{
	json_t *j = json_object();

	set(d, j, "name", json_text(p->name));
	set(d, j, "start_s", json_real((double)p->start_ns / 1e9));
	set(d, j, "end_s", json_real((double)p->end_ns / 1e9));
	set(d, j, "energy_j", json_qty(p->energy_uj, UNIT_ENERGY));
	set(d, j, "steps", json_integer(p->steps));
	set(d, j, "samples", json_integer(p->samples));
	return j;
}

json_t *run_rec_json(const struct run_rec *r)
{
	struct doc d = {json_object(), false};
	json_t *devices = json_array(), *phases = json_array();

	set(&d, d.j, "schema", json_string("wattlaw.run/1"));
	set(&d, d.j, "version", json_text(r->version));
	set(&d, d.j, "run_id", json_text(r->run_id));
	set(&d, d.j, "campaign", json_text(r->campaign));
	set(&d, d.j, "workload", json_text(r->workload));
	set(&d, d.j, "domain", json_text(r->domain));
	set(&d, d.j, "task", json_text(r->task));
	set(&d, d.j, "host", json_text(r->host));
	set(&d, d.j, "hosts",
		json_pack("{s:i,s:i}", "expected", r->hosts_expected, "seen", r->hosts_seen));
	set(&d, d.j, "command", strings(&d, r->command, r->n_command));
	set(&d, d.j, "setting", json_setting(r->axes, r->n_axes));
	set(&d, d.j, "repeat", json_integer(r->repeat));
	set(&d, d.j, "baseline", json_boolean(r->baseline));
	set(&d, d.j, "state", json_text(run_state_name(r->state)));
	set(&d, d.j, "exit_code", r->exit_code < 0 ? json_null() : json_integer(r->exit_code));
	set(&d, d.j, "simulated", json_boolean(r->simulated));
	set(&d, d.j, "source", json_text(r->source));
	set(&d, d.j, "start_unix_s",
		r->start_realtime_ns ? json_real((double)r->start_realtime_ns / 1e9) : json_null());
	set(&d, d.j, "wall_s", json_qty(r->wall_ns, UNIT_TIME));
	set(&d, d.j, "train", train_json(&d, &r->train));
	set(&d, d.j, "energy", energy_json(&d, r));
	for (size_t i = 0; i < r->n_devs; i++)
		append(&d, devices, dev_json(&d, &r->devs[i]));
	set(&d, d.j, "devices", devices);
	for (size_t i = 0; i < r->n_phases; i++)
		append(&d, phases, phase_json(&d, &r->phases[i]));
	set(&d, d.j, "phases", phases);
	set(&d, d.j, "warnings", strings(&d, r->warnings, r->n_warnings));
	if (!d.failed)
		return d.j;
	json_decref(d.j);
	return NULL;
}

bool json_line(json_t *doc, struct str *out)
{
	/* 12 digits: what double arithmetic on integers in base units can stand for. */
	char *text = doc ? json_dumps(doc, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;

	json_decref(doc);
	if (!text)
		return false;
	str_add(out, text);
	str_addc(out, '\n');
	free(text);
	return !out->failed;
}
