/* sampler.h: the thread that reads one back end's devices at a fixed rate.
 *
 * One sampler per back end, so that a stalled driver stalls nobody else. It keeps absolute
 * deadlines on the clock it is given, reads the fast channels each tick and the slow ones each
 * slow_every ticks, and appends to a single-writer ring that the keeper drains without locks.
 * A sampler whose call does not return is abandoned, not joined: sampler_stop gives ST_TIMEOUT and
 * its memory stays until the call returns; the hw it was given must then stay open too (leave the
 * process with _exit).
 *
 * Two things keep the samples from beating with the sensor they read (refresh.h). Deadlines are
 * moved about: the k-th by a share of half a period that no ratio of periods repeats. And where
 * edge_ns is set, energy counters are read every SAMPLER_EDGE_STEP_NS after the start and after
 * each kick, until they have moved SAMPLER_EDGE_NEWS times or edge_ns has passed; more slowly where
 * a read takes more than a tenth of that.
 *
 * Power that is that of a moment and that no counter of the device sums up is read every fine_ns
 * between the ticks, where reads take less than a fiftieth of the time: a step of load is only
 * known to lie between two readings.
 *
 * One thread starts, drains and stops a sampler. Every sample read is handed on with its status,
 * good or bad, except: a channel that answers "unsupported" five times in a row is left alone, and
 * a device that is lost is asked again only on slow ticks.
 */
#ifndef WATTLAW_MEASURE_SAMPLER_H
#define WATTLAW_MEASURE_SAMPLER_H

#include "base/clock.h"
#include "hw/hw.h"

#define SAMPLER_EDGE_STEP_NS (5 * NS_PER_MS)
#define SAMPLER_EDGE_NS      NS_PER_S /* at most; a counter is left alone once it moved */
#define SAMPLER_EDGE_NEWS    4 /* so often */
#define SAMPLER_FINE_NS      (20 * NS_PER_MS) /* the fastest refresh of power known of a board */

struct sampler;

/* How much later than its whole number of periods tick k is read, ns. */
int64_t sampler_dither(uint64_t tick, int64_t period_ns);

struct sampler_config {
	int64_t period_ns; /* required */
	int64_t edge_ns; /* of faster reads after start and kick; 0 = none */
	int64_t fine_ns; /* between reads of power without a counter; 0 = as all else */
	unsigned slow_every; /* temperature, memory, PCIe: every n ticks; 0 = 10 */
	uint64_t channels; /* wanted; 0 = all the device has */
	size_t first, n; /* hw ids: one back end's devices */
	const bool *selected; /* by hw id; NULL = all */
	struct clock *clock; /* NULL = the system's */
};

struct tagged_sample {
	int32_t device; /* hw id */
	int32_t channel;
	struct sample s;
};

enum status sampler_start(
	struct hw *hw, const struct sampler_config *cfg, struct sampler **out, struct err *e);
/* Up to n samples; returns how many. Never blocks. */
size_t sampler_drain(struct sampler *s, struct tagged_sample *out, size_t n);
/* Monotonic time of the last finished tick; a keeper that sees it grow old knows the driver
 * stalled. */
int64_t sampler_beat_ns(const struct sampler *s);
/* Samples dropped because nobody drained (the ring holds about 30 s). */
uint64_t sampler_lost(const struct sampler *s);
/* Deadlines that passed while a read was still under way; they are skipped, not made up for. */
uint64_t sampler_missed(const struct sampler *s);
/* Ask for one extra tick now (run edges), of all channels, without waiting for it. */
void sampler_kick(struct sampler *s);
/* Stop; waits at most timeout_ns of real time for the thread. s is gone afterwards, whatever the
 * answer; drain before. NULL is allowed. */
enum status sampler_stop(struct sampler *s, int64_t timeout_ns);

#endif
