/* report.h: one self-contained page from one JSON document.
 *
 * The page, its script and Chart.js are in the binary; the document (wattlaw.report/1, made by
 * src/cmd) goes in beside them. The result needs no network and allows none.
 */
#ifndef WATTLAW_REPORT_REPORT_H
#define WATTLAW_REPORT_REPORT_H

#include <stdbool.h>
#include "base/str.h"

/* json is one valid JSON document. False when out of memory. */
bool report_page(const char *json, struct str *out);

#endif
