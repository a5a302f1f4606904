/* world.h: the simulated devices of one host, shared by every process that sees them.
 *
 * One file (WATTLAW_SIM_STATE) mapped by all: a scenario that never changes, two copies of the
 * changing state, and which of the two is current. A writer takes a robust mutex, copies the
 * current state, brings it to now, changes it, and flips; killed anywhere, it leaves the current
 * copy whole and the mutex to be taken over. A reader takes no lock: it copies the current state,
 * and carries its own copy forward to now with the same pure physics, so that all readers agree.
 *
 * Jobs load devices through entries that name their work in steps; the entry is tied to a record
 * lock of the open file, which the kernel drops when the owner dies however it dies.
 *
 * Time is CLOCK_MONOTONIC; the world's begins when it is created. Handles are thread-safe.
 */
#ifndef WATTLAW_SIM_WORLD_H
#define WATTLAW_SIM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "sim/scenario.h"

#define WORLD_JOBS  16
#define WORLD_RANKS 32

struct sim_dev {
	struct gpu_state g;
	struct gpu_load scripted; /* of the scenario; LOAD_IDLE when none */
	bool lost, clocks_set;
	int32_t job; /* index + 1 into jobs, 0 = none */
	int64_t app_clock_khz, app_mem_khz; /* application clocks as set, 0 = default */
	int32_t persistence, compute_mode;
	double counter_offset_uj; /* what the counter showed when the world began */
	uint32_t counter_epoch; /* counts resets */
};

enum job_phase { JOB_IDLE, JOB_COMPUTE, JOB_COMM };

/* Ranks of one training job; rank r computes on device gpu[r]. Every step ends with a barrier and,
 * with more than one rank, an all-reduce of comm_ns. */
struct sim_job {
	bool used;
	uint64_t key; /* ranks in different processes find their job by it */
	int32_t n_ranks, n_joined, n_left;
	int32_t gpu[WORLD_RANKS], pid[WORLD_RANKS], slot[WORLD_RANKS];
	struct gpu_load load[WORLD_RANKS];
	double target[WORLD_RANKS]; /* work of the device at which its step is done */
	uint64_t queued[WORLD_RANKS]; /* steps asked for by each rank */
	int64_t comm_ns, phase_end_ns, t_ns;
	int64_t step_end_ns; /* end of the last whole step */
	uint64_t done; /* whole steps */
	int32_t phase;
	double noise; /* of a step's time, relative standard deviation */
	int64_t mem_bytes; /* device memory it holds */
};

struct world {
	int64_t t_ns; /* monotonic */
	int32_t next_event, slots; /* slots: owner records handed out so far */
	struct sim_job job[WORLD_JOBS];
	struct sim_dev dev[SIM_GPUS]; /* last, so that only what exists is copied */
};

#define SIM_UUID 96
/* The stable name of a device's MIG instance. */
void world_mig_uuid(const struct scenario *s, int gpu, int mig, char out[SIM_UUID]);

/* Pure: carry a world to t_ns. */
void world_init(struct world *w, const struct scenario *s, int64_t t_ns);
void world_advance(struct world *w, const struct scenario *s, int64_t start_ns, int64_t t_ns);
/* Take a job's devices from it; what it had queued is gone. */
void world_drop_job(struct world *w, int job);
/* Knobs, with the device's rules; ST_RANGE when refused. lo = hi = 0 resets. */
enum status world_set_limit(struct world *w, const struct scenario *s, int gpu, int64_t mw);
enum status world_set_clocks(
	struct world *w, const struct scenario *s, int gpu, int64_t lo_khz, int64_t hi_khz);
enum status world_set_mem_clock(struct world *w, const struct scenario *s, int gpu, int64_t khz);

struct world_map; /* a process's handle */

/* Make the file; it must not exist. The world begins now. */
enum status world_create(const char *path, const struct scenario *s, struct err *e);
/* Opened read-write where allowed; ST_INVALID when it is something else. */
enum status world_open(const char *path, struct world_map **out, struct err *e);
void world_close(struct world_map *m);

const struct scenario *world_scenario(const struct world_map *m);
int64_t world_start_ns(const struct world_map *m);
/* This process's copy, carried to now; held until world_end. */
const struct world *world_begin(struct world_map *m);
void world_end(struct world_map *m);
/* Change the world: *w is the shared state, carried to now. Follow with commit (or abort). ST_BUSY
 * when another writer holds it for more than 5 s. */
enum status world_lock(struct world_map *m, struct world **w, struct err *e);
void world_commit(struct world_map *m);
void world_abort(struct world_map *m);

/* Tie owner record `slot` to this handle until it is closed or the process dies. */
enum status world_own(struct world_map *m, int slot, struct err *e);

/* Calls of the look-alike: count one, read a count (of all processes). */
uint32_t world_count_call(struct world_map *m, int call);
uint32_t world_calls(const struct world_map *m, int call);

#endif
