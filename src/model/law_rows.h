/* law_rows.h: the rows of the table, one family a file, and what they share. Private to src/model:
 * callers go through law_table.
 */
#ifndef WATTLAW_MODEL_LAW_ROWS_H
#define WATTLAW_MODEL_LAW_ROWS_H

#include "model/law.h"

extern const struct law law_constant;
extern const struct law law_power;
extern const struct law law_offset;
extern const struct law law_broken;
extern const struct law law_hinge;
extern const struct law law_device_cap;
extern const struct law law_device_clock;
extern const struct law law_interp_falls;
extern const struct law law_interp_rises;
extern const struct law law_interp_free;
extern const struct law law_parabola;
extern const struct law law_amdahl;
extern const struct law law_usl;
extern const struct law law_ring;
extern const struct law law_tree;
extern const struct law law_pmnf;
extern const struct law law_waiting_energy;
extern const struct law law_waiting_power;
extern const struct law law_cube;
extern const struct law law_cube_mixed;
extern const struct law law_piecewise;

/* Which way y goes with x: sign of the weighted log-log slope, 0 when flat to rounding. */
int law_direction(const struct pts *p);

#endif
