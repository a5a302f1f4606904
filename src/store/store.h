/* store.h: campaigns and runs in one SQLite file.
 *
 * Accepts struct run_rec and nothing else; integers in base units; unknown is NULL. WAL mode, one
 * transaction a record: kill -9 loses at most the last second. Derived quantities are SQL views
 * (views.sql). Knows nothing of hardware.
 */
#ifndef WATTLAW_STORE_STORE_H
#define WATTLAW_STORE_STORE_H

#include "record/record.h"

struct store;

/* An existing database of something else, or a newer version, is ST_INVALID and stays untouched. */
enum status store_open(const char *path, bool write, struct store **out, struct err *e);
void store_close(struct store *s);
/* --db, else WATTLAW_DB, else ./wattlaw.db. */
const char *store_default_path(const char *opt);

/* Begin a campaign: name made unique by a number ("first-sweep-2"). plan is the sweep file's text;
 * seed and options are kept. */
struct campaign_info {
	int64_t id;
	char *name, *plan, *options, *source;
	int64_t seed, created_realtime_ns;
	bool simulated;
	int64_t n_points, n_done, n_failed;
};
enum status store_campaign_begin(struct store *s, const char *name, const char *plan,
	const char *options, int64_t seed, bool simulated, const char *source,
	struct campaign_info *out, struct err *e);
/* name NULL or "" = the latest. */
enum status store_campaign_find(struct store *s, const char *name, struct campaign_info *out,
	struct err *e);
void campaign_info_release(struct campaign_info *c);

/* Idempotent by run_id. campaign_id 0 = a single run outside any campaign. */
enum status store_put(struct store *s, int64_t campaign_id, const struct run_rec *r, struct err *e);
/* Many records in one transaction (imports, simulation): all or nothing. */
enum status store_begin(struct store *s, struct err *e);
enum status store_commit(struct store *s, struct err *e);
void store_rollback(struct store *s);

/* Walk the runs (without samples) of a campaign (0 = all) in the order they were run. fn
 * returns false to stop. */
enum status store_each_run(struct store *s, int64_t campaign_id,
	bool (*fn)(void *arg, const struct run_rec *r), void *arg, struct err *e);
/* One run whole, samples and marks included. run_id may be a unique prefix. */
enum status store_get(struct store *s, const char *run_id, struct run_rec *out, struct err *e);

#endif
