/* import_extrap.h: Extra-P's measurements as a flat list, whichever of its formats they came in. */
#ifndef WATTLAW_STORE_IMPORT_EXTRAP_H
#define WATTLAW_STORE_IMPORT_EXTRAP_H

#include "store/import_format.h"

#define EXTRAP_PARAMS 8

struct extrap_value {
	int region, metric, point, repeat;
	double v;
};

struct extrap {
	const char *file;
	char *params[EXTRAP_PARAMS];
	size_t n_params;
	double (*points)[EXTRAP_PARAMS];
	size_t n_points, cap_points;
	char **regions, **metrics;
	size_t n_regions, cap_regions, n_metrics, cap_metrics;
	struct extrap_value *values;
	size_t n_values, cap_values;
};

/* Index of a name in a list, added when new; -1 when out of memory or beyond a million. */
int extrap_name(char ***list, size_t *n, size_t *cap, const char *name);
/* False when out of memory. */
bool extrap_add(struct extrap *x, const struct extrap_value *v);
enum status extrap_text(struct extrap *x, const char *text, struct err *e);
enum status extrap_json(struct extrap *x, const char *text, size_t len, struct err *e);

#endif
