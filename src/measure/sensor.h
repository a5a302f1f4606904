/* sensor.h: what a board's power sensor really sees, from a calibration run. Pure.
 *
 * Many boards refresh their power reading each R but measure only during a window W < R of it, some
 * time before it is published (Yang, Adamek, Armour, SC'24). Under a load that is switched on and
 * off at known times that shows: a reading is low + (high - low) * the share of the window in which
 * the load was on. W and its lag are found by trying them all; W / R is the coverage. The result is
 * what `meter_config` takes as a correction, and says how far a naive integral can be off on a load
 * whose period is near R.
 */
#ifndef WATTLAW_MEASURE_SENSOR_H
#define WATTLAW_MEASURE_SENSOR_H

#include <stddef.h>
#include <stdint.h>
#include "base/status.h"

struct sensor_reading {
	int64_t t_ns, mw;
};

/* Mean refresh period of a polled sensor, from the times at which its value changed; poll at least
 * three times as often. *sd_ns is the spread of single periods (polling included). ST_UNKNOWN with
 * fewer than eight regular changes. */
enum status sensor_refresh(
	const struct sensor_reading *r, size_t n, double *refresh_ns, double *sd_ns);

struct sensor_model {
	double refresh_ns, window_ns, lag_ns; /* the window ends lag before the refresh is seen */
	double low_mw, high_mw;
	double coverage; /* window / refresh, at most 1 */
	double residual_mw; /* rms of what the model leaves */
	double window_lo_ns, window_hi_ns; /* windows that fit nearly as well (rms within 10 %) */
};

/* on[2k] and on[2k + 1] are when the load began and ended, in order, same clock as the readings. */
enum status sensor_fit(const struct sensor_reading *r, size_t n, const int64_t *on, size_t n_on,
	struct sensor_model *out, struct err *e);

/* Energy in uJ over [t0, t1]: what the load drew according to the model, and the naive trapezoid of
 * the readings. */
double sensor_energy(
	const struct sensor_model *m, const int64_t *on, size_t n_on, int64_t t0, int64_t t1);
double sensor_naive(const struct sensor_reading *r, size_t n, int64_t t0, int64_t t1);

#endif
