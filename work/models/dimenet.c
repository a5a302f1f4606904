/* dimenet.c: directional message passing (Gasteiger, Groß, Günnemann 2020).
 *
 * Messages live on directed edges j → i and hear edges k → j through the distance and the angle at
 * j, in spherical Bessel functions and harmonics. Published size: hidden 128, 6 blocks, bilinear 8,
 * spherical 7, radial 6, cutoff 5 Å. Names follow PyTorch Geometric's DimeNet; frequencies of the
 * radial basis start at nπ and are trained (rbf.freq.weight); lin_bil.weight row b·H + i, column l
 * is its W[i][b][l].
 */
#include "models/graph.h"

#define BILINEAR      8
#define BEFORE_SKIP   1
#define AFTER_SKIP    2
#define OUTPUT_LAYERS 3

static struct tensor *act(struct net *n, struct tensor *x)
{
	return nn_unary(n, x, UN_SILU);
}

static struct tensor *dense(struct net *n, const char *name, struct tensor *x, int h)
{
	return act(n, nn_linear(n, name, x, h, true, XAVIER(h, h)));
}

static struct tensor *residual(struct net *n, struct tensor *x, int h)
{
	return nn_add(n, x, dense(n, "lin2", dense(n, "lin1", x, h), h));
}

/* (E,R): envelope(d/c)·sin(f_n d/c), the frequencies f_n trained from nπ on */
static struct tensor *radial_basis(
	struct net *n, const struct model_cfg *c, const struct graph_in *g)
{
	struct tensor *x = nn_axpb(n, g->dist, (float)(1 / c->cutoff), 0);

	x = nn_linear(n, "rbf.freq", x, c->gaussians, false, (struct init){INIT_MULTIPLES, M_PI});
	x = nn_mul(n, nn_unary(n, x, UN_SIN), g->env);
	net_mark(n, "radial", x);
	return x;
}

/* x, radial basis (E,H), (E,R) → (E,H) */
static struct tensor *interaction(struct net *n, const struct model_cfg *c,
	const struct graph_in *g, struct tensor *x, struct tensor *radial)
{
	int h = c->hidden;
	struct tensor *rbf = nn_linear(n, "lin_rbf", radial, h, false, XAVIER(c->gaussians, h));
	struct tensor *sbf = nn_linear(n, "lin_sbf", g->sph, BILINEAR, false, XAVIER(42, BILINEAR));
	struct tensor *ji = dense(n, "lin_ji", x, h), *kj = dense(n, "lin_kj", x, h), *y;

	/* Σ_b Σ_l sbf[t,b] W[i,b,l] kj[t,l]: the product with W before going from edges to triplets
	 */
	kj = nn_linear(
		n, "lin_bil", nn_mul(n, kj, rbf), (int64_t)BILINEAR * h, false, NORMAL(2.0 / h));
	kj = nn_reshape(n, nn_gather(n, kj, g->kj), DIMS(g->n_triplets, BILINEAR, h));
	kj = nn_matmul(
		n, nn_reshape(n, sbf, DIMS(g->n_triplets, 1, BILINEAR)), kj, false, false, 1);
	kj = nn_scatter(n, nn_reshape(n, kj, DIMS(g->n_triplets, h)), g->ji, g->n_edges);
	y = nn_add(n, ji, kj);
	for (int i = 0; i < BEFORE_SKIP; i++) {
		net_push(n, "layers_before_skip.%d", i);
		y = residual(n, y, h);
		net_pop(n);
	}
	y = nn_add(n, dense(n, "lin", y, h), x);
	for (int i = 0; i < AFTER_SKIP; i++) {
		net_push(n, "layers_after_skip.%d", i);
		y = residual(n, y, h);
		net_pop(n);
	}
	return y;
}

/* messages x (E,H) → atoms (A,1) */
static struct tensor *output(struct net *n, const struct model_cfg *c, const struct graph_in *g,
	struct tensor *x, struct tensor *radial)
{
	static const char *const lin[OUTPUT_LAYERS] = {"lins.0", "lins.1", "lins.2"};
	struct tensor *rbf =
		nn_linear(n, "lin_rbf", radial, c->hidden, false, XAVIER(c->gaussians, c->hidden));

	x = nn_scatter(n, nn_mul(n, x, rbf), g->dst, g->n_atoms);
	for (int i = 0; i < OUTPUT_LAYERS; i++)
		x = dense(n, lin[i], x, c->hidden);
	return nn_linear(n, "lin", x, 1, false, XAVIER(c->hidden, 1));
}

/* (E,H): both atoms and the distance */
static struct tensor *embed(
	struct net *n, const struct model_cfg *c, const struct graph_in *g, struct tensor *radial)
{
	struct tensor *z = nn_embed(n, "emb", g->z, GRAPH_ELEMENTS, c->hidden, NORMAL(1));
	struct tensor *r =
		act(n, nn_linear(n, "lin_rbf", radial, c->hidden, true, (struct init){0}));
	struct tensor *x = nn_concat(
		n, 3, (struct tensor *[]){nn_gather(n, z, g->dst), nn_gather(n, z, g->src), r});

	return act(n, nn_linear(n, "lin", x, c->hidden, true, (struct init){0}));
}

static void build(struct net *n, const struct model_cfg *c, const struct batch *b)
{
	struct graph_in g = graph_in(n, b);
	struct tensor *radial = radial_basis(n, c, &g), *x, *y;

	net_push(n, "emb");
	x = embed(n, c, &g, radial);
	net_pop(n);
	net_push(n, "output_blocks.0");
	y = output(n, c, &g, x, radial);
	net_pop(n);
	for (int i = 0; i < c->layers; i++) {
		net_push(n, "interaction_blocks.%d", i);
		x = interaction(n, c, &g, x, radial);
		net_pop(n);
		net_push(n, "output_blocks.%d", i + 1);
		y = nn_add(n, y, output(n, c, &g, x, radial));
		net_pop(n);
	}
	graph_loss(n, &g, nn_scatter(n, y, g.mol, g.n_molecules));
}

static void spec(const struct model_cfg *c, struct data_spec *s)
{
	s->cutoff = c->cutoff;
	s->triplets = true;
	s->radial = c->gaussians;
	s->spherical = 7;
}

const struct model model_dimenet = {
	.name = "dimenet",
	.domain = "chemistry",
	.task = "molecular property",
	.data = DATA_MOLECULE,
	.metric = "mae",
	.metric_is_error = true,
	.optim = OPTIM_ADAM,
	.size = {{.batch = 4,
			 .lr = 2e-3,
			 .cfg = {.hidden = 16, .layers = 1, .gaussians = 6, .cutoff = 3}},
		{.batch = 8,
			.lr = 1e-3,
			.cfg = {.hidden = 64, .layers = 2, .gaussians = 6, .cutoff = 4}},
		{.batch = 32,
			.lr = 1e-3,
			.cfg = {.hidden = 128, .layers = 6, .gaussians = 6, .cutoff = 5}}},
	.data_spec = spec,
	.build = build,
};
