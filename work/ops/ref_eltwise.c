/* ref_eltwise.c: element-wise operations, and those that only move elements. */
#include <math.h>
#include <string.h>
#include "ops/ref.h"
#include "ops/rng.h"

/* elements in memory, padding included */
static int64_t stored(const struct tensor *t)
{
	return (int64_t)(t->bytes / sizeof(float));
}

static bool keeps_zero(const struct node *nd)
{
	switch (nd->op) {
	case OP_UNARY:
		return nd->a.unary.f != UN_SIGMOID && nd->a.unary.f != UN_EXP &&
		       nd->a.unary.f != UN_SQRT && nd->a.unary.f != UN_RECIP;
	case OP_AXPB:
		return nd->a.axpb.b == 0;
	case OP_BINARY:
		return nd->a.binary.bcast == BC_NONE;
	default:
		return false;
	}
}

int ref_eltwise_plan(struct node *nd, struct fault *f)
{
	int64_t b = keeps_zero(nd) ? nd->in[0]->cblock : 1;

	(void)f;
	for (int i = 0; i < nd->n_in; i++)
		nd->want[i] = b;
	nd->out[0]->cblock = b;
	return 0;
}

static double phi(double x) /* density of the standard normal distribution */
{
	return exp(-0.5 * x * x) * 0.3989422804014327;
}

static double cdf(double x)
{
	return 0.5 * (1 + erf(x * 0.7071067811865476));
}

static double sigmoid(double x)
{
	return 1 / (1 + exp(-x));
}

static double gelu_inner(double x)
{
	return 0.7978845608028654 * (x + 0.044715 * x * x * x);
}

static double value(const struct node *nd, double x)
{
	switch (nd->a.unary.f) {
	case UN_RELU:
		return x > 0 ? x : 0;
	case UN_GELU:
		return x * cdf(x);
	case UN_GELU_TANH:
		return 0.5 * x * (1 + tanh(gelu_inner(x)));
	case UN_TANH:
		return tanh(x);
	case UN_SIGMOID:
		return sigmoid(x);
	case UN_SILU:
		return x * sigmoid(x);
	case UN_SSP:
		return (x > 0 ? x : 0) + log1p(exp(-fabs(x))) - 0.6931471805599453;
	case UN_SQUARE:
		return x * x;
	case UN_SQRT:
		return sqrt((x > 0 ? x : 0) + nd->a.unary.eps);
	case UN_EXP:
		return exp(x);
	case UN_RECIP:
		return 1 / x;
	case UN_SIN:
		return sin(x);
	case UN_COUNT:
		break;
	}
	return NAN;
}

static double slope(const struct node *nd, double x, double y)
{
	double t, s;

	switch (nd->a.unary.f) {
	case UN_RELU:
		return y > 0;
	case UN_GELU:
		return cdf(x) + x * phi(x);
	case UN_GELU_TANH:
		t = tanh(gelu_inner(x));
		return 0.5 * (1 + t) +
		       0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 0.134145 * x * x);
	case UN_TANH:
		return 1 - y * y;
	case UN_SIGMOID:
		return y * (1 - y);
	case UN_SILU:
		s = sigmoid(x);
		return s * (1 + x * (1 - s));
	case UN_SSP:
		return sigmoid(x);
	case UN_SQUARE:
		return 2 * x;
	case UN_SQRT:
		return x > 0 ? 0.5 / y : 0;
	case UN_EXP:
		return y;
	case UN_RECIP:
		return -y * y;
	case UN_SIN:
		return cos(x);
	case UN_COUNT:
		break;
	}
	return NAN;
}

void ref_unary_forward(struct node *nd)
{
	for (int64_t i = 0; i < stored(nd->out[0]); i++)
		tf(nd->out[0])[i] = (float)value(nd, tf(nd->in[0])[i]);
}

void ref_unary_backward(struct node *nd)
{
	const float *x = tf(nd->in[0]), *y = tf(nd->out[0]), *dy = tf(nd->out[0]->grad);

	for (int64_t i = 0; i < stored(nd->out[0]); i++)
		grad_put(tf(nd->in[0]->grad), i, dy[i] * slope(nd, x[i], y[i]), nd->acc[0]);
}

/* index into b of the partner of a[i] */
static int64_t partner(const struct node *nd, int64_t i, int64_t cols)
{
	switch (nd->a.binary.bcast) {
	case BC_NONE:
		return i;
	case BC_ROW:
		return i % cols;
	case BC_COL:
		return i / cols;
	}
	return i;
}

