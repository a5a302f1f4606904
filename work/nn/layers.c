/* layers.c: layers append nodes; here are their shapes. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "nn/layers.h"

/* "name.part", in one of two buffers so that a call may use two */
static const char *sub(const char *name, const char *part)
{
	static _Thread_local char buf[2][96];
	static _Thread_local int turn;

	turn ^= 1;
	snprintf(buf[turn], sizeof(buf[turn]), "%s.%s", name, part);
	return buf[turn];
}

/* PyTorch's default for convolutions and linear layers: U(−1/√fan_in, 1/√fan_in), weight and bias
 */
static struct init fan_init(struct init given, int64_t fan_in)
{
	if (given.a != 0)
		return given;
	return (struct init){INIT_UNIFORM, 1 / sqrt((double)fan_in)};
}

static struct init bias_init(struct init given, int64_t fan_in)
{
	return given.a != 0 ? INIT_ZERO : fan_init(given, fan_in);
}

/* A node whose only output has the shape of x. */
static struct node *same_shape(
	struct net *n, enum op op, int n_in, struct tensor *const *in, int n_out)
{
	struct node *nd = net_node(n, op, n_in, in, n_out);

	if (nd)
		net_dims(nd->out[0], in[0]->n_dims, in[0]->dim);
	return nd;
}

static struct tensor *result(const struct node *nd)
{
	return nd ? nd->out[0] : NULL;
}

static bool is_image(struct net *n, const struct tensor *x, const char *what)
{
	char buf[64];

	if (!x)
		return false;
	if (x->n_dims == 4)
		return true;
	net_fail(n, "%s: expected an image batch (N,C,H,W), got %s", what,
		tensor_shape(x, buf, sizeof(buf)));
	return false;
}

static int64_t window(int64_t size, int k, int pad, int stride)
{
	return (size + 2 * pad - k) / stride + 1;
}

struct tensor *nn_conv(struct net *n, const char *name, struct tensor *x, struct conv_opt o)
{
	struct tensor *in[3] = {x};
	int s = o.s ? o.s : o.r, stride = o.stride ? o.stride : 1;
	int64_t c, fan;
	struct node *nd;

	if (!is_image(n, x, name))
		return NULL;
	c = x->dim[1];
	fan = c * o.r * s;
	in[1] = net_param(n, sub(name, "weight"), DIMS(o.out, c, o.r, s), fan_init(o.init, fan));
	if (o.bias)
		in[2] = net_param(n, sub(name, "bias"), DIMS(o.out), bias_init(o.init, fan));
	nd = net_node(n, OP_CONV, o.bias ? 3 : 2, in, 1);
	if (!nd)
		return NULL;
	nd->a.conv = (struct args_conv){
		.r = o.r, .s = s, .stride = stride, .pad_h = o.pad_h, .pad_w = o.pad_w};
	if (x->dim[2] + 2 * o.pad_h < o.r || x->dim[3] + 2 * o.pad_w < s)
		return net_fail(n, "%s: the image is smaller than the kernel", name);
	return net_dims(nd->out[0], DIMS(x->dim[0], o.out, window(x->dim[2], o.r, o.pad_h, stride),
					    window(x->dim[3], s, o.pad_w, stride)));
}

struct tensor *nn_conv_transpose(
	struct net *n, const char *name, struct tensor *x, int out, int k, int stride)
{
	struct tensor *in[3] = {x};
	int64_t c;
	struct node *nd;

	if (!is_image(n, x, name))
		return NULL;
	c = x->dim[1];
	/* PyTorch takes out × k × k as the fan of a transposed convolution */
	in[1] = net_param(n, sub(name, "weight"), DIMS(c, out, k, k),
		fan_init((struct init){0}, (int64_t)out * k * k));
	in[2] = net_param(
		n, sub(name, "bias"), DIMS(out), fan_init((struct init){0}, (int64_t)out * k * k));
	nd = net_node(n, OP_CONV_T, 3, in, 1);
	if (!nd)
		return NULL;
	nd->a.conv = (struct args_conv){.r = k, .s = k, .stride = stride};
	return net_dims(nd->out[0],
		DIMS(x->dim[0], out, (x->dim[2] - 1) * stride + k, (x->dim[3] - 1) * stride + k));
}

