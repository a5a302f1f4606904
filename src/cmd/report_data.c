#include "cmd/report_data.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "cmd/laws.h"
#include "model/predict.h"
#include "record/record_json.h"

#define CURVE_POINTS 40
#define MAX_TEXTS    64

/* A sticky failure beside the value that is being built. */
struct build {
	bool failed;
};

static void set(struct build *b, json_t *j, const char *key, json_t *value)
{
	if (!j || !value || json_object_set_new(j, key, value))
		b->failed = true;
}

static void append(struct build *b, json_t *a, json_t *value)
{
	if (!a || !value || json_array_append_new(a, value))
		b->failed = true;
}

static json_t *pair(struct build *b, double x, double y)
{
	json_t *a = json_array();

	append(b, a, json_number(x));
	append(b, a, json_number(y));
	return a;
}

/* [x, y, lo, hi] over the range of evidence, evenly in ln x. */
static json_t *curve_json(struct build *b, const struct law_series *s)
{
	json_t *curve = json_array();
	const struct series *x = &s->sel->series;
	double lo = log(x->x[0]), hi = log(x->x[x->n - 1]);

	for (int i = 0; i < CURVE_POINTS; i++) {
		double at = exp(lo + (hi - lo) * i / (CURVE_POINTS - 1));
		struct prediction p;
		json_t *row;

		/* The ends exactly: exp(log x) may fall outside the range by a rounding. */
		at = i == 0 ? x->x[0] : i == CURVE_POINTS - 1 ? x->x[x->n - 1] : at;
		if (predict_at(s->sel, at, 0.9, &p, NULL))
			continue;
		row = pair(b, at, p.y.value);
		append(b, row, json_number(p.y.lo));
		append(b, row, json_number(p.y.hi));
		append(b, curve, row);
	}
	return curve;
}

static json_t *power_json(struct build *b, const struct selection *sel)
{
	const struct fit *f = sel->power >= 0 ? &sel->fits[sel->power] : NULL;
	json_t *j;

	if (!f || f->st != ST_OK)
		return json_null();
	j = json_object();
	set(b, j, "a", json_number(f->sh.p[0]));
	set(b, j, "b", json_number(f->sh.p[1]));
	set(b, j, "ci", isnan(f->ci95[1][0]) ? json_null() : pair(b, f->ci95[1][0], f->ci95[1][1]));
	set(b, j, "r2", json_number(f->r2_log));
	set(b, j, "loo", json_number(f->loo_pct));
	set(b, j, "mape", json_number(f->mape_pct));
	return j;
}

static json_t *best_json(struct build *b, const struct selection *sel)
{
	json_t *j;

	if (sel->best < 0)
		return json_null();
	j = json_object();
	set(b, j, "family", json_text(sel->fits[sel->best].law->name));
	set(b, j, "loo", json_number(sel->fits[sel->best].loo_pct));
	return j;
}

static json_t *series_json(struct build *b, const struct law_series *s)
{
	static const char *const units[FACTOR_COUNT] = {
		[FACTOR_POWER_LIMIT] = "W", [FACTOR_CLOCK] = "MHz", [FACTOR_CPU_RATE] = "%"};
	json_t *j = json_object(), *points = json_array();

	for (size_t i = 0; i < s->n; i++) {
		double x = s->obs[i].x[s->factor], y = s->obs[i].y[s->quantity];

		if (isfinite(x) && isfinite(y))
			append(b, points, pair(b, x, y));
	}
	set(b, j, "quantity", json_text(quantity_name(s->quantity)));
	set(b, j, "factor", json_text(factor_axis(s->factor)));
	set(b, j, "unit", json_text(units[s->factor] ? units[s->factor] : ""));
	set(b, j, "at", json_text(s->where));
	set(b, j, "at_baseline", json_boolean(s->at_baseline));
	set(b, j, "points", points);
	set(b, j, "n", json_integer(s->sel ? s->sel->series.n : 0));
	set(b, j, "curve", s->sel ? curve_json(b, s) : json_array());
	set(b, j, "power", s->sel ? power_json(b, s->sel) : json_null());
	set(b, j, "best", s->sel ? best_json(b, s->sel) : json_null());
	set(b, j, "verdict", s->sel ? json_text(verdict_name(s->sel->verdict)) : json_null());
	set(b, j, "why", s->sel ? json_null() : json_text(s->why));
	return j;
}

/* ---- settings, from the view ---- */

struct settings {
	struct build *b;
	json_t *list; /* every setting, with what finds its group */
};