void ref_binary_forward(struct node *nd)
{
	const float *a = tf(nd->in[0]), *b = tf(nd->in[1]);
	float *y = tf(nd->out[0]);
	int64_t cols = tensor_cols(nd->in[0]);

	for (int64_t i = 0; i < stored(nd->out[0]); i++) {
		float v = b[partner(nd, i, cols)];

		switch (nd->a.binary.f) {
		case BIN_ADD:
			y[i] = a[i] + v;
			break;
		case BIN_SUB:
			y[i] = a[i] - v;
			break;
		case BIN_MUL:
			y[i] = a[i] * v;
			break;
		case BIN_ADD_RELU:
			y[i] = a[i] + v > 0 ? a[i] + v : 0;
			break;
		}
	}
}

void ref_binary_backward(struct node *nd)
{
	const float *a = tf(nd->in[0]), *b = tf(nd->in[1]), *dy = tf(nd->out[0]->grad);
	struct tensor *da = grad_of(nd, 0), *db = grad_of(nd, 1);
	int64_t cols = tensor_cols(nd->in[0]);
	enum binary f = nd->a.binary.f;

	for (int64_t i = 0; da && i < stored(da); i++) {
		double d = dy[i];

		if (f == BIN_MUL)
			d *= b[partner(nd, i, cols)];
		if (f == BIN_ADD_RELU && tf(nd->out[0])[i] <= 0)
			d = 0;
		grad_put(tf(da), i, d, nd->acc[0]);
	}
	grad_clear(nd, 1);
	for (int64_t i = 0; db && i < stored(nd->out[0]); i++) {
		float d = f == BIN_SUB ? -dy[i] : dy[i];

		if (f == BIN_MUL)
			d *= a[i];
		if (f == BIN_ADD_RELU && tf(nd->out[0])[i] <= 0)
			d = 0;
		tf(db)[partner(nd, i, cols)] += d;
	}
}

void ref_axpb_forward(struct node *nd)
{
	for (int64_t i = 0; i < stored(nd->out[0]); i++)
		tf(nd->out[0])[i] = nd->a.axpb.a * tf(nd->in[0])[i] + nd->a.axpb.b;
}

void ref_axpb_backward(struct node *nd)
{
	for (int64_t i = 0; i < stored(nd->out[0]); i++)
		grad_put(
			tf(nd->in[0]->grad), i, nd->a.axpb.a * tf(nd->out[0]->grad)[i], nd->acc[0]);
}

uint32_t dropout_key(const struct node *nd)
{
	return (uint32_t)rng_u64(nd->ctx->seed ^ 0xd509, nd->ctx->step, (uint64_t)nd->id);
}

float dropout_factor(const struct node *nd, float p, uint64_t index)
{
	return rng_fast(dropout_key(nd), (uint32_t)index) < dropout_below(p) ? 0 : 1 / (1 - p);
}

uint64_t dropout_first(const struct node *nd)
{
	int64_t local = nd->ctx->n_local > 0 ? nd->ctx->n_local : 1;

	return (uint64_t)(nd->ctx->row0 * (tensor_count(nd->out[0]) / local));
}

void ref_dropout_forward(struct node *nd)
{
	uint64_t first = dropout_first(nd);

	for (int64_t i = 0; i < tensor_count(nd->out[0]); i++)
		tf(nd->out[0])[i] =
			tf(nd->in[0])[i] * dropout_factor(nd, nd->a.dropout.p, first + (uint64_t)i);
}

void ref_dropout_backward(struct node *nd)
{
	uint64_t first = dropout_first(nd);

	for (int64_t i = 0; i < tensor_count(nd->out[0]); i++)
		grad_put(tf(nd->in[0]->grad), i,
			tf(nd->out[0]->grad)[i] *
				dropout_factor(nd, nd->a.dropout.p, first + (uint64_t)i),
			nd->acc[0]);
}

/* Concatenation and slice see tensors as (rows, columns): a column is what lies behind the axis. */
static void concat_shape(const struct node *nd, int i, int64_t *rows, int64_t *cols)
{
	const struct tensor *t = i < 0 ? nd->out[0] : nd->in[i];

	*rows = t->n_dims == 4 ? t->dim[0] : tensor_rows(t);
	*cols = tensor_count(t) / *rows;
}

void ref_concat_forward(struct node *nd)
{
	int64_t rows, all, cols, at = 0;

	concat_shape(nd, -1, &rows, &all);
	for (int i = 0; i < nd->n_in; i++) {
		concat_shape(nd, i, &rows, &cols);
		for (int64_t r = 0; r < rows; r++)
			memcpy(tf(nd->out[0]) + r * all + at, tf(nd->in[i]) + r * cols,
				(size_t)cols * sizeof(float));
		at += cols;
	}
}

void ref_concat_backward(struct node *nd)
{
	int64_t rows, all, cols, at = 0;

	concat_shape(nd, -1, &rows, &all);
	for (int i = 0; i < nd->n_in; i++) {
		struct tensor *dx = grad_of(nd, i);

		concat_shape(nd, i, &rows, &cols);
		for (int64_t r = 0; dx && r < rows; r++)
			for (int64_t c = 0; c < cols; c++)
				grad_put(tf(dx), r * cols + c,
					tf(nd->out[0]->grad)[r * all + at + c], nd->acc[i]);
		at += cols;
	}
}