/* Parameters and statistics of c channels into in[1] … in[4]. */
static void norm_params(struct net *n, const char *name, int64_t c, struct tensor **in)
{
	in[1] = net_param(n, sub(name, "weight"), DIMS(c), INIT_ONE);
	in[2] = net_param(n, sub(name, "bias"), DIMS(c), INIT_ZERO);
	in[3] = net_stat(n, sub(name, "running_mean"), DIMS(c), INIT_ZERO);
	in[4] = net_stat(n, sub(name, "running_var"), DIMS(c), INIT_ONE);
}

struct tensor *nn_batchnorm_eps(
	struct net *n, const char *name, struct tensor *x, bool relu, float eps)
{
	struct tensor *in[5] = {x};
	struct node *nd;

	if (!is_image(n, x, name))
		return NULL;
	norm_params(n, name, x->dim[1], in);
	nd = same_shape(n, OP_BATCHNORM, 5, in, 2);
	if (!nd)
		return NULL;
	nd->a.norm = (struct args_norm){.eps = eps, .momentum = 0.1f, .relu = relu};
	net_dims(nd->out[1], DIMS(2, x->dim[1]));
	return nd->out[0];
}

struct tensor *nn_batchnorm_rows(
	struct net *n, const char *name, struct tensor *x, struct tensor *index)
{
	struct tensor *in[6] = {x, [5] = index};
	struct node *nd;

	if (!x || !index)
		return NULL;
	if (tensor_count(index) != tensor_rows(x))
		return net_fail(n, "%s: an index for every row is needed", name);
	norm_params(n, name, tensor_cols(x), in);
	nd = same_shape(n, OP_NORM_ROWS, 6, in, 2);
	if (!nd)
		return NULL;
	nd->a.norm = (struct args_norm){.eps = 1e-5f, .momentum = 0.1f};
	net_dims(nd->out[1], DIMS(2, tensor_cols(x)));
	return nd->out[0];
}

struct tensor *nn_batchnorm(struct net *n, const char *name, struct tensor *x, bool relu)
{
	return nn_batchnorm_eps(n, name, x, relu, 1e-5f);
}

struct tensor *nn_layernorm(struct net *n, const char *name, struct tensor *x, float eps)
{
	struct tensor *in[3] = {x};
	struct node *nd;

	if (!x)
		return NULL;
	in[1] = net_param(n, sub(name, "weight"), DIMS(tensor_cols(x)), INIT_ONE);
	in[2] = net_param(n, sub(name, "bias"), DIMS(tensor_cols(x)), INIT_ZERO);
	nd = same_shape(n, OP_LAYERNORM, 3, in, 2);
	if (!nd)
		return NULL;
	nd->a.norm = (struct args_norm){.eps = eps};
	net_dims(nd->out[1], DIMS(tensor_rows(x), 2));
	return nd->out[0];
}

struct tensor *nn_linear_tied(
	struct net *n, struct tensor *x, struct tensor *w, struct tensor *bias)
{
	struct tensor *in[3] = {x, w, bias};
	struct node *nd = net_node(n, OP_LINEAR, bias ? 3 : 2, in, 1);

	if (!nd)
		return NULL;
	if (tensor_cols(x) != w->dim[1])
		return net_fail(n, "linear: %lld columns meet a weight of %lld",
			(long long)tensor_cols(x), (long long)w->dim[1]);
	net_dims(nd->out[0], x->n_dims, x->dim);
	nd->out[0]->dim[x->n_dims - 1] = w->dim[0];
	return nd->out[0];
}

struct tensor *nn_linear(
	struct net *n, const char *name, struct tensor *x, int64_t out, bool bias, struct init init)
{
	struct tensor *w, *b = NULL;

	if (!x)
		return NULL;
	w = net_param(
		n, sub(name, "weight"), DIMS(out, tensor_cols(x)), fan_init(init, tensor_cols(x)));
	if (bias)
		b = net_param(n, sub(name, "bias"), DIMS(out), bias_init(init, tensor_cols(x)));
	if (!w || (bias && !b))
		return NULL;
	return nn_linear_tied(n, x, w, b);
}

/* The shape of index with one more dimension, cols. */
static struct tensor *rows_of(struct net *n, enum op op, struct tensor *x, struct tensor *index)
{
	struct node *nd = net_node(n, op, 2, (struct tensor *[]){x, index}, 1);

