#include "base/csv.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/str.h"

#define MAX_COLUMNS 4096
#define MAX_FIELD   ((size_t)1 << 20)

/* Append one code point as UTF-8. */
static void add_utf8(struct str *s, unsigned cp)
{
	if (cp < 0x80) {
		str_addc(s, (char)cp);
	} else if (cp < 0x800) {
		str_addc(s, (char)(0xc0 | cp >> 6));
		str_addc(s, (char)(0x80 | (cp & 0x3f)));
	} else if (cp < 0x10000) {
		str_addc(s, (char)(0xe0 | cp >> 12));
		str_addc(s, (char)(0x80 | (cp >> 6 & 0x3f)));
		str_addc(s, (char)(0x80 | (cp & 0x3f)));
	} else {
		str_addc(s, (char)(0xf0 | cp >> 18));
		str_addc(s, (char)(0x80 | (cp >> 12 & 0x3f)));
		str_addc(s, (char)(0x80 | (cp >> 6 & 0x3f)));
		str_addc(s, (char)(0x80 | (cp & 0x3f)));
	}
}

static unsigned unit16(const unsigned char *p, bool big)
{
	return big ? (unsigned)(p[0] << 8 | p[1]) : (unsigned)(p[1] << 8 | p[0]);
}

/* Spreadsheet programs and PowerShell redirection write UTF-16; a NUL in one of the first two bytes
 * gives it away when the mark is missing. */
static enum status to_utf8(struct csv *c, const char *text, size_t len, struct err *e)
{
	const unsigned char *p = (const unsigned char *)text;
	struct str s = STR_INIT;
	bool big, wide = true;
	size_t i = 0;

	if (len >= 2 && p[0] == 0xff && p[1] == 0xfe) {
		big = false;
		i = 2;
	} else if (len >= 2 && p[0] == 0xfe && p[1] == 0xff) {
		big = true;
		i = 2;
	} else if (len >= 2 && (p[0] == 0) != (p[1] == 0)) {
		big = p[0] == 0;
	} else {
		wide = big = false;
		if (len >= 3 && !memcmp(p, "\xef\xbb\xbf", 3))
			i = 3;
	}
	if (!wide) {
		str_addn(&s, text + i, len - i);
	} else {
		for (; i + 1 < len; i += 2) {
			unsigned cp = unit16(p + i, big);

			if (cp >= 0xd800 && cp < 0xdc00 && i + 3 < len) {
				unsigned low = unit16(p + i + 2, big);

				if (low >= 0xdc00 && low < 0xe000) {
					cp = 0x10000 + ((cp - 0xd800) << 10) + (low - 0xdc00);
					i += 2;
				}
			}
			add_utf8(&s, cp);
		}
	}
	if (s.failed) {
		str_release(&s);
		return err_set(e, ST_NOMEM, "%s: out of memory", c->file);
	}
	c->len = s.len;
	c->text = s.p ? str_take(&s) : mem_strdup("");
	if (!c->text)
		return err_set(e, ST_NOMEM, "%s: out of memory", c->file);
	if (memchr(c->text, 0, c->len))
		return err_set(e, ST_INVALID, "%s: contains NUL bytes; expected text", c->file);
	return ST_OK;
}

/* The separator that splits the first line into the most fields. */
static char detect_separator(const char *text, size_t len)
{
	static const char candidates[] = ",;\t|";
	size_t count[sizeof(candidates)] = {0}, best = 0;
	bool quoted = false;

	for (size_t i = 0; i < len && (quoted || text[i] != '\n'); i++) {
		const char *hit;

		if (text[i] == '"')
			quoted = !quoted;
		hit = quoted ? NULL : strchr(candidates, text[i]);
		if (hit && *hit)
			count[hit - candidates]++;
	}
	for (size_t k = 1; candidates[k]; k++)
		if (count[k] > count[best])
			best = k;
	return candidates[best];
}

static bool line_is_skipped(const struct csv *c, size_t pos)
{
	while (pos < c->len && (c->text[pos] == ' ' || c->text[pos] == '\r'))
		pos++;
	return pos < c->len && (c->text[pos] == '\n' || c->text[pos] == '#');
}

static void skip_lines(struct csv *c)
{
	while (c->pos < c->len && line_is_skipped(c, c->pos)) {
		char *nl = memchr(c->text + c->pos, '\n', c->len - c->pos);

		c->pos = nl ? (size_t)(nl - c->text) + 1 : c->len;
		c->next_line++;
	}
}

/* Parse one field in place at c->pos; leaves c->pos after its separator. *last is set at the end
 * of the row. */
static enum status take_field(struct csv *c, bool *last, struct err *e)
{
	char *start = c->text + c->pos, *end = c->text + c->len, *in = start, *out = start;
	bool was_quoted = false;

