#include "sim/site_trace.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/csv.h"
#include "base/ini.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/units.h"

#define MAX_JOBS      ((size_t)100 * 1000 * 1000)
#define MAX_TIME_S    1e12 /* beyond it seconds lose their fractions */
#define MAX_RUNTIME_S 3.2e9 /* a hundred years */

struct columns {
	bool sacct;
	int id, submit, start, runtime, elapsed, gpus, tres, cls;
};

/* What sacct writes where it does not know. */
static bool says_nothing(const char *t)
{
	static const char *const words[] = {"Unknown", "None", "INVALID"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(t, words[i]))
			return true;
	return false;
}

/* Seconds since the epoch; plain seconds are taken as they are. ST_UNKNOWN when the field says so.
 */
static enum status read_time(const struct csv *c, int col, double *out, struct err *e)
{
	const char *t = csv_text(c, col);
	struct tm tm = {0};
	int used = 0, day;

	if (csv_missing(c, col) || says_nothing(t))
		return ST_UNKNOWN;
	if (sscanf(t, "%d-%d-%d%*1[T ]%d:%d:%d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
		    &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &used) == 6 &&
		!t[used]) {
		if (tm.tm_mon < 1 || tm.tm_mon > 12 || tm.tm_mday < 1 || tm.tm_mday > 31 ||
			tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
			return csv_bad(c, col, e, "'%.40s' is not a time", t);
		tm.tm_year -= 1900;
		tm.tm_mon -= 1;
		day = tm.tm_mday;
		*out = (double)timegm(&tm);
		/* timegm carries a 31st of February over into March */
		return day == tm.tm_mday ? ST_OK : csv_bad(c, col, e, "'%.40s' is not a date", t);
	}
	if (str_to_double(t, out))
		return fabs(*out) <= MAX_TIME_S ? ST_OK
						: csv_bad(c, col, e, "'%.40s' is no time", t);
	return csv_bad(
		c, col, e, "'%.40s' is not a time; expected seconds or 2026-01-31T12:00:00", t);
}

/* Slurm's [days-]hours:minutes:seconds, or plain seconds. */
static enum status read_elapsed(const struct csv *c, int col, double *out, struct err *e)
{
	const char *t = csv_text(c, col);
	int d = 0, h = 0, m = 0, used = 0;
	double s = 0;

	if (csv_missing(c, col) || says_nothing(t))
		return ST_UNKNOWN;
	if (str_to_double(t, out)) {
		if (*out >= 0 && *out <= MAX_RUNTIME_S)
			return ST_OK;
		return csv_bad(c, col, e, "'%.40s' is %s", t,
			*out < 0 ? "negative" : "longer than any job");
	}
	if (strchr(t, '-') && sscanf(t, "%d-%d:%d:%lf%n", &d, &h, &m, &s, &used) == 4 && !t[used])
		;
	else if (d = 0, sscanf(t, "%d:%d:%lf%n", &h, &m, &s, &used) == 3 && !t[used])
		;
	else if (h = 0, sscanf(t, "%d:%lf%n", &m, &s, &used) == 2 && !t[used])
		;
	else
		return csv_bad(
			c, col, e, "'%.40s' is not a duration; expected seconds or 1-02:03:04", t);
	if (d < 0 || h < 0 || m < 0 || s < 0)
		return csv_bad(c, col, e, "'%.40s' is negative", t);
	*out = ((d * 24.0 + h) * 60 + m) * 60 + s;
	if (*out > MAX_RUNTIME_S)
		return csv_bad(c, col, e, "'%.40s' is longer than any job", t);
	return ST_OK;
}

/* The plain gres/gpu=N of AllocTRES; typed entries (gres/gpu:a100=4) only when there is no plain
 * one. */
static int64_t tres_gpus(const char *tres)
{
	int64_t typed = 0;

	for (const char *p = tres; (p = strstr(p, "gres/gpu")); p += 8) {
		const char *eq = strchr(p, '='), *end = strchr(p, ',');
		int64_t n = 0;

		if (!eq || (end && eq > end))
			continue;
		for (eq++; isdigit((unsigned char)*eq) && n < INT32_MAX; eq++)
			n = n * 10 + (*eq - '0');
		if (p[8] == '=')
			return n;
		typed += n;
	}
	return typed;
}

static enum status find_columns(const struct csv *c, struct columns *k, struct err *e)
{
	enum status st;

