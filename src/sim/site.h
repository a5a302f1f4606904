/* site.h: what would a whole centre have used under another power policy? Pure.
 *
 * Replays a job trace on a number of GPUs: first come first served with EASY backfill (a job
 * may jump the queue when it does not delay the first waiting one), each job at the cap its policy
 * gives, running time × the slowdown of its class at that cap. A trace with start times is replayed
 * from them: a job never starts earlier than it did, and later only when a slowed job is in its
 * way; so policy "none" gives the trace back. Everything it says is simulated.
 *
 * Power of a running job: GPUs × the class's mean power at the cap. Free GPUs draw idle power;
 * every GPU carries a share of host power all the time. A budget counts max(cap, p95) for a running
 * job.
 */
#ifndef WATTLAW_SIM_SITE_H
#define WATTLAW_SIM_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"

#define SITE_MAX_POINTS 64

/* How one class of jobs behaves under a cap: points ascending in cap; the last is the default
 * setting with time_ratio 1. Between points linear in cap; outside the nearest point. */
struct site_class {
	char name[64];
	size_t n;
	double cap_w[SITE_MAX_POINTS], time_ratio[SITE_MAX_POINTS];
	double power_w[SITE_MAX_POINTS]; /* mean per GPU while running */
	double p95_w[SITE_MAX_POINTS]; /* 0 = unknown: the cap stands for it */
};

struct site_job {
	double submit_s;
	double start_s; /* NAN when the trace does not say */
	double runtime_s; /* at the default setting */
	int32_t gpus;
	int32_t cls; /* index into classes */
	int32_t line; /* of the trace, for messages; 0 = unknown */
};

enum site_policy {
	SITE_NONE, /* every job at the default */
	SITE_STATIC, /* every job at cap_w */
	SITE_CLASS, /* per class the lowest cap whose time_ratio ≤ 1 + max_slowdown */
	SITE_BUDGET /* at its start the highest cap (within max_slowdown) that keeps the site within
		       budget_w */
};

struct site_config {
	enum site_policy policy;
	int64_t n_gpus;
	double idle_w, host_w; /* per GPU */
	double cap_w, max_slowdown, budget_w;
	int backfill_depth; /* waiting jobs looked at; 0 = 100 */
};

struct site_dist {
	double mean, p50, p90, p99, max;
};

struct site_result {
	size_t n_jobs;
	double begin_s, end_s; /* first submit (or start) and last end */
	double job_j, idle_j, host_j, total_j;
	double integral_j; /* the same total by integrating site power over the events */
	double gpu_hours; /* GPUs × running time under the policy */
	double gpu_hours_default; /* the same at the default setting */
	double peak_w, mean_w;
	double guaranteed_peak_w; /* peak of Σ max(cap, p95) + idle + host */
	double jobs_per_hour, utilisation;
	struct site_dist slowdown; /* running time / default running time */
	struct site_dist wait_s; /* start − submit */
	struct site_dist turnaround; /* (end − submit) / default running time, floored at 10 s */
	size_t delayed; /* jobs that started later than the trace says */
};

/* start_s and cap_w (may be NULL) get each job's start and cap, in the order of jobs. ST_RANGE: a
 * job asks for more GPUs than there are, a trace with starts needs more than n_gpus at once under
 * policy "none" (the message says when and how many), a budget cannot start some job at all.
 * ST_INVALID: a broken class curve. */
enum status site_run(const struct site_config *cfg, const struct site_class *classes,
	size_t n_classes, const struct site_job *jobs, size_t n_jobs, struct site_result *out,
	double *start_s, double *cap_w, struct err *e);

/* Value of a class at a cap, interpolated. */
void site_class_at(const struct site_class *c, double cap_w, double *time_ratio, double *power_w,
	double *p95_w);

#endif
