/* export_format.h: what the export formats share. Private to src/store/export*.c. */
#ifndef WATTLAW_STORE_EXPORT_FORMAT_H
#define WATTLAW_STORE_EXPORT_FORMAT_H

#include "store/export.h"

extern const struct export_format export_csv, export_json, export_jsonl, export_extrap,
	export_codecarbon, export_prometheus, export_openmetrics;

/* st, or ST_NOMEM when the text could not grow. */
enum status export_done(const struct str *out, enum status st, struct err *e);
/* "measured", "simulated", "imported" */
const char *export_label(const struct run_rec *r);
/* In the C locale; nothing when it is not finite. */
void export_number(struct str *out, double v);

#endif
