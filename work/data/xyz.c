/* xyz.c: molecules from files in QM9's extended .xyz.
 *
 *   5                                      number of atoms
 *   gdb 1  157.7118 157.70997 …            properties, separated by tabs or spaces
 *   C  -0.0126981359  1.0858041578  0.008  -0.535689    element, position in Angstrom, charge
 *   …                                      then, possibly, lines of frequencies, SMILES, InChI
 *
 * One file may hold many molecules. Numbers may be written 6.5*^-6. The property is chosen by name;
 * plain .xyz without QM9's property line has none and is an error.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "data/molecule.h"

/* The fifteen numbers of QM9's second line, in order. */
static const char *const properties[] = {"A", "B", "C", "mu", "alpha", "homo", "lumo", "gap", "r2",
	"zpve", "U0", "U", "H", "G", "Cv"};
static const char *const units[] = {"GHz", "GHz", "GHz", "D", "a0^3", "Eh", "Eh", "Eh", "a0^2",
	"Eh", "Eh", "Eh", "Eh", "Eh", "cal/molK"};
#define N_PROPERTIES 15

struct file {
	struct molecule *m;
	int64_t n, cap;
};

struct reader {
	FILE *in;
	const char *path;
	int line;
	char text[4096];
	struct fault *f;
};

static bool next_line(struct reader *r)
{
	size_t n;

	if (!fgets(r->text, sizeof(r->text), r->in))
		return false;
	r->line++;
	n = strlen(r->text);
	/* Frequencies and InChI of large molecules are long; what is cut off is not needed. */
	while (n && r->text[n - 1] != '\n' && n == sizeof(r->text) - 1) {
		int c = fgetc(r->in);

		if (c == '\n' || c == EOF)
			break;
	}
	r->text[strcspn(r->text, "\r\n")] = '\0';
	return true;
}

static int bad(struct reader *r, const char *what)
{
	return fault_set(r->f, "%s:%d: %s", r->path, r->line, what);
}

/* The next number at *p, which moves on; "1.5*^-6" is 1.5e-6. */
static bool number(char **p, double *out)
{
	char *end, *star;
	char buf[64];
	size_t n;

	*p += strspn(*p, " \t");
	n = strcspn(*p, " \t");
	if (!n || n >= sizeof(buf))
		return false;
	memcpy(buf, *p, n);
	buf[n] = '\0';
	*p += n;
	star = strstr(buf, "*^");
	if (star) {
		*star = 'e';
		memmove(star + 1, star + 2, strlen(star + 2) + 1);
	}
	*out = strtod(buf, &end);
	return !*end && end != buf;
}

static int read_properties(struct reader *r, int which, struct molecule *m)
{
	char *p = r->text + strspn(r->text, " \t");
	double v = 0;

	if (strncmp(p, "gdb", 3))
		return bad(r, "expected QM9's line of properties, beginning with 'gdb'");
	p += 3;
	if (!number(&p, &v))
		return bad(r, "expected a number after 'gdb'");
	for (int i = 0; i <= which; i++)
		if (!number(&p, &v))
			return bad(r, "expected 15 properties after 'gdb' and the index");
	m->target = (float)v;
	return 0;
}

static int read_atom(struct reader *r, struct molecule *m)
{
	char *p = r->text + strspn(r->text, " \t"), symbol[4] = "";
	size_t n = strcspn(p, " \t");
	double v;

	if (n > 0 && n < sizeof(symbol))
		memcpy(symbol, p, n);
	m->z[m->n] = (uint8_t)molecule_element(symbol);
	if (!m->z[m->n])
		return bad(r, "expected an element's symbol, as C or Cl");
	p += n;
	for (int k = 0; k < 3; k++) {
		if (!number(&p, &v) || !(v > -1e4 && v < 1e4))
			return bad(r, "expected three coordinates in Angstrom");
		m->pos[m->n][k] = (float)v;
	}
	m->n++;
	return 0;
}

/* 1: read, 0: end of file, −1: fault */
static int read_molecule(struct reader *r, int which, struct molecule *m)
{
	char *end;
	long n;

	/* What follows the atoms of QM9 (frequencies, SMILES, InChI) is skipped up to a lone count.
	 */
	do {
		if (!next_line(r))
			return 0;
		n = strtol(r->text, &end, 10);
		end += strspn(end, " \t");
	} while (*end || end == r->text);
	if (n < 1 || n > MOLECULE_ATOMS)
		return bad(r, "expected a number of atoms from 1 to 64");
	*m = (struct molecule){0};
	if (!next_line(r))
		return bad(r, "the file ends before the properties");
	if (read_properties(r, which, m))
		return -1;
	for (long i = 0; i < n; i++) {
		if (!next_line(r))
			return bad(r, "the file ends before the last atom");
		if (read_atom(r, m))
			return -1;
	}
	return 1;
}

static void get(const struct molecule_source *s, int64_t id, bool eval, struct molecule *m)
{
	const struct file *file = s->state;

	/* every tenth molecule is held out */
	*m = eval ? file->m[id * 10] : file->m[id / 9 * 10 + id % 9 + 1];
}

static void close_file(struct molecule_source *s)
{
	struct file *file = s->state;

	free(file->m);
	free(file);
}

static int find_property(const struct data_spec *spec, struct fault *f)
{
	const char *name = spec->target ? spec->target : "U0", *near;

	for (int i = 0; i < N_PROPERTIES; i++)
		if (!strcmp(properties[i], name))
			return i;
	near = fault_nearest(name, properties, N_PROPERTIES);
	return fault_set(f,
		"unknown property '%s'%s%s%s; QM9 has A B C mu alpha homo lumo gap r2 zpve U0 U H "
		"G Cv",
		name, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

static int append(struct file *file, const struct molecule *m)
{
	if (file->n == file->cap) {
		int64_t cap = file->cap ? 2 * file->cap : 256;
		struct molecule *more = realloc(file->m, (size_t)cap * sizeof(*more));

		if (!more)
			return -1;
		file->m = more;
		file->cap = cap;
	}
	file->m[file->n++] = *m;
	return 0;
}

int molecule_read_xyz(struct data *d, struct molecule_source *s, struct fault *f)
{
	struct reader r = {.path = d->spec.path, .f = f};
	struct file *file = calloc(1, sizeof(*file));
	int which = find_property(&d->spec, f), rc = -1;
	struct molecule m;

	if (!file)
		return fault_set(f, "out of memory");
	if (which < 0)
		goto out;
	r.in = fopen(r.path, "r");
	if (!r.in) {
		fault_set(f, "%s: %s", r.path, strerror(errno));
		goto out;
	}
	while ((rc = read_molecule(&r, which, &m)) > 0)
		if (append(file, &m)) {
			rc = fault_set(f, "out of memory for the molecules of %s", r.path);
			break;
		}
	fclose(r.in);
	if (!rc && file->n < 2)
		rc = fault_set(f, "%s: %lld molecules; expected at least 2 in QM9's .xyz", r.path,
			(long long)file->n);
out:
	if (rc) {
		free(file->m);
		free(file);
		return -1;
	}
	d->info.n_eval = (file->n + 9) / 10;
	d->info.n_train = file->n - d->info.n_eval;
	d->info.unit = units[which];
	s->state = file;
	s->get = get;
	s->close = close_file;
	return 0;
}
