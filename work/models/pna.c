/* pna.c: principal neighbourhood aggregation (Corso et al. 2020).
 *
 * Each atom takes mean, maximum, minimum and standard deviation of its messages, each as it is,
 * amplified and attenuated by the logarithm of its degree; batch norm, relu and a residual
 * connection follow. Parameter names follow PyTorch Geometric's PNAConv with one tower.
 */
#include "models/graph.h"

#define LINEAR_INIT ((struct init){0})

/* messages m (E,F) → (A,4F) */
static struct tensor *aggregate(struct net *n, const struct graph_in *g, struct tensor *m)
{
	struct tensor *mean = nn_segment(n, m, g->dst, g->n_atoms, SEG_MEAN);
	struct tensor *max = nn_segment(n, m, g->dst, g->n_atoms, SEG_MAX);
	struct tensor *min = nn_segment(n, m, g->dst, g->n_atoms, SEG_MIN);
	struct tensor *sq = nn_segment(n, nn_unary(n, m, UN_SQUARE), g->dst, g->n_atoms, SEG_MEAN);
	struct tensor *var = nn_sub(n, sq, nn_unary(n, mean, UN_SQUARE));

	return nn_concat(n, 4, (struct tensor *[]){mean, max, min, nn_sqrt(n, var, 1e-5f)});
}

/* x (A,F), edge features e (E,F) → (A,F) */
static struct tensor *conv(
	struct net *n, const struct graph_in *g, struct tensor *x, struct tensor *e, int f)
{
	struct tensor *m, *a;

	m = nn_concat(n, 3,
		(struct tensor *[]){
			nn_gather(n, x, g->dst), nn_gather(n, x, g->src), e}); /* (E,3F) */
	m = nn_linear(n, "pre_nns.0.0", m, f, true, LINEAR_INIT);
	a = aggregate(n, g, m); /* (A,4F) */
	a = nn_concat(n, 4,
		(struct tensor *[]){
			x, a, nn_mul(n, a, g->amp), nn_mul(n, a, g->att)}); /* (A,13F) */
	/* no biases: batch norm would take them away */
	a = nn_linear(n, "post_nns.0.0", a, f, false, LINEAR_INIT);
	a = nn_linear(n, "lin", a, f, false, LINEAR_INIT);
	return nn_batchnorm_rows(n, "norm", a, g->mol);
}

static void build(struct net *n, const struct model_cfg *c, const struct batch *b)
{
	struct graph_in g = graph_in(n, b);
	struct tensor *x = nn_embed(n, "node_emb", g.z, GRAPH_ELEMENTS, c->hidden, NORMAL(1));

	for (int i = 0; i < c->layers; i++) {
		struct tensor *e;

		net_push(n, "convs.%d", i);
		e = nn_linear(n, "edge_encoder", g.rbf, c->hidden, true, LINEAR_INIT);
		x = nn_add(n, x, nn_relu(n, conv(n, &g, x, e, c->hidden)));
		net_pop(n);
	}
	x = nn_scatter(n, x, g.mol, g.n_molecules); /* (N,F) */
	x = nn_relu(n, nn_linear(n, "mlp.0", x, c->hidden / 2, true, LINEAR_INIT));
	x = nn_relu(n, nn_linear(n, "mlp.2", x, c->hidden / 4, true, LINEAR_INIT));
	graph_loss(n, &g, nn_linear(n, "mlp.4", x, 1, true, LINEAR_INIT));
}

static void spec(const struct model_cfg *c, struct data_spec *s)
{
	s->cutoff = c->cutoff;
	s->gaussians = c->gaussians;
	s->degrees = true;
}

const struct model model_pna = {
	.name = "pna",
	.domain = "chemistry",
	.task = "molecular property",
	.data = DATA_MOLECULE,
	.metric = "mae",
	.metric_is_error = true,
	.optim = OPTIM_ADAM,
	.size = {{.batch = 8,
			 .lr = 1e-3,
			 .cfg = {.hidden = 32, .layers = 2, .gaussians = 16, .cutoff = 3}},
		{.batch = 32,
			.lr = 1e-3,
			.cfg = {.hidden = 64, .layers = 4, .gaussians = 32, .cutoff = 4}},
		{.batch = 64,
			.lr = 1e-3,
			.cfg = {.hidden = 80, .layers = 4, .gaussians = 50, .cutoff = 5}}},
	.data_spec = spec,
	.build = build,
};
