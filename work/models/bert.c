/* bert.c: BERT (Devlin et al. 2018) for masked language modelling and classification, and
 * DistilBERT.
 *
 * x is (N,T,E) throughout. Query, key and value are one product (3E,E). Post-norm blocks, exact
 * GELU; the output layer shares the word embeddings.
 */
#include <string.h>
#include "models/model.h"

#define NORMAL ((struct init){INIT_NORMAL, 0.02})

static struct tensor *embed(
	struct net *n, const struct model_cfg *c, const struct batch *b, bool types)
{
	struct tensor *ids = model_input(n, b, "ids");
	struct tensor *x = nn_embed(n, "word", ids, c->data.vocab, c->hidden, NORMAL);
	struct tensor *pos = nn_embed(n, "position", model_input(n, b, "position"),
		model_positions(c), c->hidden, NORMAL);

	x = nn_add(n, x, pos);
	/* one segment: the first row of the table of two, as a bias */
	if (types && x) {
		struct tensor *t = net_param(n, "type.weight", DIMS(2, c->hidden), NORMAL);

		t = nn_reshape(n, t, DIMS(2 * c->hidden));
		x = nn_binary(n, x, nn_slice(n, t, 0, c->hidden), BIN_ADD);
	}
	x = nn_layernorm(n, "norm", x, 1e-12f);
	return nn_dropout(n, x, c->dropout);
}

static struct tensor *block(
	struct net *n, const struct model_cfg *c, struct tensor *x, struct tensor *mask)
{
	struct tensor *y = nn_linear(n, "qkv", x, 3 * c->hidden, true, NORMAL);

	y = nn_attention(n, y, mask, c->heads, false, c->dropout);
	y = nn_linear(n, "out", y, c->hidden, true, NORMAL);
	x = nn_layernorm(n, "norm1", nn_add(n, nn_dropout(n, y, c->dropout), x), 1e-12f);
	y = nn_linear(n, "ff1", x, c->ff, true, NORMAL);
	y = nn_unary(n, y, UN_GELU);
	y = nn_linear(n, "ff2", y, c->hidden, true, NORMAL);
	return nn_layernorm(n, "norm2", nn_add(n, nn_dropout(n, y, c->dropout), x), 1e-12f);
}

static struct tensor *encoder(
	struct net *n, const struct model_cfg *c, const struct batch *b, bool types)
{
	struct tensor *mask = model_input(n, b, "mask"), *x;

	net_push(n, "embeddings");
	x = embed(n, c, b, types);
	net_pop(n);
	for (int i = 0; i < c->layers; i++) {
		net_push(n, "layer.%d", i);
		x = block(n, c, x, mask);
		net_pop(n);
	}
	return x;
}

static void masked_lm(
	struct net *n, const struct model_cfg *c, const struct batch *b, struct tensor *x)
{
	struct tensor *w =
		net_param(n, "embeddings.word.weight", DIMS(c->data.vocab, c->hidden), NORMAL);
	struct tensor *bias = net_param(n, "decoder.bias", DIMS(c->data.vocab), INIT_ZERO);

	x = nn_linear(n, "transform", x, c->hidden, true, NORMAL);
	x = nn_unary(n, x, UN_GELU);
	x = nn_layernorm(n, "transform_norm", x, 1e-12f);
	if (!x || !w || !bias)
		return;
	x = nn_linear_tied(n, x, w, bias);
	net_mark(n, "logits", x);
	nn_xent(n, x, model_input(n, b, "label"), (struct args_xent){0});
}

/* The first token's state, through a tanh layer. */
static void classify(
	struct net *n, const struct model_cfg *c, const struct batch *b, struct tensor *x)
{
	if (!x)
		return;
	x = nn_reshape(n, x, DIMS(x->dim[0], x->dim[1] * x->dim[2]));
	x = nn_slice(n, x, 0, c->hidden);
	x = nn_unary(n, nn_linear(n, "pooler", x, c->hidden, true, NORMAL), UN_TANH);
	x = nn_linear(n, "classifier", nn_dropout(n, x, c->dropout), c->data.classes, true, NORMAL);
	net_mark(n, "logits", x);
	nn_xent(n, x, model_input(n, b, "label"), (struct args_xent){0});
}

static void build(struct net *n, const struct model_cfg *c, const struct batch *b)
{
	struct tensor *x = encoder(n, c, b, true);

	if (c->task && !strcmp(c->task, "classification"))
		classify(n, c, b, x);
	else
		masked_lm(n, c, b, x);
}

static void build_distil(struct net *n, const struct model_cfg *c, const struct batch *b)
{
	masked_lm(n, c, b, encoder(n, c, b, false));
}

static void tokens(const struct model_cfg *c, struct data_spec *s)
{
	s->seq = c->seq;
	s->vocab_size = c->vocab;
	if (c->task && !strcmp(c->task, "classification"))
		s->kind = DATA_SEQCLASS;
}

#define SIZES(deep)                                                                                \
	{                                                                                          \
		{.batch = 8,                                                                       \
			.lr = 2e-3,                                                                \
			.cfg = {.hidden = 64,                                                      \
				.layers = 2,                                                       \
				.heads = 2,                                                        \
				.ff = 256,                                                         \
				.seq = 32,                                                         \
				.vocab = 64,                                                       \
				.dropout = 0.1f}},                                                 \
			{.batch = 8,                                                               \
				.lr = 5e-4,                                                        \
				.cfg = {.hidden = 256,                                             \
					.layers = 4,                                               \
					.heads = 4,                                                \
					.ff = 1024,                                                \
					.seq = 128,                                                \
					.vocab = 8192,                                             \
					.dropout = 0.1f}},                                         \
			{.batch = 16,                                                              \
				.lr = 1e-4,                                                        \
				.cfg = {.hidden = 768,                                             \
					.layers = deep,                                            \
					.heads = 12,                                               \
					.ff = 3072,                                                \
					.seq = 128,                                                \
					.vocab = 30522,                                            \
					.positions = 512,                                          \
					.dropout = 0.1f}},                                         \
	}

const struct model model_bert = {
	.name = "bert",
	.domain = "language",
	.task = "masked-lm",
	.other_task = "classification",
	.data = DATA_MLM,
	.metric = "accuracy",
	.optim = OPTIM_ADAMW,
	.weight_decay = 0.01,
	.size = SIZES(12),
	.data_spec = tokens,
	.build = build,
};

const struct model model_distilbert = {
	.name = "distilbert",
	.domain = "language",
	.task = "masked-lm",
	.data = DATA_MLM,
	.metric = "accuracy",
	.optim = OPTIM_ADAMW,
	.weight_decay = 0.01,
	.size = SIZES(6),
	.data_spec = tokens,
	.build = build_distil,
};
