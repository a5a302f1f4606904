/* schnet.c: continuous-filter convolutions over molecules (Schütt et al. 2017).
 *
 * Published size: hidden 128, filters 128, 6 interactions, 50 Gaussians, cutoff 10 Å. Parameter
 * names follow PyTorch Geometric's SchNet.
 */
#include "models/graph.h"

/* x (A,H) → (A,H): atoms hear their neighbours through filters made from the distance */
static struct tensor *interaction(
	struct net *n, const struct model_cfg *c, const struct graph_in *g, struct tensor *x)
{
	struct tensor *w, *m;

	w = nn_linear(
		n, "mlp.0", g->rbf, c->filters, true, XAVIER(c->gaussians, c->filters)); /* (E,F) */
	w = nn_unary(n, w, UN_SSP);
	w = nn_linear(n, "mlp.2", w, c->filters, true, XAVIER(c->filters, c->filters));
	w = nn_mul(n, w, g->cut);
	m = nn_linear(
		n, "conv.lin1", x, c->filters, false, XAVIER(c->hidden, c->filters)); /* (A,F) */
	m = nn_mul(n, nn_gather(n, m, g->src), w); /* (E,F) */
	m = nn_scatter(n, m, g->dst, g->n_atoms); /* (A,F) */
	m = nn_linear(n, "conv.lin2", m, c->hidden, true, XAVIER(c->filters, c->hidden));
	m = nn_unary(n, m, UN_SSP);
	return nn_linear(n, "lin", m, c->hidden, true, XAVIER(c->hidden, c->hidden));
}

static void build(struct net *n, const struct model_cfg *c, const struct batch *b)
{
	struct graph_in g = graph_in(n, b);
	struct tensor *x = nn_embed(n, "embedding", g.z, GRAPH_ELEMENTS, c->hidden, NORMAL(1));

	for (int i = 0; i < c->layers; i++) {
		net_push(n, "interactions.%d", i);
		x = nn_add(n, x, interaction(n, c, &g, x));
		net_pop(n);
	}
	x = nn_linear(n, "lin1", x, c->hidden / 2, true, XAVIER(c->hidden, c->hidden / 2));
	x = nn_unary(n, x, UN_SSP);
	x = nn_linear(n, "lin2", x, 1, true, XAVIER(c->hidden / 2, 1));
	graph_loss(n, &g, nn_scatter(n, x, g.mol, g.n_molecules));
}

static void spec(const struct model_cfg *c, struct data_spec *s)
{
	s->cutoff = c->cutoff;
	s->gaussians = c->gaussians;
}

const struct model model_schnet = {
	.name = "schnet",
	.domain = "chemistry",
	.task = "molecular property",
	.data = DATA_MOLECULE,
	.metric = "mae",
	.metric_is_error = true,
	.optim = OPTIM_ADAM,
	.size = {{.batch = 8,
			 .lr = 2e-3,
			 .cfg = {.hidden = 32,
				 .filters = 32,
				 .layers = 3,
				 .gaussians = 25,
				 .cutoff = 6}},
		{.batch = 32,
			.lr = 1e-3,
			.cfg = {.hidden = 64,
				.filters = 64,
				.layers = 3,
				.gaussians = 50,
				.cutoff = 10}},
		{.batch = 32,
			.lr = 5e-4,
			.cfg = {.hidden = 128,
				.filters = 128,
				.layers = 6,
				.gaussians = 50,
				.cutoff = 10}}},
	.data_spec = spec,
	.build = build,
};
