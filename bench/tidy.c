/* tidy.c: see tidy.h. */
#include "tidy.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define MAX_COLS 256

static char *slurp(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	char *p = NULL;
	size_t cap = 0, n = 0;

	if (!f)
		return NULL;
	for (;;) {
		size_t got;

		if (!mem_grow((void **)&p, &cap, n + 65536, 1, STR_MAX))
			break;
		got = fread(p + n, 1, cap - n - 1, f);
		n += got;
		if (got == 0)
			break;
	}
	if (ferror(f) || !p || n + 1 > cap) {
		mem_free(p);
		p = NULL;
	} else {
		p[n] = '\0';
		*len = n;
	}
	fclose(f);
	return p;
}

/* One field from *s, unquoted in place; *s moves past its separator. Returns the separator: ',' or
 * '\n' or 0 at the end. */
static char field(char **s, char **out)
{
	char *r = *s, *w = *s, sep;

	*out = w;
	if (*r == '"') {
		r++;
		while (*r && !(*r == '"' && r[1] != '"')) {
			if (*r == '"')
				r++;
			*w++ = *r++;
		}
		if (*r)
			r++;
	}
	while (*r && *r != ',' && *r != '\n')
		*w++ = *r++;
	if (w > *out && w[-1] == '\r')
		w--;
	sep = *r;
	*s = sep ? r + 1 : r;
	*w = '\0';
	return sep;
}

int tidy_read(const char *path, struct tidy *t, char *err, size_t size)
{
	size_t len = 0, cap = 0, n = 0;
	char *s, *names[MAX_COLS];
	long line = 1;

	memset(t, 0, sizeof(*t));
	t->bytes = slurp(path, &len);
	if (!t->bytes) {
		snprintf(err, size, "%s: %s", path, strerror(errno));
		return -1;
	}
	if (strlen(t->bytes) != len) {
		snprintf(err, size, "%s: holds a zero byte, so it is not CSV", path);
		goto fail;
	}
	s = t->bytes;
	if (!strncmp(s, "\xef\xbb\xbf", 3)) /* the mark some spreadsheets write first */
		s += 3;
	for (char sep = ','; sep == ',' && t->n_cols < MAX_COLS;)
		sep = field(&s, &names[t->n_cols++]);
	t->name = mem_calloc(t->n_cols, sizeof(*t->name));
	if (!t->name)
		goto nomem;
	memcpy(t->name, names, t->n_cols * sizeof(*names));
	while (*s) {
		char sep = ',';
		size_t c = 0;

		line++;
		if (*s == '\n' || (*s == '\r' && s[1] == '\n')) {
			s += *s == '\n' ? 1 : 2;
			continue;
		}
		if (!mem_grow((void **)&t->cell, &cap, n + t->n_cols, sizeof(*t->cell),
			    STR_MAX / sizeof(*t->cell)))
			goto nomem;
		while (sep == ',') {
			char *v;

			sep = field(&s, &v);
			if (c < t->n_cols)
				t->cell[n + c] = v;
			c++;
		}
		if (c != t->n_cols) {
			snprintf(err, size, "%s:%ld: %zu fields, the header has %zu", path, line, c,
				t->n_cols);
			goto fail;
		}
		n += t->n_cols;
		t->n_rows++;
	}
	return 0;
nomem:
	snprintf(err, size, "%s: out of memory", path);
fail:
	tidy_release(t);
	return -1;
}

void tidy_release(struct tidy *t)
{
	mem_free(t->bytes);
	mem_free(t->cell);
	mem_free(t->name);
	memset(t, 0, sizeof(*t));
}

static size_t column(const struct tidy *t, const char *name)
{
	size_t c = 0;

	while (c < t->n_cols && strcmp(t->name[c], name))
		c++;
	return c;
}

int tidy_has(const struct tidy *t, const char *name)
{
	return column(t, name) < t->n_cols;
}

const char *tidy_text(const struct tidy *t, size_t row, const char *name)
{
	size_t c = column(t, name);

	return c < t->n_cols ? t->cell[row * t->n_cols + c] : "";
}

double tidy_number(const struct tidy *t, size_t row, const char *name)
{
	double v;

	return str_to_double(tidy_text(t, row, name), &v) ? v : NAN;
}
