/* sdf.c: molecules in an SD file of V2000 connection tables.
 *
 *   three lines: title, program, comment
 *     5  4  0  0  0  0  0  0  0  0999 V2000      atoms and bonds, three columns each
 *      -0.0127    1.0858    0.0080 C   0  0 …     x y z in ten columns each, the element at 32
 *     1  2  1  0 …                                bonds: two atoms, three columns each
 *   M  END
 *   > <U0>                                        data fields, one of which is the property
 *   -40.47893
 *
 *   $$$$
 *
 * QM9's gdb9.sdf has no data fields: its properties are in gdb9.sdf.csv, one row a molecule. Bonds
 * are checked, but graphs come from distances. V3000 is refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "data/molfile.h"

#define NAME 64

struct sdf {
	struct lines *l, *csv;
	char target[NAME]; /* "" until the first molecule has told its only field */
	int column; /* of csv */
	struct molecule_list *list;
};

/* The text in columns [from, from + width), without blanks around; false when there is none. */
static bool column(const char *text, size_t from, size_t width, char *buf)
{
	size_t n = strlen(text), len;

	buf[0] = '\0';
	if (n <= from)
		return false;
	len = n - from < width ? n - from : width;
	text += from;
	for (; len && *text == ' '; text++)
		len--;
	while (len && text[len - 1] == ' ')
		len--;
	memcpy(buf, text, len);
	buf[len] = '\0';
	return len > 0;
}

static bool whole(const char *text, size_t from, long *out)
{
	char buf[16], *end;

	if (!column(text, from, 3, buf))
		return false;
	*out = strtol(buf, &end, 10);
	return !*end;
}

static int read_atom(struct lines *l, struct molecule *m)
{
	char buf[16], *p;
	double v;

	for (size_t k = 0; k < 3; k++) {
		p = buf;
		if (!column(l->text, 10 * k, 10, buf) || !text_number(&p, &v) || *p ||
			!(v > -1e4 && v < 1e4))
			return lines_bad(l,
				"expected x, y and z in Angstrom in columns 1-10, 11-20 and 21-30");
		m->pos[m->n][k] = (float)v;
	}
	column(l->text, 31, 3, buf);
	m->z[m->n] = (uint8_t)molecule_element(buf);
	if (!m->z[m->n])
		return lines_bad(l, "expected an element's symbol in columns 32-34, got '%s'", buf);
	m->n++;
	return 0;
}

static int read_table(struct lines *l, struct molecule *m)
{
	long atoms, bonds, a, b;

	if (strstr(l->text, "V3000"))
		return lines_bad(l, "V3000 tables are not read; convert the file to V2000");
	if (!whole(l->text, 0, &atoms) || !whole(l->text, 3, &bonds) || bonds < 0)
		return lines_bad(l, "expected the numbers of atoms and bonds, and V2000");
	if (atoms < 1 || atoms > MOLECULE_ATOMS)
		return lines_bad(l, "expected a number of atoms from 1 to %d, got %ld",
			MOLECULE_ATOMS, atoms);
	for (long i = 0; i < atoms; i++) {
		if (!lines_next(l))
			return lines_bad(l, "the file ends before the last atom");
		if (read_atom(l, m))
			return -1;
	}
	for (long i = 0; i < bonds; i++) {
		if (!lines_next(l))
			return lines_bad(l, "the file ends before the last bond");
		if (!whole(l->text, 0, &a) || !whole(l->text, 3, &b) || a < 1 || a > atoms ||
			b < 1 || b > atoms || a == b)
			return lines_bad(
				l, "expected a bond of two different atoms from 1 to %ld", atoms);
	}
	do {
		if (!lines_next(l))
			return lines_bad(l, "the file ends before 'M  END'");
		if (!strncmp(l->text, "$$$$", 4))
			return lines_bad(l, "expected 'M  END' before '$$$$'");
	} while (strncmp(l->text, "M  END", 6) != 0);
	return 0;
}

/* "> 12 <NAME> (3)" → NAME */
static bool field_name(const char *text, char *name)
{
	const char *open = strchr(text, '<'), *close = open ? strrchr(open, '>') : NULL;
	size_t n = close ? (size_t)(close - open - 1) : 0;

	if (!n || n >= NAME)
		return false;
	memcpy(name, open + 1, n);
	name[n] = '\0';
	return true;
}