	while (in < end && *in == ' ' && c->sep != ' ')
		in++;
	if (in < end && *in == '"') {
		was_quoted = true;
		for (in++; in < end; in++) {
			if (*in == '"' && in + 1 < end && in[1] == '"')
				in++;
			else if (*in == '"')
				break;
			if (*in == '\n')
				c->next_line++;
			*out++ = *in;
		}
		if (in == end)
			return err_at(
				e, c->file, c->line, 0, "quoted field without its closing '\"'");
		in++;
		while (in < end && (*in == ' ' || *in == '\r'))
			in++;
		if (in < end && *in != c->sep && *in != '\n')
			return err_at(e, c->file, c->line, 0,
				"text after the closing '\"' of field %zu", c->n_row + 1);
	} else {
		start = in;
		while (in < end && *in != c->sep && *in != '\n')
			in++;
		out = in;
	}
	if ((size_t)(out - start) > MAX_FIELD)
		return err_at(
			e, c->file, c->line, 0, "field %zu is longer than 1 MiB", c->n_row + 1);
	*last = in >= end || *in == '\n';
	c->next_line += in < end && *in == '\n';
	c->pos = (size_t)(in - c->text) + (in < end);
	if (c->n_row >= MAX_COLUMNS)
		return err_at(e, c->file, c->line, 0, "more than %d columns", MAX_COLUMNS);
	if (!mem_grow(
		    (void **)&c->row, &c->cap_row, c->n_row + 1, sizeof(*c->row), MAX_COLUMNS + 1))
		return err_set(e, ST_NOMEM, "%s: out of memory", c->file);
	*out = '\0'; /* the separator, the quote or the terminator was here */
	c->row[c->n_row++] = was_quoted ? start : str_trim(start);
	return ST_OK;
}

static enum status take_row(struct csv *c, struct err *e)
{
	enum status st;
	bool last = false;

	skip_lines(c);
	c->n_row = 0;
	c->line = c->next_line;
	if (c->pos >= c->len)
		return ST_NOT_FOUND;
	while (!last) {
		st = take_field(c, &last, e);
		if (st)
			return st;
	}
	return ST_OK;
}

static enum status open_text(struct csv *c, const char *file, const char *text, size_t len,
	char sep, bool header, struct err *e)
{
	enum status st;

	memset(c, 0, sizeof(*c));
	c->next_line = 1;
	c->file = mem_strdup(file);
	if (!c->file)
		return err_set(e, ST_NOMEM, "out of memory");
	st = to_utf8(c, text, len, e);
	if (st)
		goto out;
	skip_lines(c);
	c->sep = sep ? sep : detect_separator(c->text + c->pos, c->len - c->pos);
	if (!header)
		return ST_OK;
	st = take_row(c, e);
	if (st == ST_NOT_FOUND)
		st = err_set(e, ST_INVALID, "%s: empty; expected a header line with column names",
			c->file);
	if (st)
		goto out;
	c->head = mem_calloc(c->n_row, sizeof(*c->head));
	if (!c->head) {
		st = err_set(e, ST_NOMEM, "%s: out of memory", c->file);
		goto out;
	}
	memcpy(c->head, c->row, c->n_row * sizeof(*c->head));
	c->n_head = c->n_row;
	c->n_row = 0;
	return ST_OK;
out:
	csv_release(c);
	return st;
}

enum status csv_open_text(
	struct csv *c, const char *file, const char *text, size_t len, char sep, struct err *e)
{
	return open_text(c, file, text, len, sep, true, e);
}

enum status csv_open_headless(
	struct csv *c, const char *file, const char *text, size_t len, char sep, struct err *e)
{
	return open_text(c, file, text, len, sep, false, e);
}

enum status csv_open_file(struct csv *c, const char *path, char sep, struct err *e)
{
	struct str s = STR_INIT;
	enum status st = file_read(path, 1024, "a CSV file", &s, e);

	memset(c, 0, sizeof(*c));
	if (!st)
		st = open_text(c, path, str_cstr(&s), s.len, sep, true, e);
	str_release(&s);
	return st;
}

void csv_release(struct csv *c)
{
	mem_free(c->file);
	mem_free(c->text);
	mem_free(c->head);
	mem_free(c->row);
	memset(c, 0, sizeof(*c));
}

enum status csv_next(struct csv *c, struct err *e)
{
	enum status st = take_row(c, e);

	if (!st && c->n_head && c->n_row > c->n_head) {
		/* A separator at the end of the line is common and harmless. */
		if (c->n_row == c->n_head + 1 && !c->row[c->n_head][0]) {
			c->n_row--;
			return ST_OK;
		}
		return err_at(e, c->file, c->line, 0, "%zu fields, but the header has %zu columns",
			c->n_row, c->n_head);
	}
	return st;
}

