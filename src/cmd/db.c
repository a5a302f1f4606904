/* db.c: see db.h. */
#include "cmd/db.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/host_facts.h"
#include "exec/salvage.h"

enum status db_put(struct db *db, const struct run_rec *rec, struct err *e)
{
	struct campaign_info c = {0};
	int64_t id = 0;
	enum status st;

	if (rec->campaign && rec->campaign[0]) {
		st = store_campaign_find(db->store, rec->campaign, &c, e);
		if (st != ST_OK && st != ST_NOT_FOUND)
			return st;
		id = st == ST_OK ? c.id : 0;
		campaign_info_release(&c);
	}
	return store_put(db->store, id, rec, e);
}

static bool take_orphan(void *arg, const struct run_rec *rec)
{
	struct err e = ERR_INIT;

	if (db_put(arg, rec, &e) == ST_OK)
		return true;
	cmd_warn("a run left by a killed wattlaw could not be stored: %s", e.msg);
	return false;
}

static char *absolute(const char *path)
{
	struct str s = STR_INIT;
	char cwd[PATH_MAX];

	if (path[0] != '/' && getcwd(cwd, sizeof cwd))
		str_addf(&s, "%s/", cwd);
	str_add(&s, path);
	return str_take(&s);
}

enum status db_open(struct db *db, const char *opt, struct err *e)
{
	struct str dir = STR_INIT;
	struct err unkept = ERR_INIT;
	char host[256];
	enum status st;
	size_t n = 0;

	*db = (struct db){NULL, NULL, NULL};
	db->path = absolute(store_default_path(opt));
	str_addf(&dir, "%s.d", db->path ? db->path : "");
	db->dir = str_take(&dir);
	if (!db->path || !db->dir) {
		st = err_set(e, ST_NOMEM, "out of memory");
		goto out;
	}
	st = store_open(db->path, true, &db->store, e);
	if (st != ST_OK)
		goto out;
	/* Nice to know, and no reason to keep a job from running. */
	if (host_facts_keep(db->store, db_host(host, sizeof host), &unkept) != ST_OK)
		cmd_warn("what is known of this host is not kept: %s", unkept.msg);
	if (salvage_dir(db->dir, take_orphan, db, &n, NULL) == ST_OK && n)
		cmd_note("took in %zu run%s left by an earlier wattlaw", n, n == 1 ? "" : "s");
out:
	if (st != ST_OK)
		db_close(db);
	return st;
}

void db_close(struct db *db)
{
	store_close(db->store);
	/* Empty unless a keeper is still at work. */
	if (db->dir)
		(void)rmdir(db->dir);
	mem_free(db->path);
	mem_free(db->dir);
	*db = (struct db){NULL, NULL, NULL};
}

const char *db_host(char *buf, size_t size)
{
	const char *slurm = getenv("SLURMD_NODENAME");

	if (slurm && slurm[0])
		snprintf(buf, size, "%s", slurm);
	else if (gethostname(buf, size))
		snprintf(buf, size, "localhost");
	buf[size - 1] = 0;
	/* It becomes part of a file's name. */
	for (char *p = buf; *p; p++)
		if (*p == '/')
			*p = '_';
	return buf;
}