	if (!nd)
		return NULL;
	if (index->n_dims >= TENSOR_DIMS)
		return net_fail(n, "%s: index has too many dimensions", op_info[op].name);
	net_dims(nd->out[0], index->n_dims, index->dim);
	nd->out[0]->dim[nd->out[0]->n_dims++] = tensor_cols(x);
	return nd->out[0];
}

struct tensor *nn_embed(struct net *n, const char *name, struct tensor *index, int64_t rows,
	int64_t cols, struct init init)
{
	struct tensor *w;

	if (init.a == 0)
		init = (struct init){INIT_NORMAL, 1}; /* PyTorch's default */
	w = net_param(n, sub(name, "weight"), DIMS(rows, cols), init);
	return rows_of(n, OP_EMBED, w, index);
}

struct tensor *nn_gather(struct net *n, struct tensor *x, struct tensor *index)
{
	return rows_of(n, OP_GATHER, x, index);
}

struct tensor *nn_scatter(struct net *n, struct tensor *x, struct tensor *index, int64_t rows)
{
	struct node *nd = net_node(n, OP_SCATTER, 2, (struct tensor *[]){x, index}, 1);

	return nd ? net_dims(nd->out[0], DIMS(rows, tensor_cols(x))) : NULL;
}

struct tensor *nn_segment(
	struct net *n, struct tensor *x, struct tensor *index, int64_t rows, enum segment f)
{
	struct node *nd = net_node(n, OP_SEGMENT, 2, (struct tensor *[]){x, index}, 2);

	if (!nd)
		return NULL;
	nd->a.segment.f = f;
	nd->out[1]->dt = DT_I32;
	/* kept: which edge won (max, min) or how many there are (mean) */
	net_dims(nd->out[1], DIMS(rows, f == SEG_MEAN ? 1 : tensor_cols(x)));
	return net_dims(nd->out[0], DIMS(rows, tensor_cols(x)));
}

struct tensor *nn_unary(struct net *n, struct tensor *x, enum unary f)
{
	struct node *nd = same_shape(n, OP_UNARY, 1, &x, 1);

	if (nd)
		nd->a.unary.f = f;
	return result(nd);
}

struct tensor *nn_sqrt(struct net *n, struct tensor *x, float eps)
{
	struct node *nd = same_shape(n, OP_UNARY, 1, &x, 1);

	if (nd) {
		nd->a.unary.f = UN_SQRT;
		nd->a.unary.eps = eps;
	}
	return result(nd);
}

struct tensor *nn_relu(struct net *n, struct tensor *x)
{
	return nn_unary(n, x, UN_RELU);
}

struct tensor *nn_binary(struct net *n, struct tensor *a, struct tensor *b, enum binary f)
{
	struct node *nd = same_shape(n, OP_BINARY, 2, (struct tensor *[]){a, b}, 1);
	char s1[64], s2[64];

	if (!nd)
		return NULL;
	nd->a.binary.f = f;
	if (tensor_same_shape(a, b))
		nd->a.binary.bcast = BC_NONE;
	else if (tensor_cols(b) == 1 && tensor_rows(b) == tensor_rows(a))
		nd->a.binary.bcast =
			BC_COL; /* (rows,1): before the case of as many rows as columns */
	else if (tensor_count(b) == tensor_cols(a))
		nd->a.binary.bcast = BC_ROW;
	else if (tensor_count(b) == tensor_rows(a))
		nd->a.binary.bcast = BC_COL;
	else
		return net_fail(n, "binary: shapes %s and %s do not match",
			tensor_shape(a, s1, sizeof(s1)), tensor_shape(b, s2, sizeof(s2)));
	return nd->out[0];
}

struct tensor *nn_add(struct net *n, struct tensor *a, struct tensor *b)
{
	return nn_binary(n, a, b, BIN_ADD);
}

struct tensor *nn_sub(struct net *n, struct tensor *a, struct tensor *b)
{
	return nn_binary(n, a, b, BIN_SUB);
}

struct tensor *nn_mul(struct net *n, struct tensor *a, struct tensor *b)
{
	return nn_binary(n, a, b, BIN_MUL);
}

struct tensor *nn_axpb(struct net *n, struct tensor *x, float a, float b)
{
	struct node *nd = same_shape(n, OP_AXPB, 1, &x, 1);

	if (nd) {
		nd->a.axpb.a = a;
		nd->a.axpb.b = b;
	}
	return result(nd);
}

static struct tensor *pool(struct net *n, enum op op, struct tensor *x, int k, int stride, int pad)
{
	struct node *nd;

