/* sampler.h: the thread that reads one back end's devices at a fixed rate.
 *
 * One sampler per back end, so that a stalled driver stalls nobody else. It keeps absolute
 * deadlines on the clock it is given, reads the fast channels each tick and the slow ones each
 * slow_every ticks, and appends to a single-writer ring that the keeper drains without locks.
 * A sampler whose call does not return is abandoned, not joined: sampler_stop gives ST_TIMEOUT and
 * its memory stays until the call returns.
 */
#ifndef WATTLAW_MEASURE_SAMPLER_H
#define WATTLAW_MEASURE_SAMPLER_H

#include "hw/hw.h"

struct sampler;

struct sampler_config {
	int64_t period_ns;     /* 100 ms by default */
	unsigned slow_every;   /* temperature, memory, PCIe: every n ticks (10) */
	uint64_t channels;     /* wanted; 0 = all the device has */
	size_t first, n;       /* hw ids: one back end's devices */
	const bool *selected;  /* by hw id; NULL = all */
	struct clock *clock;
};

struct tagged_sample {
	int32_t device; /* hw id */
	int32_t channel;
	struct sample s;
};

enum status sampler_start(struct hw *hw, const struct sampler_config *cfg, struct sampler **out,
	struct err *e);
/* Up to n samples; returns how many. Never blocks. */
size_t sampler_drain(struct sampler *s, struct tagged_sample *out, size_t n);
/* Monotonic time of the last finished tick; a keeper that sees it grow old knows the driver stalled. */
int64_t sampler_beat_ns(const struct sampler *s);
/* Samples dropped because nobody drained. */
uint64_t sampler_lost(const struct sampler *s);
/* Ask for one extra tick now (run edges) without waiting for it. */
void sampler_kick(struct sampler *s);
/* Stop; waits at most timeout_ns. */
enum status sampler_stop(struct sampler *s, int64_t timeout_ns);

#endif
