/* calibrate.h: from measured runs of one workload on one device to its load.
 *
 * Pure. Five numbers (step time at full clock, host share, clock share, dynamic power, spread) are
 * chosen so that gpu_steady gives the measured times and powers, least squares on log error, with
 * weak priors where few points say little. The search is a Nelder-Mead simplex from several starts.
 */
#ifndef WATTLAW_SIM_CALIBRATE_H
#define WATTLAW_SIM_CALIBRATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "sim/gpu.h"

struct calib_point {
	int64_t limit_mw, clock_khz, mem_clock_khz; /* 0 = default */
	double step_s;
	double power_mw; /* 0 = unknown */
};

struct calib_fit {
	double time_rms, power_rms; /* relative, over the points given */
	double time_max, power_max;
};

/* At least 2 points; ST_INVALID when a time is not positive. Without any power the dynamic power
 * cannot be known: ST_INVALID too, unless the time does not move with the cap either. loader_s (may
 * be NULL: not looked for) gets the time below which no step goes although the GPU could, 0 when
 * the points show none: a loader, or another part of the host, paces the job then. */
enum status calibrate(const struct gpu_profile *p, const struct calib_point *pts, size_t n,
	struct gpu_load *out, double *loader_s, struct calib_fit *fit, struct err *e);

#endif
