/* store.c: opening the file, campaigns and transactions. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "record/channel.h"
#include "store/internal.h"

extern const char store_schema_sql[], store_schema_2_sql[], store_views_sql[];

enum status sql_fail(struct store *s, struct err *e, const char *what)
{
	int code = s->db ? sqlite3_errcode(s->db) & 0xff : SQLITE_NOMEM;
	const char *msg = s->db ? sqlite3_errmsg(s->db) : "out of memory";
	enum status st = ST_IO;

	switch (code) {
	case SQLITE_OK:
		/* Only a fault point fails without the database knowing. */
		msg = "injected fault";
		break;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		st = ST_BUSY;
		msg = "another process has been writing to it for 10 s";
		break;
	case SQLITE_NOMEM:
		st = ST_NOMEM;
		break;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		st = ST_CORRUPT;
		break;
	case SQLITE_PERM:
	case SQLITE_AUTH:
	case SQLITE_READONLY:
		st = ST_NO_PERMISSION;
		break;
	default:
		break;
	}
	return err_set(e, st, "%s: %s: %s", s->path ? s->path : "store", what, msg);
}

enum status sql_exec(struct store *s, const char *sql, struct err *e)
{
	if (fault_point("store") || sqlite3_exec(s->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return sql_fail(s, e, "cannot write");
	return ST_OK;
}

int sql_step(sqlite3_stmt *st)
{
	return fault_point("store") ? SQLITE_IOERR : sqlite3_step(st);
}

enum status sql_run(struct store *s, sqlite3_stmt *st, struct err *e)
{
	enum status r = ST_OK;

	if (sql_step(st) != SQLITE_DONE)
		r = sql_fail(s, e, "cannot write");
	sqlite3_reset(st);
	return r;
}

enum status sql_prepare(struct store *s, const char *sql, sqlite3_stmt **out, struct err *e)
{
	if (sqlite3_prepare_v2(s->db, sql, -1, out, NULL) != SQLITE_OK)
		return sql_fail(s, e, "cannot read");
	return ST_OK;
}

int sql_bind_text(sqlite3_stmt *st, int col, const char *text)
{
	return text ? sqlite3_bind_text(st, col, text, -1, SQLITE_STATIC)
		    : sqlite3_bind_null(st, col);
}

void sql_bind_number(sqlite3_stmt *st, int col, double v)
{
	if (isfinite(v))
		sqlite3_bind_double(st, col, v);
	else
		sqlite3_bind_null(st, col);
}

const char *store_default_path(const char *opt)
{
	const char *env = getenv("WATTLAW_DB");

	if (opt && *opt)
		return opt;
	return env && *env ? env : "wattlaw.db";
}

static uint32_t be32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* Look at the file's header without SQLite: opening a foreign database through it could already
 * change that file (journal recovery, WAL). *is_new: absent or empty. */
static enum status check_file(const char *path, bool *is_new, struct err *e)
{
	unsigned char head[100];
	struct stat sb;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*is_new = true;
	if (fd < 0)
		return errno == ENOENT ? ST_OK : err_errno(e, errno, "%s", path);
	if (fstat(fd, &sb) || !S_ISREG(sb.st_mode)) {
		close(fd);
		return err_set(e, ST_INVALID, "%s: is not a file", path);
	}
	n = pread(fd, head, sizeof(head), 0);
	close(fd);
	if (n == 0)
		return ST_OK;
	*is_new = false;
	if (n != (ssize_t)sizeof(head) || memcmp(head, "SQLite format 3", 16))
		return err_set(e, ST_INVALID,
			"%s: is not a wattlaw store; it is left as it is (choose another with "
			"--db)",
			path);
	if (be32(head + 68) != STORE_APPLICATION_ID)
		return err_set(e, ST_INVALID,
			"%s: is a database of another program; it is left as it is (choose another "
			"with --db)",
			path);
	if (be32(head + 60) > STORE_VERSION)
		return err_set(e, ST_INVALID,
			"%s: was written by a newer wattlaw (store version %u, this one reads up "
			"to %d)",
			path, be32(head + 60), STORE_VERSION);
	return ST_OK;
}

static enum status add_channels(struct store *s, struct err *e)
{
	enum status st = ST_OK;

	for (int c = 0; c < CH_COUNT && !st; c++) {
		const struct channel_info *info = channel_info((enum channel)c);
		char *sql = sqlite3_mprintf("INSERT OR REPLACE INTO channel VALUES(%d, %Q, %Q, %d)",
			c, info->name, unit_name(info->unit), info->counter);

		st = sql ? sql_exec(s, sql, e) : err_set(e, ST_NOMEM, "out of memory");
		sqlite3_free(sql);
	}
	return st;
}

/* -1 when it cannot be read. */
static int ask_int(struct store *s, const char *sql)
{
	sqlite3_stmt *st = NULL;
	int v = -1;

	if (sqlite3_prepare_v2(s->db, sql, -1, &st, NULL) == SQLITE_OK &&
		sqlite3_step(st) == SQLITE_ROW)
		v = sqlite3_column_int(st, 0);
	sqlite3_finalize(st);
	return v;
}

static int user_version(struct store *s)
{
	return ask_int(s, "PRAGMA user_version");
}

/* The schema goes in with a rollback journal, so that the main file carries our id from its first
 * byte on; WAL comes after. Two processes may do this at once, and one killed on the way leaves a
 * file that the journal empties again when it is opened. */
static enum status create(struct store *s, struct err *e)
{
	char sql[128];
	enum status st = sql_exec(s, "BEGIN IMMEDIATE", e);

	if (st)
		return st;
	if (user_version(s) == 0 && ask_int(s, "SELECT count(*) FROM sqlite_master") == 0) {
		snprintf(sql, sizeof(sql), "PRAGMA application_id=%d; PRAGMA user_version=%d",
			STORE_APPLICATION_ID, STORE_VERSION);
		st = sql_exec(s, store_schema_sql, e);
		if (!st)
			st = sql_exec(s, store_schema_2_sql, e);
		if (!st)
			st = sql_exec(s, store_views_sql, e);
		if (!st)
			st = add_channels(s, e);
		if (!st)
			st = sql_exec(s, sql, e);
	}
	if (!st)
		st = sql_exec(s, "COMMIT", e);
	if (st)
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return st;
}

/* A store of an earlier version gets the tables it lacks when it is first written; it is read as it
 * is. All or nothing, and two processes may do it at once. */
static enum status upgrade(struct store *s, struct err *e)
{
	enum status st = sql_exec(s, "BEGIN IMMEDIATE", e);

	if (st)
		return st;
	if (user_version(s) == 1) {
		st = sql_exec(s, store_schema_2_sql, e);
		if (!st)
			st = sql_exec(s, "PRAGMA user_version=2", e);
	}
	if (!st)
		st = sql_exec(s, "COMMIT", e);
	if (st)
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	return st;
}

/* The views in the file are for people with other tools, and are those of the version that made it.
 * This program reads through its own, which cover them while the file is open. */
static enum status cover_views(struct store *s, struct err *e)
{
	static const char create_view[] = "CREATE VIEW ";
	struct str sql = STR_INIT;
	const char *p = store_views_sql, *at;
	enum status st;

	while ((at = strstr(p, create_view))) {
		str_addn(&sql, p, (size_t)(at - p));
		str_add(&sql, "CREATE TEMP VIEW ");
		p = at + strlen(create_view);
	}
	str_add(&sql, p);
	st = sql.failed ? err_set(e, ST_NOMEM, "%s: out of memory", s->path)
			: sql_exec(s, str_cstr(&sql), e);
	str_release(&sql);
	return st;
}

/* SQLite reads a file in WAL mode only where it may put its shared memory beside it. Where it may
 * not, and nothing waits in a WAL, the file alone is the whole store and nobody else writes it from
 * here: read it as one that does not change. */
static void open_unchanging(struct store *s)
{
	struct str name = STR_INIT;
	struct stat sb;

	str_addf(&name, "%s-wal", s->path);
	if (name.failed || (!stat(str_cstr(&name), &sb) && sb.st_size))
		goto out;
	str_clear(&name);
	str_add(&name, "file:");
	for (const char *p = s->path; *p; p++)
		if (strchr("%?#", *p))
			str_addf(&name, "%%%02x", (unsigned)*p);
		else
			str_addc(&name, *p);
	str_add(&name, "?immutable=1");
	sqlite3_close(s->db);
	s->db = NULL;
	if (name.failed || sqlite3_open_v2(str_cstr(&name), &s->db,
				   SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) != SQLITE_OK)
		log_debug("store", "%s cannot be read as an unchanging file", s->path);
out:
	str_release(&name);
}

enum status store_open(const char *path, bool write, struct store **out, struct err *e)
{
	struct store *s = NULL;
	bool is_new;
	enum status st = check_file(path, &is_new, e);

	*out = NULL;
	if (st)
		return st;
	if (is_new && !write)
		return err_set(e, ST_NOT_FOUND,
			"%s: there is no store yet; sweep, run or import something first, or name "
			"another with --db",
			path);
	s = mem_calloc(1, sizeof(*s));
	if (!s || !(s->path = mem_strdup(path))) {
		mem_free(s);
		return err_set(e, ST_NOMEM, "%s: out of memory", path);
	}
	if (sqlite3_open_v2(path, &s->db,
		    write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY,
		    NULL) != SQLITE_OK) {
		int sys = s->db ? sqlite3_system_errno(s->db) : 0;

		st = sys ? err_errno(e, sys, "%s: cannot open", path)
			 : sql_fail(s, e, "cannot open");
		goto out;
	}
	sqlite3_busy_timeout(s->db, 10000);
	if (!write && user_version(s) < 0)
		open_unchanging(s);
	if (write && user_version(s) == 0)
		st = create(s, e);
	if (!st && write && user_version(s) == 1)
		st = upgrade(s, e);
	if (!st)
		st = sql_exec(s, "PRAGMA foreign_keys=ON", e);
	if (!st && write)
		st = sql_exec(s, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL", e);
	if (!st && user_version(s) < 0)
		st = sql_fail(s, e, "cannot read");
	if (!st && (user_version(s) < 1 || user_version(s) > STORE_VERSION))
		st = err_set(e, ST_CORRUPT, "%s: is damaged: it has no store version", path);
	if (!st)
		st = cover_views(s, e);
out:
	if (st) {
		store_close(s);
		return st;
	}
	*out = s;
	return ST_OK;
}

void store_close(struct store *s)
{
	if (!s)
		return;
	for (int i = 0; i < STMT_COUNT; i++)
		sqlite3_finalize(s->stmts[i]);
	sqlite3_close(s->db);
	mem_free(s->path);
	mem_free(s);
}

enum status store_begin(struct store *s, struct err *e)
{
	enum status st = sql_exec(s, "BEGIN IMMEDIATE", e);

	s->in_transaction = !st;
	return st;
}

enum status store_commit(struct store *s, struct err *e)
{
	enum status st = sql_exec(s, "COMMIT", e);

	if (st)
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	s->in_transaction = false;
	return st;
}

void store_rollback(struct store *s)
{
	if (s->in_transaction)
		sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
	s->in_transaction = false;
}