void ref_slice_forward(struct node *nd)
{
	int64_t rows = tensor_rows(nd->in[0]), cols = tensor_cols(nd->in[0]);
	int64_t n = tensor_cols(nd->out[0]);

	for (int64_t r = 0; r < rows; r++)
		memcpy(tf(nd->out[0]) + r * n, tf(nd->in[0]) + r * cols + nd->a.slice.from,
			(size_t)n * sizeof(float));
}

void ref_slice_backward(struct node *nd)
{
	int64_t rows = tensor_rows(nd->in[0]), cols = tensor_cols(nd->in[0]);
	int64_t n = tensor_cols(nd->out[0]);

	grad_clear(nd, 0);
	for (int64_t r = 0; r < rows; r++)
		for (int64_t c = 0; c < n; c++)
			tf(nd->in[0]->grad)[r * cols + nd->a.slice.from + c] +=
				tf(nd->out[0]->grad)[r * n + c];
}

/* Usually a view: nothing to do. */
void ref_reshape_forward(struct node *nd)
{
	if (nd->out[0]->data != nd->in[0]->data)
		memcpy(nd->out[0]->data, nd->in[0]->data, nd->out[0]->bytes);
}

void ref_reshape_backward(struct node *nd)
{
	struct tensor *dx = nd->in[0]->grad, *dy = nd->out[0]->grad;

	if (dx->data == dy->data)
		return;
	for (int64_t i = 0; i < tensor_count(dx); i++)
		grad_put(tf(dx), i, tf(dy)[i], nd->acc[0]);
}

/* Calls for every element of out: its source in in[0]. */
static int64_t permuted(const struct node *nd, int64_t i)
{
	const struct tensor *x = nd->in[0], *y = nd->out[0];
	int64_t at[TENSOR_DIMS], src = 0;

	for (int d = y->n_dims - 1; d >= 0; d--) {
		at[nd->a.permute.perm[d]] = i % y->dim[d];
		i /= y->dim[d];
	}
	for (int d = 0; d < x->n_dims; d++)
		src = src * x->dim[d] + at[d];
	return src;
}

void ref_permute_forward(struct node *nd)
{
	for (int64_t i = 0; i < tensor_count(nd->out[0]); i++)
		tf(nd->out[0])[i] = tf(nd->in[0])[permuted(nd, i)];
}

void ref_permute_backward(struct node *nd)
{
	for (int64_t i = 0; i < tensor_count(nd->out[0]); i++)
		grad_put(tf(nd->in[0]->grad), permuted(nd, i), tf(nd->out[0]->grad)[i], nd->acc[0]);
}

void ref_sum_axis_forward(struct node *nd)
{
	const int64_t *d = nd->in[0]->dim;

	for (int64_t a = 0; a < d[0]; a++)
		for (int64_t c = 0; c < d[2]; c++) {
			double sum = 0;

			for (int64_t b = 0; b < d[1]; b++)
				sum += tf(nd->in[0])[(a * d[1] + b) * d[2] + c];
			tf(nd->out[0])[a * d[2] + c] = (float)sum;
		}
}

void ref_sum_axis_backward(struct node *nd)
{
	const int64_t *d = nd->in[0]->dim;

	for (int64_t i = 0; i < tensor_count(nd->in[0]); i++)
		grad_put(tf(nd->in[0]->grad), i,
			tf(nd->out[0]->grad)[i / (d[1] * d[2]) * d[2] + i % d[2]], nd->acc[0]);
}

/* place of element (n, c, i) of an image in its layout; i counts over the plane */
static int64_t image_at(const struct tensor *t, int64_t n, int64_t c, int64_t i)
{
	int64_t b = t->cblock, plane = t->dim[2] * t->dim[3], blocks = (t->dim[1] + b - 1) / b;

	return ((n * blocks + c / b) * plane + i) * b + c % b;
}

static void reorder(const struct tensor *from, const struct tensor *to, bool add)
{
	int64_t plane = to->dim[2] * to->dim[3];

	if (!add)
		memset(to->data, 0, to->bytes);
	for (int64_t n = 0; n < to->dim[0]; n++)
		for (int64_t c = 0; c < to->dim[1]; c++)
			for (int64_t i = 0; i < plane; i++)
				tf(to)[image_at(to, n, c, i)] += tf(from)[image_at(from, n, c, i)];
}

void ref_reorder_forward(struct node *nd)
{
	reorder(nd->in[0], nd->out[0], false);
}

void ref_reorder_backward(struct node *nd)
{
	reorder(nd->out[0]->grad, nd->in[0]->grad, nd->acc[0]);
}
