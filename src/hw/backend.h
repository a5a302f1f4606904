/* backend.h: the one interface every sensor and knob comes through.
 *
 * A back end is one struct backend in one .c file. It opens a vendor library or files below a
 * root descriptor, lists devices, reads channels and (some) sets knobs. It keeps no globals, never
 * prints, and may block in a driver: each instance is used from one thread at a time, which the
 * keeper abandons when a call exceeds its time. NULL entry = "cannot".
 *
 * Values are integers in the base unit of the channel. A struct sample carries value, time AND
 * status; a reader must look at the status first.
 */
#ifndef WATTLAW_HW_BACKEND_H
#define WATTLAW_HW_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/clock.h"
#include "base/status.h"
#include "base/units.h"
#include "record/channel.h"
#include "record/record.h"

enum throttle_bit {
	THROTTLE_POWER_CAP = 1 << 0, /* expected under a cap */
	THROTTLE_THERMAL = 1 << 1, /* software or hardware thermal: disturbs */
	THROTTLE_HW = 1 << 2, /* hardware slowdown or power brake: disturbs */
	THROTTLE_IDLE = 1 << 3,
	THROTTLE_CLOCK_SET = 1 << 4, /* limited by a clock setting: expected under a lock */
	THROTTLE_OTHER = 1 << 5
};

enum knob { KNOB_POWER_LIMIT, KNOB_CLOCK_MAX, KNOB_MEM_CLOCK, KNOB_CPU_RATE, KNOB_COUNT };
struct knob_info {
	const char *name; /* "power_limit": the axis name */
	enum unit unit;
};
const struct knob_info *knob_info(enum knob k);
/* -1 when the name is not a knob. */
int knob_from_name(const char *name);

/* A knob's value is a pair (clock locks have a minimum and a maximum; others use hi) and has an
 * origin: NVML cannot read a clock lock back, so it may only be remembered. in_force is what really
 * binds where the device says so (a board controller's lower power cap), else 0: hi is what
 * is saved and restored, in_force what a run was under. For KNOB_CPU_RATE hi is in ppm of the
 * rank's CPUs and lo is the period in ns (0 = keep); hi = -1 is "no limit". */
struct knob_val {
	int64_t lo, hi;
	int64_t in_force;
	enum knob_from { KV_READ, KV_REMEMBERED, KV_RESET, KV_UNKNOWN } from;
};

/* What is set, of a value read or remembered; no quota is the whole of a rank's CPUs. */
struct qty knob_set_qty(enum knob k, const struct knob_val *v);
/* What a run is under: in_force where that is lower. Unknown unless the device was read. */
struct qty knob_enforced_qty(enum knob k, const struct knob_val *v);

struct knob_range {
	int64_t min, max, step; /* step 0 = a grid: see grid; min or max 0 = unknown */
	int64_t def; /* factory default, 0 if unknown: never what is restored */
	int64_t *grid; /* ascending, owned by the back end; NULL when none */
	size_t n_grid;
};

enum power_kind { POWER_KIND_UNKNOWN, POWER_KIND_AVERAGE, POWER_KIND_INSTANT };

struct device {
	char key[96]; /* UUID or PCI address or zone path: stable across reboots; never an index */
	char pci[24]; /* "0000:3b:00.0" or "" */
	char name[96];
	char model[64]; /* for laws: boards of one model are comparable */
	enum dev_kind kind;
	int parent; /* index in the same back end's list, -1 = none (MIG, package) */
	bool counted; /* false for a device whose energy is inside another one's */
	bool simulated; /* not hardware: the label follows every number */
	int index; /* place in the vendor's order: for matching CUDA_VISIBLE_DEVICES only */
	int64_t refresh_ns; /* documented refresh period of its counter, 0 unknown */
	int64_t energy_wrap; /* the counter's modulus in uJ, 0 = 64 bits */
	int64_t max_power_mw; /* more than the hardware can draw is a spike, 0 unknown */
	enum power_kind power_kind;
	uint64_t channels; /* bit i: enum channel i answered when opened */
	unsigned knobs; /* bit i: enum knob i exists */
	char where[256]; /* directory below the root that it lives in, "" for none: for journals */
	char why_not[160]; /* what is missing and how to get it, "" when nothing */
};

