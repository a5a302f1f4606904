/* ref.c: the table of the reference back end. */
#include <string.h>
#include "ops/ref.h"

void grad_clear(const struct node *nd, int i)
{
	struct tensor *g = grad_of(nd, i);

	if (g && !nd->acc[i])
		memset(g->data, 0, g->bytes);
}

static int has_dtype(enum dtype dt, struct fault *f)
{
	if (dt == DT_F32 || dt == DT_BF16)
		return 0;
	return fault_set(f, "the reference back end computes in f32 and bf16 only");
}

#define ROW(name)                                                                                  \
	{                                                                                          \
		.forward = ref_##name##_forward, .backward = ref_##name##_backward,                \
		.flags = IMPL_ADDS                                                                 \
	}

#define PRODUCT(name)                                                                              \
	static void name##_forward(struct node *nd)                                                \
	{                                                                                          \
		ref_product(nd, ref_##name##_forward, false);                                      \
	}                                                                                          \
	static void name##_backward(struct node *nd)                                               \
	{                                                                                          \
		ref_product(nd, ref_##name##_backward, true);                                      \
	}

PRODUCT(conv)
PRODUCT(conv_t)
PRODUCT(linear)
PRODUCT(matmul)
PRODUCT(attention)

#define PRODUCT_ROW(name)                                                                          \
	{                                                                                          \
		ref_product_plan, name##_forward, name##_backward, NULL, IMPL_ADDS                 \
	}

static const struct op_impl impl[OP_COUNT] = {
	[OP_CONV] = PRODUCT_ROW(conv),
	[OP_CONV_T] = PRODUCT_ROW(conv_t),
	[OP_LINEAR] = PRODUCT_ROW(linear),
	[OP_MATMUL] = PRODUCT_ROW(matmul),
	[OP_BATCHNORM] = {ref_batchnorm_plan, ref_batchnorm_forward, ref_batchnorm_backward, NULL,
		IMPL_ADDS},
	[OP_NORM_ROWS] = {ref_norm_rows_plan, ref_norm_rows_forward, ref_norm_rows_backward, NULL,
		IMPL_ADDS},
	[OP_LAYERNORM] = ROW(layernorm),
	[OP_UNARY] = {ref_eltwise_plan, ref_unary_forward, ref_unary_backward, NULL, IMPL_ADDS},
	[OP_BINARY] = {ref_eltwise_plan, ref_binary_forward, ref_binary_backward, NULL, IMPL_ADDS},
	[OP_AXPB] = {ref_eltwise_plan, ref_axpb_forward, ref_axpb_backward, NULL, IMPL_ADDS},
	[OP_MAXPOOL] = ROW(maxpool),
	[OP_AVGPOOL] = ROW(avgpool),
	[OP_CONCAT] = ROW(concat),
	[OP_SLICE] = ROW(slice),
	[OP_RESHAPE] = ROW(reshape),
	[OP_PERMUTE] = ROW(permute),
	[OP_SUM_AXIS] = ROW(sum_axis),
	[OP_SOFTMAX] = ROW(softmax),
	[OP_ATTENTION] = PRODUCT_ROW(attention),
	[OP_EMBED] = ROW(embed),
	[OP_GATHER] = ROW(gather),
	[OP_SCATTER] = ROW(scatter),
	[OP_SEGMENT] = ROW(segment),
	[OP_DROPOUT] = ROW(dropout),
	[OP_XENT] = ROW(xent),
	[OP_REGRESSION] = ROW(regression),
	[OP_REORDER] = {NULL, ref_reorder_forward, ref_reorder_backward, NULL, IMPL_ADDS},
};

const struct backend backend_reference = {
	.name = "reference",
	.impl = impl,
	.has_dtype = has_dtype,
};
