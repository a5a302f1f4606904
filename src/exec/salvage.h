/* salvage.h: what stands in the frames of a shard, and how a record is made of one afterwards.
 *
 * The keeper writes everything it reads into its shard as it goes. When it ends well, the record is
 * in there too. When it was killed, the same builder that the keeper uses makes the record from the
 * frames, up to the last whole one.
 */
#ifndef WATTLAW_EXEC_SALVAGE_H
#define WATTLAW_EXEC_SALVAGE_H

#include "exec/proto.h"
#include "exec/shard.h"
#include "measure/record_build.h"

/* Writers; errors stay with the shard (a full disk must not end a measurement). */
void shard_put_head(struct shard *s, const struct hello *h, const char *marks_dir,
	const struct point_msg *first);
void shard_put_device(struct shard *s, const struct device *d, bool on, int parent);
void shard_put_samples(struct shard *s, const struct tagged_sample *ts, size_t n);
void shard_put_mark(struct shard *s, const struct mark_rank *r, const struct mark_event *ev);
void shard_put_start(struct shard *s, int64_t pid, int64_t t_ns);
void shard_put_end(struct shard *s, int64_t t_ns, int64_t code);
void shard_put_knob(struct shard *s, uint32_t dev, uint32_t knob, const struct qty v[3]);
void shard_put_steps(struct shard *s, int64_t t_ns, uint64_t steps);
void shard_put_record(struct shard *s, uint64_t ticket, const struct run_rec *rec);
void shard_put_trailer(struct shard *s);

/* The record of a launch whose keeper died, from the shard it left (path as shard_path gives it),
 * with what the leader knows of the job. For one-record launches (ST_UNSUPPORTED for stepped ones).
 * *rec is initialised by the caller. */
enum status salvage_dead(const char *path, int64_t start_ns, int64_t end_ns, int exit_code,
	struct run_rec *rec, uint64_t *ticket, struct err *e);

/* Every shard in dir whose writer is gone: fn gets each record in it, whole or made from the
 * frames, and returns false when it could not be kept. A shard is removed once all its records were
 * kept. Ranks of a dead sweep that still run are killed, its marks directory is removed. *n counts
 * records. */
enum status salvage_dir(const char *dir, bool (*fn)(void *arg, const struct run_rec *rec),
	void *arg, size_t *n, struct err *e);
/* Remove a shard whose records were stored. */
void salvage_remove(const char *path);

#endif
