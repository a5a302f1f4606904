/* report_data.h: the document behind the report page, wattlaw.report/1. */
#ifndef WATTLAW_CMD_REPORT_DATA_H
#define WATTLAW_CMD_REPORT_DATA_H

#include <jansson.h>

#include "store/store.h"

/* One campaign (id 0 with a name: all of the store) as a part of the document; a new reference, or
 * NULL with *e set. */
json_t *report_part(struct store *s, const struct campaign_info *c, struct err *e);
/* The document around its parts; takes the reference. */
json_t *report_document(json_t *parts);

#endif
