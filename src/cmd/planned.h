/* planned.h: the run a user plans: how much work, at which setting, and what it would cost.
 *
 * Shared by predict and what builds on it. Owns nothing but what says so.
 */
#ifndef WATTLAW_CMD_PLANNED_H
#define WATTLAW_CMD_PLANNED_H

#include "advise/cost.h"
#include "cmd/laws.h"
#include "model/model.h"

/* Work as the user gave it; at most one is above 0. None: one unit of work. */
struct planned_work {
	double samples, steps, epochs, runs;
	double samples_per_epoch; /* 0 = not given */
};

struct planned {
	struct answer per_unit; /* as the model said it */
	double units; /* units of work in the plan */
	struct interval time_s, energy_j, power_w, throughput; /* of the plan; units per second */
	double workers;
	struct cost cost;
	const char *warning; /* borrowed, "" when none */
};

/* Units of work of group g in the plan, at `workers` workers. ST_INVALID when the plan's unit
 * cannot be turned into the group's: the message says what is missing. */
enum status planned_units(const struct law_group *g, const struct model *m,
	const struct planned_work *w, double workers, double *units, struct err *e);
/* Ask the model about x (NAN = default) and cost the plan. ST_RANGE: refused, out->per_unit says
 * why. */
enum status planned_ask(const struct law_group *g, const struct model *m, const double *x,
	const struct planned_work *w, const struct cost_terms *terms, struct planned *out,
	struct err *e);

/* Curves of q of the other workloads of the set on the same kind of device, for factor f. Free with
 * mem_free. NULL when there are fewer than 3 or no memory. Measured, simulated and imported runs
 * are not mixed, nor power and energy of different scopes. */
struct prior *planned_prior(
	const struct law_set *all, const struct law_group *g, enum factor f, enum quantity q);

/* g per kWh out of a number or a CSV file with a column g_per_kwh (or carbon_intensity): its mean.
 */
enum status planned_carbon(const char *text, double *g_kwh, struct err *e);

#endif
