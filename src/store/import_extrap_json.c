/* import_extrap_json.c: both JSON layouts of Extra-P: measurements by region and metric with points
 * inside, and the older one with numbered callpaths, coordinates and metrics. */
#include <jansson.h>
#include <string.h>

#include "base/mem.h"
#include "store/import_extrap.h"

static enum status bad(const struct extrap *x, struct err *e, const char *field, const char *wanted)
{
	return err_set(e, ST_INVALID, "%s: field '%s': expected %s", x->file, field, wanted);
}

static enum status add_param(struct extrap *x, json_t *name, struct err *e)
{
	if (!json_is_string(name) || x->n_params == EXTRAP_PARAMS)
		return bad(x, e, "parameters", "at most 8 names");
	x->params[x->n_params] = mem_strdup(json_string_value(name));
	if (!x->params[x->n_params])
		return import_no_memory(e);
	x->n_params++;
	return ST_OK;
}

static enum status add_point(struct extrap *x, struct err *e)
{
	if (!mem_grow((void **)&x->points, &x->cap_points, x->n_points + 1, sizeof(*x->points),
		    1000000))
		return import_no_memory(e);
	memset(x->points[x->n_points], 0, sizeof(*x->points));
	x->n_points++;
	return ST_OK;
}

/* {"point": [4], "values": [1, 2]} */
static enum status read_measurement(
	struct extrap *x, int region, int metric, json_t *j, struct err *e)
{
	json_t *point = json_object_get(j, "point"), *values = json_object_get(j, "values"), *v;
	enum status st = ST_OK;
	double *at;
	size_t i;

	if (!json_is_array(point) || json_array_size(point) != x->n_params)
		return bad(x, e, "point", "one number a parameter");
	st = add_point(x, e);
	if (st)
		return st;
	at = x->points[x->n_points - 1];
	json_array_foreach(point, i, v)
	{
		if (!json_is_number(v))
			return bad(x, e, "point", "numbers");
		at[i] = json_number_value(v);
	}
	if (!json_is_array(values) || !json_array_size(values))
		return bad(x, e, "values", "numbers");
	json_array_foreach(values, i, v)
	{
		struct extrap_value value = {
			region, metric, (int)x->n_points - 1, (int)i, json_number_value(v)};

		if (!json_is_number(v))
			return bad(x, e, "values", "numbers");
		if (!extrap_add(x, &value))
			return import_no_memory(e);
	}
	return st;
}

static enum status read_new(struct extrap *x, json_t *measurements, struct err *e)
{
	const char *region, *metric;
	json_t *metrics, *list, *one;
	enum status st = ST_OK;
	size_t i;

	json_object_foreach(measurements, region, metrics)
	{
		int r = extrap_name(&x->regions, &x->n_regions, &x->cap_regions, region);

		if (r < 0)
			return import_no_memory(e);
		if (!json_is_object(metrics))
			return bad(x, e, region, "metrics");
		json_object_foreach(metrics, metric, list)
		{
			int m = extrap_name(&x->metrics, &x->n_metrics, &x->cap_metrics, metric);

			if (m < 0)
				return import_no_memory(e);
			if (!json_is_array(list))
				return bad(x, e, metric, "a list of points with values");
			json_array_foreach(list, i, one)
			{
				st = read_measurement(x, r, m, one, e);
				if (st)
					return st;
			}
		}
	}
	return st;
}

/* Place of an id in a list of objects with "id", -1 when it is not there. */
static int place_of(json_t *list, json_t *id)
{
	json_t *j;
	size_t i;

	json_array_foreach(list, i, j)
	{
		if (json_is_integer(id) && json_equal(json_object_get(j, "id"), id))
			return (int)i;
	}
	return -1;
}

static enum status read_names(struct extrap *x, json_t *list, char ***names, size_t *n, size_t *cap,
	const char *field, struct err *e)
{
	json_t *j;
	size_t i;

	json_array_foreach(list, i, j)
	{
		const char *name = json_string_value(json_object_get(j, "name"));

		/* Two of one name would share a place and shift the others. */
		if (!name || extrap_name(names, n, cap, name) != (int)i)
			return bad(x, e, field, "objects with 'id' and a 'name' of their own");
	}
	return ST_OK;
}