	k->sacct = csv_column(c, "AllocTRES") >= 0 || csv_column(c, "JobID") >= 0;
	k->id = csv_column(c, k->sacct ? "JobID" : "job");
	k->start = csv_column(c, "start");
	k->gpus = csv_column(c, k->sacct ? "NGPUS" : "gpus");
	k->tres = csv_column(c, "AllocTRES");
	k->cls = csv_column(c, k->sacct ? "JobName" : "class");
	k->elapsed = csv_column(c, "ElapsedRaw");
	if (k->elapsed < 0)
		k->elapsed = csv_column(c, "elapsed");
	k->runtime = csv_column(c, "runtime");
	st = csv_need(c, "submit", &k->submit, e);
	if (!st && k->runtime < 0 && k->elapsed < 0)
		st = csv_need(c, k->sacct ? "Elapsed" : "runtime", &k->runtime, e);
	if (!st && k->gpus < 0 && k->tres < 0)
		st = csv_need(c, k->sacct ? "AllocTRES" : "gpus", &k->gpus, e);
	return st;
}

static enum status class_index(struct site_trace *t, const char *name, int32_t *out, struct err *e)
{
	/* Traces are sorted by user in practice: the last class comes again. */
	for (size_t i = t->n_classes; i-- > 0;) {
		if (!strncmp(t->classes[i], name, sizeof(t->classes[0]) - 1)) {
			*out = (int32_t)i;
			return ST_OK;
		}
	}
	if (!mem_grow((void **)&t->classes, &t->cap_classes, t->n_classes + 1, sizeof(*t->classes),
		    100000))
		return err_set(e, ST_NOMEM, "out of memory or more than 100000 classes");
	snprintf(t->classes[t->n_classes], sizeof(t->classes[0]), "%s", name);
	*out = (int32_t)t->n_classes++;
	return ST_OK;
}

/* One row. ST_AGAIN: rightly left out. */
static enum status read_job(const struct csv *c, const struct columns *k, struct site_trace *t,
	struct site_job *j, struct err *e)
{
	int64_t gpus = 0;
	enum status st;
	int col = k->runtime >= 0 ? k->runtime : k->elapsed;

	if (k->sacct && strchr(csv_text(c, k->id), '.'))
		return ST_AGAIN; /* a step of a job that has its own row */
	st = k->gpus >= 0 ? csv_int(c, k->gpus, &gpus, e) : ST_OK;
	if (k->gpus < 0)
		gpus = tres_gpus(csv_text(c, k->tres));
	if (st == ST_INVALID)
		return st;
	if (st || gpus == 0)
		return ST_AGAIN;
	if (gpus < 0 || gpus > INT32_MAX)
		return csv_bad(c, k->gpus >= 0 ? k->gpus : k->tres, e,
			"'%.60s' is not a number of GPUs",
			csv_text(c, k->gpus >= 0 ? k->gpus : k->tres));
	j->gpus = (int32_t)gpus;
	j->line = c->line > INT32_MAX ? 0 : (int32_t)c->line;
	st = read_time(c, k->submit, &j->submit_s, e);
	if (st == ST_UNKNOWN)
		return csv_bad(c, k->submit, e, "empty; every job needs its submit time");
	if (st)
		return st;
	st = read_elapsed(c, col, &j->runtime_s, e);
	if (st == ST_UNKNOWN)
		return k->sacct ? ST_AGAIN
				: csv_bad(c, col, e, "empty; every job needs its running time");
	if (st)
		return st;
	j->start_s = NAN;
	st = read_time(c, k->start, &j->start_s, e);
	if (st == ST_UNKNOWN && k->sacct && k->start >= 0)
		return ST_AGAIN; /* never started */
	if (st && st != ST_UNKNOWN)
		return st;
	if (j->start_s < j->submit_s)
		return csv_bad(c, k->start, e, "the job starts before it is submitted");
	return class_index(t, csv_missing(c, k->cls) ? "*" : csv_text(c, k->cls), &j->cls, e);
}

static enum status read_rows(struct csv *c, struct site_trace *out, struct err *e)
{
	struct columns k;
	size_t with_start = 0;
	enum status st = find_columns(c, &k, e);

