/* record_json.h: a run as the document wattlaw.run/1, and the JSON manners of every document.
 *
 * Unknown is null, never 0; units are in the keys (J, W, MHz, %, s); text that is not UTF-8 gets
 * U+FFFD in place of each bad byte. Out of memory anywhere gives NULL at the end, nothing leaks.
 */
#ifndef WATTLAW_RECORD_RECORD_JSON_H
#define WATTLAW_RECORD_RECORD_JSON_H

#include <jansson.h>

#include "record/record.h"

/* New references. NULL text and numbers that are not finite become null. */
json_t *json_text(const char *text);
json_t *json_number(double v);
/* In the outside unit of u; null unless known. */
json_t *json_qty(struct qty q, enum unit u);
/* {"workers": 2, "power_limit_w": 200.0}; text where an axis is no number. */
json_t *json_setting(const struct axis_val *axes, size_t n);

/* The whole document; a new reference, or NULL when out of memory. A total that is only partly
 * known is "total_j": null with what is known in "partial_j". */
json_t *run_rec_json(const struct run_rec *r);
/* One line of text with a line break at its end, appended to out. False when out of memory. Takes
 * the reference; doc may be NULL. */
bool json_line(json_t *doc, struct str *out);

#endif
