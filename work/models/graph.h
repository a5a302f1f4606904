/* graph.h: what the networks over molecules share: their inputs and their loss.
 *
 * Message passing itself is nn_gather (rows of the sending atoms), any layers on the edges, and
 * nn_scatter or nn_segment (to the receiving atoms); see work/data/molecule.h for the arrays.
 */
#ifndef WORK_MODELS_GRAPH_H
#define WORK_MODELS_GRAPH_H

#include <math.h>
#include "models/model.h"

#define GRAPH_ELEMENTS 100 /* rows of an embedding of atomic numbers */

#define NORMAL(sd)       ((struct init){INIT_NORMAL, (sd)})
#define XAVIER(fin, out) ((struct init){INIT_UNIFORM, sqrt(6.0 / ((double)(fin) + (double)(out)))})

struct graph_in {
	struct tensor *z, *mol, *src, *dst; /* i32 (A), (A), (E), (E) */
	struct tensor *dist, *cut, *rbf; /* (E,1), (E,1), (E,G); rbf NULL without Gaussians */
	struct tensor *amp, *att; /* (A,1); NULL unless the data have degrees */
	struct tensor *env, *sph, *kj, *ji; /* (E,1), (T,SR), (T), (T); NULL without triplets */
	struct tensor *target; /* (N,1) */
	int64_t n_atoms, n_edges, n_triplets, n_molecules;
};

/* Inputs for the arrays that the batch has. */
struct graph_in graph_in(struct net *n, const struct batch *b);
/* Squared error of y (N,1), in standardised units. */
void graph_loss(struct net *n, const struct graph_in *g, struct tensor *y);

#endif
