/* point_json.h: one finished point of a sweep as the document wattlaw.point/1. */
#ifndef WATTLAW_CMD_POINT_JSON_H
#define WATTLAW_CMD_POINT_JSON_H

#include "record/record_json.h"

/* A new reference, or NULL when out of memory. Unknown is null. */
json_t *point_json(const struct run_rec *r);

#endif