	if (!is_image(n, x, op_info[op].name))
		return NULL;
	nd = net_node(n, op, 1, &x, op == OP_MAXPOOL ? 2 : 1);
	if (!nd)
		return NULL;
	nd->a.conv =
		(struct args_conv){.r = k, .s = k, .stride = stride, .pad_h = pad, .pad_w = pad};
	if (x->dim[2] + 2 * pad < k || x->dim[3] + 2 * pad < k)
		return net_fail(n, "%s: the image is smaller than the window", op_info[op].name);
	net_dims(nd->out[0], DIMS(x->dim[0], x->dim[1], window(x->dim[2], k, pad, stride),
				     window(x->dim[3], k, pad, stride)));
	if (op == OP_MAXPOOL) {
		nd->out[1]->dt = DT_U8;
		net_dims(nd->out[1], 4, nd->out[0]->dim);
	}
	return nd->out[0];
}

struct tensor *nn_maxpool(struct net *n, struct tensor *x, int k, int stride, int pad)
{
	return pool(n, OP_MAXPOOL, x, k, stride, pad);
}

struct tensor *nn_avgpool(struct net *n, struct tensor *x, int k, int stride, int pad)
{
	return pool(n, OP_AVGPOOL, x, k, stride, pad);
}

struct tensor *nn_global_avgpool(struct net *n, struct tensor *x)
{
	struct node *nd;
	struct tensor *y;

	if (!is_image(n, x, "avgpool"))
		return NULL;
	nd = net_node(n, OP_AVGPOOL, 1, &x, 1);
	if (!nd)
		return NULL;
	nd->a.conv = (struct args_conv){.r = (int)x->dim[2], .s = (int)x->dim[3], .stride = 1};
	y = net_dims(nd->out[0], DIMS(x->dim[0], x->dim[1], 1, 1));
	return nn_reshape(n, y, DIMS(x->dim[0], x->dim[1]));
}

struct tensor *nn_concat(struct net *n, int n_in, struct tensor *const *in)
{
	struct node *nd = net_node(n, OP_CONCAT, n_in, in, 1);
	int axis;

	if (!nd)
		return NULL;
	net_dims(nd->out[0], in[0]->n_dims, in[0]->dim);
	axis = in[0]->n_dims == 4 ? 1 : in[0]->n_dims - 1;
	for (int i = 1; i < n_in; i++) {
		for (int d = 0; d < in[0]->n_dims; d++)
			if (d != axis && in[i]->dim[d] != in[0]->dim[d])
				return net_fail(n, "concat: input %d has another shape", i);
		nd->out[0]->dim[axis] += in[i]->dim[axis];
	}
	return nd->out[0];
}

struct tensor *nn_slice(struct net *n, struct tensor *x, int64_t from, int64_t count)
{
	struct node *nd = same_shape(n, OP_SLICE, 1, &x, 1);

	if (!nd)
		return NULL;
	nd->a.slice.from = from;
	if (from < 0 || count <= 0 || from + count > tensor_cols(x))
		return net_fail(n, "slice: outside of the last dimension");
	nd->out[0]->dim[x->n_dims - 1] = count;
	return nd->out[0];
}

struct tensor *nn_reshape(struct net *n, struct tensor *x, int n_dims, const int64_t *dim)
{
	struct node *nd = net_node(n, OP_RESHAPE, 1, &x, 1);
	char buf[64];

	if (!nd)
		return NULL;
	nd->out[0]->dt = x->dt;
	net_dims(nd->out[0], n_dims, dim);
	if (tensor_count(nd->out[0]) != tensor_count(x))
		return net_fail(n, "reshape: %s has another number of elements",
			tensor_shape(x, buf, sizeof(buf)));
	return nd->out[0];
}

struct tensor *nn_permute(struct net *n, struct tensor *x, const int *perm)
{
	struct node *nd = same_shape(n, OP_PERMUTE, 1, &x, 1);

	if (!nd)
		return NULL;
	for (int d = 0; d < x->n_dims; d++) {
		nd->a.permute.perm[d] = perm[d];
		nd->out[0]->dim[d] = x->dim[perm[d]];
	}
	return nd->out[0];
}

struct tensor *nn_sum_axis(struct net *n, struct tensor *x)
{
	struct node *nd = net_node(n, OP_SUM_AXIS, 1, &x, 1);

