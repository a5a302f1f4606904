/* knobs.h: the keeper's setting side: one lease, applied and released in a thread of its own.
 *
 * A driver may take seconds to set a limit, or never return; the keeper's main loop must not. So
 * every operation is posted and its result is fetched later; one operation is under way at a time.
 * The thread has hardware and control of its own, apart from the samplers'. After a result that
 * never came the process must leave with _exit; the journal then says what is left to put back.
 */
#ifndef WATTLAW_EXEC_KNOBS_H
#define WATTLAW_EXEC_KNOBS_H

#include "exec/proto.h"
#include "hw/control.h"

struct knobs;

enum knobs_op {
	KNOBS_OPEN, /* replay dead holders' journals, open, lease the GPUs (or CPUs) */
	KNOBS_GROUPS, /* find the ranks' CPU groups and lease them; ST_AGAIN while some are missing
		       */
	KNOBS_APPLY, /* set a point's knobs on every leased device that has them */
	KNOBS_RELEASE /* put everything back */
};

/* What one knob of one device was found at, asked for and came to. */
struct knob_outcome {
	struct device dev; /* copy */
	enum knob knob;
	struct qty found, requested, enforced;
	enum status st;
	char note[160];
};

struct knobs_result {
	enum knobs_op op;
	enum status st;
	struct err err;
	struct knob_outcome
		*outcomes; /* of KNOBS_APPLY; owned by knobs, valid until the next post */
	size_t n_outcomes;
	size_t not_restored;
	char text[480]; /* of KNOBS_RELEASE: what was left alone or failed */
};

/* hello is borrowed for the life of the knobs. */
enum status knobs_start(const struct hello *hello, struct knobs **out, struct err *e);
/* p is copied; only for KNOBS_APPLY. Nothing may be under way. */
void knobs_post(struct knobs *k, enum knobs_op op, const struct point_msg *p);
bool knobs_idle(const struct knobs *k);
/* The result of the last post, once. */
bool knobs_take(struct knobs *k, struct knobs_result **out);
/* Becomes readable when a result is there. */
int knobs_fd(const struct knobs *k);
/* False when the thread had to be abandoned. */
bool knobs_stop(struct knobs *k);

#endif
