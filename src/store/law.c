/* law.c: fitted laws and the facts of hosts into the store. */
#include <time.h>

#include "store/internal.h"

static int64_t realtime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void bind_count(sqlite3_stmt *st, int col, int64_t v)
{
	if (v > 0)
		sqlite3_bind_int64(st, col, v);
	else
		sqlite3_bind_null(st, col);
}

/* The latest row of the host says the same. */
#define SAME_HOST                                                                                  \
	"SELECT 1 FROM host h WHERE h.name = ?1 AND h.machine IS ?3 AND h.cpu IS ?4 AND "          \
	"h.n_cpus IS ?5 AND h.memory_bytes IS ?6 AND h.kernel IS ?7 AND h.since_realtime_ns = "    \
	"(SELECT max(since_realtime_ns) FROM host l WHERE l.name = ?1)"

static enum status prepare_host(struct store *s, const char *sql, const struct host_facts *h,
	sqlite3_stmt **st, struct err *e)
{
	enum status r = sql_prepare(s, sql, st, e);

	if (r)
		return r;
	sql_bind_text(*st, 1, h->name);
	sqlite3_bind_int64(*st, 2, realtime_ns());
	sql_bind_text(*st, 3, h->machine);
	sql_bind_text(*st, 4, h->cpu);
	bind_count(*st, 5, h->n_cpus);
	bind_count(*st, 6, h->memory_bytes);
	sql_bind_text(*st, 7, h->kernel);
	return ST_OK;
}

enum status store_put_host(struct store *s, const struct host_facts *h, struct err *e)
{
	sqlite3_stmt *st = NULL;
	enum status r = prepare_host(s, SAME_HOST, h, &st, e);
	bool known = !r && sql_step(st) == SQLITE_ROW;

	sqlite3_finalize(st);
	/* Asked first: an insert that finds nothing to do waits for other writers all the same. */
	if (r || known)
		return r;
	r = prepare_host(s,
		"INSERT OR REPLACE INTO host SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE NOT EXISTS "
		"(" SAME_HOST ")",
		h, &st, e);
	if (!r)
		r = sql_run(s, st, e);
	sqlite3_finalize(st);
	return r;
}

/* Prepared once for all laws of a fit. */
struct inserts {
	sqlite3_stmt *law, *param, *cov;
};

static enum status put_params(struct store *s, const struct inserts *in, int64_t id,
	const struct law_row *l, struct err *e)
{
	enum status r = ST_OK;

	for (unsigned i = 0; i < l->n_params && !r; i++) {
		sqlite3_bind_int64(in->param, 1, id);
		sqlite3_bind_int64(in->param, 2, i);
		sql_bind_text(in->param, 3, l->names[i]);
		sql_bind_number(in->param, 4, l->value[i]);
		sql_bind_number(in->param, 5, l->ci95[i][0]);
		sql_bind_number(in->param, 6, l->ci95[i][1]);
		r = sql_run(s, in->param, e);
		for (unsigned j = 0; j <= i && l->cov && !r; j++) {
			sqlite3_bind_int64(in->cov, 1, id);
			sqlite3_bind_int64(in->cov, 2, i);
			sqlite3_bind_int64(in->cov, 3, j);
			sqlite3_bind_double(in->cov, 4, l->cov[i * l->cov_stride + j]);
			r = sql_run(s, in->cov, e);
		}
	}
	return r;
}

static enum status put_law(struct store *s, const struct inserts *in, int64_t campaign_id,
	const struct law_row *l, int64_t now, struct err *e)
{
	const char *const texts[] = {l->workload, l->domain, l->group, l->at, l->quantity, l->per,
		l->factor, l->family, l->formula, l->verdict, l->note, l->label, l->source,
		l->version};
	const double numbers[] = {
		l->x_min, l->x_max, l->r2_log, l->mape_pct, l->loo_pct, l->sigma_log};
	sqlite3_stmt *st = in->law;
	int col = 1;
	enum status r;

	bind_count(st, col++, campaign_id);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		sql_bind_text(st, col++, texts[i]);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sql_bind_number(st, col++, numbers[i]);
	sqlite3_bind_int(st, col++, l->at_baseline);
	sqlite3_bind_int(st, col++, l->selected);
	sqlite3_bind_int64(st, col++, l->n);
	sqlite3_bind_int64(st, col++, l->n_runs);
	sqlite3_bind_int64(st, col++, now);
	r = sql_run(s, st, e);
	return r ? r : put_params(s, in, sqlite3_last_insert_rowid(s->db), l, e);
}

static enum status clear_laws(struct store *s, int64_t campaign_id, struct err *e)
{
	sqlite3_stmt *st = NULL;
	enum status r = sql_prepare(s, "DELETE FROM law WHERE campaign_id IS ?1", &st, e);

	if (r)
		return r;
	bind_count(st, 1, campaign_id);
	r = sql_run(s, st, e);
	sqlite3_finalize(st);
	return r;
}

enum status store_put_laws(
	struct store *s, int64_t campaign_id, const struct law_row *laws, size_t n, struct err *e)
{
	struct inserts in = {NULL, NULL, NULL};
	int64_t now = realtime_ns();
	enum status r = store_begin(s, e);

	if (r)
		return r;
	r = clear_laws(s, campaign_id, e);
	if (!r)
		r = sql_prepare(s,
			"INSERT INTO law(campaign_id, workload, domain, \"group\", at, quantity, "
			"per, "
			"factor, family, formula, verdict, note, label, source, version, x_min, "
			"x_max, r2_log, mape_pct, loo_pct, sigma_log, at_baseline, selected, n, "
			"n_runs, fitted_realtime_ns) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
			"?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			&in.law, e);
	if (!r)
		r = sql_prepare(s, "INSERT INTO law_param VALUES(?, ?, ?, ?, ?, ?)", &in.param, e);
	if (!r)
		r = sql_prepare(s, "INSERT INTO law_cov VALUES(?, ?, ?, ?)", &in.cov, e);
	for (size_t i = 0; i < n && !r; i++)
		r = put_law(s, &in, campaign_id, &laws[i], now, e);
	sqlite3_finalize(in.law);
	sqlite3_finalize(in.param);
	sqlite3_finalize(in.cov);
	if (r) {
		store_rollback(s);
		return r;
	}
	return store_commit(s, e);
}
