/* track.h: a quantity over time, for windows asked later. Pure; memory bounded by thinning.
 *
 * A value holds from its sample to the next. Equal values in a row are one point. Beyond TRACK_MAX
 * points old ones are thinned evenly; their extremes stay with the point kept before them.
 */
#ifndef WATTLAW_MEASURE_TRACK_H
#define WATTLAW_MEASURE_TRACK_H

#include "record/record.h"

#define TRACK_MAX 8192

struct track_point {
	int64_t t_ns, value, max; /* max from here to the next point */
};

struct track {
	struct track_point *p;
	size_t n, cap;
	int64_t spacing_ns, last_ns; /* last sample, equal or not */
	int64_t max_hold_ns; /* a value is not believed for longer than this; 0 = for ever */
	enum status st; /* of the latest answer; ST_UNKNOWN before any */
};

void track_release(struct track *k);
/* False when there was no memory (the sample is dropped). Samples must come in order; others are
 * ignored. */
bool track_push(struct track *k, const int64_t t_ns, int64_t value);

struct track_stats {
	struct qty mean, max, start, end;
	int64_t known_ns; /* time of the window with a value */
};
/* Time-weighted over [t0, t1]. */
void track_stats(const struct track *k, int64_t t0, int64_t t1, struct track_stats *out);
/* Share of the known time in which value & bits, ppm. */
struct qty track_share(const struct track *k, int64_t t0, int64_t t1, int64_t bits);
/* For counters: growth over the window per ns of it, ppm (a fall counts as a new start). */
struct qty track_rate(const struct track *k, int64_t t0, int64_t t1);

#endif
