/* record_build.h: from what was sampled and marked to a struct run_rec. Pure: no I/O, no clock.
 *
 * A builder lives as long as a launch. It is told the devices once, is fed every sample and mark in
 * time order, and is asked for a record of any window afterwards: one window for `run`, one per
 * setting for a stepped `sweep`, any of them again. It owns everything it was given. Memory is
 * bounded whatever the length of the launch: the meters thin, step times are kept at most
 * BUILD_ENDS a rank (then every second, fourth, … with exact step numbers), time series at most
 * BUILD_SERIES a record.
 *
 * It fills: train, devs (with knobs), phases, samples, marks, warnings, wall_ns, start_mono_ns,
 * host and the totals (run_rec_total). What the executor knows stays the executor's: ids, names,
 * axes, exit code, state other than RUN_DISTURBED and RUN_PARTIAL.
 *
 * Time is CLOCK_MONOTONIC ns of this host throughout. One thread.
 */
#ifndef WATTLAW_MEASURE_RECORD_BUILD_H
#define WATTLAW_MEASURE_RECORD_BUILD_H

#include "hw/backend.h"
#include "measure/marks.h"
#include "measure/sampler.h"

#define BUILD_ENDS   65536
#define BUILD_SERIES 20000 /* samples kept with one record, over all devices and channels */

struct build;

struct build_config {
	const char *host; /* copied */
	int64_t period_ns; /* of sampling */
	/* Correction for part-time sensors, as in meter.h; all 0 = none. It labels what it touches.
	 */
	int64_t lag_ns, window_ns, gain_ppm;
	bool shared_node; /* other jobs run on the measured components */
};

enum status build_new(const struct build_config *cfg, struct build **out);
void build_free(struct build *b);

/* One more device; its index in the builder is its hw id when called for every hw id in order.
 * `on`: selected (others are kept as parents only). parent: index in the builder, -1 = none: of two
 * selected devices with one inside the other only the outer is counted, and MIG instances of one
 * parent count the parent once. */
enum status build_device(struct build *b, const struct device *dev, bool on, int parent);

/* The window in which the machine was idle at its default settings, before the job: the mean power
 * there is each device's idle power. Ignored for a device that was busy in it (utilisation above 5
 * %), with a warning. A later call replaces it. */
void build_idle(struct build *b, int64_t t0_ns, int64_t t1_ns);
/* Or a baseline known from elsewhere, for one device. */
void build_idle_power(struct build *b, size_t dev, struct qty idle_mw);

/* Value of a knob from now on: appears in the records of windows that end after it. */
void build_knob(struct build *b, size_t dev, enum knob k, struct qty found, struct qty requested,
	struct qty enforced);

/* The same for a value that is known only afterwards to have stood since t_ns. */
void build_knob_at(struct build *b, int64_t t_ns, size_t dev, enum knob k, struct qty found,
	struct qty requested, struct qty enforced);

void build_sample(struct build *b, const struct tagged_sample *s);
/* Suits marks_poll as fn, with the builder as arg. */
void build_mark(void *b, const struct mark_rank *r, const struct mark_event *ev);
/* Without marks: a step seen in the job's output (--progress). total is the number of steps so far,
 * samples those since the last call (0 = unknown). */
void build_progress(struct build *b, int64_t t_ns, uint64_t total_steps, uint64_t samples);
/* A sentence for every record from now on ("the driver stalled at 3.2s"). */
void build_warn(struct build *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The measured components are shared with somebody: flags every record from now on, with the
 * reason. */
void build_shared(struct build *b, const char *why);

struct build_window {
	int64_t t0_ns, t1_ns; /* of the record: start and end of the job, or of the setting */
	/* Before the steady phase: whichever ends last. Steps count from the window's start. */
	int64_t warmup_steps, warmup_ns;
	bool keep_series; /* samples and marks into the record */
};

/* Fill rec (initialised by the caller, with its own fields set or to be set later). May be called
 * again for other windows. ST_NOMEM, or ST_RANGE when t1 <= t0. */
enum status build_record(
	struct build *b, const struct build_window *w, struct run_rec *rec, struct err *e);

/* The last two settled numbers that a stepping executor steers by: step statistics since t0 (of the
 * slowest rank), and energy so far of the counted devices for marks_publish_energy (cheap: edges
 * are known to a refresh each). */
void build_steps(const struct build *b, int64_t t0_ns, int64_t t1_ns, struct step_stats *out);
struct qty build_energy(const struct build *b, int64_t t0_ns, int64_t t1_ns);

#endif
