/* put.c: a record into the store. The columns come from the layouts of src/record. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "store/internal.h"

int layout_columns(const struct layout *l, struct str *out)
{
	int n = 0;

	for (size_t i = 0; i < l->n; i++) {
		const struct field *f = &l->fields[i];

		if (f->type == FIELD_STRS || f->type == FIELD_MANY)
			continue;
		if (n)
			str_add(out, ", ");
		if (f->type == FIELD_ONE) {
			n += layout_columns(f->sub, out);
			continue;
		}
		str_addf(out, "\"%s\"", f->name);
		n++;
	}
	return n;
}

/* "INSERT INTO table(own columns, columns of the layout) VALUES(?, …)" */
static enum status prepare_insert(struct store *s, enum stmt id, const char *table, const char *own,
	int n_own, const struct layout *l, struct err *e)
{
	struct str sql = STR_INIT;
	enum status r;
	int n = n_own;

	if (s->stmts[id])
		return ST_OK;
	str_addf(&sql, "INSERT OR REPLACE INTO %s(%s, ", table, own);
	n += layout_columns(l, &sql);
	str_add(&sql, ") VALUES(?");
	while (--n)
		str_add(&sql, ", ?");
	str_addc(&sql, ')');
	r = sql.failed ? err_set(e, ST_NOMEM, "%s: out of memory", s->path)
		       : sql_prepare(s, str_cstr(&sql), &s->stmts[id], e);
	str_release(&sql);
	return r;
}

static enum status prepare_text(struct store *s, enum stmt id, const char *sql, struct err *e)
{
	return s->stmts[id] ? ST_OK : sql_prepare(s, sql, &s->stmts[id], e);
}

static enum status prepare_all(struct store *s, struct err *e)
{
	enum status r = ST_OK;

	if (s->stmts[STMT_MARK]) /* the last one */
		return ST_OK;
	if (!r)
		r = prepare_text(s, STMT_DELETE_RUN, "DELETE FROM run WHERE run_id = ?", e);
	if (!r)
		r = prepare_insert(
			s, STMT_RUN, "run", "campaign_id, setting, block", 3, &layout_run, e);
	if (!r)
		r = prepare_text(s, STMT_ARG, "INSERT INTO run_arg VALUES(?, ?, ?)", e);
	if (!r)
		r = prepare_text(s, STMT_WARNING, "INSERT INTO run_warning VALUES(?, ?, ?)", e);
	if (!r)
		r = prepare_insert(
			s, STMT_AXIS, "run_axis", "run, idx, number", 3, &layout_axis, e);
	if (!r)
		r = prepare_insert(s, STMT_DEVICE, "run_device", "run, idx", 2, &layout_dev, e);
	if (!r)
		r = prepare_insert(
			s, STMT_KNOB, "run_knob", "run, device, idx", 3, &layout_knob, e);
	if (!r)
		r = prepare_insert(s, STMT_PHASE, "phase", "run, idx", 2, &layout_phase, e);
	if (!r)
		r = prepare_text(
			s, STMT_MISSING, "INSERT INTO missing VALUES(?, ?, ?, ?, ?, ?, ?)", e);
	if (!r)
		r = prepare_text(s, STMT_SAMPLE,
			"INSERT OR REPLACE INTO sample VALUES(?, ?, ?, ?, ?, ?)", e);
	if (!r)
		r = prepare_insert(s, STMT_MARK, "mark", "run, idx", 2, &layout_mark, e);
	return r;
}

/* Where in the record a quantity is, for the table `missing`. */
struct place {
	const char *part;
	int64_t device, idx;
};

/* Bind the fields of a struct from *col on. */
static void bind_fields(sqlite3_stmt *st, int *col, const struct layout *l, const void *p)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct field *f = &l->fields[i];
		const void *at = (const char *)p + f->off;
		const struct qty *q = at;

		switch (f->type) {
		case FIELD_STR:
			sql_bind_text(st, (*col)++, *(char *const *)at);
			break;
		case FIELD_QTY:
			if (q->st == ST_OK)
				sqlite3_bind_int64(st, (*col)++, q->v);
			else
				sqlite3_bind_null(st, (*col)++);
			break;
		case FIELD_I64:
			sqlite3_bind_int64(st, (*col)++, *(const int64_t *)at);
			break;
		case FIELD_INT:
			if (f->word)
				sql_bind_text(st, (*col)++, f->word(*(const int *)at));
			else
				sqlite3_bind_int(st, (*col)++, *(const int *)at);
			break;
		case FIELD_BOOL:
			sqlite3_bind_int(st, (*col)++, *(const bool *)at);
			break;
		case FIELD_F64:
			sql_bind_number(st, (*col)++, *(const double *)at);
			break;
		case FIELD_TEXT:
			sqlite3_bind_text(
				st, (*col)++, at, (int)strnlen(at, (size_t)f->hi), SQLITE_STATIC);
			break;
		case FIELD_ONE:
			bind_fields(st, col, f->sub, at);
			break;
		case FIELD_STRS:
		case FIELD_MANY:
			break;
		}
	}
}

