/* mark_abi.h: the shared memory between a training process and the keeper, ABI 1.
 *
 * The keeper makes a directory and passes it as WATTLAW_MARKS. Each marking process creates
 * DIR/slot.<pid>.<n> (O_EXCL, 0600), sized MARK_SLOT_BYTES, and is its only writer. All fields are
 * aligned 8-byte words written with release and read with acquire order; a reader needs no lock and
 * a dead writer leaves nothing half-written (an event's seq is cleared first and written last).
 * Event i is at ring[i % MARK_RING]; a reader that is more than MARK_RING behind has lost events
 * and says so, but the counters stay exact. DIR/energy is a read-only page the keeper updates: the
 * job's energy so far.
 */
#ifndef WATTLAW_RECORD_MARK_ABI_H
#define WATTLAW_RECORD_MARK_ABI_H

#include <stdint.h>

#define MARK_MAGIC UINT64_C(0x31304b52414d4c57) /* "WLMARK01" little endian */
#define MARK_RING  4096
#define MARK_DEPTH 8

enum mark_kind { MARK_STEP = 1, MARK_EPOCH, MARK_PHASE_BEGIN, MARK_PHASE_END, MARK_LOSS };

struct mark_event {
	uint64_t t_ns; /* CLOCK_MONOTONIC */
	uint64_t kind; /* low 8 bits: enum mark_kind; the rest: step number */
	uint64_t value; /* samples of a step, bits of a double for a loss, 0 */
	char text[24]; /* phase name, NUL-padded */
	uint64_t seq; /* index + 1, written last: equals the expected number when whole */
};

struct mark_header {
	uint64_t magic, abi, pid, start_ns; /* magic is written last: nothing counts before it */
	uint64_t rank, n_ranks; /* n_ranks 0 = not told */
	uint64_t gradient_bytes, batch_per_rank, global_batch;
	uint64_t steps, samples, epochs; /* exact counters */
	uint64_t first_step_ns, last_step_ns;
	uint64_t head; /* events written so far */
	uint64_t reader_beat_ns; /* written by the keeper: it is reading */
	uint64_t reserved[16];
};

struct mark_slot {
	struct mark_header h;
	struct mark_event ring[MARK_RING];
};
#define MARK_SLOT_BYTES sizeof(struct mark_slot)

struct mark_energy_page {
	uint64_t magic, abi;
	uint64_t energy_uj; /* UINT64_MAX = unknown */
	uint64_t t_ns;
};

#endif
