/* xyz.c: molecules in QM9's extended .xyz.
 *
 *   5                                      number of atoms
 *   gdb 1  157.7118 157.70997 …            properties, separated by tabs or spaces
 *   C  -0.0126981359  1.0858041578  0.008  -0.535689    element, position in Angstrom, charge
 *   …                                      then up to three lines: frequencies, SMILES, InChI
 *
 * One file may hold many molecules. Numbers may be written 6.5*^-6. The property is chosen by name;
 * plain .xyz without QM9's property line has none and is an error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "data/molfile.h"

/* The fifteen numbers of QM9's second line, in order. */
static const char *const properties[] = {"A", "B", "C", "mu", "alpha", "homo", "lumo", "gap", "r2",
	"zpve", "U0", "U", "H", "G", "Cv"};
static const char *const units[] = {"GHz", "GHz", "GHz", "D", "a0^3", "Eh", "Eh", "Eh", "a0^2",
	"Eh", "Eh", "Eh", "Eh", "Eh", "cal/molK"};
#define N_PROPERTIES 15
#define TRAILING     3 /* lines that may follow the atoms */

static int read_properties(struct lines *l, int which, struct molecule *m)
{
	char *p = l->text + strspn(l->text, " \t");
	double v = 0, index;

	if (strncmp(p, "gdb", 3))
		return lines_bad(l, "expected QM9's line of properties, beginning with 'gdb'");
	p += 3;
	if (!text_number(&p, &index))
		return lines_bad(l, "expected a number after 'gdb'");
	for (int i = 0; i < N_PROPERTIES; i++) {
		double x;

		if (!text_number(&p, &x))
			return lines_bad(l, "expected 15 properties after 'gdb' and the index");
		v = i == which ? x : v;
	}
	m->target = (float)v;
	return 0;
}

static int read_atom(struct lines *l, struct molecule *m)
{
	char *p = l->text + strspn(l->text, " \t"), symbol[4] = "";
	size_t n = strcspn(p, " \t");
	double v;

	if (n > 0 && n < sizeof(symbol))
		memcpy(symbol, p, n);
	m->z[m->n] = (uint8_t)molecule_element(symbol);
	if (!m->z[m->n])
		return lines_bad(l, "expected an element's symbol, as C or Cl");
	p += n;
	for (int k = 0; k < 3; k++) {
		if (!text_number(&p, &v) || !(v > -1e4 && v < 1e4))
			return lines_bad(l, "expected three coordinates in Angstrom");
		m->pos[m->n][k] = (float)v;
	}
	m->n++;
	return 0;
}

/* The line that says how many atoms follow. 1: there, 0: end of file, −1: fault. */
static int next_count(struct lines *l, bool first, long *n)
{
	for (int skipped = 0;;) {
		char *end;

		if (!lines_next(l))
			return 0;
		*n = strtol(l->text, &end, 10);
		if (end != l->text && !end[strspn(end, " \t")])
			return 1;
		if (!l->text[strspn(l->text, " \t")])
			continue;
		if (first || ++skipped > TRAILING || !strncmp(l->text, "gdb", 3))
			return lines_bad(l, "expected a number of atoms here");
	}
}

/* 1: read, 0: end of file, −1: fault */
static int read_molecule(struct lines *l, int which, struct molecule_list *list)
{
	struct molecule m = {0};
	int64_t where;
	long n;
	int rc = next_count(l, !list->n, &n);

	if (rc <= 0)
		return rc;
	where = l->line;
	if (n < 1 || n > MOLECULE_ATOMS)
		return lines_bad(
			l, "expected a number of atoms from 1 to %d, got %ld", MOLECULE_ATOMS, n);
	if (!lines_next(l))
		return lines_bad(l, "the file ends before the properties");
	if (read_properties(l, which, &m))
		return -1;
	for (long i = 0; i < n; i++) {
		if (!lines_next(l))
			return lines_bad(l, "the file ends before the last atom");
		if (read_atom(l, &m))
			return -1;
	}
	return molecule_add(list, &m, l, where) ? -1 : 1;
}

static int find_property(const char *target, struct fault *f)
{
	const char *name = target ? target : "U0", *near;

	for (int i = 0; i < N_PROPERTIES; i++)
		if (!strcmp(properties[i], name))
			return i;
	near = fault_nearest(name, properties, N_PROPERTIES);
	return fault_set(f,
		"unknown property '%s'%s%s%s; QM9 has A B C mu alpha homo lumo gap r2 zpve U0 U H "
		"G Cv",
		name, near ? " (did you mean " : "", near ? near : "", near ? "?)" : "");
}

int xyz_parse(struct lines *l, const char *target, struct molecule_list *list)
{
	int which = find_property(target, l->f), rc;

	if (which < 0)
		return -1;
	list->unit = units[which];
	while ((rc = read_molecule(l, which, list)) > 0)
		;
	return rc;
}
