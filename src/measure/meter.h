/* meter.h: from samples to energy. Pure: data in, data out; no I/O, no clock, no globals.
 *
 * One meter per device. Samples are pushed in time order as they are read (with jitter, repeats, gaps,
 * faults); energy and power statistics are asked for any window afterwards. Memory is bounded:
 * the meter keeps counter changes and power changes thinned to METER_MAX points.
 *
 * Energy is taken from the counter where there is one that advances, aligned to its refreshes, with
 * the integral of power beside it; otherwise the trapezoid integral of power (MEASURING.md rules:
 * wraps at the modulus, resets flagged, sentinels and impossible spikes dropped, gaps counted
 * as missing coverage). The method, the resolution error and the coverage come with every number.
 */
#ifndef WATTLAW_MEASURE_METER_H
#define WATTLAW_MEASURE_METER_H

#include "hw/backend.h"

struct meter;

struct meter_config {
	int64_t energy_wrap;   /* uJ modulus, 0 = none */
	int64_t max_power_mw;  /* more is a spike; 0 = unknown */
	int64_t refresh_ns;    /* documented refresh, 0 = detect */
	int64_t max_gap_ns;    /* a longer hole in the samples is not bridged; 0 = 5 periods seen */
	enum power_kind power_kind;
	int64_t lag_ns, window_ns; /* correction for part-time sensors, 0 = none (then unlabelled) */
	int64_t gain_ppm;	   /* measured / true, 0 = 1000000 */
};

enum meter_flag {
	METER_WRAPPED = 1 << 0,
	METER_RESET = 1 << 1,	   /* the counter went back to 0: what was lost is unknown */
	METER_GAP = 1 << 2,
	METER_SPIKE = 1 << 3,
	METER_SENTINEL = 1 << 4,
	METER_LOST = 1 << 5,	   /* the device stopped answering inside the window */
	METER_LOW_RESOLUTION = 1 << 6, /* window shorter than a few refreshes */
	METER_DISAGREE = 1 << 7,   /* counter and integral differ beyond their stated errors */
	METER_CORRECTED = 1 << 8,
	METER_STUCK = 1 << 9	   /* the counter did not move while power was drawn */
};

struct meter_energy {
	struct qty energy_uj;	/* the chosen one */
	struct qty counter_uj, integral_uj;
	enum energy_method method;
	struct qty resolution_ppm, coverage_ppm;
	struct qty mean_mw, p95_mw, max_mw, min_mw;
	struct qty refresh_ns;	/* detected or documented */
	unsigned flags;
};

enum status meter_new(const struct meter_config *cfg, struct meter **out);
void meter_free(struct meter *m);
/* ch is CH_ENERGY or one of the power channels; others are ignored. s may carry a bad status:
 * that ends coverage, nothing else. */
void meter_push(struct meter *m, enum channel ch, const struct sample *s);
/* Energy between two monotonic times. Windows may overlap and come in any order as long as
 * the samples around them were pushed. */
enum status meter_energy(const struct meter *m, int64_t t0_ns, int64_t t1_ns,
	struct meter_energy *out);

#endif
