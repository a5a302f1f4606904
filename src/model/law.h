/* law.h: what a law is: one family of curves y(x), one row in a table.
 *
 * A family fits points that were already cleaned, merged and scaled by fit.c, so that the numbers
 * it sees are near 1 and a change of units changes nothing. Everything in src/model is pure: data
 * in, data out; no files, no clock, no globals that are written. Any function may be called from
 * several threads at once on different outputs. Logarithms are natural.
 *
 * Units outside: time in s per unit of work (sample, step, epoch, run: the caller's choice, the
 * same in one data set), power in W, energy in J per unit of work, power limit in W, clock in MHz,
 * CPU rate in %.
 * Unknown is NAN, never 0.
 */
#ifndef WATTLAW_MODEL_LAW_H
#define WATTLAW_MODEL_LAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The CPU rate is the share of its time a CPU group may run: a clock for whole programs. */
enum factor { FACTOR_WORKERS, FACTOR_POWER_LIMIT, FACTOR_CLOCK, FACTOR_CPU_RATE, FACTOR_COUNT };
enum quantity { QTY_TIME, QTY_POWER, QTY_ENERGY, QTY_COUNT };

#define FACTOR_BIT(f) (1u << (f))
/* Families that take a clock take a CPU rate. */
#define FACTOR_CLOCKS (FACTOR_BIT(FACTOR_CLOCK) | FACTOR_BIT(FACTOR_CPU_RATE))
#define QTY_BIT(q)    (1u << (q))

/* How the work was split when workers were added. A set of observations has one of these; strong
 * and weak in one series is refused, MIXED is for imported series whose global batch changes. */
enum scaling { SCALING_UNKNOWN, SCALING_STRONG, SCALING_WEAK, SCALING_MIXED };

/* One measured setting. x[]: workers (count), power limit (W), clock limit (MHz); NAN = not set,
 * the device's own default. y[]: see units above; NAN = not measured. */
struct obs {
	double x[FACTOR_COUNT];
	double y[QTY_COUNT];
	double weight; /* how many runs this row stands for; 0 means 1 */
	double global_batch; /* samples a step over all workers; 0 = unknown */
	double worker_batch; /* samples a step of one worker; 0 = unknown */
	uint32_t board; /* which board(s) it ran on: a blocking factor; 0 = unknown */
	bool beside; /* power holds more than the devices (hosts): it says nothing of an overshoot
		      */
	bool is_default; /* measured at the machine's default setting */
	long row; /* the caller's row number, for messages; 0 = none */
};

#define LAW_MAX_PARAMS 5
#define LAW_MAX_KNOTS  64 /* more distinct settings than this are merged with their neighbours */

/* The fitted numbers of one law. Parameters are in outside units once fit.c is done with them. */
struct shape {
	double p[LAW_MAX_PARAMS];
	unsigned n_knots; /* only the interpolating law has knots: ln x, ln y, slope */
	double kx[LAW_MAX_KNOTS], ky[LAW_MAX_KNOTS], km[LAW_MAX_KNOTS];
};

/* Clean points in increasing x, all positive and finite, one per distinct x. */
struct pts {
	unsigned n;
	enum factor factor;
	const double *x, *y; /* scaled */
	const double *lx, *ly; /* their logarithms */
	const double *w; /* weights, mean 1 */
};

enum {
	LAW_FREE, /* may have a minimum */
	LAW_FALLS, /* never rises with x */
	LAW_RISES, /* never falls with x */
	LAW_MONOTONE_EITHER, /* one of the two, as the data say */
};

struct law {
	const char *name; /* stable word, stored and printed: "offset" */
	const char *formula; /* for people and doc/laws.md */
	unsigned quantities; /* QTY_BIT mask: what it may describe */
	unsigned factors; /* FACTOR_BIT mask: in which factor */
	unsigned n_params; /* degrees of freedom counted by AICc and by "too few points" */
	unsigned n_shown; /* parameters with a name (<= LAW_MAX_PARAMS) */
	const char *params[LAW_MAX_PARAMS];
	bool positive[LAW_MAX_PARAMS]; /* bounded below by 0 */
	int monotone; /* LAW_FALLS, LAW_RISES, LAW_MONOTONE_EITHER or LAW_FREE */
	bool extrapolates; /* may be asked outside its points */
	double variant; /* a fixed shape constant of this row, e.g. the sharpness s */
	/* False when these points do not determine it. Fills sh in scaled units. */
	bool (*fit)(const struct law *l, const struct pts *pts, struct shape *sh);
	/* y at x > 0; same units as the shape. */
	double (*eval)(const struct law *l, const struct shape *sh, double x);
	/* d ln y / d p[i]; NULL: fit.c differentiates numerically. */
	void (*jacobian)(const struct law *l, const struct shape *sh, double x, double *d);
	/* From scaled to outside units: x was divided by xr, y by yr. */
	void (*unscale)(const struct law *l, struct shape *sh, double xr, double yr);
};

/* All rows, in a fixed order. *n gets their number. Borrowed, constant. */
const struct law *const *law_table(unsigned *n);
/* Row by name, NULL when there is none. Names are unique. */
const struct law *law_find(const char *name);
/* May this law describe quantity q in factor f? */
bool law_applies(const struct law *l, enum quantity q, enum factor f);

double law_eval(const struct law *l, const struct shape *sh, double x);
/* d ln y / d p, analytic where the row has it, central differences otherwise. */
void law_jacobian(const struct law *l, const struct shape *sh, double x, double *d);

/* "workers", "power_limit_w", "clock_mhz", "cpu_rate_pct"; "time", "power", "energy". Never NULL.
 */
const char *factor_name(enum factor f);
const char *quantity_name(enum quantity q);

#endif
