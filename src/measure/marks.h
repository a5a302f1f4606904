/* marks.h: the keeper's side of the marks (the layout is record/mark_abi.h).
 *
 * Makes the directory, finds slots as processes appear, drains their events. Reads memory that an
 * untrusted process writes: every field is checked, lengths bounded, and a slot that lies is
 * dropped with a note.
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
	bool alive;
};

/* Made below `parent` (tmpfs where there is one). */
enum status marks_open(const char *parent, struct marks **out, struct err *e);
const char *marks_dir(const struct marks *m); /* value for WATTLAW_MARKS */
void marks_close(struct marks *m); /* removes the directory */
/* Look for new slots and drain events, calling fn for each in slot order. */
enum status marks_poll(struct marks *m, int64_t now_ns,
	void (*fn)(void *arg, const struct mark_rank *r, const struct mark_event *ev), void *arg);
size_t marks_n_ranks(const struct marks *m);
const struct mark_rank *marks_rank(const struct marks *m, size_t i);
/* What the job sees with wl_energy_j. */
void marks_publish_energy(struct marks *m, struct qty energy_uj, int64_t t_ns);

/* Times of steps over a window: elapsed over steps of the slowest rank, percentiles, steadiness. Pure. */
struct step_stats {
	int64_t n;
	double mean_ns, sd_ns, p10_ns, median_ns, p90_ns, min_ns, max_ns;
	double slope_rel; /* relative change of step time over the window */
	double ci95_rel;  /* half width of the mean's interval, relative; batch means for correlation */
	bool steady;
};
void step_stats(const int64_t *end_ns, size_t n, struct step_stats *out);

#endif
