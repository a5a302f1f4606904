/* store.h: campaigns and runs in one SQLite file.
 *
 * Hides SQLite. Accepts struct run_rec and nothing else; integers in base units; unknown is NULL,
 * with the reason beside it. WAL mode, one transaction a record: kill -9 loses what was not yet put
 * and nothing else. Derived quantities are SQL views (views.sql), read as struct figures. Knows
 * nothing of hardware. A store is used from one thread; several processes may have the same file
 * open.
 */
#ifndef WATTLAW_STORE_STORE_H
#define WATTLAW_STORE_STORE_H

#include "record/record.h"

struct store;

/* With write the file is made when it is not there; without, a missing file is ST_NOT_FOUND. A file
 * that is something else, or from a newer version, is ST_INVALID and stays untouched byte for byte.
 */
enum status store_open(const char *path, bool write, struct store **out, struct err *e);
void store_close(struct store *s); /* NULL is allowed; an open transaction is undone */
/* opt when given (--db), else WATTLAW_DB, else "wattlaw.db" in the working directory. Borrowed. */
const char *store_default_path(const char *opt);

struct campaign_info {
	int64_t id;
	char *name, *plan, *options, *source;
	int64_t seed, created_realtime_ns;
	bool simulated;
	int64_t n_points; /* planned, 0 = not told */
	int64_t n_done, n_failed; /* runs that can be used, and the others */
};
/* Begin a campaign. The name is made unique by a number ("first-sweep-2"): out has the one given.
 * plan is the sweep file's text. Any text but name may be NULL. Release with campaign_info_release.
 */
enum status store_campaign_begin(struct store *s, const char *name, const char *plan,
	const char *options, int64_t seed, bool simulated, const char *source,
	struct campaign_info *out, struct err *e);
enum status store_campaign_points(struct store *s, int64_t id, int64_t n_points, struct err *e);
/* name NULL or "" = the latest. ST_NOT_FOUND names the nearest one there is. */
enum status store_campaign_find(
	struct store *s, const char *name, struct campaign_info *out, struct err *e);
/* Every campaign, oldest first. fn borrows c and returns false to stop. */
enum status store_each_campaign(struct store *s,
	bool (*fn)(void *arg, const struct campaign_info *c), void *arg, struct err *e);
void campaign_info_release(struct campaign_info *c);

/* Idempotent by run_id: a record that is put again replaces the earlier one. campaign_id 0 = a
 * single run outside any campaign. All or nothing. */
enum status store_put(struct store *s, int64_t campaign_id, const struct run_rec *r, struct err *e);
/* Many records in one transaction (imports, simulation): all or nothing. Does not nest. */
enum status store_begin(struct store *s, struct err *e);
enum status store_commit(struct store *s, struct err *e);
void store_rollback(struct store *s);

/* For resume: was this point run? setting is setting_text(…, SETTING_WHOLE). *state gets the best
 * of its runs (done before partial, disturbed, failed, interrupted). ST_NOT_FOUND when it was not.
 */
enum status store_point(struct store *s, int64_t campaign_id, const char *workload,
	const char *setting, int repeat, enum run_state *state, struct err *e);

/* Walk the runs (without samples and marks) of a campaign (0 = all) in the order they were put. fn
 * borrows r and returns false to stop. */
enum status store_each_run(struct store *s, int64_t campaign_id,
	bool (*fn)(void *arg, const struct run_rec *r), void *arg, struct err *e);
/* One run whole, samples and marks included. run_id may be a unique prefix. *out need not be
 * initialised and is empty on failure. */
enum status store_get(struct store *s, const char *run_id, struct run_rec *out, struct err *e);

/* What is known of a host; unknown is NULL or 0. */
struct host_facts {
	const char *name, *machine, *cpu, *kernel;
	int64_t n_cpus, memory_bytes;
};
/* From now on the host is this: a row is added when something has changed. */
enum status store_put_host(struct store *s, const struct host_facts *h, struct err *e);

/* A fitted law in outside units; unknown is NAN and NULL. Everything is borrowed. */
struct law_row {
	const char *workload, *domain, *group, *at, *quantity, *per, *factor, *family, *formula,
		*verdict, *note, *label, *source, *version;
	bool at_baseline, selected;
	int64_t n, n_runs;
	double x_min, x_max, r2_log, mape_pct, loo_pct, sigma_log;
	unsigned n_params;
	const char *const *names;
	const double *value, (*ci95)[2];
	const double *cov; /* row after row, cov_stride apart; NULL = no error estimate */
	unsigned cov_stride;
};
/* The laws of a campaign (0 = of all runs) become these n: all or nothing. */
enum status store_put_laws(
	struct store *s, int64_t campaign_id, const struct law_row *laws, size_t n, struct err *e);

/* A row of the views, borrowed during the call. NAN and NULL are unknown. One unit of work is a
 * sample, step, epoch or run: work_unit says which. */
struct figures {
	const char *run_id, *workload, *domain, *setting, *block, *work_unit;
	const char *label; /* "measured", "simulated", "imported" */
	int repeat; /* of a run; of a setting the number of repeats */
	bool baseline;
	double time_s, time_min_s, time_max_s; /* for one unit of work */
	double energy_j, edp_js; /* for one unit of work */
	double work_per_s, work_per_j, mean_w;
	double slowdown_pct, saving_pct; /* relative to the measured baseline of the block */
	const struct run_rec
		*run; /* of a run: the whole of it, without samples and marks; else NULL */
};
enum figures_of { FIGURES_RUN, FIGURES_SETTING };
/* Only runs that can be used (done or partial). Slowdown and saving are known for settings only. */
enum status store_each_figures(struct store *s, enum figures_of of, int64_t campaign_id,
	bool (*fn)(void *arg, const struct figures *f), void *arg, struct err *e);

#endif
