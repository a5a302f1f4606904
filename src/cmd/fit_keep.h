/* fit_keep.h: the laws that were fitted, kept in the store for whoever reads it with other tools.
 */
#ifndef WATTLAW_CMD_FIT_KEEP_H
#define WATTLAW_CMD_FIT_KEEP_H

#include "cmd/laws.h"

/* Replaces the laws of the campaign (0 = of all runs) in the store at path. */
enum status fit_keep(
	const char *path, int64_t campaign_id, const struct law_set *laws, struct err *e);

#endif
