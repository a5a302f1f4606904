/* meter.h: from samples to energy. Pure: data in, data out; no I/O, no clock, no globals.
 *
 * One meter per device. Samples are pushed in time order as they are read (with jitter, repeats,
 * gaps, faults); energy and power statistics are asked for any window afterwards. Memory is
 * bounded: changes of the counter and of power are kept, at most METER_MAX of each; beyond that old
 * ones are thinned evenly (sums stay exact, only the resolution of window edges in the old part
 * suffers, and is stated), except around the times given to meter_pin.
 *
 * Counter. Energy is the difference of the counter at both edges, each interpolated between its
 * neighbouring refreshes, whose times are narrowed down from all reads around them. A fall is a
 * wrap when the modulus and the power it would mean allow it (several wraps between two reads are
 * told apart by the power seen), else a reset once a second read confirms it: what was drawn across
 * a reset is taken from power, or is missing coverage. A single impossible read is dropped.
 *
 * Integral. Trapezoid over deduplicated power samples, the window shifted by half a refresh (the
 * mean age of a reading). For a sensor that averages over W (POWER_KIND_AVERAGE: 1 s) the energy
 * still inside the averaging window at both edges is added: F(t) - mean of F over [t-W, t], which
 * is P*W/2 where power is flat and is unrolled backwards W by W where it is not.
 *
 * Which wins. The counter, when it moved, and accounts for at least as much of the window as the
 * integral (less 1 %); else the integral. METER_DISAGREE when both are known and differ by more
 * than the sum of their resolution errors and METER_AGREE_PPM.
 */
#ifndef WATTLAW_MEASURE_METER_H
#define WATTLAW_MEASURE_METER_H

#include "hw/backend.h"

#define METER_MAX        32768
#define METER_PINS       256
#define METER_AGREE_PPM  50000 /* gain and sampling error of one board's sensor, 5 % */
#define METER_AVERAGE_NS NS_PER_S /* averaging window of POWER_KIND_AVERAGE */
#define METER_GOOD_PPM   990000 /* less coverage makes the energy ST_PARTIAL */

struct meter;

struct meter_config {
	int64_t energy_wrap; /* uJ modulus, 0 = none */
	int64_t max_power_mw; /* more is a spike; 0 = unknown */
	int64_t refresh_ns; /* documented refresh, 0 = detect */
	int64_t period_ns; /* of sampling: extra reads in between make no gap of what is regular; 0
			      = unknown */
	int64_t max_gap_ns; /* a longer hole in the samples is not bridged; 0 = 5 periods seen */
	enum power_kind power_kind;
	/* Correction for part-time sensors, 0 = none. Where one is set the result carries
	 * METER_CORRECTED: power is taken lag_ns later; the first window_ns of a window (the rise)
	 * is replaced by the mean of the rest when the window is more than four times as long;
	 * energies and powers are divided by the gain. */
	int64_t lag_ns, window_ns;
	int64_t gain_ppm; /* measured / true, 0 = 1000000 */
};

enum meter_flag {
	METER_WRAPPED = 1 << 0,
	METER_RESET = 1 << 1, /* the counter went back to 0: what was lost is unknown */
	METER_GAP = 1 << 2,
	METER_SPIKE = 1 << 3,
	METER_SENTINEL = 1 << 4,
	METER_LOST = 1 << 5, /* the device stopped answering inside the window */
	METER_LOW_RESOLUTION = 1 << 6, /* window shorter than a few refreshes */
	METER_DISAGREE = 1 << 7, /* counter and integral differ beyond their stated errors */
	METER_CORRECTED = 1 << 8,
	METER_STUCK = 1 << 9 /* the counter did not move while power was drawn */
};

struct meter_energy {
	struct qty
		energy_uj; /* the chosen one; ST_PARTIAL with what is known when coverage is low */
	struct qty counter_uj, integral_uj;
	enum energy_method method;
	struct qty resolution_ppm; /* power around the edges times the refresh there, over the
				      energy */
	struct qty coverage_ppm; /* share of the window whose energy is accounted for */
	/* mean: chosen energy over covered time. The others: of the power readings, weighted by the
	 * time each stood for; without readings, of the counter's slope between refreshes. */
	struct qty mean_mw, p95_mw, max_mw, min_mw;
	struct qty refresh_ns; /* detected, else documented */
	enum channel power_channel; /* whose readings were integrated, CH_COUNT = none */
	unsigned flags;
};

enum status meter_new(const struct meter_config *cfg, struct meter **out);
void meter_free(struct meter *m);
/* ch is CH_ENERGY or one of the power channels; others are ignored, and so is module power, which
 * contains more than the device. Of several power channels the first of CH_POWER, CH_POWER_INSTANT,
 * CH_POWER_AVERAGE that answers is integrated. s may carry a bad status: that ends coverage,
 * nothing else. Never fails: without memory for growth it thins. */
void meter_push(struct meter *m, enum channel ch, const struct sample *s);
/* Keep full resolution around this time (the edge of a phase) when thinning. The first METER_PINS
 * are honoured. */
void meter_pin(struct meter *m, int64_t t_ns);
/* Energy between two monotonic times. Windows may overlap and come in any order as long as
 * the samples around them were pushed. Push two refreshes past t1 for the best resolution. ST_RANGE
 * when t1 <= t0; ST_OK also when nothing is known: look at the quantities. Threads: a meter that is
 * not being pushed may be asked by several. */
enum status meter_energy(
	const struct meter *m, int64_t t0_ns, int64_t t1_ns, struct meter_energy *out);
/* The same energy while a job runs, cheaply: edges are known to a refresh each. uJ. */
struct qty meter_rough(const struct meter *m, int64_t t0_ns, int64_t t1_ns);

#endif
