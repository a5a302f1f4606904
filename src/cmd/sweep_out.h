/* sweep_out.h: what `wattlaw sweep` shows: the plan before, the settings after. */
#ifndef WATTLAW_CMD_SWEEP_OUT_H
#define WATTLAW_CMD_SWEEP_OUT_H

#include "store/store.h"
#include "sweep/plan.h"

/* What a launch costs before its first step, for the estimate of the length. */
#define SWEEP_START_NS (2 * INT64_C(1000000000))

/* Launches, points and the estimated length, on stdout. */
void sweep_print_plan(const struct plan *p, bool simulated);
/* Time, energy, slowdown and saving of every setting, with the label of what was not measured. */
void sweep_print_table(struct store *s, int64_t campaign);

#endif
