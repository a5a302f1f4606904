/* job.h: a training job on the simulated devices of this host, in real time.
 *
 * The job puts its steps into the world (world.h) and waits for the simulated devices to do them;
 * how long that takes is the physics' business: caps, clocks, temperature, other ranks. It
 * keeps steps queued, as real frameworks do, so that its own wake-ups do not slow it.
 * When the process dies its steps are gone with it.
 */
#ifndef WATTLAW_SIM_JOB_H
#define WATTLAW_SIM_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "sim/profile.h"
#include "sim/world.h"

struct job_spec {
	const struct workload *workload;
	int n_ranks; /* of the whole job */
	int first_rank, n_mine; /* ranks that this process plays */
	uint64_t key; /* the same in every process of the job */
	int gpu[WORLD_RANKS]; /* NVML index of each of my ranks' devices */
	double share; /* of the device's multiprocessors, for a MIG instance; 0 = all */
	uint64_t max_steps; /* never queue more; 0 = no bound */
	double time_scale; /* 0.1: steps ten times shorter */
	double noise; /* relative, of a step; negative = the workload's own */
	int64_t comm_ns; /* of an all-reduce; -1 = from gradient bytes and link_gbytes_s */
	double link_gbytes_s;
};

struct job; /* opaque */

/* Take the devices. ST_BUSY when one has a job already (the message names its process). */
enum status job_start(
	const char *state_path, const struct job_spec *spec, struct job **out, struct err *e);
/* Wait for the next step of the whole job. ST_OK with *t_ns its end (monotonic), ST_AGAIN at the
 * deadline, ST_LOST when another rank died or the world is gone. */
enum status job_step(struct job *j, int64_t deadline_ns, int64_t *t_ns, struct err *e);
uint64_t job_steps(const struct job *j); /* done so far */
void job_end(struct job *j);

/* NVML indices this process may use, from CUDA_VISIBLE_DEVICES: indices, UUIDs of devices and MIG
 * instances, unique prefixes of UUIDs; stops at the first that does not exist, as CUDA does. Unset
 * = all. A process gets one MIG instance, and nothing beside it: *share (may be NULL) is then its
 * part of the device, else 1. */
int job_visible(const struct scenario *s, const char *visible, int gpu[SIM_GPUS], double *share);

#endif
