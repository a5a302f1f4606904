/* db.h: the database as commands use it: where it is, and taking in what keepers left beside it.
 *
 * Every command that opens the store for writing goes through db_open, so records of jobs whose
 * leader was killed, or whose driver was slow, find their way in without anybody asking.
 */
#ifndef WATTLAW_CMD_DB_H
#define WATTLAW_CMD_DB_H

#include "store/store.h"

struct db {
	struct store *store;
	char *path; /* absolute */
	char *dir; /* path.d: shards */
};

/* opt: --db or NULL. Merges orphaned shards and says how many runs they held (cmd_note). */
enum status db_open(struct db *db, const char *opt, struct err *e);
void db_close(struct db *db);
/* Into the campaign the record names, when there is one. */
enum status db_put(struct db *db, const struct run_rec *rec, struct err *e);
/* SLURMD_NODENAME, else the host name. */
const char *db_host(char *buf, size_t size);

#endif
