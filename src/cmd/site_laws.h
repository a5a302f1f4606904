/* site_laws.h: how classes of jobs behave under a cap, from the fitted laws of a campaign. */
#ifndef WATTLAW_CMD_SITE_LAWS_H
#define WATTLAW_CMD_SITE_LAWS_H

#include "sim/site_trace.h"

/* A class gets the laws of the workload of its name, in time and power against the power limit, at
 * the limits that were measured; power is per worker, so it holds what was measured beside the
 * GPUs. out has trace->n_classes entries. ST_NOT_FOUND names the class that no law describes. db
 * NULL = the default store, campaign "" = the latest. */
enum status site_laws_read(const char *db, const char *campaign, const struct site_trace *trace,
	struct site_class *out, struct err *e);

#endif
