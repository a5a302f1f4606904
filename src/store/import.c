/* import.c: the table of formats, and one file into one campaign. */
#include "store/import.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "store/import_format.h"
#include "store/internal.h"

#define KNOBS "('power_limit', 'clock_max', 'memory_clock', 'cpu_rate')"

static const struct import_format *const formats[] = {
	&import_tidy,
	&import_smi,
	&import_dcgmi,
	&import_mlperf,
	&import_codecarbon,
	&import_zeus,
	&import_zeus_power,
	&import_supercloud,
	&import_extrap,
	NULL,
};

const struct import_format *const *import_formats(void)
{
	return formats;
}

const struct import_format *import_find(const char *name)
{
	for (size_t i = 0; formats[i]; i++) {
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	}
	return NULL;
}

enum status import_no_memory(struct err *e)
{
	return err_set(e, ST_NOMEM, "import: out of memory");
}

/* "power_limit=200W" */
static enum status add_axis(struct run_rec *r, const char *text, struct err *e)
{
	static const struct {
		const char *name;
		enum unit unit;
	} known[] = {{"power_limit", UNIT_POWER}, {"clock_max", UNIT_FREQ},
		{"memory_clock", UNIT_FREQ}, {"cpu_rate", UNIT_RATIO}};
	const char *eq = strchr(text, '=');
	enum unit unit = UNIT_NONE;
	char name[64];
	struct qty v = QTY_NONE(ST_UNSUPPORTED);
	long long n;

	if (!eq || eq == text || (size_t)(eq - text) >= sizeof(name))
		return err_set(e, ST_INVALID, "'%s' is not an axis; write it as name=value", text);
	memcpy(name, text, (size_t)(eq - text));
	name[eq - text] = '\0';
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (!strcmp(known[i].name, name))
			unit = known[i].unit;
	}
	if (unit != UNIT_NONE) {
		v.st = ST_OK;
		if (unit_parse(unit, eq + 1, &v.v, e))
			return ST_INVALID;
	} else if (str_to_i64(eq + 1, &n)) {
		v = QTY(n);
	}
	return run_rec_axis(r, name, eq + 1, unit, v) ? ST_OK : import_no_memory(e);
}

enum status import_begin(
	struct run_rec *r, const char *source, const struct import_opts *o, struct err *e)
{
	struct str label = STR_INIT;
	char id[17];
	bool good;
	enum status st = ST_OK;

	run_rec_init(r);
	run_id_make(id);
	str_addf(&label, "import:%s", source);
	good = !label.failed && rec_set(&r->run_id, id) && rec_set(&r->source, str_cstr(&label)) &&
	       rec_set(&r->workload, o->workload) && rec_set(&r->domain, o->domain) &&
	       rec_set(&r->version, WATTLAW_VERSION);
	str_release(&label);
	r->state = RUN_DONE;
	if (!good)
		st = import_no_memory(e);
	for (size_t i = 0; i < o->n_axes && !st; i++)
		st = add_axis(r, o->axes[i], e);
	if (st)
		run_rec_release(r);
	return st;
}

enum status import_end(struct run_rec *r, struct import_sink *sink, struct err *e)
{
	enum status st = sink->run ? sink->run(sink->arg, r, e) : ST_OK;

	sink->n += !st;
	run_rec_release(r);
	return st;
}

int import_column(const struct csv *c, const struct import_opts *o, const char *const *names)
{
	for (size_t i = 0; names[i]; i++) {
		for (size_t m = 0; m < o->n_map; m++) {
			const char *eq = strrchr(o->map[m], '=');
			char theirs[256];

			if (!eq || strcmp(eq + 1, names[i]) != 0)
				continue;
			snprintf(theirs, sizeof(theirs), "%.*s", (int)(eq - o->map[m]), o->map[m]);
			return csv_column(c, theirs);
		}
	}
	for (size_t i = 0; names[i]; i++) {
		int col = csv_column(c, names[i]);

		if (col >= 0)
			return col;
	}
	return -1;
}

struct qty import_outside(enum unit unit, double v)
{
	static const double per[UNIT_COUNT] = {1, 1e3, 1e6, 1e3, 1e9, 1e4, 1, 1e3};

	/* Written so that NAN fails. */
	if (!(fabs(v) * per[unit] < 9.2e18))
		return QTY_NONE(ST_RANGE);
	return QTY(unit_from_outside(unit, v));
}

/* "56.12 W", but not "56.12" or a word */
static bool has_unit(const char *field)
{
	size_t n = strspn(field, "0123456789.,+-eE ");

	return n && field[n];
}

enum status import_qty(const struct csv *c, int col, enum unit unit, const char *bare,
	struct qty *out, struct err *e)
{
	char head[32], text[160];
	struct err why = ERR_INIT;
	const char *field = csv_text(c, col);
	enum status st;
	double v;

	*out = QTY_NONE(ST_UNKNOWN);
	if (col < 0 || csv_missing(c, col))
		return ST_OK;
	if (has_unit(field)) {
		snprintf(text, sizeof(text), "%s", field);
		for (char *p = text; *p && c->sep != ','; p++)
			*p = *p == ',' ? '.' : *p;
		if (unit_parse(unit, text, &out->v, &why))
			return csv_bad(c, col, e, "%s", why.msg);
		out->st = ST_OK;
		return ST_OK;
	}
	st = csv_double(c, col, &v, e);
	if (st)
		return st;
	csv_column_unit(c, col, head, sizeof(head));
	if (!*head && !bare) {
		*out = import_outside(unit, v);
		return out->st ? csv_bad(c, col, e, "'%s' is out of range", field) : ST_OK;
	}
	/* A double from a file may have any length: keep what a unit can need. */
	snprintf(text, sizeof(text), "%.12g%s", v, *head ? head : bare);
	if (unit_parse(unit, text, &out->v, &why))
		return csv_bad(c, col, e, "%s", why.msg);
	out->st = ST_OK;
	return ST_OK;
}

