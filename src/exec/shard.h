/* shard.h: what a host's keeper writes while a job runs.
 *
 * An append-only file of frames: magic, type, length, payload, CRC32C. A shard cut anywhere is
 * readable up to its last whole frame. Each file has one writer; readers need no lock. The first
 * frame is a header (version, host, run id, a pair of monotonic and real time); the last, when the
 * run ended well, is a trailer with another pair.
 */
#ifndef WATTLAW_EXEC_SHARD_H
#define WATTLAW_EXEC_SHARD_H

#include "record/record.h"

enum shard_type {
	SHARD_HEADER = 1,
	SHARD_DEVICE,
	SHARD_SAMPLES,
	SHARD_MARKS,
	SHARD_RECORD,
	SHARD_NOTE,
	SHARD_TRAILER
};

struct shard; /* writer */

/* Creates dir if missing; the file is dir/<run_id>.<host>.<pid>.shard.tmp until closed,
 * and is flock'ed while the writer lives. */
enum status shard_create(
	const char *dir, const char *run_id, const char *host, struct shard **out, struct err *e);
/* Buffered; flushed to the kernel every second by shard_tick, and on close. A full disk is reported
 * once and later frames are dropped and counted: the job never notices. */
enum status shard_append(struct shard *s, enum shard_type type, const void *payload, size_t n);
enum status shard_tick(struct shard *s, int64_t now_ns);
enum status shard_close(struct shard *s, struct err *e);

/* Final path of the file (without .tmp); borrowed. */
const char *shard_path(const struct shard *s);
/* Frames that were not written (full disk, no memory). */
uint64_t shard_dropped(const struct shard *s);

struct shard_frame {
	enum shard_type type;
	const void *payload;
	size_t n;
};
struct shard_reader;
enum status shard_open(const char *path, struct shard_reader **out, struct err *e);
/* ST_OK, ST_NOT_FOUND at the end, ST_CORRUPT at the first broken frame (cut there). */
enum status shard_next(struct shard_reader *r, struct shard_frame *f);
void shard_reader_close(struct shard_reader *r);
uint32_t crc32c(uint32_t crc, const void *p, size_t n);

#endif
