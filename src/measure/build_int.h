/* build_int.h: what build.c (taking in) and record_build.c (giving out) share. */
#ifndef WATTLAW_MEASURE_BUILD_INT_H
#define WATTLAW_MEASURE_BUILD_INT_H

#include "base/clock.h"
#include "measure/meter.h"
#include "measure/record_build.h"
#include "measure/track.h"

#define BUILD_PHASES   4096
#define BUILD_LOSSES   4096
#define BUILD_KNOBS    65536
#define BUILD_RANKS    4096
#define BUILD_DEVICES  65536
#define BUILD_WARNINGS 64

/* What a knob was from a time on. */
struct knob_time {
	int64_t t_ns;
	size_t dev;
	enum knob knob;
	struct qty found, requested, enforced;
};

struct build_dev {
	struct device d;
	bool on, counted;
	int parent;
	struct meter *meter;
	struct track track[CH_COUNT];
	struct qty idle_mw; /* told; else from the idle window */
};

/* Ends of steps of one process: every `stride`th, with the number of steps and samples up to there.
 */
struct step_end {
	int64_t t_ns;
	uint64_t steps, samples;
};
struct build_rank {
	int64_t pid;
	int rank, n_ranks;
	struct step_end *end;
	size_t n, cap;
	uint64_t stride;
	uint64_t steps, samples, restarted; /* so far; steps of an earlier program under this pid */
	int64_t first_ns, last_ns;
	uint64_t gradient_bytes, batch_per_rank, global_batch;
};

/* From the marks of the first rank. t1 INT64_MAX while open. */
struct build_phase {
	char name[24];
	int64_t t0_ns, t1_ns;
	int depth;
};
struct build_point {
	int64_t t_ns;
	double value;
};

struct build {
	struct build_config cfg;
	char *host;
	struct build_dev *dev;
	size_t n_dev, cap_dev;
	int64_t idle_t0, idle_t1;
	struct knob_time *knob;
	size_t n_knob, cap_knob;
	struct build_rank *rank;
	size_t n_rank, cap_rank;
	int64_t speaker; /* pid whose phases, epochs and losses are kept */
	bool progress; /* steps come from --progress */
	struct build_phase *phase;
	size_t n_phase, cap_phase;
	uint64_t phases_dropped, events_lost;
	struct build_point *loss;
	size_t n_loss, cap_loss;
	uint64_t loss_stride, losses;
	struct build_point *epoch;
	size_t n_epoch, cap_epoch;
	char *warning[BUILD_WARNINGS];
	size_t n_warning;
	int64_t now_ns; /* newest time fed in */
	bool no_memory; /* something was dropped for lack of it */
};

/* Ends of steps of r inside [t0, t1], as indices [*from, *to). */
void rank_window(const struct build_rank *r, int64_t t0, int64_t t1, size_t *from, size_t *to);
/* The rank that took longest per step in the window; NULL when no rank has two ends in it. */
const struct build_rank *slowest_rank(const struct build *b, int64_t t0, int64_t t1);
/* Statistics of single steps of r in the window. */
void rank_stats(const struct build_rank *r, int64_t t0, int64_t t1, struct step_stats *out);
/* Samples of the selected devices, and marks of the first rank, into the record; false without
 * memory. */
bool build_fill_series(const struct build *b, const struct build_window *w, struct run_rec *rec);
bool build_fill_marks(const struct build *b, const struct build_window *w, struct run_rec *rec);
/* The rank that speaks for the job: rank 0, else the first that marked. NULL without marks. */
const struct build_rank *first_rank(const struct build *b);

#endif
