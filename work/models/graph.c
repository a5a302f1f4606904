#include "models/graph.h"

static struct tensor *maybe(struct net *n, const struct batch *b, const char *name)
{
	return batch_find((struct batch *)b, name) ? model_input(n, b, name) : NULL;
}

struct graph_in graph_in(struct net *n, const struct batch *b)
{
	struct graph_in g = {
		.z = model_input(n, b, "z"),
		.mol = model_input(n, b, "mol"),
		.src = model_input(n, b, "src"),
		.dst = model_input(n, b, "dst"),
		.dist = model_input(n, b, "dist"),
		.cut = model_input(n, b, "cut"),
		.rbf = maybe(n, b, "rbf"),
		.amp = maybe(n, b, "amp"),
		.att = maybe(n, b, "att"),
		.env = maybe(n, b, "env"),
		.sph = maybe(n, b, "sph"),
		.kj = maybe(n, b, "kj"),
		.ji = maybe(n, b, "ji"),
		.target = model_input(n, b, "target"),
	};

	g.n_atoms = g.z ? g.z->dim[0] : 0;
	g.n_edges = g.src ? g.src->dim[0] : 0;
	g.n_triplets = g.kj ? g.kj->dim[0] : 0;
	g.n_molecules = g.target ? g.target->dim[0] : 0;
	return g;
}

void graph_loss(struct net *n, const struct graph_in *g, struct tensor *y)
{
	net_mark(n, "output", y);
	nn_regression(n, y, g->target, NULL, (struct args_regression){.weight = 1});
}