	if (!nd)
		return NULL;
	if (x->n_dims != 3)
		return net_fail(n, "sum_axis: expected three dimensions");
	return net_dims(nd->out[0], DIMS(x->dim[0], x->dim[2]));
}

struct tensor *nn_softmax(struct net *n, struct tensor *x)
{
	return result(same_shape(n, OP_SOFTMAX, 1, &x, 1));
}

struct tensor *nn_matmul(
	struct net *n, struct tensor *a, struct tensor *b, bool ta, bool tb, float alpha)
{
	struct node *nd = net_node(n, OP_MATMUL, 2, (struct tensor *[]){a, b}, 1);
	struct args_matmul *g;
	int64_t kb, count_b;

	if (!nd)
		return NULL;
	if (a->n_dims != 3 || (b->n_dims != 3 && b->n_dims != 2))
		return net_fail(n, "matmul: expected (B,m,k) and (B,k,n) or (k,n)");
	g = &nd->a.matmul;
	g->batch = a->dim[0];
	g->m = ta ? a->dim[2] : a->dim[1];
	g->k = ta ? a->dim[1] : a->dim[2];
	kb = b->dim[b->n_dims - (tb ? 1 : 2)];
	g->n = b->dim[b->n_dims - (tb ? 2 : 1)];
	g->ta = ta;
	g->tb = tb;
	g->alpha = alpha;
	count_b = b->n_dims == 3 ? b->dim[0] : 1;
	if (kb != g->k || (count_b != 1 && count_b != g->batch))
		return net_fail(n, "matmul: inner dimensions or batches do not match");
	return net_dims(nd->out[0], DIMS(g->batch, g->m, g->n));
}

struct tensor *nn_attention(struct net *n, struct tensor *qkv, struct tensor *mask, int heads,
	bool causal, float dropout)
{
	struct tensor *in[2] = {qkv, mask};
	struct node *nd = net_node(n, OP_ATTENTION, mask ? 2 : 1, in, 2);
	int64_t e;

	if (!nd)
		return NULL;
	if (qkv->n_dims != 3 || qkv->dim[2] % (3 * heads))
		return net_fail(
			n, "attention: expected (B,T,3E) with E a multiple of %d heads", heads);
	e = qkv->dim[2] / 3;
	nd->a.attention =
		(struct args_attention){.heads = heads, .causal = causal, .dropout = dropout};
	net_dims(nd->out[1], DIMS(qkv->dim[0], heads, qkv->dim[1], qkv->dim[1]));
	return net_dims(nd->out[0], DIMS(qkv->dim[0], qkv->dim[1], e));
}

struct tensor *nn_dropout(struct net *n, struct tensor *x, float p)
{
	struct node *nd;

	if (!n->train || p <= 0)
		return x;
	nd = same_shape(n, OP_DROPOUT, 1, &x, 1);
	if (nd)
		nd->a.dropout.p = p;
	return result(nd);
}

void nn_xent(struct net *n, struct tensor *logits, struct tensor *label, struct args_xent a)
{
	struct node *nd = same_shape(n, OP_XENT, 2, (struct tensor *[]){logits, label}, 1);
	int64_t classes;

	if (!nd)
		return;
	classes = logits->n_dims == 4 ? logits->dim[1] : tensor_cols(logits);
	if (tensor_count(label) * classes != tensor_count(logits))
		net_fail(n, "cross entropy: labels do not match the scores");
	if (logits->n_dims == 4 && classes > STAT_CLASSES)
		net_fail(n, "cross entropy: at most %d classes of pixels", STAT_CLASSES);
	if (a.weight == 0)
		a.weight = 1;
	nd->a.xent = a;
	nd->out[0]->grad = NULL; /* out[0] keeps the probabilities */
}

void nn_regression(struct net *n, struct tensor *y, struct tensor *target, struct tensor *weight,
	struct args_regression a)
{
	struct node *nd = net_node(
		n, OP_REGRESSION, weight ? 3 : 2, (struct tensor *[]){y, target, weight}, 1);

	if (!nd)
		return;
	if (tensor_count(y) != tensor_count(target) ||
		(weight && tensor_count(weight) != tensor_rows(y)))
		net_fail(n, "regression: targets do not match the output");
	if (a.weight == 0)
		a.weight = 1;
	nd->a.regression = a;
	net_dims(nd->out[0], DIMS(1));
	nd->out[0]->grad = NULL;
}