	while (!st) {
		struct site_job j = {0};

		st = csv_next(c, e);
		if (st == ST_NOT_FOUND)
			break;
		if (!st)
			st = read_job(c, &k, out, &j, e);
		if (st == ST_AGAIN) {
			out->n_left_out++;
			st = ST_OK;
			continue;
		}
		if (!st && !mem_grow((void **)&out->jobs, &out->cap, out->n + 1, sizeof(*out->jobs),
				   MAX_JOBS))
			st = err_set(
				e, ST_NOMEM, "%s: out of memory at job %zu", c->file, out->n + 1);
		if (!st) {
			out->jobs[out->n++] = j;
			with_start += !isnan(j.start_s);
		}
	}
	if (st != ST_NOT_FOUND)
		return st;
	if (!out->n)
		return err_set(e, ST_INVALID, "%s: no job with a GPU in it (%zu rows left out)",
			c->file, out->n_left_out);
	if (with_start && with_start != out->n)
		return err_set(e, ST_INVALID,
			"%s: %zu of %zu jobs have a start time; expected all or none", c->file,
			with_start, out->n);
	out->has_starts = with_start > 0;
	return ST_OK;
}

static void shift_times(struct site_trace *t)
{
	t->t0_s = t->jobs[0].submit_s;
	for (size_t i = 1; i < t->n; i++)
		if (t->jobs[i].submit_s < t->t0_s)
			t->t0_s = t->jobs[i].submit_s;
	for (size_t i = 0; i < t->n; i++) {
		t->jobs[i].submit_s -= t->t0_s;
		t->jobs[i].start_s -= t->t0_s;
	}
}

static enum status finish(struct csv *c, enum status st, struct site_trace *out, struct err *e)
{
	if (!st)
		st = read_rows(c, out, e);
	csv_release(c);
	if (st)
		site_trace_release(out);
	else
		shift_times(out);
	return st;
}

enum status site_trace_read(const char *path, struct site_trace *out, struct err *e)
{
	struct csv c;

	memset(out, 0, sizeof(*out));
	return finish(&c, csv_open_file(&c, path, 0, e), out, e);
}

enum status site_trace_parse(
	const char *file, const char *text, size_t len, struct site_trace *out, struct err *e)
{
	struct csv c;

	memset(out, 0, sizeof(*out));
	return finish(&c, csv_open_text(&c, file, text, len, 0, e), out, e);
}

void site_trace_release(struct site_trace *t)
{
	mem_free(t->jobs);
	mem_free(t->classes);
	memset(t, 0, sizeof(*t));
}

/* One list of a class section into v (outside units). */
static enum status read_list(struct ini *ini, struct ini_section *s, const char *key,
	enum unit unit, double *v, size_t *n, struct err *e)
{
	struct ini_entry *entry = ini_get(s, key);
	struct ini_list list;
	enum status st;

