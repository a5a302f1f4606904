/* data_molecule.c: files of molecules: .xyz, .sdf, graphs in JSON Lines. The first byte says which;
 * a zero byte parts an SD file from its table. */
#include "fuzz.h"

#include <math.h>

#include "data/molfile.h"

static int parse(
	char kind, const char *text, size_t size, struct molecule_list *list, struct fault *f)
{
	const char *table = memchr(text, '\0', size);
	size_t len = table ? (size_t)(table - text) : size;
	struct lines l, csv;

	lines_init(&l, "f", text, size, f);
	if (kind == 'x')
		return xyz_parse(&l, "gap", list);
	if (kind == 'j')
		return graph_jsonl_parse(&l, NULL, list);
	lines_init(&l, "f", text, len, f);
	if (!table)
		return sdf_parse(&l, NULL, NULL, list);
	lines_init(&csv, "f", table + 1, size - len - 1, f);
	return sdf_parse(&l, NULL, &csv, list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct molecule_list list = {0};
	struct fault f = {0};
	int rc;

	if (!size)
		return 0;
	rc = parse((char)data[0], (const char *)data + 1, size - 1, &list, &f);
	must(rc ? f.set && !strncmp(f.msg, "f:", 2) : !f.set);
	for (int64_t k = 0; k < list.n; k++) {
		const struct molecule *m = &list.m[k];

		must(m->n >= 1 && m->n <= MOLECULE_ATOMS && isfinite(m->target));
		for (int i = 0; i < m->n; i++) {
			must(m->z[i] >= 1 && m->z[i] < MOLECULE_ELEMENTS);
			for (int c = 0; c < 3; c++)
				must(fabsf(m->pos[i][c]) < 1e4f + 1);
			for (int j = 0; m->edge && j < MOLECULE_ATOMS; j++)
				if (m->edge[i] >> j & 1)
					must(j < m->n && j != i && (m->edge[j] >> i & 1));
		}
	}
	molecule_list_release(&list);
	return 0;
}
