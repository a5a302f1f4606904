/* import_extrap_text.c: PARAMETER, POINTS, REGION, METRIC and DATA lines. DATA lines of a metric
 * are for the points in order, each with its repeats. */
#include <string.h>

#include "base/mem.h"
#include "store/import_extrap.h"

struct reader {
	struct extrap *x;
	int line;
	int region, metric, point;
};

static enum status read_points(struct reader *t, char *rest, struct err *e)
{
	struct extrap *x = t->x;
	char *save = NULL;

	/* "( 20 1 ) ( 30 1 )", or "20 30 40" for a single parameter */
	bool grouped = strchr(rest, '(') != NULL;
	size_t k = 0;

	if (!x->n_params)
		return err_at(e, x->file, t->line, 0, "expected PARAMETER before POINTS");
	for (char *p = rest; *p; p++)
		*p = *p == '(' || *p == ',' ? ' ' : *p;
	for (char *w = strtok_r(rest, " \t\r", &save); w; w = strtok_r(NULL, " \t\r", &save)) {
		bool closes = str_ends(w, ")");
		double v;

		if (closes)
			w[strlen(w) - 1] = '\0';
		if (*w) {
			if (k == x->n_params)
				return err_at(e, x->file, t->line, 0,
					"point with more than %zu coordinates", x->n_params);
			if (!str_to_double(w, &v))
				return err_at(
					e, x->file, t->line, 0, "'%s' is not a coordinate", w);
			if (k == 0 && !mem_grow((void **)&x->points, &x->cap_points,
					      x->n_points + 1, sizeof(*x->points), 1000000))
				return import_no_memory(e);
			x->points[x->n_points][k++] = v;
		}
		if (closes || (!grouped && k == x->n_params)) {
			if (k != x->n_params)
				return err_at(e, x->file, t->line, 0,
					"point with %zu of %zu coordinates", k, x->n_params);
			x->n_points++;
			k = 0;
		}
	}
	return k ? err_at(e, x->file, t->line, 0, "a point is not closed") : ST_OK;
}

static enum status read_data(struct reader *t, char *rest, struct err *e)
{
	struct extrap *x = t->x;
	struct extrap_value v = {t->region, t->metric, t->point++, 0, 0};
	char *save = NULL;

	if (v.region < 0)
		v.region = t->region =
			extrap_name(&x->regions, &x->n_regions, &x->cap_regions, "main");
	if (v.metric < 0)
		v.metric = t->metric = extrap_name(&x->metrics, &x->n_metrics, &x->cap_metrics, "");
	if (v.region < 0 || v.metric < 0)
		return import_no_memory(e);
	if ((size_t)v.point >= x->n_points)
		return err_at(
			e, x->file, t->line, 0, "more DATA lines than the %zu points", x->n_points);
	for (char *w = strtok_r(rest, " \t\r", &save); w;
		w = strtok_r(NULL, " \t\r", &save), v.repeat++) {
		if (!str_to_double(w, &v.v))
			return err_at(e, x->file, t->line, 0, "DATA: '%s' is not a number", w);
		if (!extrap_add(x, &v))
			return import_no_memory(e);
	}
	return v.repeat ? ST_OK : err_at(e, x->file, t->line, 0, "DATA without values");
}

static enum status read_line(struct reader *t, char *line, struct err *e)
{
	struct extrap *x = t->x;
	size_t n = strcspn(line, " \t");
	char *rest = str_trim(line + n);
	char word[16] = "";

	if (n < sizeof(word))
		memcpy(word, line, n);
	if (!strcmp(word, "PARAMETER")) {
		if (x->n_points || x->n_params == EXTRAP_PARAMS || !*rest)
			return err_at(e, x->file, t->line, 0,
				"expected a name, before POINTS, at most %d in all", EXTRAP_PARAMS);
		if (!(x->params[x->n_params] = mem_strdup(rest)))
			return import_no_memory(e);
		x->n_params++;
		return ST_OK;
	}
	if (!strcmp(word, "POINTS"))
		return read_points(t, rest, e);
	if (!strcmp(word, "REGION")) {
		t->region = extrap_name(&x->regions, &x->n_regions, &x->cap_regions, rest);
		t->point = 0;
		return t->region < 0 ? import_no_memory(e) : ST_OK;
	}
	if (!strcmp(word, "METRIC")) {
		t->metric = extrap_name(&x->metrics, &x->n_metrics, &x->cap_metrics, rest);
		t->point = 0;
		return t->metric < 0 ? import_no_memory(e) : ST_OK;
	}
	if (!strcmp(word, "DATA"))
		return read_data(t, rest, e);
	return err_at(e, x->file, t->line, 0,
		"expected PARAMETER, POINTS, REGION, METRIC or DATA, not '%.20s'", line);
}

enum status extrap_text(struct extrap *x, const char *text, struct err *e)
{
	struct reader t = {x, 0, -1, -1, 0};
	char *copy = mem_strdup(text), *next;
	enum status st = copy ? ST_OK : import_no_memory(e);

	for (char *line = copy; line && !st; line = next) {
		char *at;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		t.line++;
		at = str_trim(line);
		if (*at && *at != '#')
			st = read_line(&t, at, e);
	}
	mem_free(copy);
	return st;
}
