/* record.h: what one run was and what it cost, as plain data.
 *
 * Everything that produces runs (a real executor, the simulator, an importer) fills a struct
 * run_rec, and it is the only thing the store accepts. It knows no hardware: devices are text
 * keys, quantities are integers in base units (uJ, mW, kHz, ns, ppm, mdegC) and each one has a
 * status. A quantity whose status is not ST_OK is printed as null or an empty cell, never as 0.
 *
 * A record owns all its strings and arrays: run_rec_init, fill, run_rec_release.
 */
#ifndef WATTLAW_RECORD_RECORD_H
#define WATTLAW_RECORD_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"
#include "base/str.h"
#include "base/units.h"

/* A number that may be missing. With ST_PARTIAL v is what is known of it (a lower bound of a sum);
 * with every status but these two v is 0 and means nothing. A zeroed struct qty reads as a measured
 * 0, so structs that hold one are made by the run_rec_* functions, never by memset. */
struct qty {
	int64_t v;
	enum status st;
};
#define QTY(value)   ((struct qty){(value), ST_OK})
#define QTY_NONE(st) ((struct qty){0, (st)})

enum energy_method {
	ENERGY_NONE, /* nothing could be measured: energy is unknown */
	ENERGY_COUNTER, /* the hardware's own energy counter */
	ENERGY_INTEGRAL, /* trapezoid over power samples */
	ENERGY_MIXED, /* sums over devices with different methods */
	ENERGY_SIMULATED,
	ENERGY_IMPORTED,
	ENERGY_METHOD_COUNT
};
const char *energy_method_name(enum energy_method m); /* "counter" */

enum dev_kind { DEV_GPU, DEV_CPU, DEV_DRAM, DEV_NODE, DEV_CGROUP, DEV_OTHER, DEV_KIND_COUNT };
const char *dev_kind_name(enum dev_kind k); /* "gpu" */

/* One factor of a setting: "workers" = 4, "power_limit" = 200000 mW, "batch" = "32". */
struct axis_val {
	char *name;
	char *text; /* as the user wrote it or as printed: "200W", "default" */
	enum unit unit; /* UNIT_NONE for free axes */
	struct qty value; /* ST_UNKNOWN for "default" until the baseline is known; ST_UNSUPPORTED
			     for text */
};

struct knob_rec {
	char *name; /* "power_limit", "clock_max", "memory_clock", "cpu_rate" */
	enum unit unit;
	struct qty found, requested, enforced; /* enforced is what was read back under load */
};

/* Energy and figures of one device over the window of the run (or of one phase). */
struct dev_rec {
	char *host, *key, *name; /* key: UUID or PCI address or sysfs zone, never an index */
	enum dev_kind kind;
	char *parent; /* key of the device that contains it, or NULL */
	bool counted; /* does it add to the total? (psys and MIG children do not) */
	struct qty energy_uj, energy_counter_uj, energy_integral_uj, net_uj, idle_mw;
	enum energy_method method;
	struct qty resolution_ppm, coverage_ppm, refresh_ns, window_ns;
	struct qty mean_mw, p95_mw, max_mw;
	struct qty clock_khz; /* achieved mean under load */
	struct qty mem_clock_khz, util_ppm, mem_util_ppm, mem_used_max_bytes;
	struct qty temp_start_mdegc, temp_end_mdegc, temp_max_mdegc;
	/* share of the window in each throttle reason */
	struct qty throttle_power_cap_ppm, throttle_thermal_ppm, throttle_hw_ppm,
		throttle_other_ppm;
	struct knob_rec *knobs;
	size_t n_knobs;
	enum status st; /* ST_OK, ST_PARTIAL, ST_LOST, ... */
	char *note; /* for a person: why, which source ("power: 1 s average") */
};

struct phase_rec {
	char *name;
	int64_t start_ns, end_ns; /* since the start of the run */
	struct qty energy_uj;
	int64_t steps, samples;
};

/* What the job's marks (or --progress) said, over the steady window. */
struct train_rec {
	int n_ranks;
	bool from_marks;
	struct qty steps, samples,
		epochs; /* of the whole job: steps of rank 0, samples of all ranks */
	struct qty window_ns; /* steady window: time per step is window / steps in it */
	struct qty window_steps, window_samples;
	struct qty step_p10_ns, step_median_ns, step_p90_ns, step_mean_ns, step_sd_ns;
	struct qty batch_per_rank, global_batch, gradient_bytes;
	bool has_loss; /* the two below are NAN without it */
	double loss_first, loss_last;
	bool steady; /* the slope of step time was flat */
};

/* A row of the time series kept with the run (thinned). */
struct sample_rec {
	int32_t dev; /* index into devs */
	int32_t channel; /* enum channel of hw/backend.h, kept as a number with its name in the
			    store */
	int64_t t_ns; /* since the start of the run */
	int64_t value;
	enum status st;
};

struct mark_rec {
	int32_t rank;
	int32_t kind; /* enum mark_kind of record/mark_abi.h */
	int64_t t_ns;
	double value;
	char text[24];
};

enum run_state {
	RUN_DONE,
	RUN_FAILED, /* the command ended with a code other than 0 */
	RUN_INTERRUPTED, /* stopped before its end */
	RUN_PARTIAL, /* done, but a device, field or host is missing from the figures */
	RUN_DISTURBED, /* done under thermal or hardware braking: to be repeated */
	RUN_STATE_COUNT
};
const char *run_state_name(enum run_state s);