/* Rows of `missing` for the quantities that are missing for a known reason. */
static enum status put_missing(struct store *s, int64_t run, const struct place *where,
	const struct layout *l, const void *p, struct err *e)
{
	sqlite3_stmt *st = s->stmts[STMT_MISSING];
	enum status r = ST_OK;

	for (size_t i = 0; i < l->n && !r; i++) {
		const struct field *f = &l->fields[i];
		const struct qty *q = (const void *)((const char *)p + f->off);

		if (f->type == FIELD_ONE)
			r = put_missing(s, run, where, f->sub, q, e);
		if (f->type != FIELD_QTY || q->st == ST_OK || q->st == ST_UNKNOWN)
			continue;
		sqlite3_bind_int64(st, 1, run);
		sql_bind_text(st, 2, where->part);
		sqlite3_bind_int64(st, 3, where->device);
		sqlite3_bind_int64(st, 4, where->idx);
		sql_bind_text(st, 5, f->name);
		sql_bind_text(st, 6, status_name(q->st));
		if (q->st == ST_PARTIAL)
			sqlite3_bind_int64(st, 7, q->v);
		else
			sqlite3_bind_null(st, 7);
		r = sql_run(s, st, e);
	}
	return r;
}

static enum status put_texts(
	struct store *s, enum stmt id, int64_t run, char **v, size_t n, struct err *e)
{
	sqlite3_stmt *st = s->stmts[id];
	enum status r = ST_OK;

	for (size_t i = 0; i < n && !r; i++) {
		sqlite3_bind_int64(st, 1, run);
		sqlite3_bind_int64(st, 2, (int64_t)i);
		sql_bind_text(st, 3, v[i]);
		r = sql_run(s, st, e);
	}
	return r;
}

/* One row of a child table: its own columns are bound by the caller up to col. */
static enum status put_part(struct store *s, enum stmt id, int col, int64_t run,
	const struct place *where, const struct layout *l, const void *p, struct err *e)
{
	sqlite3_stmt *st = s->stmts[id];
	enum status r;

	sqlite3_bind_int64(st, 1, run);
	bind_fields(st, &col, l, p);
	r = sql_run(s, st, e);
	return r ? r : put_missing(s, run, where, l, p, e);
}

static enum status put_device(
	struct store *s, int64_t run, const struct dev_rec *d, size_t idx, struct err *e)
{
	struct place where = {"run_device", -1, (int64_t)idx};
	enum status r;

	sqlite3_bind_int64(s->stmts[STMT_DEVICE], 2, (int64_t)idx);
	r = put_part(s, STMT_DEVICE, 3, run, &where, &layout_dev, d, e);
	for (size_t i = 0; i < d->n_knobs && !r; i++) {
		where = (struct place){"run_knob", (int64_t)idx, (int64_t)i};
		sqlite3_bind_int64(s->stmts[STMT_KNOB], 2, (int64_t)idx);
		sqlite3_bind_int64(s->stmts[STMT_KNOB], 3, (int64_t)i);
		r = put_part(s, STMT_KNOB, 4, run, &where, &layout_knob, &d->knobs[i], e);
	}
	return r;
}

static enum status put_series(struct store *s, int64_t run, const struct run_rec *r, struct err *e)
{
	sqlite3_stmt *st = s->stmts[STMT_SAMPLE];
	enum status status = ST_OK;

