/* meter_int.h: what meter.c (pushing) and meter_energy.c (asking) share. */
#ifndef WATTLAW_MEASURE_METER_INT_H
#define WATTLAW_MEASURE_METER_INT_H

#include "base/clock.h"
#include "measure/meter.h"

#define METER_EVENTS   512
#define METER_RECENT   32
#define METER_GAPS     64 /* bounds of the refresh period that are remembered */
#define METER_CHAIN    16 /* periods in a row that one bound is taken over */
#define METER_GAP_REL  0.6 /* those wider than this, relative to the upper, say too little */
#define REFRESH_MAX    NS_PER_S /* slower than this is no refresh but a load that changes */
#define METER_STUCK_NS (2 * NS_PER_S) /* a counter that does not move for so long is noted */

/* A change of the counter: the value before it was last read at `before`, this one first at `seen`.
 */
struct counter_point {
	int64_t before, seen;
	int64_t uj; /* since the first read, wraps undone */
	bool hole; /* what was drawn since the point before is not in uj */
};

/* A power reading and the sums up to it. Equal readings in a row are one pair of points. */
struct power_point {
	int64_t t_ns;
	int64_t covered_ns; /* up to here */
	double uj; /* up to here */
	int32_t mw, min_mw, max_mw; /* extremes include readings thinned away before this one */
};

/* A flag and the time it holds for. */
struct meter_event {
	int64_t t0, t1;
	unsigned flag;
};

/* How often a channel is read and how often its value changes. */
struct cadence {
	int64_t last_read, last_change;
	int64_t dt[METER_RECENT]; /* between reads */
	int64_t change[METER_RECENT]; /* between changes */
	uint64_t n_dt, n_change;
	int64_t typical_ns; /* median of dt, at least the sampling period; 0 = unknown */
	int64_t period_ns; /* of sampling, as told */
};

struct meter {
	struct meter_config cfg;
	struct counter_point *c;
	size_t n_c, cap_c;
	struct power_point *p;
	size_t n_p, cap_p;
	int64_t spacing_c, spacing_p; /* of thinned points */
	struct meter_event ev[METER_EVENTS];
	size_t n_ev;
	int64_t pin[METER_PINS];
	size_t n_pin;

	/* counter */
	int64_t raw; /* last good reading */
	struct cadence cc;
	bool pending; /* an impossible reading waits for the next to confirm or refute it */
	int64_t pend_raw, pend_t;
	int pend_same;
	struct {
		int64_t lo, hi; /* lo < R <= hi, see refresh.h */
	} gap[METER_GAPS];
	uint64_t n_gap;
	struct counter_point chain; /* first of chain_n periods whose ends were all seen closely */
	int chain_n;

	/* power */
	struct cadence pc;
	enum channel source; /* CH_COUNT = none yet */
	bool broken; /* the device was lost since the last reading: do not bridge */
	int64_t lost_t; /* when it was lost, 0 = it answers */
};

/* Refresh period seen in c: mean time between changes, when reads are at least 1.5 times as
 * frequent. 0 = cannot tell. */
int64_t cadence_refresh(const struct cadence *c);
/* The same for the readings of power, else documented, else 0. */
int64_t power_refresh(const struct meter *m);
/* How far beyond its first and last reading a channel is held flat, ns. */
double cadence_leeway(const struct cadence *c);
/* Sum of the power integral and of covered time up to t (held flat a little beyond the ends). */
void power_until(const struct meter *m, int64_t t, double *uj, double *covered_ns);
/* The same between two times; covered_ns may be NULL. uJ. */
double power_between(const struct meter *m, int64_t t0, int64_t t1, double *covered_ns);

struct counted {
	bool known, stuck;
	double uj, covered_ns, spacing_ns, error_uj;
};

/* rough: without looking for the beat, which costs a millisecond. */
void counter_count(const struct meter *m, int64_t t0, int64_t t1, bool rough, struct counted *out);

/* Part of [a, b] inside [t0, t1]. */
static inline int64_t overlap(int64_t a, int64_t b, int64_t t0, int64_t t1)
{
	if (a < t0)
		a = t0;
	if (b > t1)
		b = t1;
	return b > a ? b - a : 0;
}

#endif
