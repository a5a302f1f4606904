/* scenario_host.c: the keys of the [host] section. */
#include <string.h>

#include "base/str.h"
#include "sim/scenario_int.h"

#define N_OF(a) (sizeof(a) / sizeof((a)[0]))

enum status scenario_host_entry(struct scenario *s, const struct at *key, const struct at *val,
	const char *k, const char *v)
{
	static const char *const known[] = {
		"driver", "nvml", "cuda", "setters", "seed", "missing", "library"};
	const char *near;
	int64_t n;
	enum status st = ST_OK;

	if (!strcmp(k, "driver") || !strcmp(k, "nvml")) {
		char *dst = k[0] == 'd' ? s->driver : s->nvml;

		if (!*v || strlen(v) >= sizeof(s->driver))
			return scenario_bad(val, "'%s' is no version", v);
		strcpy(dst, v);
	} else if (!strcmp(k, "cuda")) {
		double d;

		if (!str_to_double(v, &d) || d < 1 || d > 99)
			return scenario_bad(val, "'%s' is no CUDA version such as 12.2", v);
		s->cuda = (int)d * 1000 + (int)((d - (int)d) * 10 + 0.5) * 10;
	} else if (!strcmp(k, "setters")) {
		if (!strcmp(v, "root"))
			s->setters = SETTERS_ROOT;
		else if (!strcmp(v, "anyone"))
			s->setters = SETTERS_ANYONE;
		else if (!strcmp(v, "nobody"))
			s->setters = SETTERS_NOBODY;
		else
			return scenario_bad(val, "'%s' must be root, anyone or nobody", v);
	} else if (!strcmp(k, "seed")) {
		st = scenario_unit(val, UNIT_NONE, v, &n);
		if (!st)
			s->seed = (uint64_t)n;
	} else if (!strcmp(k, "library")) {
		s->no_library = !strcmp(v, "none");
		s->library_is_directory = !strcmp(v, "directory");
		s->library_is_garbage = !strcmp(v, "garbage");
		if (!s->no_library && !s->library_is_directory && !s->library_is_garbage &&
			strcmp(v, "normal"))
			return scenario_bad(
				val, "'%s' must be normal, none, directory or garbage", v);
	} else if (!strncmp(k, "nvml", 4) || !strncmp(k, "field ", 6)) {
		return scenario_add_fault(
			s, key, val, 0, k, v, (struct sim_fault){.to_ns = SIM_FOREVER});
	} else {
		near = str_nearest(k, known, N_OF(known));
		err_at(key->e, key->ini->file, key->line, key->col,
			"unknown key '%s' in [host]%s%s%s", k, near ? "; did you mean '" : "",
			near ? near : "", near ? "'?" : "");
		return ST_INVALID;
	}
	return st;
}

enum status scenario_host_missing(
	struct scenario *s, const struct ini *ini, const struct ini_entry *en, struct err *e)
{
	struct ini_list l;
	enum status st = ini_list(ini, en, &l, e);

	if (st)
		return st;
	for (size_t i = 0; !st && i < l.n; i++) {
		struct at a = {ini, en->line, l.cols[i], e};
		struct sim_fault f;

		if (s->n_missing == SIM_MISSING || strlen(l.items[i]) >= sizeof(s->missing[0]))
			st = scenario_bad(&a, "too many missing functions at '%s'", l.items[i]);
		else
			st = scenario_find_call(&a, l.items[i], &f);
		if (!st)
			strcpy(s->missing[s->n_missing++], l.items[i]);
	}
	ini_list_release(&l);
	return st;
}
