/* law_rows.h: the rows of the table, one family a file, and what they share. Private to src/model:
 * callers go through law_table.
 */
#ifndef WATTLAW_MODEL_LAW_ROWS_H
#define WATTLAW_MODEL_LAW_ROWS_H

#include "model/law.h"

extern const struct law law_constant;
extern const struct law law_power;
extern const struct law law_offset;

/* Which way y goes with x: sign of the weighted log-log slope, 0 when flat to rounding. */
int law_direction(const struct pts *p);

#endif
