/* joint.h: one physical shape in workers, power limit and clock limit together.
 *
 * Step time = t0 + t1/f + exposed communication(workers); a device draws P(f) while it computes and
 * P_wait while it waits; under a cap it runs at the clock where its mean draw meets the cap. So a
 * cap stops biting when devices wait, and a clock limit hides a cap: effects that a product of
 * separate laws cannot have. Fitted on whatever part of the grid exists.
 */
#ifndef WATTLAW_MODEL_JOINT_H
#define WATTLAW_MODEL_JOINT_H

#include "base/status.h"
#include "model/law.h"

#define JOINT_PARAMS 8

struct joint {
	double p[JOINT_PARAMS]; /* see joint.c for their meaning; scaled by the refs below */
	bool free[JOINT_PARAMS]; /* which the data determined; the rest stand at their default */
	double time_ref, power_ref, clock_ref;
	double lo[FACTOR_COUNT], hi[FACTOR_COUNT]; /* range of evidence; NAN factor never set */
	double rms_time, rms_power; /* root mean square of ln residuals; NAN when not measured */
	unsigned n; /* rows used */
	unsigned n_free;
};

/* ST_RANGE with fewer usable rows than free parameters; ST_INVALID names bad rows. */
enum status joint_fit(const struct obs *obs, size_t n, struct joint *out, struct err *e);
/* Time (s per unit of work) and mean power (W over all workers) at a setting; NAN factors are at
 * their default. Either output may be NULL. */
void joint_eval(
	const struct joint *j, const double x[FACTOR_COUNT], double *time_s, double *power_w);
const char *joint_param_name(unsigned i);

#endif
