/* import_format.h: what the import formats share. Private to src/store/import*.c. */
#ifndef WATTLAW_STORE_IMPORT_FORMAT_H
#define WATTLAW_STORE_IMPORT_FORMAT_H

#include "base/csv.h"
#include "store/import.h"

extern const struct import_format import_tidy, import_smi, import_dcgmi, import_mlperf,
	import_codecarbon, import_zeus, import_zeus_power, import_supercloud, import_extrap;

/* A fresh record with a new id, the source label "import:SOURCE" and the axes of o. */
enum status import_begin(
	struct run_rec *r, const char *source, const struct import_opts *o, struct err *e);
/* Give it to the sink and release it, whatever comes out. */
enum status import_end(struct run_rec *r, struct import_sink *sink, struct err *e);
/* Column of one of our names or, through o->map, of theirs; -1 when absent. names ends with NULL.
 */
int import_column(const struct csv *c, const struct import_opts *o, const char *const *names);
/* Field with the unit in its text, else in the header's brackets, else `bare`. */
enum status import_qty(const struct csv *c, int col, enum unit unit, const char *bare,
	struct qty *out, struct err *e);
/* A double in outside units as a quantity, ST_RANGE when it does not fit. */
struct qty import_outside(enum unit unit, double v);
enum status import_no_memory(struct err *e);

#endif
