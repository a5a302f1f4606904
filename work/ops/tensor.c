/* tensor.c: shapes and sizes, the facts table of operations, the list of back ends. */
#include <stdio.h>
#include <string.h>
#include "ops/ops.h"

size_t dtype_size(enum dtype dt)
{
	switch (dt) {
	case DT_F32:
	case DT_I32:
		return 4;
	case DT_BF16:
		return 2;
	case DT_U8:
		return 1;
	}
	return 0;
}

const char *dtype_name(enum dtype dt)
{
	static const char *const name[] = {"f32", "bf16", "i32", "u8"};

	return name[dt];
}

int64_t tensor_count(const struct tensor *t)
{
	int64_t n = 1;

	for (int i = 0; i < t->n_dims; i++)
		n *= t->dim[i];
	return n;
}

int64_t tensor_cols(const struct tensor *t)
{
	return t->n_dims ? t->dim[t->n_dims - 1] : 1;
}

int64_t tensor_rows(const struct tensor *t)
{
	int64_t n = 1;

	for (int i = 0; i + 1 < t->n_dims; i++)
		n *= t->dim[i];
	return n;
}

size_t tensor_size(const struct tensor *t)
{
	size_t n = dtype_size(t->dt);

	for (int i = 0; i < t->n_dims; i++) {
		int64_t d = t->dim[i];

		if (i == 1 && t->n_dims == 4 && t->cblock > 1)
			d = (d + t->cblock - 1) / t->cblock * t->cblock;
		if (d < 0 || __builtin_mul_overflow(n, (size_t)d, &n))
			return 0;
	}
	return n;
}

bool tensor_same_shape(const struct tensor *a, const struct tensor *b)
{
	return a->n_dims == b->n_dims &&
	       !memcmp(a->dim, b->dim, (size_t)a->n_dims * sizeof(a->dim[0]));
}

const char *tensor_shape(const struct tensor *t, char *buf, size_t len)
{
	size_t at = 0;

	for (int i = 0; i < t->n_dims && at < len; i++) {
		int k = snprintf(buf + at, len - at, "%s%lld", i ? "," : "(", (long long)t->dim[i]);

		at += (size_t)k;
	}
	if (at < len)
		snprintf(buf + at, len - at, ")");
	return buf;
}

/* bit i of diff: input i can have a gradient; of in and out: backward reads its data */
const struct op_info op_info[OP_COUNT] = {
	[OP_CONV] = {"conv", 0x7, 0x3, 0},
	[OP_CONV_T] = {"conv_t", 0x7, 0x3, 0},
	[OP_LINEAR] = {"linear", 0x7, 0x3, 0},
	[OP_MATMUL] = {"matmul", 0x3, 0x3, 0},
	[OP_BATCHNORM] = {"batchnorm", 0x7, 0x3, 0x3},
	[OP_NORM_ROWS] = {"norm_rows", 0x7, 0x23, 0x2},
	[OP_LAYERNORM] = {"layernorm", 0x7, 0x3, 0x2},
	[OP_UNARY] = {"unary", 0x1, 0x1, 0x1},
	[OP_BINARY] = {"binary", 0x3, 0x3, 0x1},
	[OP_AXPB] = {"axpb", 0x1, 0, 0},
	[OP_MAXPOOL] = {"maxpool", 0x1, 0, 0x2},
	[OP_AVGPOOL] = {"avgpool", 0x1, 0, 0},
	[OP_CONCAT] = {"concat", 0xffff, 0, 0},
	[OP_SLICE] = {"slice", 0x1, 0, 0},
	[OP_RESHAPE] = {"reshape", 0x1, 0, 0},
	[OP_PERMUTE] = {"permute", 0x1, 0, 0},
	[OP_SUM_AXIS] = {"sum_axis", 0x1, 0, 0},
	[OP_SOFTMAX] = {"softmax", 0x1, 0, 0x1},
	[OP_ATTENTION] = {"attention", 0x1, 0x3, 0x2},
	[OP_EMBED] = {"embed", 0x1, 0x2, 0},
	[OP_GATHER] = {"gather", 0x1, 0x2, 0},
	[OP_SCATTER] = {"scatter", 0x1, 0x2, 0},
	[OP_SEGMENT] = {"segment", 0x1, 0x3, 0x3},
	[OP_DROPOUT] = {"dropout", 0x1, 0, 0},
	[OP_XENT] = {"xent", 0x1, 0x3, 0x1},
	[OP_REGRESSION] = {"regression", 0x1, 0x7, 0},
	[OP_REORDER] = {"reorder", 0x1, 0, 0},
};

static const struct backend *const backends[] = {
#ifdef WORK_ONEDNN
	&backend_onednn,
#endif
	&backend_reference,
};

const struct backend *backend_find(const char *name)
{
	for (size_t i = 0; i < sizeof(backends) / sizeof(backends[0]); i++)
		if (!strcmp(backends[i]->name, name))
			return backends[i];
	return NULL;
}

const struct op_impl *backend_impl(const struct backend *b, enum op op)
{
	return b->impl[op].forward ? &b->impl[op] : &backend_reference.impl[op];
}

double node_flops(const struct node *nd)
{
	const struct tensor *y = nd->out[0];

	switch (nd->op) {
	case OP_CONV:
		return 2.0 * (double)tensor_count(y) * (double)nd->in[0]->dim[1] * nd->a.conv.r *
		       nd->a.conv.s;
	case OP_CONV_T:
		return 2.0 * (double)tensor_count(nd->in[0]) * (double)y->dim[1] * nd->a.conv.r *
		       nd->a.conv.s;
	case OP_LINEAR:
		return 2.0 * (double)tensor_count(y) * (double)tensor_cols(nd->in[0]);
	case OP_MATMUL:
		return 2.0 * (double)nd->a.matmul.batch * (double)nd->a.matmul.m *
		       (double)nd->a.matmul.n * (double)nd->a.matmul.k;
	case OP_ATTENTION: /* q kᵀ and p v: 2 × (B T T E) */
		return 4.0 * (double)tensor_count(y) * (double)y->dim[1];
	default:
		return 0;
	}
}
