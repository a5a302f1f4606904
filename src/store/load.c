/* load.c: records out of the store. A file may have been edited by hand: nothing in it is trusted.
 */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "store/internal.h"

static enum status damaged(struct store *s, struct err *e, const char *what)
{
	return err_set(e, ST_CORRUPT, "%s: damaged: %s", s->path, what);
}

static enum status no_memory(struct store *s, struct err *e)
{
	return err_set(e, ST_NOMEM, "%s: out of memory", s->path);
}

static enum status read_int(
	struct store *s, sqlite3_stmt *st, int col, const struct field *f, int *out, struct err *e)
{
	int64_t v = sqlite3_column_int64(st, col);
	const char *text;

	if (!f->word) {
		if (v < f->lo || v > f->hi)
			return damaged(s, e, f->name);
		*out = (int)v;
		return ST_OK;
	}
	text = (const char *)sqlite3_column_text(st, col);
	for (int i = (int)f->lo; text && i <= f->hi; i++) {
		if (!strcmp(f->word(i), text)) {
			*out = i;
			return ST_OK;
		}
	}
	return damaged(s, e, f->name);
}

/* Read the fields of an initialised struct from *col on. */
static enum status read_fields(
	struct store *s, sqlite3_stmt *st, int *col, const struct layout *l, void *p, struct err *e)
{
	enum status r = ST_OK;

	for (size_t i = 0; i < l->n && !r; i++) {
		const struct field *f = &l->fields[i];
		void *at = (char *)p + f->off;
		bool null;

		if (f->type == FIELD_ONE) {
			r = read_fields(s, st, col, f->sub, at, e);
			continue;
		}
		if (f->type == FIELD_STRS || f->type == FIELD_MANY)
			continue;
		null = sqlite3_column_type(st, *col) == SQLITE_NULL;
		switch (f->type) {
		case FIELD_STR:
			if (!rec_set(at, (const char *)sqlite3_column_text(st, *col)))
				r = no_memory(s, e);
			break;
		case FIELD_QTY:
			if (!null)
				*(struct qty *)at = QTY(sqlite3_column_int64(st, *col));
			break;
		case FIELD_I64:
			*(int64_t *)at = sqlite3_column_int64(st, *col);
			break;
		case FIELD_INT:
			r = read_int(s, st, *col, f, at, e);
			break;
		case FIELD_BOOL:
			*(bool *)at = sqlite3_column_int(st, *col) != 0;
			break;
		case FIELD_F64:
			*(double *)at = null ? NAN : sqlite3_column_double(st, *col);
			break;
		default: { /* FIELD_TEXT: the record is zeroed, one byte stays for the end */
			const char *text = (const char *)sqlite3_column_text(st, *col);

			strncpy(at, text ? text : "", (size_t)f->hi - 1);
			break;
		}
		}
		(*col)++;
	}
	return r;
}

static enum status prepare_select(struct store *s, enum stmt id, const char *table,
	const char *order, const struct layout *l, struct err *e)
{
	struct str sql = STR_INIT;
	enum status r;

	if (s->stmts[id])
		return ST_OK;
	str_add(&sql, "SELECT ");
	if (l)
		layout_columns(l, &sql);
	else
		str_add(&sql, "text");
	str_addf(&sql, "%s FROM %s WHERE run = ? ORDER BY %s",
		!strcmp(table, "run_knob") ? ", device" : "", table, order);
	r = sql.failed ? no_memory(s, e) : sql_prepare(s, str_cstr(&sql), &s->stmts[id], e);
	str_release(&sql);
	return r;
}

static enum status prepare_all(struct store *s, struct err *e)
{
	static const struct {
		enum stmt id;
		const char *table, *order;
		const struct layout *l;
	} rows[] = {
		{STMT_GET_ARG, "run_arg", "idx", NULL},
		{STMT_GET_WARNING, "run_warning", "idx", NULL},
		{STMT_GET_AXIS, "run_axis", "idx", &layout_axis},
		{STMT_GET_DEVICE, "run_device", "idx", &layout_dev},
		{STMT_GET_KNOB, "run_knob", "device, idx", &layout_knob},
		{STMT_GET_PHASE, "phase", "idx", &layout_phase},
		{STMT_GET_MARK, "mark", "idx", &layout_mark},
	};
	enum status r = ST_OK;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]) && !r; i++)
		r = prepare_select(s, rows[i].id, rows[i].table, rows[i].order, rows[i].l, e);
	if (!r && !s->stmts[STMT_GET_MISSING])
		r = sql_prepare(s,
			"SELECT part, device, idx, name, status, value FROM missing WHERE run = ?",
			&s->stmts[STMT_GET_MISSING], e);
	if (!r && !s->stmts[STMT_GET_SAMPLE])
		r = sql_prepare(s,
			"SELECT dev, channel, t_ns, value, st FROM sample WHERE run = ? "
			"ORDER BY t_ns, dev, channel",
			&s->stmts[STMT_GET_SAMPLE], e);
	return r;
}

