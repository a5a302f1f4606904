#include "sim/field.h"

#include <string.h>

#include "base/str.h"

int64_t field_bound(enum unit u)
{
	switch (u) {
	case UNIT_POWER:
		return 1000000000;
	case UNIT_TIME:
		return INT64_C(8640000000000000);
	case UNIT_FREQ:
		return 100000000;
	case UNIT_TEMP:
		return 1000000;
	case UNIT_ENERGY:
		return INT64_C(1000000000000000000);
	case UNIT_RATIO:
		return 2000000;
	default:
		return INT64_MAX;
	}
}

static double as_kept(enum unit u, int64_t v)
{
	switch (u) {
	case UNIT_TIME:
		return (double)v / 1e9;
	case UNIT_TEMP:
		return (double)v / 1e3;
	case UNIT_RATIO:
		return (double)v / 1e6;
	default:
		return (double)v;
	}
}

static enum status set_number(const struct ini *ini, const struct ini_entry *en,
	const struct field *f, void *at, struct err *e)
{
	struct err why = ERR_INIT;
	double d;
	int64_t v;

	if (f->kind == D_PLAIN) {
		if (!str_to_double(en->value, &d) || d < 0 || d > 1e9)
			return err_at(e, ini->file, en->line, en->value_col,
				"'%s' is not a number between 0 and 1e9", en->value);
		memcpy(at, &d, sizeof(d));
		return ST_OK;
	}
	if (unit_parse(f->unit, en->value, &v, &why))
		return err_at(e, ini->file, en->line, en->value_col, "%s", why.msg);
	if (v < 0)
		return err_at(
			e, ini->file, en->line, en->value_col, "'%s' must not be negative", f->key);
	if (v > field_bound(f->unit) || (f->kind == F_INT && v > INT32_MAX))
		return err_at(e, ini->file, en->line, en->value_col, "'%s' is too large", f->key);
	d = f->kind == D_UNIT ? as_kept(f->unit, v) : (double)v;
	if (f->max > 0 && (d < f->min || d > f->max))
		return err_at(e, ini->file, en->line, en->value_col,
			"'%s' is outside what '%s' can be", en->value, f->key);
	if (f->kind == F_INT)
		*(int *)at = (int)v;
	else if (f->kind == D_UNIT)
		memcpy(at, &d, sizeof(d));
	else
		memcpy(at, &v, sizeof(v));
	return ST_OK;
}

enum status field_set(const struct ini *ini, const struct ini_entry *en, const struct field *f,
	void *base, struct err *e)
{
	void *at = (char *)base + f->offset;

	switch (f->kind) {
	case F_TEXT:
		if (strlen(en->value) >= f->size)
			return err_at(e, ini->file, en->line, en->value_col,
				"'%s' is longer than %zu characters", f->key, f->size - 1);
		memcpy(at, en->value, strlen(en->value) + 1);
		return ST_OK;
	case F_YES:
		if (strcmp(en->value, "yes") && strcmp(en->value, "no"))
			return err_at(e, ini->file, en->line, en->value_col,
				"'%s' must be yes or no", en->value);
		*(bool *)at = !strcmp(en->value, "yes");
		return ST_OK;
	case F_OWN:
		return f->own(ini, en, at, e);
	default:
		return set_number(ini, en, f, at, e);
	}
}

enum status fields_set(const struct ini *ini, struct ini_section *s, const struct field *fields,
	size_t n, void *base, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		struct ini_entry *en = ini_get(s, fields[i].key);
		enum status st;

		if (!en && fields[i].required)
			return err_at(e, ini->file, s->line, 1, "[%s %s] has no '%s'", s->name,
				s->arg, fields[i].key);
		st = en ? field_set(ini, en, &fields[i], base, e) : ST_OK;
		if (st)
			return st;
	}
	return ST_OK;
}