struct put_arg {
	struct store *s;
	const struct import_sink *sink;
	int64_t campaign;
	const char *name;
};

static enum status put_run(void *arg, const struct run_rec *r, struct err *e)
{
	struct put_arg *a = arg;
	/* The record is borrowed const; its order is that of the file. */
	struct run_rec copy = *r;

	copy.order = a->sink->n < INT32_MAX ? (int)a->sink->n : INT32_MAX;
	copy.campaign = (char *)a->name;
	return store_put(a->s, a->campaign, &copy, e);
}

void import_result_release(struct import_result *r)
{
	campaign_info_release(&r->campaign);
	mem_free(r->ignored);
	memset(r, 0, sizeof(*r));
}

/* What the campaign is called: "dir/power_clock.csv" → "power_clock", unless the user says. */
static enum status name_of(
	const char *path, const struct import_opts *o, struct str *out, struct err *e)
{
	const char *base = strrchr(path, '/');
	const char *dot;

	base = o->campaign ? o->campaign : base && base[1] ? base + 1 : path;
	dot = o->campaign ? NULL : strrchr(base, '.');
	str_addn(out, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
	return out->failed ? import_no_memory(e) : ST_OK;
}

/* What a file cannot say: which repeat a row is, and which setting is the default. The highest
 * value of every knob in a block stands for the default, since limits and clocks come down from
 * there. */
static enum status finish(struct store *s, int64_t campaign, bool has_repeats, struct err *e)
{
	static const char repeats[] =
		"UPDATE run SET repeat = n.k FROM (SELECT id, row_number() OVER (PARTITION BY "
		"workload, setting ORDER BY id) - 1 AS k FROM run WHERE campaign_id = %lld) n "
		"WHERE run.id = n.id";
	/* The list is made before the first row changes. */
	static const char baseline[] =
		"UPDATE run SET baseline = 1 WHERE id IN (SELECT r.id FROM run r WHERE "
		"r.campaign_id = %1$lld AND NOT EXISTS (SELECT 1 FROM run b WHERE b.campaign_id = "
		"%1$lld AND b.workload IS r.workload AND b.block = r.block AND b.baseline) AND "
		"EXISTS "
		"(SELECT 1 FROM run_axis a WHERE a.run = r.id AND a.name IN " KNOBS ") AND NOT "
		"EXISTS (SELECT 1 FROM run_axis a JOIN run o ON o.campaign_id = %1$lld AND "
		"o.workload "
		"IS r.workload AND o.block = r.block JOIN run_axis oa ON oa.run = o.id AND oa.name "
		"= "
		"a.name WHERE a.run = r.id AND a.name IN " KNOBS " AND oa.number > a.number))";
	char sql[1024];
	enum status st = ST_OK;

	if (!has_repeats) {
		snprintf(sql, sizeof(sql), repeats, (long long)campaign);
		st = sql_exec(s, sql, e);
	}
	if (!st) {
		snprintf(sql, sizeof(sql), baseline, (long long)campaign);
		st = sql_exec(s, sql, e);
	}
	return st;
}

/* The file through its format into the sink. */
static enum status read_runs(const struct import_format *f, const char *path,
	const struct import_opts *opts, struct import_sink *sink, struct err *e)
{
	struct str text = STR_INIT, name = STR_INIT;
	struct import_opts o = *opts;
	enum status st = name_of(path, opts, &name, e);

	if (!o.workload)
		o.workload = str_cstr(&name);
	if (!st)
		st = file_read(path, 512, "a file to import", &text, e);
	if (!st)
		st = f->read(path, str_cstr(&text), text.len, &o, sink, e);
	if (!st && !sink->n)
		st = err_set(e, ST_INVALID, "%s: holds no measurements", path);
	str_release(&text);
	str_release(&name);
	return st;
}

enum status import_check(const struct import_format *f, const char *path,
	const struct import_opts *opts, struct err *e)
{
	struct import_sink sink = {.run = NULL};
	enum status st = read_runs(f, path, opts, &sink, e);

	str_release(&sink.ignored);
	return st;
}

enum status store_import(struct store *s, const struct import_format *f, const char *path,
	const struct import_opts *opts, struct import_result *out, struct err *e)
{
	struct str name = STR_INIT, options = STR_INIT;
	struct import_sink sink = {.run = put_run};
	struct put_arg put = {.s = s, .sink = &sink};
	bool begun = false;
	enum status st = name_of(path, opts, &name, e);

	memset(out, 0, sizeof(*out));
	sink.arg = &put;
	str_addf(&options, "format=%s file=%s baseline=highest", f->name, path);
	if (!st && options.failed)
		st = import_no_memory(e);
	if (!st)
		st = store_begin(s, e);
	if (st)
		goto out;
	begun = true;
	st = store_campaign_begin(s, str_cstr(&name), NULL, str_cstr(&options), 0, false, "import",
		&out->campaign, e);
	if (st)
		goto out;
	put.campaign = out->campaign.id;
	put.name = out->campaign.name;
	st = read_runs(f, path, opts, &sink, e);
	if (!st)
		st = finish(s, put.campaign, sink.has_repeats, e);
	if (!st)
		st = store_campaign_points(s, put.campaign, sink.n, e);
	if (st)
		goto out;
	st = store_commit(s, e);
	begun = false;
	out->runs = sink.n;
	if (sink.ignored.len)
		out->ignored = str_take(&sink.ignored);
out:
	if (begun)
		store_rollback(s);
	if (st)
		import_result_release(out);
	str_release(&sink.ignored);
	str_release(&name);
	str_release(&options);
	return st;
}
