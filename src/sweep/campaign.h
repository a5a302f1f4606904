/* campaign.h: a plan carried out: groups in order, what is done skipped, every result kept at once.
 *
 * Knows the executor's interface and the store, no hardware. A failing point is a result; only an
 * executor that cannot go on (device busy, no permission) ends a campaign early. Stopping is a flag
 * that a signal handler may set; the executor then puts the knobs back before campaign_run returns.
 */
#ifndef WATTLAW_SWEEP_CAMPAIGN_H
#define WATTLAW_SWEEP_CAMPAIGN_H

#include <signal.h>
#include "exec/exec.h"
#include "store/store.h"
#include "sweep/plan.h"

struct campaign {
	const struct plan *plan;
	struct store *store;
	struct campaign_info info; /* released by campaign_release */
	const struct exec_ops *ops;
	void *exec;
	const volatile sig_atomic_t *stop;
	/* A point is finished and stored. May be NULL. */
	void (*point)(void *arg, size_t index, const struct run_rec *rec);
	/* Called a few times a second while waiting. May be NULL. */
	void (*idle)(void *arg);
	void *arg;
	bool *done; /* by index; made by campaign_new or campaign_resume */
	uint64_t *ticket; /* of points under way, 0 = none */
	unsigned char *disturbed; /* how many runs of a point heat or a brake has spoiled */
};

struct campaign_result {
	size_t done, failed, left; /* of this call; left: not run. A point run again counts once */
	bool interrupted, out_of_hours;
	double gpu_hours; /* in virtual time where the executor's is */
};

/* Begin a campaign of that plan in the store; plan, store, ops, exec and callbacks are set by the
 * caller before. */
enum status campaign_new(struct campaign *c, bool simulated, struct err *e);
/* Or go on with the latest one of the plan's name. ST_NOT_FOUND, or ST_INVALID when its plan was
 * another. Takes over its seed: call before plan_finish with campaign_find, then this. */
enum status campaign_resume(struct campaign *c, struct err *e);
/* The latest campaign called name, name-2, name-3… in the store. */
enum status campaign_find(
	struct store *s, const char *name, struct campaign_info *out, struct err *e);
enum status campaign_run(struct campaign *c, struct campaign_result *out, struct err *e);
size_t campaign_n_done(const struct campaign *c);
void campaign_release(struct campaign *c);

#endif
