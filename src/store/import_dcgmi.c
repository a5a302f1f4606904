/* import_dcgmi.c: the table that `dcgmi dmon` prints: columns by name, units in the second line,
 * "N/A" and the blank values of DCGM left out. It has no times: rows of one entity are a period
 * apart, 1 s unless the axis "period" says otherwise (-L period=100ms). */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "store/import_series.h"

#define MAX_COLUMNS 64

struct dcgmi {
	const char *file;
	int line;
	size_t n; /* columns after the entity */
	enum channel ch[MAX_COLUMNS]; /* CH_COUNT = of no use here */
	char name[MAX_COLUMNS][16];
	int64_t period_ns;
	bool has_head;
};

/* Short names of dcgmi, and their units. */
static const struct {
	const char *name;
	enum channel ch;
	enum unit unit;
	const char *bare;
} fields[] = {
	{"POWER", CH_POWER, UNIT_POWER, "W"},
	{"TOTEC", CH_ENERGY, UNIT_ENERGY, "mJ"},
	{"TMPTR", CH_TEMP, UNIT_TEMP, "C"},
	{"GPUTL", CH_UTIL, UNIT_RATIO, "%"},
	{"MCUTL", CH_MEM_UTIL, UNIT_RATIO, "%"},
	{"SMCLK", CH_CLOCK, UNIT_FREQ, "MHz"},
	{"MMCLK", CH_MEM_CLOCK, UNIT_FREQ, "MHz"},
	{"FBUSD", CH_MEM_USED, UNIT_BYTES, "MiB"},
};
#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

static size_t field_of(enum channel ch)
{
	size_t i = 0;

	while (i < N_FIELDS && fields[i].ch != ch)
		i++;
	return i;
}

static enum status read_head(struct dcgmi *d, char *rest, struct err *e)
{
	char *save = NULL;
	bool any = false;

	d->n = 0;
	for (char *w = strtok_r(rest, " \t", &save); w; w = strtok_r(NULL, " \t", &save)) {
		size_t i = 0;

		if (d->n == MAX_COLUMNS)
			return err_at(e, d->file, d->line, 0, "more than %d columns", MAX_COLUMNS);
		while (i < N_FIELDS && strcmp(fields[i].name, w))
			i++;
		d->ch[d->n] = i < N_FIELDS ? fields[i].ch : CH_COUNT;
		any |= d->ch[d->n] == CH_POWER || d->ch[d->n] == CH_ENERGY;
		strncpy(d->name[d->n], w, sizeof(d->name[0]) - 1);
		d->name[d->n++][sizeof(d->name[0]) - 1] = '\0';
	}
	d->has_head = true;
	if (!any)
		return err_at(e, d->file, d->line, 0,
			"expected a column POWER (-e 155) or TOTEC (-e 156) of dcgmi dmon");
	return ST_OK;
}

static enum status read_value(struct dcgmi *d, struct run_rec *r, int dev, size_t col,
	const char *word, int64_t t_ns, struct err *e)
{
	size_t i = d->ch[col] == CH_COUNT ? N_FIELDS : field_of(d->ch[col]);
	struct err why = ERR_INIT;
	char text[64];
	double number;
	int64_t v;

	if (i == N_FIELDS || !strcmp(word, "N/A") || strlen(word) > 40)
		return ST_OK;
	/* DCGM's blank values: 2^47 and the top of 64 bits, whatever the unit. */
	if (str_to_double(word, &number) && number >= 140737488355328.0)
		return ST_OK;
	snprintf(text, sizeof(text), "%s%s", word, fields[i].bare);
	if (unit_parse(fields[i].unit, text, &v, &why))
		return err_at(e, d->file, d->line, 0, "column '%s': %s", d->name[col], why.msg);
	if (v < 0 && d->ch[col] != CH_TEMP)
		return err_at(
			e, d->file, d->line, 0, "column '%s': must not be negative", d->name[col]);
	return import_sample(r, dev, d->ch[col], t_ns, v) ? ST_OK : import_no_memory(e);
}

