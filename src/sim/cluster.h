/* cluster.h: many GPUs training one network, in virtual time. Pure.
 *
 * One step on n GPUs that fill nodes one after the other:
 *
 *   compute    gpu_eval's time of the load, for this batch per GPU, cap and clocks; the slowest
 *              of n boards, expected value of the largest of n normal speeds (Blom's scores)
 *   all-reduce hierarchical: ring inside the node, 2(g-1)/g·M/B + 2(g-1)·l; then between the nodes,
 *              2(N-1)/N·M/B + 2·min(N-1, ceil(log2 N))·l (ring bandwidth, tree latency)
 *   exposed    what the backward pass (two thirds of compute) × overlap does not hide; at least the
 *              last bucket
 *   loader     a node prepares samples at a limited rate, shared by its GPUs; a step takes no
 *              less than that
 *
 * A GPU that waits (for the wire, the loader, a slower board) draws the device's waiting power,
 * and the power it saves is left for computing (gpu_computing_limit): the more a GPU waits, the
 * later its cap begins to bite.
 */
#ifndef WATTLAW_SIM_CLUSTER_H
#define WATTLAW_SIM_CLUSTER_H

#include "sim/profile.h"

struct cluster {
	char name[48], device[64], source[160];
	struct gpu_profile gpu;
	int nodes, gpus_per_node;
	double intra_bytes_s, intra_latency_s; /* of one GPU's link inside the node */
	double inter_bytes_s, inter_latency_s; /* of one node's link to the others */
	double host_mw; /* of a node beside its GPUs, while a job runs on it */
	double overlap; /* share of the backward pass that can hide all-reduce, 0…1 */
	double bucket_bytes;
	double board_spread; /* standard deviation of speed from board to board, relative */
	double noise; /* of a run's step time, relative, beside the workload's own */
};

/* The section [cluster NAME] of an INI file. Errors with file:line:column. */
enum status cluster_read(const char *path, struct cluster *out, struct err *e);
enum status cluster_parse(
	const char *file, const char *text, size_t len, struct cluster *out, struct err *e);

struct cluster_setting {
	int workers; /* GPUs */
	int64_t limit_mw, clock_khz, mem_clock_khz; /* 0 = default */
	double batch_per_gpu; /* 0 = the workload's */
};

struct cluster_step {
	int nodes;
	double step_s, samples_per_s;
	double compute_s, comm_s, exposed_s, loader_s,
		wait_s; /* wait: of the mean GPU, all reasons */
	double gpu_mw; /* mean of a GPU over the step */
	double host_mw; /* of all nodes used */
	double clock_khz, util,
		capped; /* mean of a GPU; capped: share of time the limit holds it */
	double enforced_mw; /* the limit as the device enforces it */
};

/* ST_RANGE: more workers than the cluster has, a limit or clock outside what the device allows. */
enum status cluster_eval(const struct cluster *c, const struct workload *w,
	const struct gpu_load *load, const struct cluster_setting *s, struct cluster_step *out,
	struct err *e);

#define CLUSTER_POWER_NOISE 0.5 /* of the step time's */
/* The same as one run would measure it: step time and power with run-to-run noise. The result
 * depends on (seed, run) alone, not on how many were drawn before. */
void cluster_noise(const struct cluster *c, const struct workload *w, uint64_t seed, uint64_t run,
	struct cluster_step *step);

/* Expected largest of n standard normal values, by Blom's approximation. */
double normal_max(int n);

#endif
