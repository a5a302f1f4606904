/* ref.h: the reference back end's functions, for its table in ref.c and as the fallback of others.
 *
 * Plain loops over row-major f32, sums in double. Slow and meant to be read: the other back ends
 * are compared with it operation by operation.
 */
#ifndef WORK_OPS_REF_H
#define WORK_OPS_REF_H

#include "ops/ops.h"

#define REF_OP(name)                                                                               \
	void ref_##name##_forward(struct node *nd);                                                \
	void ref_##name##_backward(struct node *nd)

REF_OP(conv);
REF_OP(conv_t);
REF_OP(maxpool);
REF_OP(avgpool);
REF_OP(linear);
REF_OP(matmul);
REF_OP(softmax);
REF_OP(attention);
REF_OP(batchnorm);
REF_OP(norm_rows);
REF_OP(layernorm);
REF_OP(unary);
REF_OP(binary);
REF_OP(axpb);
REF_OP(dropout);
REF_OP(concat);
REF_OP(slice);
REF_OP(reshape);
REF_OP(permute);
REF_OP(sum_axis);
REF_OP(reorder);
REF_OP(embed);
REF_OP(gather);
REF_OP(scatter);
REF_OP(segment);
REF_OP(xent);
REF_OP(regression);

/* Runs f, the forward or backward of a product, as the precision of the run asks; ref_product_plan
 * sets the scratch for it. ref_operand rounds what becomes an operand on the way. */
int ref_product_plan(struct node *nd, struct fault *f);
void ref_product(struct node *nd, void (*f)(struct node *), bool backward);
double ref_operand(const struct node *nd, double x);

int ref_batchnorm_plan(struct node *nd, struct fault *f);
int ref_norm_rows_plan(struct node *nd, struct fault *f);
/* Element-wise operations take any layout whose padding they keep zero. */
int ref_eltwise_plan(struct node *nd, struct fault *f);

/* Dropout drops element i if rng_fast(key, first + i) < below; i counts over this rank's part and
 * first is where that lies in the global batch (modulo 2³²: the pattern repeats after so many
 * elements). */
uint32_t dropout_key(const struct node *nd);
uint64_t dropout_first(const struct node *nd);
static inline uint32_t dropout_below(float p)
{
	return (uint32_t)((double)p * 4294967296.0);
}
/* what dropout multiplies by: 0 or 1/(1−p) */
float dropout_factor(const struct node *nd, float p, uint64_t index);

/* The gradient to write for input i, or NULL if none is wanted. */
static inline struct tensor *grad_of(const struct node *nd, int i)
{
	return i < nd->n_in ? nd->in[i]->grad : NULL;
}

/* Writes v to g[i], or adds it. */
static inline void grad_put(float *g, int64_t i, double v, bool add)
{
	g[i] = (float)(add ? g[i] + v : v);
}

/* Before scattering into a gradient: zero unless it is added to. */
void grad_clear(const struct node *nd, int i);

#endif
