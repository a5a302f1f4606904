/* layers.h: layers as functions that append nodes to a net and return the output.
 *
 * Parameter names and default initialisation are PyTorch's, so that weights and fixtures
 * correspond. `name` is the module's name; parameters are name.weight, name.bias.
 */
#ifndef WORK_NN_LAYERS_H
#define WORK_NN_LAYERS_H

#include "nn/net.h"

struct conv_opt {
	int out, r, s; /* s 0: as r */
	int stride; /* 0: 1 */
	int pad_h, pad_w;
	bool bias;
	struct init init; /* a = 0: PyTorch's default, uniform(1/sqrt(fan_in)) */
};
struct tensor *nn_conv(struct net *n, const char *name, struct tensor *x, struct conv_opt o);
struct tensor *nn_conv_transpose(
	struct net *n, const char *name, struct tensor *x, int out, int k, int stride);
/* eps 1e-5 and momentum 0.1 unless given */
struct tensor *nn_batchnorm(struct net *n, const char *name, struct tensor *x, bool relu);
struct tensor *nn_batchnorm_eps(
	struct net *n, const char *name, struct tensor *x, bool relu, float eps);
/* Batch norm of x (A,C) over the rows whose index (A) is not negative: padding takes no part. */
struct tensor *nn_batchnorm_rows(
	struct net *n, const char *name, struct tensor *x, struct tensor *index);
struct tensor *nn_layernorm(struct net *n, const char *name, struct tensor *x, float eps);
/* init.a = 0: PyTorch's default */
struct tensor *nn_linear(struct net *n, const char *name, struct tensor *x, int64_t out, bool bias,
	struct init init);
/* y = x wᵀ with a weight that exists already (tied embeddings) */
struct tensor *nn_linear_tied(
	struct net *n, struct tensor *x, struct tensor *w, struct tensor *bias);
struct tensor *nn_embed(struct net *n, const char *name, struct tensor *index, int64_t rows,
	int64_t cols, struct init init);
struct tensor *nn_unary(struct net *n, struct tensor *x, enum unary f);
/* sqrt(max(x, 0) + eps) */
struct tensor *nn_sqrt(struct net *n, struct tensor *x, float eps);
struct tensor *nn_relu(struct net *n, struct tensor *x);
struct tensor *nn_binary(struct net *n, struct tensor *a, struct tensor *b, enum binary f);
struct tensor *nn_add(struct net *n, struct tensor *a, struct tensor *b);
struct tensor *nn_sub(struct net *n, struct tensor *a, struct tensor *b);
struct tensor *nn_mul(struct net *n, struct tensor *a, struct tensor *b);
struct tensor *nn_axpb(struct net *n, struct tensor *x, float a, float b);
struct tensor *nn_maxpool(struct net *n, struct tensor *x, int k, int stride, int pad);
struct tensor *nn_avgpool(struct net *n, struct tensor *x, int k, int stride, int pad);
struct tensor *nn_global_avgpool(struct net *n, struct tensor *x); /* (N,C,H,W) → (N,C) */
struct tensor *nn_concat(struct net *n, int n_in, struct tensor *const *in);
struct tensor *nn_slice(struct net *n, struct tensor *x, int64_t from, int64_t count);
struct tensor *nn_reshape(struct net *n, struct tensor *x, int n_dims, const int64_t *dim);
struct tensor *nn_permute(struct net *n, struct tensor *x, const int *perm);
struct tensor *nn_sum_axis(struct net *n, struct tensor *x); /* (A,B,C) → (A,C) */
struct tensor *nn_softmax(struct net *n, struct tensor *x);
/* a (B,m,k) × b (B,k,n) or, with tb, b (B,n,k); b may be 2-dimensional: shared */
struct tensor *nn_matmul(
	struct net *n, struct tensor *a, struct tensor *b, bool ta, bool tb, float alpha);
struct tensor *nn_attention(struct net *n, struct tensor *qkv, struct tensor *mask, int heads,
	bool causal, float dropout);
struct tensor *nn_dropout(struct net *n, struct tensor *x, float p);
struct tensor *nn_gather(struct net *n, struct tensor *x, struct tensor *index);
/* rows: number of targets */
struct tensor *nn_scatter(struct net *n, struct tensor *x, struct tensor *index, int64_t rows);
struct tensor *nn_segment(
	struct net *n, struct tensor *x, struct tensor *index, int64_t rows, enum segment f);
/* Losses add to ctx->stats; a net may have several. */
void nn_xent(struct net *n, struct tensor *logits, struct tensor *label, struct args_xent a);
void nn_regression(struct net *n, struct tensor *y, struct tensor *target, struct tensor *weight,
	struct args_regression a);

#define DIMS(...)                                                                                  \
	(int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[])               \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}

#endif
