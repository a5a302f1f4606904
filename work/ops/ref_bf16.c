/* ref_bf16.c: what `--precision bf16` means.
 *
 * Convolutions, products of matrices and attention take operands rounded to bf16: activations,
 * weights and, on the way back, the gradient that arrives. Sums are f32 or better. Results, biases
 * and their gradients, norms, softmax, losses and the master weights stay f32.
 */
#include "ops/ref.h"
#include "ops/vec.h"

static size_t room(const struct tensor *t)
{
	return ((size_t)tensor_count(t) * sizeof(float) + 63) / 64 * 64;
}

int ref_product_plan(struct node *nd, struct fault *f)
{
	(void)f;
	if (!nd->ctx->bf16)
		return 0;
	nd->scratch.bytes = room(nd->in[0]) + room(nd->out[0]);
	if (nd->n_in > 1)
		nd->scratch.bytes += room(nd->in[1]);
	return 0;
}

double ref_operand(const struct node *nd, double x)
{
	return nd->ctx->bf16 ? (double)bf16_to(bf16_from((float)x)) : x;
}

/* copy: t with rounded elements at `at`; returns what lies behind them */
static char *round_into(struct tensor *copy, const struct tensor *t, char *at)
{
	float *y = (void *)at;

	*copy = *t;
	copy->data = y;
	for (int64_t i = 0; i < tensor_count(t); i++)
		y[i] = bf16_to(bf16_from(tf(t)[i]));
	return at + room(t);
}

void ref_product(struct node *nd, void (*f)(struct node *), bool backward)
{
	struct node c = *nd;
	struct tensor in[2], out, grad;
	char *at = nd->scratch.data;

	if (!nd->ctx->bf16) {
		f(nd);
		return;
	}
	for (int i = 0; i < 2 && i < nd->n_in; i++)
		if (nd->in[i]->dt == DT_F32) {
			at = round_into(&in[i], nd->in[i], at);
			c.in[i] = &in[i];
		}
	if (backward) {
		round_into(&grad, nd->out[0]->grad, at);
		out = *nd->out[0];
		out.grad = &grad;
		c.out[0] = &out;
		c.n_in = nd->n_in < 2 ? nd->n_in : 2;
	}
	f(&c);
	if (!backward || nd->n_in < 3)
		return;
	c = *nd; /* the bias: from the gradient as it is */
	for (int i = 0; i < 2; i++) {
		in[i] = *nd->in[i];
		in[i].grad = NULL;
		c.in[i] = &in[i];
	}
	f(&c);
}