/* Compare a header with a wanted name, both reduced: lower case, '_' for inner space, no unit. */
static bool name_matches(const char *head, const char *want)
{
	for (;; head++, want++) {
		char h = *head, w = *want;

		if (!w)
			return !*(head + strspn(head, " ")) || h == '[' || h == '(' ||
			       (h == ' ' && strchr("[(", head[strspn(head, " ")]));
		h = h == ' ' ? '_' : (char)tolower((unsigned char)h);
		w = w == ' ' ? '_' : (char)tolower((unsigned char)w);
		if (h != w)
			return false;
	}
}

int csv_column(const struct csv *c, const char *name)
{
	for (size_t i = 0; i < c->n_head; i++)
		if (name_matches(c->head[i], name))
			return (int)i;
	return -1;
}

enum status csv_need(const struct csv *c, const char *name, int *out, struct err *e)
{
	const char *near = NULL;
	char bare[128];

	*out = csv_column(c, name);
	if (*out >= 0)
		return ST_OK;
	for (size_t i = 0; i < c->n_head && !near; i++) {
		const char *candidate[1] = {bare};

		snprintf(bare, sizeof(bare), "%.*s", (int)strcspn(c->head[i], "[("), c->head[i]);
		if (str_nearest(name, candidate, 1))
			near = c->head[i];
	}
	if (near)
		return err_at(e, c->file, 1, 0, "no column '%s'; did you mean '%s'?", name, near);
	return err_at(e, c->file, 1, 0, "no column '%s' among the %zu columns of the header", name,
		c->n_head);
}

const char *csv_column_unit(const struct csv *c, int col, char *buf, size_t size)
{
	const char *open = NULL, *close = NULL;

	buf[0] = '\0';
	if (col >= 0 && (size_t)col < c->n_head) {
		open = strpbrk(c->head[col], "[(");
		close = open ? strpbrk(open, "])") : NULL;
	}
	if (close)
		snprintf(buf, size, "%.*s", (int)(close - open - 1), open + 1);
	return buf;
}

const char *csv_text(const struct csv *c, int col)
{
	return col < 0 || (size_t)col >= c->n_row ? "" : c->row[col];
}

bool csv_missing(const struct csv *c, int col)
{
	static const char *const words[] = {"n/a", "na", "nan", "null", "none", "-", "--",
		"not supported", "not available", "unknown error", "unknown",
		"requested functionality has been deprecated", "gpu is lost",
		"insufficient permissions", "not found"};
	const char *t = csv_text(c, col);
	size_t n = strlen(t);

	if (n >= 2 && t[0] == '[' && t[n - 1] == ']') {
		t++;
		n -= 2;
	}
	if (!n)
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strlen(words[i]) == n && !strncasecmp(t, words[i], n))
			return true;
	return false;
}

enum status csv_bad(const struct csv *c, int col, struct err *e, const char *fmt, ...)
{
	char msg[384];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	if (col >= 0 && (size_t)col < c->n_head)
		return err_at(e, c->file, c->line, 0, "column '%s': %s", c->head[col], msg);
	return err_at(e, c->file, c->line, 0, "%s", msg);
}

enum status csv_double(const struct csv *c, int col, double *out, struct err *e)
{
	const char *t = csv_text(c, col);
	char num[64];
	size_t n;

	if (csv_missing(c, col))
		return ST_UNKNOWN;
	n = strcspn(t, " ");
	if (n >= sizeof(num))
		return csv_bad(c, col, e, "'%.40s…' is not a number", t);
	memcpy(num, t, n);
	num[n] = '\0';
	if (c->sep != ',') {
		char *comma = strchr(num, ',');

		if (comma && !strchr(num, '.'))
			*comma = '.';
	}
	/* "250W" and "97%" are written by tools that glue the unit on. */
	if (!str_to_double(num, out)) {
		size_t digits = strspn(num, "+-.0123456789eE");

		num[digits] = '\0';
		if (!digits || strspn(t + digits, "%WJCMHzkmuibBsGPa/") != n - digits ||
			!str_to_double(num, out))
			return csv_bad(c, col, e, "'%.40s' is not a number", t);
	}
	return ST_OK;
}

enum status csv_int(const struct csv *c, int col, int64_t *out, struct err *e)
{
	long long v;
	double d = 0;
	enum status st;

	if (csv_missing(c, col))
		return ST_UNKNOWN;
	if (str_to_i64(csv_text(c, col), &v)) {
		*out = v;
		return ST_OK;
	}
	st = csv_double(c, col, &d, e);
	if (st)
		return st;
	if (d != rint(d) || fabs(d) > 9e15)
		return csv_bad(c, col, e, "'%.40s' is not a whole number", csv_text(c, col));
	*out = (int64_t)d;
	return ST_OK;
}