/* Data fields up to $$$$; *found when the property was among them. */
static int read_fields(struct sdf *s, bool *found, float *value)
{
	struct lines *l = s->l;
	char names[200] = "", name[NAME], only[NAME] = "";
	double v, last = 0;
	int n = 0;

	*found = false;
	for (;;) {
		char *p;

		if (!lines_next(l))
			return lines_bad(l, "the file ends before '$$$$': truncated");
		if (!strncmp(l->text, "$$$$", 4))
			break;
		if (l->text[0] != '>' || !field_name(l->text, name))
			continue;
		snprintf(names + strlen(names), sizeof(names) - strlen(names), " %s", name);
		if (!lines_next(l))
			return lines_bad(l, "the file ends before the value of '%s'", name);
		p = l->text;
		if (s->target[0] && strcmp(name, s->target) != 0)
			continue;
		if (text_number(&p, &v)) {
			n++;
			last = v;
			snprintf(only, sizeof(only), "%s", name);
		} else if (s->target[0] && !s->csv) {
			return lines_bad(l, "expected a number as the value of '%s'", name);
		}
	}
	if (s->csv)
		return 0;
	if (!s->target[0] && n > 1)
		return lines_bad(l, "which property? choose one with --target:%s", names);
	if (!s->target[0])
		snprintf(s->target, sizeof(s->target), "%s", only);
	if (!n)
		return lines_bad(l, "this molecule has no %s%s; its data fields are:%s",
			s->target[0] ? "" : "property with a number", s->target,
			names[0] ? names : " none");
	*found = true;
	*value = (float)last;
	return 0;
}

/* Cell i of a line without quotes. */
static bool cell(const char *text, int i, char *buf, size_t size)
{
	size_t n;

	for (; i > 0; i--) {
		text = strchr(text, ',');
		if (!text)
			return false;
		text++;
	}
	n = strcspn(text, ",");
	snprintf(buf, size, "%.*s", (int)(n < size ? n : size - 1), text);
	return true;
}

static int open_csv(struct sdf *s)
{
	char name[NAME];

	if (!s->target[0])
		strcpy(s->target, "u0");
	if (!lines_next(s->csv))
		return lines_bad(s->csv, "expected a line of names");
	for (s->column = 0; cell(s->csv->text, s->column, name, sizeof(name)); s->column++)
		if (!strcasecmp(name, s->target))
			return 0;
	return lines_bad(s->csv, "no column '%s'; there are: %.200s", s->target, s->csv->text);
}

static int read_row(struct sdf *s, const char *title, float *value)
{
	char id[NAME] = "", text[NAME] = "", *p = text;
	double v;

	if (!lines_next(s->csv))
		return fault_set(s->csv->f, "%s: %lld rows, but %s has more molecules",
			s->csv->path, (long long)s->list->n, s->l->path);
	cell(s->csv->text, 0, id, sizeof(id));
	if (title[0] && !strncmp(id, "gdb_", 4) && strcmp(id, title) != 0)
		return lines_bad(
			s->csv, "this row is of %s, the molecule in the SD file is %s", id, title);
	if (!cell(s->csv->text, s->column, text, sizeof(text)) || !text_number(&p, &v) || *p)
		return lines_bad(
			s->csv, "expected a number in column %d (%s)", s->column + 1, s->target);
	*value = (float)v;
	return 0;
}

/* 1: read, 0: end of file, −1: fault */
static int read_molecule(struct sdf *s)
{
	struct lines *l = s->l;
	struct molecule m = {0};
	char title[NAME];
	int64_t where = l->line + 1;
	bool found, blank = true;

	for (int i = 0; i < 4; i++) {
		if (!lines_next(l)) {
			if (blank)
				return 0;
			return lines_bad(l, "the file ends in a molecule's head: truncated");
		}
		blank = blank && !l->text[strspn(l->text, " \t")];
		if (i == 0)
			snprintf(title, sizeof(title), "%.*s", NAME - 1, l->text);
	}
	title[strcspn(title, " \t")] = '\0';
	if (read_table(l, &m) || read_fields(s, &found, &m.target))
		return -1;
	if (s->csv && read_row(s, title, &m.target))
		return -1;
	return molecule_add(s->list, &m, l, where) ? -1 : 1;
}

int sdf_parse(struct lines *l, const char *target, struct lines *csv, struct molecule_list *list)
{
	struct sdf s = {.l = l, .csv = csv, .list = list};
	int rc;

	if (target && strlen(target) >= sizeof(s.target))
		return fault_set(l->f, "--target: '%.20s…' is too long for a property", target);
	snprintf(s.target, sizeof(s.target), "%s", target ? target : "");
	list->unit = "";
	if (csv && open_csv(&s))
		return -1;
	while ((rc = read_molecule(&s)) > 0)
		;
	if (!rc && csv && lines_next(csv))
		return lines_bad(csv, "a row for which there is no molecule in %s", l->path);
	return rc;
}