	*n = 0;
	if (!entry)
		return ST_NOT_FOUND;
	st = ini_list(ini, entry, &list, e);
	if (st)
		return st;
	for (size_t i = 0; i < list.n && !st; i++) {
		int64_t raw = 0;
		struct err why = ERR_INIT;

		if (i >= SITE_MAX_POINTS)
			st = err_at(e, ini->file, entry->line, list.cols[i], "more than %d points",
				SITE_MAX_POINTS);
		else if (unit == UNIT_NONE && !str_to_double(list.items[i], &v[i]))
			st = err_at(e, ini->file, entry->line, list.cols[i],
				"'%s' is not a number; expected running time relative to the "
				"default, as 1.25",
				list.items[i]);
		else if (unit != UNIT_NONE && unit_parse(unit, list.items[i], &raw, &why))
			st = err_at(e, ini->file, entry->line, list.cols[i], "%s", why.msg);
		else if (unit != UNIT_NONE)
			v[i] = unit_to_outside(unit, raw);
	}
	*n = list.n;
	ini_list_release(&list);
	return st;
}

static enum status read_class(
	struct ini *ini, struct ini_section *s, struct site_class *c, struct err *e)
{
	static const char *const keys[] = {"power_limit", "time", "power", "p95"};
	double *const to[] = {c->cap_w, c->time_ratio, c->power_w, c->p95_w};
	static const enum unit units[] = {UNIT_POWER, UNIT_NONE, UNIT_POWER, UNIT_POWER};

	snprintf(c->name, sizeof(c->name), "%s", s->arg);
	for (int k = 0; k < 4; k++) {
		size_t n;
		enum status st = read_list(ini, s, keys[k], units[k], to[k], &n, e);

		if (st == ST_NOT_FOUND && k == 3)
			break; /* without p95 the cap stands for it */
		if (st == ST_NOT_FOUND)
			return err_at(e, ini->file, s->line, 0, "[class %s] has no '%s'", s->arg,
				keys[k]);
		if (st)
			return st;
		if (k && n != c->n)
			return err_at(e, ini->file, s->line, 0,
				"[class %s]: %zu values of '%s' for %zu of 'power_limit'", s->arg,
				n, keys[k], c->n);
		c->n = n;
	}
	return ST_OK;
}

static enum status classes_from(
	struct ini *ini, const struct site_trace *trace, struct site_class *out, struct err *e)
{
	static const char *const known[] = {"power_limit", "time", "power", "p95"};
	struct ini_section *s, *any;
	enum status st = ST_OK;

	for (size_t i = 0; i < trace->n_classes && !st; i++) {
		any = NULL;
		memset(&out[i], 0, sizeof(out[i]));
		for (size_t k = 0; (s = ini_section(ini, "class", k)); k++) {
			if (!strcmp(s->arg, trace->classes[i]))
				break;
			if (!strcmp(s->arg, "*"))
				any = s;
		}
		s = s ? s : any;
		if (!s)
			st = err_set(e, ST_INVALID,
				"%s: no [class %s] and no [class *] for jobs of that class",
				ini->file, trace->classes[i]);
		else
			st = read_class(ini, s, &out[i], e);
		snprintf(out[i].name, sizeof(out[i].name), "%s", trace->classes[i]);
	}
	/* Sections that no job needs are read too, so that their mistakes are found. */
	for (size_t k = 0; !st && (s = ini_section(ini, "class", k)); k++)
		st = read_class(ini, s, &(struct site_class){0}, e);
	if (!st)
		st = ini_reject_unused(ini, known, 4, e);
	return st;
}

enum status site_classes_parse(const char *file, const char *text, size_t len,
	const struct site_trace *trace, struct site_class *out, struct err *e)
{
	struct ini ini;
	enum status st = ini_read_text(&ini, file, text, len, e);

	if (st)
		return st;
	st = classes_from(&ini, trace, out, e);
	ini_release(&ini);
	return st;
}

enum status site_classes_read(
	const char *path, const struct site_trace *trace, struct site_class *out, struct err *e)
{
	struct ini ini;
	enum status st = ini_read_file(&ini, path, e);

	if (st)
		return st;
	st = classes_from(&ini, trace, out, e);
	ini_release(&ini);
	return st;
}
