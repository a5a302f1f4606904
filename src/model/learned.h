/* learned.h: every constant that was learnt from measured series, in one table.
 *
 * learned.c is written by tools/learn-constants from the series whose name hash is even; nothing
 * else in src/model holds a number that was tuned on data.
 */
#ifndef WATTLAW_MODEL_LEARNED_H
#define WATTLAW_MODEL_LEARNED_H

#include "model/law.h"

struct learned_weight {
	const char *law;
	double weight;
};

/* Scale of the error of a combined prediction in ln y: the root of the sum of squares of floor and
 * of each part of struct error_parts (predict.h) times its coefficient here, times grow; and the 90
 * % quantile of errors in that scale. */
struct learned_factor {
	struct learned_weight weights[10]; /* ends at law == NULL */
	double loo_power; /* weights go with (loo^2 + loo_floor^2)^(-loo_power/2) */
	double loo_floor;
	double floor, loo, spread, gap, boot, sigma;
	double q90[QTY_COUNT]; /* half width of the 90 % interval in scales */
	double max_ratio; /* extrapolation is answered up to this factor beyond the evidence */
};

/* The curve conditional on its probes, and its share against the laws fitted to the probes alone.
 */
struct learned_prior {
	double noise; /* sd of ln y of one probe and of what curves of a device do not share */
	double blend[QTY_COUNT]; /* its share in the geometric mean with the laws */
	double floor, sd, spread; /* scale of the error, as above */
	double q90[QTY_COUNT];
};

extern const struct learned_factor learned_factors[FACTOR_COUNT];
extern const struct learned_prior learned_prior;

#endif