static enum status read_coordinates(
	struct extrap *x, json_t *coordinates, json_t *params, struct err *e)
{
	json_t *j, *pair;
	size_t i, k;

	json_array_foreach(coordinates, i, j)
	{
		enum status st = add_point(x, e);

		if (st)
			return st;
		json_array_foreach(json_object_get(j, "parameter_value_pairs"), k, pair)
		{
			int p = place_of(params, json_object_get(pair, "parameter_id"));
			json_t *v = json_object_get(pair, "parameter_value");

			if (p < 0 || !json_is_number(v))
				return bad(x, e, "parameter_value_pairs",
					"a known 'parameter_id' and a 'parameter_value'");
			x->points[i][p] = json_number_value(v);
		}
	}
	return ST_OK;
}

static enum status read_old(struct extrap *x, json_t *root, json_t *measurements, struct err *e)
{
	json_t *callpaths = json_object_get(root, "callpaths"),
	       *metrics = json_object_get(root, "metrics");
	json_t *coordinates = json_object_get(root, "coordinates");
	json_t *params = json_object_get(root, "parameters"), *j;
	enum status st = read_coordinates(x, coordinates, params, e);
	int *repeats = NULL;
	size_t i, cells;

	if (!st)
		st = read_names(
			x, callpaths, &x->regions, &x->n_regions, &x->cap_regions, "callpaths", e);
	if (!st)
		st = read_names(
			x, metrics, &x->metrics, &x->n_metrics, &x->cap_metrics, "metrics", e);
	if (st)
		return st;
	if (__builtin_mul_overflow(x->n_regions * x->n_metrics, x->n_points, &cells) ||
		cells > 10000000)
		return bad(x, e, "measurements", "fewer regions, metrics and points");
	repeats = mem_calloc(cells + 1, sizeof(*repeats));
	if (!repeats)
		return import_no_memory(e);
	json_array_foreach(measurements, i, j)
	{
		int r = place_of(callpaths, json_object_get(j, "callpath_id"));
		int m = place_of(metrics, json_object_get(j, "metric_id"));
		int p = place_of(coordinates, json_object_get(j, "coordinate_id"));
		json_t *v = json_object_get(j, "value");
		struct extrap_value value = {r, m, p, 0, json_number_value(v)};

		if (r < 0 || m < 0 || p < 0 || !json_is_number(v)) {
			st = bad(x, e, "measurements", "known ids and a 'value'");
			break;
		}
		value.repeat =
			repeats[((size_t)r * x->n_metrics + (size_t)m) * x->n_points + (size_t)p]++;
		if (!extrap_add(x, &value)) {
			st = import_no_memory(e);
			break;
		}
	}
	mem_free(repeats);
	return st;
}

enum status extrap_json(struct extrap *x, const char *text, size_t len, struct err *e)
{
	json_error_t why;
	json_t *root = json_loadb(text, len, 0, &why), *measurements, *params, *j;
	enum status st = ST_OK;
	size_t i;

	if (!root)
		return err_at(e, x->file, why.line, why.column, "%s", why.text);
	if (!json_is_object(root)) {
		json_decref(root);
		return bad(x, e, "", "an object");
	}
	params = json_object_get(root, "parameters");
	json_array_foreach(params, i, j)
	{
		if (!st)
			st = add_param(x, json_is_object(j) ? json_object_get(j, "name") : j, e);
	}
	measurements = json_object_get(root, "measurements");
	if (!st && !x->n_params)
		st = bad(x, e, "parameters", "names");
	else if (!st && json_is_object(measurements))
		st = read_new(x, measurements, e);
	else if (!st && json_is_array(measurements))
		st = read_old(x, root, measurements, e);
	else if (!st)
		st = bad(x, e, "measurements", "an object or a list");
	json_decref(root);
	return st;
}
