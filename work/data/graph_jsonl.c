/* graph_jsonl.c: graphs as JSON Lines, one molecule a line.
 *
 *   {"z": [6, 1, 1], "pos": [[0, 0, 0], [0, 0, 1.1], [1, 0, -0.3]], "edges": [[0, 1], [0, 2]],
 *    "targets": {"U0": -40.4, "gap": 0.5}}
 *
 *   z | elements  atomic numbers, or symbols ("C")
 *   pos           positions in Angstrom
 *   edges         optional: pairs of atoms, from 0, in either order; without it all pairs are
 *                 joined. The network's cutoff holds in both cases.
 *   targets | target  properties by name, chosen by --target; or one number
 *
 * Other keys are ignored. Empty lines are skipped.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "data/molfile.h"

static int read_atoms(struct lines *l, json_t *o, struct molecule *m)
{
	json_t *z = json_object_get(o, "z"), *symbols = json_object_get(o, "elements");
	json_t *list = z ? z : symbols;
	size_t n = json_array_size(list);

	if (!json_is_array(list))
		return lines_bad(l, "expected \"z\" (atomic numbers) or \"elements\" (symbols)");
	if (n < 1 || n > MOLECULE_ATOMS)
		return lines_bad(l, "%zu atoms; expected 1 to %d", n, MOLECULE_ATOMS);
	for (size_t i = 0; i < n; i++) {
		json_t *v = json_array_get(list, i);
		json_int_t k = z                   ? json_integer_value(v)
			       : json_is_string(v) ? molecule_element(json_string_value(v))
						   : 0;

		if (k < 1 || k >= MOLECULE_ELEMENTS)
			return lines_bad(l, "atom %zu: expected %s", i,
				z ? "an atomic number" : "an element's symbol, as C or Cl");
		m->z[i] = (uint8_t)k;
	}
	m->n = (int)n;
	return 0;
}

static int read_positions(struct lines *l, json_t *o, struct molecule *m)
{
	json_t *pos = json_object_get(o, "pos");

	if (!json_is_array(pos))
		return lines_bad(l, "expected \"pos\", positions in Angstrom");
	if (json_array_size(pos) != (size_t)m->n)
		return lines_bad(l, "%zu positions for %d atoms", json_array_size(pos), m->n);
	for (int i = 0; i < m->n; i++) {
		json_t *p = json_array_get(pos, (size_t)i);

		for (size_t k = 0; k < 3; k++) {
			json_t *v = json_array_get(p, k);
			double x = json_number_value(v);

			if (!json_is_number(v) || json_array_size(p) != 3 || !(fabs(x) < 1e4))
				return lines_bad(l, "pos[%d]: expected three coordinates", i);
			m->pos[i][k] = (float)x;
		}
	}
	return 0;
}

static int read_edges(struct lines *l, json_t *o, struct molecule *m)
{
	json_t *edges = json_object_get(o, "edges");

	if (!edges)
		return 0;
	if (!json_is_array(edges))
		return lines_bad(l, "\"edges\": expected pairs of atoms");
	m->edge = calloc(MOLECULE_ATOMS, sizeof(*m->edge));
	if (!m->edge)
		return fault_set(l->f, "%s: out of memory", l->path);
	for (size_t e = 0; e < json_array_size(edges); e++) {
		json_t *pair = json_array_get(edges, e);
		json_t *a = json_array_get(pair, 0), *b = json_array_get(pair, 1);
		json_int_t i = json_integer_value(a), j = json_integer_value(b);

		if (json_array_size(pair) != 2 || !json_is_integer(a) || !json_is_integer(b) ||
			i < 0 || i >= m->n || j < 0 || j >= m->n || i == j)
			return lines_bad(l, "edges[%zu]: expected two different atoms from 0 to %d",
				e, m->n - 1);
		m->edge[i] |= (uint64_t)1 << j;
		m->edge[j] |= (uint64_t)1 << i;
	}
	return 0;
}

static int read_target(struct lines *l, json_t *o, const char *target, struct molecule *m)
{
	json_t *all = json_object_get(o, "targets"), *v = NULL;
	void *first = json_object_iter(all);

	if (target)
		v = json_object_get(all, target);
	else if (json_object_get(o, "target"))
		v = json_object_get(o, "target");
	else if (json_object_size(all) == 1)
		v = json_object_iter_value(first);
	if (!v && target)
		return lines_bad(l, "\"targets\" has no \"%s\"", target);
	if (!v && first)
		return lines_bad(l,
			"%zu properties in \"targets\" (\"%s\" …): choose with --target",
			json_object_size(all), json_object_iter_key(first));
	if (!v)
		return lines_bad(l, "expected \"target\", or \"targets\" with properties by name");
	if (!json_is_number(v) || !isfinite((float)json_number_value(v)))
		return lines_bad(l, "the property is not a number");
	m->target = (float)json_number_value(v);
	return 0;
}

static int read_line(struct lines *l, const char *text, size_t len, const char *target,
	struct molecule_list *list)
{
	struct molecule m = {0};
	json_error_t e;
	json_t *o = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);
	int rc;

	if (!o)
		return lines_bad(l, "not JSON: %s at byte %d", e.text, e.position);
	if (!json_is_object(o))
		rc = lines_bad(l, "expected an object with \"z\", \"pos\" and \"target\"");
	else
		rc = read_atoms(l, o, &m) || read_positions(l, o, &m) || read_edges(l, o, &m) ||
		     read_target(l, o, target, &m);
	json_decref(o);
	if (rc) {
		free(m.edge);
		return -1;
	}
	return molecule_add(list, &m, l, l->line);
}

int graph_jsonl_parse(struct lines *l, const char *target, struct molecule_list *list)
{
	list->unit = "";
	for (const char *at = l->at; lines_next(l); at = l->at) {
		size_t len = (size_t)(l->at - at);

		if (!l->text[strspn(l->text, " \t")])
			continue;
		if (read_line(l, at, len, target, list))
			return -1;
	}
	return 0;
}
