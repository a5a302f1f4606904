/* export.h: runs as tables and documents of others. Nothing is invented on the way: unknown is an
 * empty cell or null, and every row says whether it was measured, simulated or imported. */
#ifndef WATTLAW_STORE_EXPORT_H
#define WATTLAW_STORE_EXPORT_H

#include "store/store.h"

struct export_format {
	const char *name; /* "csv" */
	const char *what; /* one line for --help */
	/* All runs of a campaign (0 = of the store) appended to out. */
	enum status (*write)(struct store *s, int64_t campaign_id, struct str *out, struct err *e);
};

/* All formats, NULL-terminated. */
const struct export_format *const *export_formats(void);
/* NULL when there is none of that name. */
const struct export_format *export_find(const char *name);

#endif