static bool each_setting(void *arg, const struct figures *f)
{
	struct settings *s = arg;
	json_t *j = json_object();

	set(s->b, j, "workload", json_text(f->workload ? f->workload : ""));
	set(s->b, j, "label", json_text(f->label));
	set(s->b, j, "per", json_text(f->work_unit));
	set(s->b, j, "setting", json_text(f->setting));
	set(s->b, j, "n", json_integer(f->repeat));
	set(s->b, j, "baseline", json_boolean(f->baseline));
	set(s->b, j, "time_s", json_number(f->time_s));
	set(s->b, j, "time_min_s", json_number(f->time_min_s));
	set(s->b, j, "time_max_s", json_number(f->time_max_s));
	set(s->b, j, "energy_j", json_number(f->energy_j));
	set(s->b, j, "edp_js", json_number(f->edp_js));
	set(s->b, j, "work_per_s", json_number(f->work_per_s));
	set(s->b, j, "mean_w", json_number(f->mean_w));
	set(s->b, j, "slowdown_pct", json_number(f->slowdown_pct));
	set(s->b, j, "saving_pct", json_number(f->saving_pct));
	append(s->b, s->list, j);
	return true;
}

/* Does the setting hold every axis of the group? "batch=32 gpu=V100" in "batch=32 gpu=V100
 * workers=2" */
static bool holds(const char *setting, const char *where)
{
	char word[256];

	while (*where) {
		size_t n = strcspn(where, " ");
		const char *at = setting;

		if (n >= sizeof(word))
			return false;
		memcpy(word, where, n);
		word[n] = '\0';
		while ((at = strstr(at, word)) &&
			!((at == setting || at[-1] == ' ') && (at[n] == ' ' || !at[n])))
			at++;
		if (!at)
			return false;
		where += n + (where[n] == ' ');
	}
	return true;
}

static const char *text_at(json_t *j, const char *key)
{
	const char *s = json_string_value(json_object_get(j, key));

	return s ? s : "";
}

static json_t *settings_of(struct build *b, json_t *all, const struct law_group *g)
{
	json_t *list = json_array(), *j;
	size_t i;

	json_array_foreach(all, i, j)
	{
		if (!strcmp(text_at(j, "workload"), g->workload) &&
			!strcmp(text_at(j, "label"), g->label) &&
			!strcmp(text_at(j, "per"), g->work_unit) &&
			holds(text_at(j, "setting"), g->where))
			append(b, list, json_incref(j));
	}
	return list;
}

static json_t *group_json(
	struct build *b, const struct law_set *set_of, const struct law_group *g, json_t *settings)
{
	json_t *j = json_object(), *series = json_array();

	for (size_t i = 0; i < set_of->n_series; i++) {
		if (set_of->series[i].group == g)
			append(b, series, series_json(b, &set_of->series[i]));
	}
	set(b, j, "where", json_text(g->where));
	set(b, j, "label", json_text(g->label));
	set(b, j, "source", json_text(g->source));
	set(b, j, "per", json_text(g->work_unit));
	set(b, j, "n", json_integer((json_int_t)g->n));
	set(b, j, "n_energy", json_integer((json_int_t)g->n_energy));
	set(b, j, "energy_note", json_text(g->energy_note));
	set(b, j, "scope", json_text(g->scope));
	set(b, j, "series", series);
	set(b, j, "settings", settings_of(b, settings, g));
	return j;
}

static json_t *workloads_json(struct build *b, const struct law_set *laws, json_t *settings)
{
	json_t *list = json_array();

	for (size_t i = 0; i < laws->n_groups; i++) {
		const struct law_group *g = &laws->groups[i];
		json_t *w = NULL, *other;
		size_t k;

		json_array_foreach(list, k, other)
		{
			if (!strcmp(text_at(other, "name"), g->workload))
				w = other;
		}
		if (!w) {
			w = json_object();
			set(b, w, "name", json_text(g->workload));
			set(b, w, "domain", json_text(g->domain));
			set(b, w, "groups", json_array());
			append(b, list, w);
		}
		append(b, json_object_get(w, "groups"), group_json(b, laws, g, settings));
	}
	return list;
}

/* ---- how it was measured, from the records ---- */

struct texts {
	char *v[MAX_TEXTS];
	size_t n, more;
};

struct method {
	struct texts hosts, devices, commands, methods, versions, warnings, notes;
	int64_t states[RUN_STATE_COUNT];
	double coverage, resolution;
	int64_t n_coverage, n_resolution, from_marks, unsteady, runs;
	bool failed;
};

