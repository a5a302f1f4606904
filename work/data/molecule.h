/* molecule.h: molecules as a source reads them and as graph networks want them.
 *
 * A source (generator, file) gives atoms, positions and one property. graph_fill turns the
 * molecules of a batch into arrays, sizes rounded up so that few nets are planned; padding has
 * index −1 and contributes nothing.
 *
 *   z      i32 (A)    atomic number, 0 in padding        mol  i32 (A)  molecule of the atom
 *   src    i32 (E)    atom j of the directed edge j → i  dst  i32 (E)  atom i; edges sorted by i
 *   dist   f32 (E,1)  Angstrom                           cut  f32 (E,1) cosine cutoff of it
 *   rbf    f32 (E,G)  Gaussians of the distance, if spec.gaussians
 *   target f32 (N,1)  standardised
 *   amp, att f32 (A,1) degree scalers of PNA, if spec.degrees
 *   env    f32 (E,1) envelope of the distance, sph f32 (T,S·R), kj i32 (T), ji i32 (T):
 *          if spec.triplets (DimeNet)
 */
#ifndef WORK_DATA_MOLECULE_H
#define WORK_DATA_MOLECULE_H

#include "data/data.h"

#define MOLECULE_ATOMS    64
#define MOLECULE_ELEMENTS 100 /* atomic numbers are smaller */

struct molecule {
	int n;
	uint8_t z[MOLECULE_ATOMS];
	float pos[MOLECULE_ATOMS][3]; /* Angstrom */
	float target;
	/* bit j of edge[i]: atoms i and j are joined, if near enough; NULL: all are. Borrowed. */
	uint64_t *edge;
};

/* Where molecules come from. get is called from the prefetch thread: no globals. */
struct molecule_source {
	void (*get)(const struct molecule_source *s, int64_t id, bool eval, struct molecule *m);
	void (*close)(struct molecule_source *s);
	void *state;
	uint64_t seed;
	double degree_log_mean; /* mean of log(degree + 1) over sampled atoms, for PNA */
};

/* Fill the arrays of d->spec for n molecules. */
int graph_fill(
	struct data *d, const struct molecule *m, int64_t n, struct batch *b, struct fault *f);

/* Opens the generator of molecules with a learnable energy. */
int molecule_generate(struct data *d, struct molecule_source *s, struct fault *f);
/* A file: QM9's .xyz (or a folder of them), .sdf, graphs as .jsonl. */
int molecule_read(struct data *d, struct molecule_source *s, struct fault *f);

/* Atomic number of "C"; 0 if unknown. */
int molecule_element(const char *symbol);

#endif
