/* window.h: which steps a setting's figures are taken from. Pure.
 *
 * Under a CPU quota a job runs in the first part of every period and stands in the rest, so the
 * time per step over a window depends on where the window begins and ends in its period: up to a
 * period's idle part over the window's length. A window whose length is a whole number of periods
 * has no such error, wherever the periods lie.
 */
#ifndef WATTLAW_EXEC_WINDOW_H
#define WATTLAW_EXEC_WINDOW_H

#include <stddef.h>
#include <stdint.h>

#define WINDOW_STEPS_MIN 3

/* end[0..n): ends of steps, ascending, n >= 1. The pair *from < *to, each within a period of its
 * side, whose distance is nearest to whole periods (the longest among equals); the whole range when
 * it is shorter than a period. */
void window_whole_periods(
	const int64_t *end, size_t n, int64_t period_ns, size_t *from, size_t *to);

#endif
