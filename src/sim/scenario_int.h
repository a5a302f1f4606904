/* scenario_int.h: what the files that read scenarios share. */
#ifndef WATTLAW_SIM_SCENARIO_INT_H
#define WATTLAW_SIM_SCENARIO_INT_H

#include "base/ini.h"
#include "base/units.h"
#include "sim/field.h"
#include "sim/scenario.h"

/* Where a value stands, for messages. */
struct at {
	const struct ini *ini;
	int line, col;
	struct err *e;
};

/* ST_INVALID at that place; `what` is a format with one %s, for value. */
enum status scenario_bad(const struct at *a, const char *what, const char *value);
/* A quantity between 0 and field_bound. */
enum status scenario_unit(const struct at *a, enum unit u, const char *text, int64_t *out);
/* "nvmlX" or "field N" into f->call or f->field. */
enum status scenario_find_call(const struct at *a, const char *name, struct sim_fault *f);
/* One fault for each device whose bit is set; gpus 0 = the host's: everything. */
enum status scenario_add_fault(struct scenario *s, const struct at *key, const struct at *val,
	uint64_t gpus, const char *name, const char *result, struct sim_fault f);

/* One "key = value" of [host], its list of missing functions, and of [gpu N]. */
enum status scenario_host_entry(struct scenario *s, const struct at *key, const struct at *val,
	const char *k, const char *v);
enum status scenario_host_missing(
	struct scenario *s, const struct ini *ini, const struct ini_entry *en, struct err *e);
enum status scenario_gpu_entry(
	struct sim_gpu_cfg *g, const struct ini *ini, const struct ini_entry *en, struct err *e);

#endif
