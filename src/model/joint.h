/* joint.h: one physical shape in workers, power limit and clock limit together.
 *
 * A unit of work keeps the devices busy for
 *     t_dev = (t0 + t1 u)/n + t_comm (n - 1)/n,    u = (1 + (k/C)^(bs) + (f0/f)^s)^(1/s) /
 * u(default) where u is how much slower than at full clock they run: as slow as the tighter of
 * limit and lock asks, so that a low clock hides a limit. The host (input, launches) needs t_host
 * whatever the devices do, and the slower of the two sets the pace: T = (t_host^s + t_dev^s)^(1/s),
 * s = 4. So a limit stops biting when devices wait, which a product of separate laws cannot say.
 * The mean draw follows: P = n (p0 + p_dyn busy u^-m), busy = t_dev/T, never above the limit (and
 * what was measured beside the devices). Fitted on whatever part of the grid exists; parameters it
 * says nothing about stay at none.
 */
#ifndef WATTLAW_MODEL_JOINT_H
#define WATTLAW_MODEL_JOINT_H

#include "base/status.h"
#include "model/law.h"
#include "model/rest.h"

enum joint_param {
	JOINT_T1, /* s per unit of work on one device at full clock, the part that scales with it */
	JOINT_T0, /* s, the part that no clock touches (memory) */
	JOINT_K, /* W, limit where it begins to bite */
	JOINT_B, /* how steeply time rises below it */
	JOINT_T_HOST, /* s per unit of work that the host needs */
	JOINT_T_COMM, /* s per unit of work of all-reduce that nothing hides, at many workers */
	JOINT_P0, /* W of one device that waits */
	JOINT_P_DYN, /* W more while it computes at full clock */
	JOINT_M, /* exponent of the draw in the clock: 1, 2 or 3 */
	JOINT_S, /* how sharply the slower of host and devices wins: 3, 4, 6 or 8 */
	JOINT_PARAMS
};

#define JOINT_LEVELS 16

struct joint {
	double p[JOINT_PARAMS]; /* outside units; 0 where not free */
	bool free[JOINT_PARAMS]; /* which the data determined */
	enum factor pace; /* FACTOR_CLOCK, or FACTOR_CPU_RATE where only that was set */
	double clock_ref; /* full clock: the highest seen; NAN without */
	double base[FACTOR_COUNT]; /* what NAN means when asked: the default setting */
	double lo[FACTOR_COUNT], hi[FACTOR_COUNT]; /* range of evidence; NAN: factor never set */
	unsigned n_levels; /* worker counts with a level of their own: their boards, their baseline
			    */
	double level_n[JOINT_LEVELS], level[JOINT_LEVELS]; /* count; ln time beyond the shape */
	double level_power[JOINT_LEVELS]; /* power beyond the shape: W a worker when it adds, else
					     ln */
	bool adds; /* the power holds more than the devices */
	double beside_w; /* W a worker measured beyond its limit: hosts that share the sensor; 0 =
			    none */
	double rms_time, rms_power; /* root mean square of ln residuals; NAN when not measured */
	struct rest rest_time, rest_power; /* what the shape leaves over; empty on small grids */
	unsigned n, n_free; /* rows used; free parameters of time */
};

/* base: the default setting (NAN = unknown there). ST_RANGE with fewer usable rows than free
 * parameters or when nothing varies; ST_INVALID names bad rows. Averages rows of one setting. */
enum status joint_fit(const struct obs *obs, size_t n, const double base[FACTOR_COUNT],
	struct joint *out, struct err *e);
/* Time alone, beginning at the law of almost the same rows (for leaving some out): a tenth of the
 * work. near NULL: joint_fit. */
enum status joint_fit_near(const struct obs *obs, size_t n, const double base[FACTOR_COUNT],
	const struct joint *near, struct joint *out, struct err *e);
/* Is every factor that x moves away from the default one of this law's? It has one pace: where
 * clocks and CPU rates were both moved, a rate is not its to tell. */
bool joint_covers(const struct joint *j, const double x[FACTOR_COUNT]);
/* Time (s per unit of work) and mean power (W over all workers; NAN unknown) at a setting; NAN
 * factors are at their default. Either output may be NULL. */
void joint_eval(
	const struct joint *j, const double x[FACTOR_COUNT], double *time_s, double *power_w);
/* Half width of the interval of ln time or ln power at x. Inside a grid whose remainder was learnt:
 * from the errors of left-out settings. */
double joint_half_width(
	const struct joint *j, enum quantity q, const double x[FACTOR_COUNT], double level);
const char *joint_param_name(enum joint_param p);

#endif