static void texts_add(struct method *m, struct texts *t, const char *text)
{
	if (!text || !*text)
		return;
	for (size_t i = 0; i < t->n; i++) {
		if (!strcmp(t->v[i], text))
			return;
	}
	if (t->n == MAX_TEXTS) {
		t->more++;
		return;
	}
	t->v[t->n] = mem_strdup(text);
	m->failed |= !t->v[t->n];
	t->n += t->v[t->n] != NULL;
}

static void texts_release(struct texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		mem_free(t->v[i]);
}

static void texts_join(const struct texts *t, const char *between, struct str *out)
{
	for (size_t i = 0; i < t->n; i++)
		str_addf(out, "%s%s", i ? between : "", t->v[i]);
	if (t->more)
		str_addf(out, "%sand %zu more", between, t->more);
}

static void note_device(struct method *m, const struct dev_rec *d)
{
	struct str s = STR_INIT;
	char buf[64];

	/* A CPU group is where a rate was set, not something that was measured. */
	if (d->kind == DEV_CGROUP)
		return;
	if (d->kind != DEV_OTHER)
		str_addf(&s, "%s ", dev_kind_name(d->kind));
	str_add(&s, d->name ? d->name : d->key ? d->key : "?");
	if (d->refresh_ns.st == ST_OK)
		str_addf(&s, ", refreshed every %s",
			unit_format_short(UNIT_TIME, (double)d->refresh_ns.v, 2, buf, sizeof(buf)));
	if (d->note)
		str_addf(&s, " (%s)", d->note);
	texts_add(m, &m->devices, str_cstr(&s));
	str_release(&s);
}

static void note_command(struct method *m, const struct run_rec *r)
{
	struct str s = STR_INIT;

	for (size_t i = 0; i < r->n_command; i++) {
		if (i)
			str_addc(&s, ' ');
		str_add_quoted(&s, r->command[i]);
	}
	texts_add(m, &m->commands, str_cstr(&s));
	str_release(&s);
}

static bool each_run(void *arg, const struct run_rec *r)
{
	struct method *m = arg;

	m->runs++;
	m->states[r->state]++;
	m->from_marks += r->train.from_marks;
	m->unsteady += r->train.from_marks && !r->train.steady;
	texts_add(m, &m->hosts, r->host);
	texts_add(m, &m->versions, r->version);
	if (r->method != ENERGY_NONE)
		texts_add(m, &m->methods, energy_method_name(r->method));
	else
		texts_add(m, &m->notes, r->energy_note);
	if (r->coverage_ppm.st == ST_OK) {
		m->coverage += (double)r->coverage_ppm.v;
		m->n_coverage++;
	}
	if (r->resolution_ppm.st == ST_OK) {
		m->resolution += (double)r->resolution_ppm.v;
		m->n_resolution++;
	}
	for (size_t i = 0; i < r->n_devs; i++)
		note_device(m, &r->devs[i]);
	note_command(m, r);
	for (size_t i = 0; i < r->n_warnings; i++)
		texts_add(m, &m->warnings, r->warnings[i]);
	return !m->failed;
}

static void row(struct build *b, json_t *rows, const char *key, const struct str *value)
{
	json_t *j;

	b->failed |= value->failed;
	if (!value->len)
		return;
	j = json_array();
	append(b, j, json_string(key));
	append(b, j, json_text(str_cstr(value)));
	append(b, rows, j);
}

static void row_texts(struct build *b, json_t *rows, const char *key, const struct texts *t)
{
	struct str s = STR_INIT;

	texts_join(t, "; ", &s);
	row(b, rows, key, &s);
	str_release(&s);
}

