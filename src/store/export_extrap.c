/* export_extrap.c: Extra-P's JSON: the numeric axes that vary are the parameters, a workload is a
 * region (with its text axes and its label, unless measured), time and energy for one unit of work
 * are metrics in s and J. Runs without a number on one of those axes are left out. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "record/record_json.h"
#include "store/export_format.h"

#define MAX_PARAMS 8

struct extrap_out {
	char *names[MAX_PARAMS];
	double first[MAX_PARAMS];
	bool varies[MAX_PARAMS];
	size_t n;
	json_t *regions;
	bool failed;
};

static bool find_params(void *arg, const struct figures *f)
{
	struct extrap_out *x = arg;

	for (size_t i = 0; i < f->run->n_axes; i++) {
		const struct axis_val *a = &f->run->axes[i];
		double v = axis_number(a);
		size_t k = 0;

		if (!isfinite(v))
			continue;
		while (k < x->n && strcmp(x->names[k], a->name))
			k++;
		if (k == MAX_PARAMS)
			continue;
		if (k < x->n) {
			x->varies[k] |= x->first[k] != v;
			continue;
		}
		x->names[k] = mem_strdup(a->name);
		if (!x->names[k]) {
			x->failed = true;
			return false;
		}
		x->first[k] = v;
		x->n++;
	}
	return true;
}

static json_t *point_of(const struct extrap_out *x, const struct run_rec *r)
{
	json_t *point = json_array();

	for (size_t k = 0; k < x->n; k++) {
		const struct axis_val *a = run_rec_axis_find(r, x->names[k]);
		double v = a ? axis_number(a) : NAN;

		if (!x->varies[k])
			continue;
		if (!isfinite(v)) {
			json_decref(point);
			return NULL;
		}
		json_array_append_new(point, json_real(v));
	}
	return point;
}

static void region_name(const struct figures *f, struct str *out)
{
	str_add(out, f->workload ? f->workload : "run");
	for (size_t i = 0; i < f->run->n_axes; i++) {
		const struct axis_val *a = &f->run->axes[i];

		if (!isfinite(axis_number(a)) && a->text)
			str_addf(out, " %s=%s", a->name, a->text);
	}
	if (strcmp(f->label, "measured"))
		str_addf(out, " (%s)", f->label);
}

static json_t *object_at(json_t *parent, const char *key)
{
	json_t *j = json_object_get(parent, key);

	if (!j) {
		j = json_object();
		json_object_set_new(parent, key, j);
	}
	return j;
}

/* Add the value to the point's list, which is searched from the end: repeats mostly follow each
 * other. */
static bool add_value(json_t *region, const char *metric, json_t *point, double v)
{
	json_t *list = json_object_get(region, metric), *entry;

	if (!isfinite(v))
		return true;
	if (!list) {
		list = json_array();
		if (json_object_set_new(region, metric, list))
			return false;
	}
	for (size_t i = json_array_size(list); i-- > 0;) {
		entry = json_array_get(list, i);
		if (json_equal(json_object_get(entry, "point"), point))
			return !json_array_append_new(
				json_object_get(entry, "values"), json_real(v));
	}
	entry = json_pack("{s:O,s:[f]}", "point", point, "values", v);
	return !json_array_append_new(list, entry);
}

static bool add_run(void *arg, const struct figures *f)
{
	struct extrap_out *x = arg;
	struct str name = STR_INIT;
	json_t *point = point_of(x, f->run), *region, *utf8;

	if (!point)
		return true;
	region_name(f, &name);
	utf8 = json_text(str_cstr(&name));
	if (name.failed || !utf8) {
		x->failed = true;
	} else {
		region = object_at(x->regions, json_string_value(utf8));
		x->failed |= !add_value(region, "time", point, f->time_s) ||
			     !add_value(region, "energy", point, f->energy_j);
	}
	json_decref(utf8);
	json_decref(point);
	str_release(&name);
	return !x->failed;
}

static enum status write_extrap(
	struct store *s, int64_t campaign_id, struct str *out, struct err *e)
{
	struct extrap_out x = {.regions = json_object()};
	json_t *params = json_array();
	enum status st = store_each_figures(s, FIGURES_RUN, campaign_id, find_params, &x, e);

	for (size_t k = 0; k < x.n; k++) {
		if (x.varies[k])
			json_array_append_new(params, json_text(x.names[k]));
	}
	if (!st && !json_array_size(params))
		st = err_set(e, ST_INVALID,
			"Extra-P needs an axis that takes two values; here none does");
	if (!st)
		st = store_each_figures(s, FIGURES_RUN, campaign_id, add_run, &x, e);
	if (!st && (x.failed || !json_line(json_pack("{s:O,s:O}", "parameters", params,
						   "measurements", x.regions),
					out)))
		out->failed = true;
	json_decref(params);
	json_decref(x.regions);
	for (size_t k = 0; k < x.n; k++)
		mem_free(x.names[k]);
	return export_done(out, st, e);
}

const struct export_format export_extrap = {
	.name = "extrap",
	.what = "Extra-P's JSON: time and energy for one unit of work against the axes",
	.write = write_extrap,
};
