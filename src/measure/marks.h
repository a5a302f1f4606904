/* marks.h: the keeper's side of the marks (the layout is record/mark_abi.h).
 *
 * Makes the directory, finds slots as processes appear, drains their events. What it reads is
 * written by an untrusted process: every field is checked, lengths bounded, and a slot that lies is
 * dropped with a note. Slots are read with pread, never mapped: a job that truncates its slot must
 * not kill the keeper with SIGBUS. One thread.
 */
#ifndef WATTLAW_MEASURE_MARKS_H
#define WATTLAW_MEASURE_MARKS_H

#include "record/mark_abi.h"
#include "record/record.h"

struct marks;

struct mark_rank {
	int64_t pid;
	int rank, n_ranks; /* -1 and 0 when not told */
	uint64_t steps, samples, epochs, lost;
	int64_t first_step_ns, last_step_ns;
	uint64_t gradient_bytes, batch_per_rank, global_batch;
	bool alive; /* the process still exists in our pid namespace */
	bool dropped; /* it lied: no more events from it, its counters are the last good ones */
};

/* Made below `parent`; NULL = /dev/shm, else XDG_RUNTIME_DIR, TMPDIR, /tmp: the first that is
 * writable. */
enum status marks_open(const char *parent, struct marks **out, struct err *e);
const char *marks_dir(const struct marks *m); /* value for WATTLAW_MARKS */
/* marks_open also removes what killed keepers of this user left below parent. */
void marks_close(struct marks *m); /* removes the directory; NULL is allowed */
/* Remove the directory of a keeper that died: only what this module makes is deleted. */
void marks_remove(const char *dir);
/* Look for new slots and drain events, calling fn (may be NULL) for each, in the order the process
 * wrote them, slot after slot. r is borrowed for the call. ST_PARTIAL when a slot was dropped
 * (marks_note says why), else ST_OK, ST_NOMEM or ST_IO. */
enum status marks_poll(struct marks *m, int64_t now_ns,
	void (*fn)(void *arg, const struct mark_rank *r, const struct mark_event *ev), void *arg);
size_t marks_n_ranks(const struct marks *m);
const struct mark_rank *marks_rank(const struct marks *m, size_t i);
/* Why slots were dropped (the latest reason), "" when none was. Borrowed. */
const char *marks_note(const struct marks *m);
/* What the job sees with wl_energy_j. */
void marks_publish_energy(struct marks *m, struct qty energy_uj, int64_t t_ns);

/* Times of steps over a window, from the times at which steps ended. Pure. n ends give n - 1 steps.
 * mean is elapsed over steps, exactly. sd, percentiles and extremes are of single steps. slope_rel
 * and ci95_rel come from the means of ten equal batches (a step's time depends on the one before
 * it, under a CPU quota strongly): the first is the fitted change from the first to the last batch
 * over the mean, the second t(9) * sd of batch means / sqrt(10) / mean. Fewer than 20 steps: both
 * NAN and steady false. steady: |slope_rel| <= 2 %, or <= 10 % and not distinguishable from 0 (95
 * %). n = 0 and all NAN when there is no step, when times go back, or (percentiles only) without
 * memory. */
struct step_stats {
	int64_t n;
	double mean_ns, sd_ns, p10_ns, median_ns, p90_ns, min_ns, max_ns;
	double slope_rel; /* relative change of step time over the window */
	double ci95_rel; /* half width of the mean's interval, relative; batch means for correlation
			  */
	bool steady;
};
void step_stats(const int64_t *end_ns, size_t n, struct step_stats *out);

#endif