/* Call row() for each row of a child table. */
struct loading {
	struct store *s;
	struct run_rec *r;
	struct err *e;
};

static enum status each(struct loading *l, enum stmt id, int64_t run,
	enum status (*row)(struct loading *l, sqlite3_stmt *st))
{
	sqlite3_stmt *st = l->s->stmts[id];
	enum status r = ST_OK;
	int code = SQLITE_ROW;

	sqlite3_bind_int64(st, 1, run);
	while (!r && (code = sql_step(st)) == SQLITE_ROW)
		r = row(l, st);
	if (!r && code != SQLITE_DONE)
		r = sql_fail(l->s, l->e, "cannot read");
	sqlite3_reset(st);
	return r;
}

static enum status row_arg(struct loading *l, sqlite3_stmt *st)
{
	const char *text = (const char *)sqlite3_column_text(st, 0);

	return run_rec_arg(l->r, text ? text : "") ? ST_OK : no_memory(l->s, l->e);
}

static enum status row_warning(struct loading *l, sqlite3_stmt *st)
{
	const char *text = (const char *)sqlite3_column_text(st, 0);

	return run_rec_warn(l->r, "%s", text ? text : "") ? ST_OK : no_memory(l->s, l->e);
}

static enum status row_axis(struct loading *l, sqlite3_stmt *st)
{
	int col = 0;
	enum status r;

	if (!run_rec_axis(l->r, "", "", UNIT_NONE, QTY_NONE(ST_UNKNOWN)))
		return no_memory(l->s, l->e);
	r = read_fields(l->s, st, &col, &layout_axis, &l->r->axes[l->r->n_axes - 1], l->e);
	return r || l->r->axes[l->r->n_axes - 1].name ? r
						      : damaged(l->s, l->e, "axis without a name");
}

static enum status row_device(struct loading *l, sqlite3_stmt *st)
{
	struct dev_rec *d = run_rec_dev(l->r);
	int col = 0;

	return d ? read_fields(l->s, st, &col, &layout_dev, d, l->e) : no_memory(l->s, l->e);
}

static enum status row_knob(struct loading *l, sqlite3_stmt *st)
{
	int64_t dev = sqlite3_column_int64(st, (int)layout_knob.n);
	struct knob_rec *k;
	int col = 0;

	if (dev < 0 || (size_t)dev >= l->r->n_devs)
		return damaged(l->s, l->e, "knob of no device");
	k = dev_rec_knob(&l->r->devs[dev], "", UNIT_NONE);
	return k ? read_fields(l->s, st, &col, &layout_knob, k, l->e) : no_memory(l->s, l->e);
}

static enum status row_phase(struct loading *l, sqlite3_stmt *st)
{
	struct phase_rec *p = run_rec_phase(l->r);
	int col = 0;

	return p ? read_fields(l->s, st, &col, &layout_phase, p, l->e) : no_memory(l->s, l->e);
}

static enum status row_sample(struct loading *l, sqlite3_stmt *st)
{
	const char *word = (const char *)sqlite3_column_text(st, 4);
	struct sample_rec m = {
		.dev = sqlite3_column_int(st, 0),
		.channel = sqlite3_column_int(st, 1),
		.t_ns = sqlite3_column_int64(st, 2),
		.value = sqlite3_column_int64(st, 3),
		.st = word ? status_from_name(word) : ST_OK,
	};

	if (m.dev < 0 || (size_t)m.dev >= l->r->n_devs)
		return damaged(l->s, l->e, "sample of no device");
	return run_rec_sample(l->r, &m) ? ST_OK : no_memory(l->s, l->e);
}

static enum status row_mark(struct loading *l, sqlite3_stmt *st)
{
	struct mark_rec m;
	int col = 0;
	enum status r;

