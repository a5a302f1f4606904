/* refresh.h: the beat of an energy counter, from the times at which it was read.
 *
 * A counter is refreshed each R, at times that nobody tells; a read shows only that the value is
 * new. Of each change the last read of the old value and the first of the new one are kept. Three
 * facts follow, which hold whatever the board, as long as it is refreshed regularly:
 *
 *   - a refresh fell between those two reads;
 *   - none fell while one value was read again and again;
 *   - so between two changes in a row lo < R <= hi, lo from the first read of a value to its last,
 *     hi from the last read of the one before to the first of the one after.
 *
 * R is what most of the third allow (documents are asked only where the reads cannot tell); length
 * and place of the beat around one moment are those that most of the first two allow. Where the
 * reads themselves come each R they tell nothing: the sampler therefore moves its deadlines about
 * and reads faster around the edges of a run (sampler.h).
 *
 * Pure, reads the meter only.
 */
#ifndef WATTLAW_MEASURE_REFRESH_H
#define WATTLAW_MEASURE_REFRESH_H

#include "measure/meter_int.h"

struct beat {
	double r; /* ns between refreshes, 0 = unknown */
	double at; /* ns, of one of them */
	double slack; /* ns that it may be off */
};

/* Refresh period in ns: from the reads, else documented, else 0. */
int64_t counter_refresh(const struct meter *m);
/* The beat around point i (m->n_c > i). */
struct beat counter_beat(const struct meter *m, size_t i);
/* When the refresh that brought point j happened, ns. */
double refreshed_at(const struct meter *m, size_t j, const struct beat *b);

#endif
