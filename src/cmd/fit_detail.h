/* fit_detail.h: what `wattlaw fit` shows beyond one line a law: every family, a plot, the joint
 * law. Private to the command.
 */
#ifndef WATTLAW_CMD_FIT_DETAIL_H
#define WATTLAW_CMD_FIT_DETAIL_H

#include <jansson.h>

#include "base/str.h"
#include "cmd/laws.h"

/* A table of all families of one series with parameters, errors and weight in the combination. */
void fit_compare(const struct law_series *s, struct str *out);
/* Data (o), combined law (*) and plain power law (.) on log-log axes, for a terminal of 80 columns.
 */
void fit_plot(const struct law_series *s, struct str *out);
/* One line for a group in which two factors vary: the joint law beside the product of separate
 * ones. Nothing where it cannot be fitted. */
void fit_joint(const struct law_group *g, struct str *out);
/* The same as a member of "joint"; NULL where there is none. */
json_t *fit_joint_json(const struct law_group *g);
/* "sensitive", "insensitive" or "undetermined: 12 runs a setting would settle it". Returns buf. */
const char *fit_verdict(const struct selection *sel, char *buf, size_t size);

#endif