struct sample {
	int64_t value;
	int64_t t_ns; /* monotonic, of the read (middle of the call) */
	enum status st;
};

/* What is missing on this machine and how to get it. */
struct hw_missing {
	char what[64], why[192], fix[256];
	bool knob; /* something that could be set; else something that could be measured */
};

/* Where back ends leave what they miss. Owned by whoever opened them (hw.c). */
struct hw_notes {
	struct hw_missing *v;
	size_t n, cap;
};
/* Add one line, once: the same `what` with the same `why` is kept once. n may be NULL. */
void hw_note(struct hw_notes *n, const char *what, const char *why, const char *fix);
/* The same for what cannot be set. */
void hw_note_knob(struct hw_notes *n, const char *what, const char *why, const char *fix);

/* What a back end may use to find its world; tests point it at a recorded tree. The struct is
 * copied by the back end; what it points to must outlive it. */
struct backend_env {
	int root_fd; /* "/" or the top of a recorded machine; all files open below it */
	const char *nvml_path; /* NULL = libnvidia-ml.so.1 by the loader; else an explicit file */
	struct clock *clock;
	unsigned flags; /* BACKEND_READ_ONLY */
	const char *run_id; /* only CPU groups of this run are listed; NULL = of every run */
	const _Atomic int64_t *job_pid; /* root process of the job, 0 = none yet; NULL = never */
	struct hw_notes *notes; /* may be NULL; used during open and rescan only */
	/* Set as soon as a library that simulates is loaded: it may hang before it tells a device,
	 * and what is measured beside it must still say so. May be NULL; outlives the back end. */
	_Atomic bool *simulated;
};
#define BACKEND_READ_ONLY 1u

/* A library that exports this symbol (any type) simulates devices: they are labelled so. */
#define SIM_MARKER_SYMBOL "wl_sim_marker"

struct backend {
	const char *name; /* "nvml", "rapl", ... */
	/* *self is the instance. ST_UNSUPPORTED when the machine has nothing for it: not an error.
	 */
	enum status (*open)(const struct backend_env *env, void **self, struct err *e);
	/* Borrowed array, valid until rescan or close. */
	const struct device *(*devices)(void *self, size_t *n);
	/* Look again. Known devices keep their place (those that are gone answer ST_LOST); new ones
	 * are appended. */
	enum status (*rescan)(void *self, struct err *e);
	/* Read the channels whose bits are set; out has CH_COUNT entries and every one of them is
	 * given a status. Returns the worst of them. */
	enum status (*read)(void *self, size_t dev, uint64_t channels, struct sample *out);
	enum status (*knob_range)(
		void *self, size_t dev, enum knob k, struct knob_range *out, struct err *e);
	/* ST_UNSUPPORTED with out->from = KV_UNKNOWN when the device has the knob but cannot say.
	 */
	enum status (*knob_get)(
		void *self, size_t dev, enum knob k, struct knob_val *out, struct err *e);
	/* May this process set it? Asks without setting. On refusal e says why, fix how to change
	 * that. */
	enum status (*knob_check)(
		void *self, size_t dev, enum knob k, struct err *e, char *fix, size_t fix_size);
	/* Only src/hw/control.c calls this. v->from = KV_RESET asks for "no limit" (clock locks,
	 * CPU rate) or the factory default (power limit). */
	enum status (*knob_set)(
		void *self, size_t dev, enum knob k, const struct knob_val *v, struct err *e);
	void (*close)(void *self);
};

/* ST_OK, or what a number that cannot be data stands for: the "blank" values of NVIDIA's tools
 * (2^47 and INT64_MAX-15, with +1 not found, +2 not supported, +3 no permission) and, unless wide
 * (a 64-bit counter may pass through them), the 32-bit ones. */
enum status value_status(int64_t v, bool wide);

/* Give every entry of out[CH_COUNT] that was asked for and has no better answer the status st. */
void samples_init(struct sample *out, uint64_t channels, int64_t t_ns, enum status st);
/* The worst status among the channels asked for, ST_OK when all are well. ST_UNSUPPORTED does not
 * count beside an answer. */
enum status samples_worst(const struct sample *out, uint64_t channels);

/* All back ends of this build in priority order, NULL-terminated. */
const struct backend *const *backends(void);

#endif
