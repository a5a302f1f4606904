/* cost.h: what time and energy cost: GPU-hours, electricity, money, allocation units, carbon.
 *
 * Pure. A price that is not known stays unknown: without a price per GPU-hour the money is that of
 * energy only, and nothing may be called cheaper on its account.
 */
#ifndef WATTLAW_ADVISE_COST_H
#define WATTLAW_ADVISE_COST_H

#include <stdbool.h>

#include "model/predict.h"

/* NAN = not known. */
struct cost_terms {
	double pue; /* power usage effectiveness: facility over IT; NAN = 1, and said so */
	double host_w; /* draw of one host beyond the measured components */
	double workers_per_host; /* NAN: all workers on one host */
	double per_kwh; /* price of a kWh */
	double per_gpu_hour; /* price of one worker's hour */
	double units_per_gpu_hour; /* allocation units of a centre */
	double carbon_g_kwh;
};

struct cost {
	struct interval gpu_hours;
	struct interval energy_kwh; /* measured components + hosts, times PUE */
	struct interval money; /* NAN without any price */
	struct interval units, co2_g;
	bool energy_only; /* the money is for energy alone: no price per GPU-hour was given */
	bool has_host; /* host power is included */
};

/* time in s and energy in J of the whole plan on `workers` workers. Unknown in, unknown out. */
void cost_of(const struct cost_terms *t, double workers, const struct interval *time_s,
	const struct interval *energy_j, struct cost *out);

#endif
