/* gpt2.c: GPT-2 (Radford et al. 2019), a causal language model: pre-norm blocks, tanh GELU, output
 * layer tied to the embeddings. x is (N,T,E) throughout. */
#include <math.h>
#include "models/model.h"

#define NORMAL ((struct init){INIT_NORMAL, 0.02})

static struct tensor *block(struct net *n, const struct model_cfg *c, struct tensor *x)
{
	/* projections back into the residual stream start smaller: 2 per layer add up */
	struct init residual = {INIT_NORMAL, 0.02 / sqrt(2.0 * c->layers)};
	struct tensor *y = nn_layernorm(n, "ln_1", x, 1e-5f);

	y = nn_linear(n, "attn.c_attn", y, 3 * c->hidden, true, NORMAL);
	y = nn_attention(n, y, NULL, c->heads, true, c->dropout);
	y = nn_linear(n, "attn.c_proj", y, c->hidden, true, residual);
	x = nn_add(n, nn_dropout(n, y, c->dropout), x);
	y = nn_layernorm(n, "ln_2", x, 1e-5f);
	y = nn_unary(n, nn_linear(n, "mlp.c_fc", y, c->ff, true, NORMAL), UN_GELU_TANH);
	y = nn_linear(n, "mlp.c_proj", y, c->hidden, true, residual);
	return nn_add(n, nn_dropout(n, y, c->dropout), x);
}

static void build(struct net *n, const struct model_cfg *c, const struct batch *b)
{
	struct tensor *x =
		nn_embed(n, "wte", model_input(n, b, "ids"), c->data.vocab, c->hidden, NORMAL);
	struct tensor *wte;

	x = nn_add(n, x,
		nn_embed(n, "wpe", model_input(n, b, "position"), model_positions(c), c->hidden,
			NORMAL));
	x = nn_dropout(n, x, c->dropout);
	for (int i = 0; i < c->layers; i++) {
		net_push(n, "h.%d", i);
		x = block(n, c, x);
		net_pop(n);
	}
	x = nn_layernorm(n, "ln_f", x, 1e-5f);
	wte = net_param(n, "wte.weight", DIMS(c->data.vocab, c->hidden), NORMAL);
	if (!x || !wte)
		return;
	x = nn_linear_tied(n, x, wte, NULL);
	net_mark(n, "logits", x);
	nn_xent(n, x, model_input(n, b, "label"), (struct args_xent){0});
}

static void tokens(const struct model_cfg *c, struct data_spec *s)
{
	s->seq = c->seq;
	s->vocab_size = c->vocab;
}

const struct model model_gpt2 = {
	.name = "gpt2",
	.domain = "language",
	.task = "causal-lm",
	.data = DATA_CLM,
	.metric = "accuracy",
	.optim = OPTIM_ADAMW,
	.weight_decay = 0.01,
	.size = {{.batch = 8,
			 .lr = 2e-3,
			 .cfg = {.hidden = 64,
				 .layers = 2,
				 .heads = 2,
				 .ff = 256,
				 .seq = 32,
				 .vocab = 64,
				 .dropout = 0.1f}},
		{.batch = 8,
			.lr = 5e-4,
			.cfg = {.hidden = 256,
				.layers = 4,
				.heads = 4,
				.ff = 1024,
				.seq = 128,
				.vocab = 8192,
				.dropout = 0.1f}},
		{.batch = 8,
			.lr = 2e-4,
			.cfg = {.hidden = 768,
				.layers = 12,
				.heads = 12,
				.ff = 3072,
				.seq = 256,
				.vocab = 50257,
				.positions = 1024,
				.dropout = 0.1f}}},
	.data_spec = tokens,
	.build = build,
};
