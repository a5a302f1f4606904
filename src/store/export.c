/* export.c: the table of formats. */
#include "store/export.h"

#include <string.h>

#include "store/export_format.h"

static const struct export_format *const formats[] = {
	&export_csv,
	&export_json,
	&export_jsonl,
	&export_extrap,
	&export_codecarbon,
	&export_prometheus,
	&export_openmetrics,
	NULL,
};

const struct export_format *const *export_formats(void)
{
	return formats;
}

const struct export_format *export_find(const char *name)
{
	for (size_t i = 0; formats[i]; i++) {
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	}
	return NULL;
}

enum status export_done(const struct str *out, enum status st, struct err *e)
{
	return !st && out->failed ? err_set(e, ST_NOMEM, "export: out of memory") : st;
}

const char *export_label(const struct run_rec *r)
{
	return r->simulated ? "simulated" : r->source ? "imported" : "measured";
}

void export_number(struct str *out, double v)
{
	/* NAN, which is unknown, is an empty cell. 12 digits hold any quantity in base units. */
	if (v - v == 0)
		str_addf(out, "%.12g", v);
}