static json_t *method_json(struct build *b, const struct method *m, const struct campaign_info *c)
{
	json_t *rows = json_array();
	struct str s = STR_INIT;

	row_texts(b, rows, "Hosts", &m->hosts);
	if (m->from_marks) {
		str_addf(&s, "Elapsed time of the steady window divided by its samples, from the "
			     "job's own marks");
		if (m->unsteady)
			str_addf(&s, "; in %lld of %lld runs the step time was still drifting",
				(long long)m->unsteady, (long long)m->from_marks);
	} else {
		str_add(&s, "Wall time, start-up included");
	}
	row(b, rows, "Time", &s);
	str_clear(&s);
	texts_join(&m->methods, ", ", &s);
	if (!m->methods.n) {
		str_add(&s, "unknown");
		if (m->notes.n)
			str_add(&s, ": ");
		texts_join(&m->notes, "; ", &s);
	}
	if (m->n_coverage)
		str_addf(&s, "; samples cover %.1f %% of the time",
			m->coverage / (double)m->n_coverage / 1e4);
	if (m->n_resolution)
		str_addf(
			&s, "; resolution ±%.2g %%", m->resolution / (double)m->n_resolution / 1e4);
	row(b, rows, "Energy", &s);
	str_clear(&s);
	row_texts(b, rows, "Devices", &m->devices);
	for (int i = 0; i < RUN_STATE_COUNT; i++) {
		if (m->states[i])
			str_addf(&s, "%s%lld %s", s.len ? ", " : "", (long long)m->states[i],
				run_state_name((enum run_state)i));
	}
	row(b, rows, "Runs", &s);
	str_clear(&s);
	if (c->seed) {
		str_addf(&s, "random, seed %lld", (long long)c->seed);
		row(b, rows, "Order", &s);
		str_clear(&s);
	}
	row_texts(b, rows, "Commands", &m->commands);
	/* A sweep keeps its file as the plan, which is shown whole. */
	if (c->options && !(c->plan && !strcmp(c->options, c->plan)))
		str_add(&s, c->options);
	row(b, rows, "Options", &s);
	str_release(&s);
	row_texts(b, rows, "Program", &m->versions);
	return rows;
}

static json_t *campaign_json(struct build *b, const struct campaign_info *c)
{
	json_t *j = json_object();
	time_t t = (time_t)(c->created_realtime_ns / 1000000000);
	char made[64] = "";
	struct tm tm;

	if (c->created_realtime_ns && localtime_r(&t, &tm))
		strftime(made, sizeof(made), "begun %Y-%m-%d %H:%M", &tm);
	set(b, j, "name", json_text(c->name ? c->name : "all runs"));
	set(b, j, "made", json_text(made));
	set(b, j, "plan", json_text(c->plan));
	set(b, j, "points", json_integer(c->n_points));
	set(b, j, "done", json_integer(c->n_done));
	set(b, j, "failed", json_integer(c->n_failed));
	return j;
}

static void method_release(struct method *m)
{
	texts_release(&m->hosts);
	texts_release(&m->devices);
	texts_release(&m->commands);
	texts_release(&m->methods);
	texts_release(&m->versions);
	texts_release(&m->warnings);
	texts_release(&m->notes);
}

json_t *report_part(struct store *s, const struct campaign_info *c, struct err *e)
{
	struct build b = {false};
	struct method m = {.runs = 0};
	struct law_set laws = {.n_groups = 0};
	struct settings settings = {&b, json_array()};
	json_t *j = NULL, *warnings = json_array();

	if (law_set_read(s, c->id, &laws, e) || law_set_fit(&laws, 0, e) ||
		store_each_figures(s, FIGURES_SETTING, c->id, each_setting, &settings, e) ||
		store_each_run(s, c->id, each_run, &m, e)) {
		json_decref(warnings);
		goto out;
	}
	for (size_t i = 0; i < m.warnings.n; i++)
		append(&b, warnings, json_text(m.warnings.v[i]));
	j = json_object();
	set(&b, j, "campaign", campaign_json(&b, c));
	set(&b, j, "runs", json_integer((json_int_t)laws.n_runs));
	set(&b, j, "host", json_text(laws.host));
	set(&b, j, "workloads", workloads_json(&b, &laws, settings.list));
	set(&b, j, "method", method_json(&b, &m, c));
	set(&b, j, "warnings", warnings);
	if (b.failed || m.failed) {
		json_decref(j);
		j = NULL;
		err_set(e, ST_NOMEM, "report: out of memory");
	}
out:
	json_decref(settings.list);
	method_release(&m);
	law_set_release(&laws);
	return j;
}

json_t *report_document(json_t *parts)
{
	struct build b = {false};
	json_t *j = json_object();
	time_t now = time(NULL);
	char made[64] = "";
	struct tm tm;

	if (localtime_r(&now, &tm))
		strftime(made, sizeof(made), "%Y-%m-%d %H:%M", &tm);
	set(&b, j, "schema", json_string("wattlaw.report/1"));
	set(&b, j, "version", json_string(WATTLAW_VERSION));
	set(&b, j, "made", json_text(made));
	set(&b, j, "parts", parts);
	if (!b.failed)
		return j;
	json_decref(j);
	return NULL;
}
