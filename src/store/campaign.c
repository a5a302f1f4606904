/* campaign.c: the campaigns of a store. */
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "store/internal.h"

#define CAMPAIGN_COLUMNS                                                                           \
	"id, name, plan, options, source, seed, created_realtime_ns, simulated, n_points, "        \
	"(SELECT count(*) FROM run WHERE campaign_id = c.id AND state IN ('done', 'partial')), "   \
	"(SELECT count(*) FROM run WHERE campaign_id = c.id AND state NOT IN ('done', 'partial'))"

void campaign_info_release(struct campaign_info *c)
{
	mem_free(c->name);
	mem_free(c->plan);
	mem_free(c->options);
	mem_free(c->source);
	memset(c, 0, sizeof(*c));
}

static bool info_read(sqlite3_stmt *st, struct campaign_info *c)
{
	memset(c, 0, sizeof(*c));
	c->id = sqlite3_column_int64(st, 0);
	c->seed = sqlite3_column_int64(st, 5);
	c->created_realtime_ns = sqlite3_column_int64(st, 6);
	c->simulated = sqlite3_column_int(st, 7) != 0;
	c->n_points = sqlite3_column_int64(st, 8);
	c->n_done = sqlite3_column_int64(st, 9);
	c->n_failed = sqlite3_column_int64(st, 10);
	if (rec_set(&c->name, (const char *)sqlite3_column_text(st, 1)) &&
		rec_set(&c->plan, (const char *)sqlite3_column_text(st, 2)) &&
		rec_set(&c->options, (const char *)sqlite3_column_text(st, 3)) &&
		rec_set(&c->source, (const char *)sqlite3_column_text(st, 4)))
		return true;
	campaign_info_release(c);
	return false;
}

enum status store_each_campaign(struct store *s,
	bool (*fn)(void *arg, const struct campaign_info *c), void *arg, struct err *e)
{
	sqlite3_stmt *st = NULL;
	struct campaign_info c;
	enum status r =
		sql_prepare(s, "SELECT " CAMPAIGN_COLUMNS " FROM campaign c ORDER BY id", &st, e);
	bool more = true;
	int code = SQLITE_DONE;

	while (!r && more && (code = sql_step(st)) == SQLITE_ROW) {
		if (!info_read(st, &c)) {
			r = err_set(e, ST_NOMEM, "%s: out of memory", s->path);
			break;
		}
		more = fn(arg, &c);
		campaign_info_release(&c);
	}
	if (!r && more && code != SQLITE_DONE)
		r = sql_fail(s, e, "cannot read");
	sqlite3_finalize(st);
	return r;
}

#define MAX_NAMES 1000

struct names {
	const char *v[MAX_NAMES];
	size_t n;
	bool failed;
};

static bool collect_name(void *arg, const struct campaign_info *c)
{
	struct names *names = arg;
	char *copy = names->n < MAX_NAMES ? mem_strdup(c->name) : NULL;

	if (copy)
		names->v[names->n++] = copy;
	return copy != NULL;
}

static enum status not_found(struct store *s, const char *name, struct err *e)
{
	struct names names = {.n = 0};
	const char *near;
	enum status r;

	if (!name || !*name)
		return err_set(e, ST_NOT_FOUND,
			"%s: holds no campaign yet; sweep or import something first, or say 'all' "
			"for single runs",
			s->path);
	r = store_each_campaign(s, collect_name, &names, NULL);
	near = r ? NULL : str_nearest(name, names.v, names.n);
	if (near)
		r = err_set(e, ST_NOT_FOUND, "%s: no campaign '%s'; did you mean '%s'?", s->path,
			name, near);
	else if (names.n)
		r = err_set(e, ST_NOT_FOUND, "%s: no campaign '%s'; the latest is '%s'", s->path,
			name, names.v[names.n - 1]);
	else
		r = err_set(
			e, ST_NOT_FOUND, "%s: no campaign '%s'; it holds none yet", s->path, name);
	for (size_t i = 0; i < names.n; i++)
		mem_free((char *)names.v[i]);
	return r;
}

enum status store_campaign_find(
	struct store *s, const char *name, struct campaign_info *out, struct err *e)
{
	sqlite3_stmt *st = NULL;
	enum status r = sql_prepare(s,
		"SELECT " CAMPAIGN_COLUMNS " FROM campaign c WHERE ?1 IS NULL OR name = ?1 "
		"ORDER BY id DESC LIMIT 1",
		&st, e);
	int code;

	memset(out, 0, sizeof(*out));
	if (r)
		return r;
	sql_bind_text(st, 1, name && *name ? name : NULL);
	code = sql_step(st);
	if (code == SQLITE_ROW)
		r = info_read(st, out) ? ST_OK : err_set(e, ST_NOMEM, "%s: out of memory", s->path);
	else
		r = code == SQLITE_DONE ? not_found(s, name, e) : sql_fail(s, e, "cannot read");
	sqlite3_finalize(st);
	return r;
}

/* 1 when the row went in, 0 when the name is taken, -1 on failure. */
static int try_name(struct store *s, sqlite3_stmt *st, const char *name)
{
	int code;

	sql_bind_text(st, 1, name);
	code = sql_step(st);
	sqlite3_reset(st);
	if (code == SQLITE_DONE)
		return 1;
	return sqlite3_extended_errcode(s->db) == SQLITE_CONSTRAINT_UNIQUE ? 0 : -1;
}

enum status store_campaign_begin(struct store *s, const char *name, const char *plan,
	const char *options, int64_t seed, bool simulated, const char *source,
	struct campaign_info *out, struct err *e)
{
	sqlite3_stmt *st = NULL;
	struct str unique = STR_INIT;
	struct timespec now;
	enum status r = sql_prepare(s,
		"INSERT INTO campaign(name, plan, options, source, seed, simulated, "
		"created_realtime_ns) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
		&st, e);
	int done = 0;

	memset(out, 0, sizeof(*out));
	if (r)
		return r;
	clock_gettime(CLOCK_REALTIME, &now);
	sql_bind_text(st, 2, plan);
	sql_bind_text(st, 3, options);
	sql_bind_text(st, 4, source);
	sqlite3_bind_int64(st, 5, seed);
	sqlite3_bind_int(st, 6, simulated);
	sqlite3_bind_int64(st, 7, (int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
	for (int n = 1; !done && n < 100000; n++) {
		str_clear(&unique);
		str_add(&unique, name && *name ? name : "campaign");
		if (n > 1)
			str_addf(&unique, "-%d", n);
		if (unique.failed) {
			r = err_set(e, ST_NOMEM, "%s: out of memory", s->path);
			goto out;
		}
		done = try_name(s, st, str_cstr(&unique));
	}
	r = done == 1 ? store_campaign_find(s, str_cstr(&unique), out, e)
		      : sql_fail(s, e, "cannot begin a campaign");
out:
	sqlite3_finalize(st);
	str_release(&unique);
	return r;
}

enum status store_campaign_points(struct store *s, int64_t id, int64_t n_points, struct err *e)
{
	sqlite3_stmt *st = NULL;
	enum status r = sql_prepare(s, "UPDATE campaign SET n_points = ?2 WHERE id = ?1", &st, e);

	if (r)
		return r;
	sqlite3_bind_int64(st, 1, id);
	sqlite3_bind_int64(st, 2, n_points);
	r = sql_run(s, st, e);
	sqlite3_finalize(st);
	return r;
}