struct run_rec {
	char *run_id; /* 16 hex digits, unique */
	char *campaign, *workload, *domain, *task, *host;
	char **command;
	size_t n_command;
	char *version; /* of the program */
	char *options; /* full options as text */
	bool simulated;
	char *source; /* NULL when measured here; "import:zeus", "sim:v100-pcie-32gb", ... */
	struct axis_val *axes;
	size_t n_axes;
	int repeat, order; /* repeat number from 0; place in the campaign's random order */
	char *launch; /* id of the launch it was stepped in */
	bool baseline; /* at the machine's default setting */
	enum run_state state;
	int exit_code; /* as a shell would give it; -1 while unknown */
	int64_t start_realtime_ns, start_mono_ns;
	struct qty wall_ns;
	enum energy_method method;
	struct qty energy_uj, net_uj, resolution_ppm, coverage_ppm;
	char *scope; /* "GPUs", "GPUs + CPU + DRAM", "node" */
	char *energy_note; /* why it is unknown or partial */
	bool shared_node; /* other jobs ran on the measured components */
	struct train_rec train;
	struct dev_rec *devs;
	size_t n_devs;
	struct phase_rec *phases;
	size_t n_phases;
	struct sample_rec *samples;
	size_t n_samples, cap_samples;
	struct mark_rec *marks;
	size_t n_marks, cap_marks;
	char **warnings;
	size_t n_warnings;
	int hosts_expected, hosts_seen; /* fewer seen than expected makes the run partial */
};

/* Every quantity unknown, every string NULL, exit code -1, one host expected. */
void run_rec_init(struct run_rec *r);
/* Leaves *r as run_rec_init does. */
void run_rec_release(struct run_rec *r);
/* Random id of 16 hex digits into buf[17]. */
void run_id_make(char buf[17]);
/* Append helpers; return false or NULL when out of memory or above a ceiling. Strings are copied. A
 * pointer they return is valid until the next append to the same array. */
bool run_rec_command(struct run_rec *r, const char *const *argv, size_t n); /* replaces */
bool run_rec_arg(struct run_rec *r, const char *arg); /* one more word of the command */
bool run_rec_warn(struct run_rec *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool run_rec_axis(
	struct run_rec *r, const char *name, const char *text, enum unit unit, struct qty v);
struct dev_rec *run_rec_dev(struct run_rec *r); /* zeroed with all quantities unknown */
struct phase_rec *run_rec_phase(struct run_rec *r);
struct knob_rec *dev_rec_knob(struct dev_rec *d, const char *name, enum unit unit);
bool run_rec_sample(struct run_rec *r, const struct sample_rec *s);
bool run_rec_mark(struct run_rec *r, const struct mark_rec *m);
bool rec_set(char **field, const char *text); /* replace an owned string */
/* The identity of a setting: "cpu_rate=80% workers=2", axes in order of name, values in their
 * shortest form, so "0.2 kW" and "200W" are one setting. Without knobs it names the block in which
 * settings are compared with one baseline: everything that power limits, clocks and CPU rates are
 * not. */
enum setting_part { SETTING_WHOLE, SETTING_BLOCK };
void setting_text(const struct axis_val *axes, size_t n, enum setting_part part, struct str *out);
/* Is this axis a knob of a device (power_limit, clock_max, memory_clock, cpu_rate)? */
bool axis_is_knob(const char *name);
/* Column or JSON key of an axis with its outside unit: "power_limit_w", "clock_max_mhz",
 * "cpu_rate_pct", "workers". Returns buf. */
const char *axis_column(const char *name, enum unit unit, char *buf, size_t size);
/* Its value in that unit; a number typed into a free axis counts. NAN when it has none. */
double axis_number(const struct axis_val *a);
const struct axis_val *run_rec_axis_find(const struct run_rec *r, const char *name);
/* Totals from the counted devices: sets energy_uj, net_uj, method, resolution_ppm, coverage_ppm and
 * scope. A kind of device of which nothing could be read (CPU packages without permission) is left
 * out of the scope and named in energy_note. When one device of a kind is missing while others of
 * it answered, or fewer hosts were seen than expected, the total is ST_PARTIAL and the state of a
 * finished run becomes RUN_PARTIAL: never a silently smaller sum. False when out of memory. */
bool run_rec_total(struct run_rec *r);
/* Merge the record of another host of the same run into r: devices (once per host and key), ranks,
 * phases, samples and marks (moved to r's time by the real-time clocks), warnings, hosts_seen; then
 * run_rec_total. ST_INVALID when it is another run. */
enum status run_rec_merge(struct run_rec *r, const struct run_rec *other, struct err *e);

/* Byte form for shards and pipes: versioned, little endian, not trusted when read. A record that is
 * equal encodes to equal bytes. False when out of memory. */
bool run_rec_encode(const struct run_rec *r, struct str *out);
/* *r need not be initialised; it is, and is empty again on failure: ST_CORRUPT, ST_NOMEM, or
 * ST_UNSUPPORTED when a newer version wrote the bytes. */
enum status run_rec_decode(struct run_rec *r, const void *bytes, size_t n, struct err *e);

#endif
