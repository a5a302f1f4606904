/* nnconv.c: edge-conditioned convolution with a gated memory and Set2Set (Gilmer et al. 2017).
 *
 * A network on the edge makes the matrix that carries a message; the same three rounds update a
 * GRU; Set2Set (Vinyals et al. 2015) reads the molecule in a few steps of attention. Published
 * size: dim 64, 3 rounds, 3 steps. Parameter names follow PyTorch's GRU and LSTM and PyTorch
 * Geometric.
 */
#include "models/graph.h"

#define ROUNDS 3
#define STEPS  3
#define PLAIN  ((struct init){0})

/* One of the gates, columns [k·d, (k+1)·d), of gi + gh */
static struct tensor *gate(
	struct net *n, struct tensor *gi, struct tensor *gh, int k, int64_t d, enum unary f)
{
	return nn_unary(n, nn_add(n, nn_slice(n, gi, k * d, d), nn_slice(n, gh, k * d, d)), f);
}

/* x, h (A,D) → (A,D); gates in PyTorch's order r, z, n */
static struct tensor *gru(struct net *n, struct tensor *x, struct tensor *h, int d)
{
	struct tensor *gi = nn_linear(n, "ih", x, 3 * d, true, PLAIN);
	struct tensor *gh = nn_linear(n, "hh", h, 3 * d, true, PLAIN);
	struct tensor *r = gate(n, gi, gh, 0, d, UN_SIGMOID);
	struct tensor *z = gate(n, gi, gh, 1, d, UN_SIGMOID);
	struct tensor *c = nn_mul(n, r, nn_slice(n, gh, 2 * d, d));

	c = nn_unary(n, nn_add(n, nn_slice(n, gi, 2 * d, d), c), UN_TANH);
	/* (1 − z) c + z h */
	return nn_add(n, c, nn_mul(n, z, nn_sub(n, h, c)));
}

/* x (N,2D), h and *cell (N,D) → (N,D); gates in PyTorch's order i, f, g, o */
static struct tensor *lstm(
	struct net *n, struct tensor *x, struct tensor *h, struct tensor **cell, int d)
{
	struct tensor *gi = nn_linear(n, "ih", x, 4 * d, true, PLAIN);
	struct tensor *gh = nn_linear(n, "hh", h, 4 * d, true, PLAIN);
	struct tensor *i = gate(n, gi, gh, 0, d, UN_SIGMOID);
	struct tensor *f = gate(n, gi, gh, 1, d, UN_SIGMOID);
	struct tensor *g = gate(n, gi, gh, 2, d, UN_TANH);
	struct tensor *o = gate(n, gi, gh, 3, d, UN_SIGMOID);

	*cell = nn_add(n, nn_mul(n, f, *cell), nn_mul(n, i, g));
	return nn_mul(n, o, nn_unary(n, *cell, UN_TANH));
}

/* Attention of q (N,D) over the atoms x (A,D) of each molecule → (N,D) */
static struct tensor *attend(
	struct net *n, const struct graph_in *g, struct tensor *x, struct tensor *q)
{
	int64_t d = x ? x->dim[1] : 0;
	struct tensor *e = nn_mul(n, x, nn_gather(n, q, g->mol)), *top, *sum;

	e = nn_sum_axis(n, nn_reshape(n, e, DIMS(g->n_atoms, d, 1))); /* (A,1) */
	/* the maximum keeps exp in range and cancels out of value and gradient */
	top = nn_segment(n, e, g->mol, g->n_molecules, SEG_MAX);
	e = nn_unary(n, nn_sub(n, e, nn_gather(n, top, g->mol)), UN_EXP);
	sum = nn_scatter(n, e, g->mol, g->n_molecules); /* (N,1) */
	x = nn_scatter(n, nn_mul(n, x, e), g->mol, g->n_molecules);
	return nn_mul(n, x, nn_unary(n, sum, UN_RECIP));
}

/* x (A,D) → (N,2D) */
static struct tensor *set2set(struct net *n, const struct graph_in *g, struct tensor *x, int d)
{
	struct tensor *zero = nn_axpb(n, nn_scatter(n, x, g->mol, g->n_molecules), 0, 0);
	struct tensor *h = zero, *cell = zero;
	struct tensor *q = nn_concat(n, 2, (struct tensor *[]){zero, zero});

	for (int i = 0; i < STEPS; i++) {
		h = lstm(n, q, h, &cell, d);
		q = nn_concat(n, 2, (struct tensor *[]){h, attend(n, g, x, h)});
	}
	return q;
}

/* x (A,D), matrices w (E,D,D) → (A,D): mean of x_j W_ij, plus the atom's own part */
static struct tensor *conv(
	struct net *n, const struct graph_in *g, struct tensor *x, struct tensor *w, int d)
{
	struct tensor *m = nn_reshape(n, nn_gather(n, x, g->src), DIMS(g->n_edges, 1, d));

	m = nn_reshape(n, nn_matmul(n, m, w, false, false, 1), DIMS(g->n_edges, d));
	m = nn_segment(n, m, g->dst, g->n_atoms, SEG_MEAN);
	return nn_add(n, m, nn_linear(n, "root", x, d, true, PLAIN));
}

static void build(struct net *n, const struct model_cfg *c, const struct batch *b)
{
	struct graph_in g = graph_in(n, b);
	int d = c->hidden;
	struct tensor *x = nn_relu(n, nn_embed(n, "lin0", g.z, GRAPH_ELEMENTS, d, NORMAL(1)));
	struct tensor *h = x, *w;

	w = nn_relu(n, nn_linear(n, "conv.nn.0", g.rbf, c->filters, true, PLAIN));
	w = nn_linear(n, "conv.nn.2", w, (int64_t)d * d, true, PLAIN);
	w = nn_reshape(n, w, DIMS(g.n_edges, d, d));
	for (int i = 0; i < ROUNDS; i++) {
		struct tensor *m;

		net_push(n, "conv");
		m = nn_relu(n, conv(n, &g, h, w, d));
		net_pop(n);
		net_push(n, "gru");
		h = gru(n, m, h, d);
		net_pop(n);
	}
	net_push(n, "set2set.lstm");
	x = set2set(n, &g, h, d);
	net_pop(n);
	x = nn_relu(n, nn_linear(n, "lin1", x, d, true, PLAIN));
	graph_loss(n, &g, nn_linear(n, "lin2", x, 1, true, PLAIN));
}

static void spec(const struct model_cfg *c, struct data_spec *s)
{
	s->cutoff = c->cutoff;
	s->gaussians = c->gaussians;
}

const struct model model_nnconv = {
	.name = "nnconv",
	.domain = "chemistry",
	.task = "molecular property",
	.data = DATA_MOLECULE,
	.metric = "mae",
	.metric_is_error = true,
	.optim = OPTIM_ADAM,
	.size = {{.batch = 8,
			 .lr = 2e-3,
			 .cfg = {.hidden = 16, .filters = 32, .gaussians = 16, .cutoff = 3}},
		{.batch = 16,
			.lr = 1e-3,
			.cfg = {.hidden = 32, .filters = 64, .gaussians = 16, .cutoff = 4}},
		{.batch = 64,
			.lr = 1e-3,
			.cfg = {.hidden = 64, .filters = 128, .gaussians = 16, .cutoff = 5}}},
	.data_spec = spec,
	.build = build,
};