/* "GPU 0   56.1   123": the entity is two words. */
static enum status read_line(
	struct dcgmi *d, struct run_rec *r, int64_t *ticks, char *line, struct err *e)
{
	char *save = NULL, *kind = strtok_r(line, " \t", &save), *id = strtok_r(NULL, " \t", &save);
	char key[96];
	enum status st = ST_OK;
	size_t col = 0;
	int dev;

	if (!id || strlen(kind) + strlen(id) > 40)
		return err_at(
			e, d->file, d->line, 0, "expected an entity like 'GPU 0' and its values");
	snprintf(key, sizeof(key), "%s:%s", kind, id);
	dev = import_device(r, key, NULL, DEV_GPU);
	if (dev < 0)
		return import_no_memory(e);
	if (dev >= 1024)
		return err_at(e, d->file, d->line, 0, "more than 1024 entities");
	/* An instance lies inside its GPU, which has a row of its own. */
	r->devs[dev].counted = !strcmp(kind, "GPU");
	for (char *w = strtok_r(NULL, " \t", &save); w && !st;
		w = strtok_r(NULL, " \t", &save), col++) {
		if (col == d->n)
			return err_at(e, d->file, d->line, 0, "more values than columns");
		st = read_value(d, r, dev, col, w, ticks[dev] * d->period_ns, e);
	}
	ticks[dev]++;
	return st;
}

static enum status read_lines(struct dcgmi *d, struct run_rec *r, char *text, struct err *e)
{
	int64_t *ticks = mem_calloc(1025, sizeof(*ticks));
	char *save = NULL;
	enum status st = ST_OK;

	if (!ticks)
		return import_no_memory(e);

	/* strtok would skip empty lines and lose the count. */
	for (char *line = text; line && !st; line = save) {
		char *at;

		save = strchr(line, '\n');
		if (save)
			*save++ = '\0';
		d->line++;
		at = str_trim(line);
		if (!*at || str_starts(at, "ID"))
			continue;
		if (*at == '#') {
			at = str_trim(at + 1);
			if (!str_starts(at, "Entity"))
				continue;
			st = read_head(d, at + strlen("Entity"), e);
		} else if (!d->has_head) {
			st = err_at(e, d->file, d->line, 0,
				"expected the heading '#Entity …' of dcgmi dmon");
		} else {
			st = read_line(d, r, ticks, at, e);
		}
	}
	mem_free(ticks);
	return st;
}

static enum status read_dcgmi(const char *file, const char *text, size_t len,
	const struct import_opts *o, struct import_sink *sink, struct err *e)
{
	struct dcgmi d = {.file = file, .period_ns = NS_PER_S};
	struct run_rec r;
	const struct axis_val *period;
	char *copy;
	enum status st;

	if (memchr(text, 0, len))
		return err_at(e, file, 0, 0, "is not a text");
	st = import_begin(&r, "dcgmi", o, e);
	if (st)
		return st;
	copy = mem_strdup(text);
	if (!copy)
		st = import_no_memory(e);
	period = run_rec_axis_find(&r, "period");
	if (!st && period &&
		(unit_parse(UNIT_TIME, period->text, &d.period_ns, e) || d.period_ns <= 0))
		st = err_set(
			e, ST_INVALID, "-L period=%s: expected a time like 100ms", period->text);
	if (!st)
		st = read_lines(&d, &r, copy, e);
	if (!st && !period && !run_rec_warn(&r, "the log has no times: rows taken as 1 s apart"))
		st = import_no_memory(e);
	if (!st)
		st = import_series_finish(&r, file, e);
	mem_free(copy);
	if (st) {
		run_rec_release(&r);
		return st;
	}
	r.start_realtime_ns = 0;
	return import_end(&r, sink, e);
}

const struct import_format import_dcgmi = {
	.name = "dcgmi",
	.what = "the output of dcgmi dmon -e 155,156,… (1 s apart, or -L period=100ms)",
	.read = read_dcgmi,
};