	layout_init(&layout_mark, &m);
	r = read_fields(l->s, st, &col, &layout_mark, &m, l->e);
	if (r)
		return r;
	return run_rec_mark(l->r, &m) ? ST_OK : no_memory(l->s, l->e);
}

static struct qty *find_qty(const struct layout *l, void *p, const char *name)
{
	struct qty *q = NULL;

	for (size_t i = 0; i < l->n && !q; i++) {
		const struct field *f = &l->fields[i];

		if (f->type == FIELD_ONE)
			q = find_qty(f->sub, (char *)p + f->off, name);
		else if (f->type == FIELD_QTY && !strcmp(f->name, name))
			q = (void *)((char *)p + f->off);
	}
	return q;
}

/* The struct that a row of `missing` is about, or NULL. */
static void *find_part(
	struct run_rec *r, const char *part, int64_t device, int64_t idx, const struct layout **l)
{
	size_t i = (size_t)idx, d = (size_t)device;

	if (!strcmp(part, "run")) {
		*l = &layout_run;
		return r;
	}
	if (!strcmp(part, "run_axis") && i < r->n_axes) {
		*l = &layout_axis;
		return &r->axes[i];
	}
	if (!strcmp(part, "run_device") && i < r->n_devs) {
		*l = &layout_dev;
		return &r->devs[i];
	}
	if (!strcmp(part, "run_knob") && d < r->n_devs && i < r->devs[d].n_knobs) {
		*l = &layout_knob;
		return &r->devs[d].knobs[i];
	}
	if (!strcmp(part, "phase") && i < r->n_phases) {
		*l = &layout_phase;
		return &r->phases[i];
	}
	return NULL;
}

static enum status row_missing(struct loading *l, sqlite3_stmt *st)
{
	const char *part = (const char *)sqlite3_column_text(st, 0);
	const char *name = (const char *)sqlite3_column_text(st, 3);
	const char *word = (const char *)sqlite3_column_text(st, 4);
	const struct layout *layout = NULL;
	struct qty *q;
	void *p;

	if (!part || !name || !word)
		return damaged(l->s, l->e, "missing");
	p = find_part(
		l->r, part, sqlite3_column_int64(st, 1), sqlite3_column_int64(st, 2), &layout);
	q = p ? find_qty(layout, p, name) : NULL;
	if (!q)
		return damaged(l->s, l->e, "missing");
	*q = QTY_NONE(status_from_name(word));
	if (q->st == ST_PARTIAL)
		q->v = sqlite3_column_int64(st, 5);
	return ST_OK;
}

/* The current row of a SELECT of id and all columns of run, into *r. */
static enum status load(
	struct store *s, sqlite3_stmt *st, bool series, struct run_rec *r, struct err *e)
{
	static const struct {
		enum stmt id;
		enum status (*row)(struct loading *l, sqlite3_stmt *st);
	} parts[] = {
		{STMT_GET_ARG, row_arg},
		{STMT_GET_WARNING, row_warning},
		{STMT_GET_AXIS, row_axis},
		{STMT_GET_DEVICE, row_device},
		{STMT_GET_KNOB, row_knob},
		{STMT_GET_PHASE, row_phase},
		{STMT_GET_MISSING, row_missing},
		{STMT_GET_SAMPLE, row_sample},
		{STMT_GET_MARK, row_mark},
	};
	struct loading l = {s, r, e};
	int64_t run = sqlite3_column_int64(st, 0);
	size_t n = sizeof(parts) / sizeof(parts[0]) - (series ? 0 : 2);
	enum status status;
	int col = 1;

	run_rec_init(r);
	status = prepare_all(s, e);
	if (!status)
		status = read_fields(s, st, &col, &layout_run, r, e);
	if (!status && !r->run_id)
		status = damaged(s, e, "run without an id");
	for (size_t i = 0; i < n && !status; i++)
		status = each(&l, parts[i].id, run, parts[i].row);
	if (status)
		run_rec_release(r);
	return status;
}

static enum status select_runs(struct store *s, const char *where, sqlite3_stmt **st, struct err *e)
{
	struct str sql = STR_INIT;
	enum status r;

	str_add(&sql, "SELECT id, ");
	layout_columns(&layout_run, &sql);
	str_addf(&sql, " FROM run WHERE %s", where);
	r = sql.failed ? no_memory(s, e) : sql_prepare(s, str_cstr(&sql), st, e);
	str_release(&sql);
	return r;
}

