/* internal.h: what the files of src/store share. */
#ifndef WATTLAW_STORE_INTERNAL_H
#define WATTLAW_STORE_INTERNAL_H

#include <sqlite3.h>

#include "record/layout.h"
#include "store/store.h"

#define STORE_APPLICATION_ID 0x574c4157 /* "WLAW" */
#define STORE_VERSION        2

/* Statements are prepared once, when first needed. */
enum stmt {
	STMT_DELETE_RUN,
	STMT_RUN,
	STMT_ARG,
	STMT_WARNING,
	STMT_AXIS,
	STMT_DEVICE,
	STMT_KNOB,
	STMT_PHASE,
	STMT_MISSING,
	STMT_SAMPLE,
	STMT_MARK,
	STMT_POINT,
	STMT_BY_ID,
	STMT_GET_ARG,
	STMT_GET_WARNING,
	STMT_GET_AXIS,
	STMT_GET_DEVICE,
	STMT_GET_KNOB,
	STMT_GET_PHASE,
	STMT_GET_MISSING,
	STMT_GET_SAMPLE,
	STMT_GET_MARK,
	STMT_COUNT
};

struct store {
	sqlite3 *db;
	char *path;
	bool in_transaction; /* the caller's, by store_begin */
	sqlite3_stmt *stmts[STMT_COUNT];
};

/* *e from the last error of the database. */
enum status sql_fail(struct store *s, struct err *e, const char *what);
enum status sql_exec(struct store *s, const char *sql, struct err *e);
/* SQLITE_ROW, SQLITE_DONE or an error; passes the fault point "store". */
int sql_step(sqlite3_stmt *st);
/* Step a statement that returns no rows, and reset it. */
enum status sql_run(struct store *s, sqlite3_stmt *st, struct err *e);
enum status sql_prepare(struct store *s, const char *sql, sqlite3_stmt **out, struct err *e);
/* Append the columns of a layout, nested structs flattened, arrays left out: `"a", "b"`. Returns
 * their number. */
int layout_columns(const struct layout *l, struct str *out);
/* A run by its row, without samples and marks. *r is initialised and empty on failure. */
enum status store_load(struct store *s, int64_t row, struct run_rec *r, struct err *e);
/* Bind a number, or NULL for one that is not finite. */
void sql_bind_number(sqlite3_stmt *st, int col, double v);
/* Bind text that outlives the step; NULL binds NULL. */
int sql_bind_text(sqlite3_stmt *st, int col, const char *text);

#endif