	sqlite3_bind_int64(st, 1, run);
	for (size_t i = 0; i < r->n_samples && !status; i++) {
		const struct sample_rec *m = &r->samples[i];

		sqlite3_bind_int(st, 2, m->dev);
		sqlite3_bind_int(st, 3, m->channel);
		sqlite3_bind_int64(st, 4, m->t_ns);
		if (m->st) {
			sqlite3_bind_null(st, 5);
			sql_bind_text(st, 6, status_name(m->st));
		} else {
			sqlite3_bind_int64(st, 5, m->value);
			sqlite3_bind_null(st, 6);
		}
		status = sql_run(s, st, e);
	}
	for (size_t i = 0; i < r->n_marks && !status; i++) {
		int col = 3;

		st = s->stmts[STMT_MARK];
		sqlite3_bind_int64(st, 1, run);
		sqlite3_bind_int64(st, 2, (int64_t)i);
		bind_fields(st, &col, &layout_mark, &r->marks[i]);
		status = sql_run(s, st, e);
	}
	return status;
}

static enum status put_run(
	struct store *s, int64_t campaign_id, const struct run_rec *r, int64_t *id, struct err *e)
{
	sqlite3_stmt *st = s->stmts[STMT_RUN];
	struct str setting = STR_INIT, block = STR_INIT;
	struct place where = {"run", -1, -1};
	enum status status;
	int col = 4;

	setting_text(r->axes, r->n_axes, SETTING_WHOLE, &setting);
	setting_text(r->axes, r->n_axes, SETTING_BLOCK, &block);
	if (setting.failed || block.failed) {
		status = err_set(e, ST_NOMEM, "%s: out of memory", s->path);
		goto out;
	}
	if (campaign_id)
		sqlite3_bind_int64(st, 1, campaign_id);
	else
		sqlite3_bind_null(st, 1);
	sql_bind_text(st, 2, str_cstr(&setting));
	sql_bind_text(st, 3, str_cstr(&block));
	bind_fields(st, &col, &layout_run, r);
	status = sql_run(s, st, e);
	*id = sqlite3_last_insert_rowid(s->db);
	if (!status)
		status = put_missing(s, *id, &where, &layout_run, r, e);
out:
	/* Nothing may stay bound to memory that goes away. */
	sqlite3_clear_bindings(st);
	str_release(&setting);
	str_release(&block);
	return status;
}

static enum status put_record(
	struct store *s, int64_t campaign_id, const struct run_rec *r, struct err *e)
{
	enum status status;
	int64_t id = 0;

	sql_bind_text(s->stmts[STMT_DELETE_RUN], 1, r->run_id);
	status = sql_run(s, s->stmts[STMT_DELETE_RUN], e);
	if (!status)
		status = put_run(s, campaign_id, r, &id, e);
	if (!status)
		status = put_texts(s, STMT_ARG, id, r->command, r->n_command, e);
	if (!status)
		status = put_texts(s, STMT_WARNING, id, r->warnings, r->n_warnings, e);
	for (size_t i = 0; i < r->n_axes && !status; i++) {
		struct place where = {"run_axis", -1, (int64_t)i};

		sqlite3_bind_int64(s->stmts[STMT_AXIS], 2, (int64_t)i);
		sql_bind_number(s->stmts[STMT_AXIS], 3, axis_number(&r->axes[i]));
		status = put_part(s, STMT_AXIS, 4, id, &where, &layout_axis, &r->axes[i], e);
	}
	for (size_t i = 0; i < r->n_devs && !status; i++)
		status = put_device(s, id, &r->devs[i], i, e);
	for (size_t i = 0; i < r->n_phases && !status; i++) {
		struct place where = {"phase", -1, (int64_t)i};

		sqlite3_bind_int64(s->stmts[STMT_PHASE], 2, (int64_t)i);
		status = put_part(s, STMT_PHASE, 3, id, &where, &layout_phase, &r->phases[i], e);
	}
	return status ? status : put_series(s, id, r, e);
}

enum status store_put(struct store *s, int64_t campaign_id, const struct run_rec *r, struct err *e)
{
	enum status status;

	if (!r->run_id || !*r->run_id)
		return err_set(e, ST_INVALID, "a run without an id cannot be stored");
	status = prepare_all(s, e);
	if (!status)
		status = sql_exec(s, s->in_transaction ? "SAVEPOINT put" : "BEGIN IMMEDIATE", e);
	if (status)
		return status;
	status = put_record(s, campaign_id, r, e);
	if (!status)
		status = sql_exec(s, s->in_transaction ? "RELEASE put" : "COMMIT", e);
	for (int i = 0; i < STMT_COUNT; i++) {
		if (s->stmts[i])
			sqlite3_clear_bindings(s->stmts[i]);
	}
	if (status)
		sqlite3_exec(s->db, s->in_transaction ? "ROLLBACK TO put; RELEASE put" : "ROLLBACK",
			NULL, NULL, NULL);
	return status;
}
