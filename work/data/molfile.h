/* molfile.h: files of molecules, parsed from memory into one list.
 *
 * Every format gives atoms with positions in Angstrom and one property, chosen by name. A list owns
 * its molecules and their edges.
 */
#ifndef WORK_DATA_MOLFILE_H
#define WORK_DATA_MOLFILE_H

#include "data/file.h"
#include "data/molecule.h"

struct molecule_list {
	struct molecule *m;
	int64_t n, cap;
	const char *unit; /* of the property, static; "" when the format does not say */
};
void molecule_list_release(struct molecule_list *list);
/* Checks the molecule and appends it; its edges are the list's from here on, also on a fault.
 * where: the line it began at. */
int molecule_add(struct molecule_list *list, struct molecule *m, struct lines *l, int64_t where);

/* target: name of the property; NULL: U0 in QM9's .xyz, the only one in the other formats. */
int xyz_parse(struct lines *l, const char *target, struct molecule_list *list);
/* csv: the table that comes with gdb9.sdf, one row a molecule, or NULL: data fields are read. */
int sdf_parse(struct lines *l, const char *target, struct lines *csv, struct molecule_list *list);
int graph_jsonl_parse(struct lines *l, const char *target, struct molecule_list *list);

#endif
