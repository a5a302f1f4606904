/* scenario.h: what the simulated devices of one host are and what happens to them, as plain data.
 *
 * Read from an INI file (grammar in man/wattlaw-sim-exec.1.scd); holds no pointer, so that it can
 * lie in the file shared by all processes that see the devices. Times are ns since the world began.
 */
#ifndef WATTLAW_SIM_SCENARIO_H
#define WATTLAW_SIM_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "base/str.h"
#include "sim/gpu.h"
#include "sim/nvml_calls.h"

#define SIM_GPUS    32
#define SIM_FAULTS  256
#define SIM_EVENTS  512
#define SIM_MIG     7
#define SIM_MISSING 64
#define SIM_FOREVER INT64_MAX

enum fault_kind {
	FAULT_CODE, /* return code */
	FAULT_HANG, /* never return */
	FAULT_SLOW, /* take that many ns, then work */
	FAULT_VALUE /* succeed with that value */
};

struct sim_fault {
	int32_t gpu; /* -1 = the host's own calls and every device */
	int32_t call; /* enum nvml_call, or -1: a field of nvmlDeviceGetFieldValues */
	int32_t field;
	int32_t kind, code;
	uint32_t nth; /* only the nth call of that function (1 = first); 0 = any */
	int64_t from_ns, to_ns, value;
};

enum sim_event_kind {
	EV_POWER, /* a: mW drawn whatever the knobs say; 0 ends it */
	EV_LOAD, /* a: mW wanted at full clock, obeys the knobs; 0 ends it */
	EV_LIMIT, /* somebody set the power limit, a: mW */
	EV_CLAMP, /* something enforces at most a mW; 0 ends it */
	EV_CLOCKS, /* somebody locked the clock, a..b kHz; 0 resets */
	EV_COUNTER, /* the counter starts again */
	EV_RELOAD, /* the driver was loaded again: knobs at default, counter at 0 */
	EV_AMBIENT, /* a: mdegC */
	EV_BRAKE, /* a: on or off */
	EV_LOST, /* a: off the bus, or back */
	EV_GAIN,
	EV_KINDS
};

struct sim_event {
	int64_t at_ns, a, b;
	int32_t gpu, kind;
};

enum set_rule { SET_NORMAL, SET_IGNORED }; /* ignored: SUCCESS, and nothing changes */
enum setters { SETTERS_ROOT, SETTERS_ANYONE, SETTERS_NOBODY };

struct sim_gpu_cfg {
	struct gpu_profile prof;
	char uuid[80];
	uint32_t domain, bus, device, minor;
	int64_t limit_mw; /* found limit; 0 = default */
	int64_t clamp_mw, clock_clamp_khz;
	int32_t limit_set, clock_set; /* enum set_rule */
	int64_t counter_start_uj, counter_wrap_uj;
	int64_t mem_used;
	/* square wave, const power: high for duty of every period */
	int64_t sq_hi_mw, sq_lo_mw, sq_period_ns, sq_high_ns;
	double util; /* of scripted loads */
	int n_mig;
	struct {
		char name[16]; /* "3g.20gb" */
		int slices;
		int64_t mem_bytes;
	} mig[SIM_MIG];
};

struct scenario {
	char driver[32], nvml[32];
	int cuda; /* 12020 */
	int32_t setters;
	uint64_t seed;
	bool no_library, library_is_directory, library_is_garbage;
	int n_missing;
	char missing[SIM_MISSING][64]; /* exact symbol names the library lacks */
	int n_gpus, n_faults, n_events;
	struct sim_gpu_cfg gpu[SIM_GPUS];
	struct sim_fault fault[SIM_FAULTS];
	struct sim_event event[SIM_EVENTS]; /* by time */
};

/* From "v100:4", "v100:2,a40:2": devices without any script. */
enum status scenario_gpus(struct scenario *s, const char *spec, struct err *e);
/* Add a scenario file to it. Sections [gpu N] beyond what --gpus gave add devices. */
enum status scenario_file(struct scenario *s, const char *path, struct err *e);
enum status scenario_text(
	struct scenario *s, const char *file, const char *text, size_t len, struct err *e);
void scenario_init(struct scenario *s);
/* After everything was added: sort events, check that every device has a profile. */
enum status scenario_finish(struct scenario *s, struct err *e);

/* "nvmlDeviceGetPowerUsage" (any version suffix) → enum nvml_call, or -1. */
int scenario_call(const char *name);
const char *scenario_call_name(int call);

#endif