enum status store_load(struct store *s, int64_t row, struct run_rec *r, struct err *e)
{
	enum status status = ST_OK;
	sqlite3_stmt *st;
	int code;

	run_rec_init(r);
	if (!s->stmts[STMT_BY_ID])
		status = select_runs(s, "id = ?1", &s->stmts[STMT_BY_ID], e);
	if (status)
		return status;
	st = s->stmts[STMT_BY_ID];
	sqlite3_bind_int64(st, 1, row);
	code = sql_step(st);
	if (code == SQLITE_ROW)
		status = load(s, st, false, r, e);
	else
		status = code == SQLITE_DONE ? ST_NOT_FOUND : sql_fail(s, e, "cannot read");
	sqlite3_reset(st);
	return status;
}

enum status store_each_run(struct store *s, int64_t campaign_id,
	bool (*fn)(void *arg, const struct run_rec *r), void *arg, struct err *e)
{
	sqlite3_stmt *st = NULL;
	struct run_rec r;
	bool more = true;
	int code = SQLITE_DONE;
	enum status status = select_runs(s, "?1 = 0 OR campaign_id = ?1 ORDER BY id", &st, e);

	if (status)
		return status;
	sqlite3_bind_int64(st, 1, campaign_id);
	while (more && (code = sql_step(st)) == SQLITE_ROW) {
		status = load(s, st, false, &r, e);
		if (status)
			goto out;
		more = fn(arg, &r);
		run_rec_release(&r);
	}
	if (more && code != SQLITE_DONE)
		status = sql_fail(s, e, "cannot read");
out:
	sqlite3_finalize(st);
	return status;
}

enum status store_get(struct store *s, const char *run_id, struct run_rec *out, struct err *e)
{
	sqlite3_stmt *st = NULL;
	enum status status = select_runs(
		s, "substr(run_id, 1, length(?1)) = ?1 ORDER BY run_id = ?1 DESC LIMIT 2", &st, e);
	int code;

	run_rec_init(out);
	if (status)
		return status;
	sql_bind_text(st, 1, run_id);
	code = *run_id ? sql_step(st) : SQLITE_DONE;
	if (code == SQLITE_DONE)
		status = err_set(e, ST_NOT_FOUND, "%s: no run '%s'", s->path, run_id);
	else if (code != SQLITE_ROW)
		status = sql_fail(s, e, "cannot read");
	else
		status = load(s, st, true, out, e);
	if (!status && strcmp(out->run_id, run_id) && sql_step(st) == SQLITE_ROW) {
		run_rec_release(out);
		status = err_set(e, ST_INVALID,
			"%s: several runs begin with '%s'; give more digits", s->path, run_id);
	}
	sqlite3_finalize(st);
	return status;
}

enum status store_point(struct store *s, int64_t campaign_id, const char *workload,
	const char *setting, int repeat, enum run_state *state, struct err *e)
{
	static const char sql[] =
		"SELECT state FROM run WHERE campaign_id = ? AND workload IS ? AND setting = ? AND "
		"repeat = ? ORDER BY CASE state WHEN 'done' THEN 0 WHEN 'partial' THEN 1 "
		"WHEN 'disturbed' THEN 2 WHEN 'failed' THEN 3 ELSE 4 END LIMIT 1";
	sqlite3_stmt *st;
	enum status status = ST_OK;
	int code;

	if (!s->stmts[STMT_POINT])
		status = sql_prepare(s, sql, &s->stmts[STMT_POINT], e);
	if (status)
		return status;
	st = s->stmts[STMT_POINT];
	sqlite3_bind_int64(st, 1, campaign_id);
	sql_bind_text(st, 2, workload);
	sql_bind_text(st, 3, setting);
	sqlite3_bind_int(st, 4, repeat);
	code = sql_step(st);
	if (code == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(st, 0);
		int v = 0;

		while (v < RUN_STATE_COUNT && text &&
			strcmp(run_state_name((enum run_state)v), text))
			v++;
		if (v == RUN_STATE_COUNT)
			status = damaged(s, e, "state");
		else
			*state = (enum run_state)v;
	} else {
		status = code == SQLITE_DONE ? ST_NOT_FOUND : sql_fail(s, e, "cannot read");
	}
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	return status;
}
