/* onednn.c: the table of the onednn back end. */
#include "ops/cpu.h"
#include "ops/dnn.h"
#include "ops/ref.h"

static int has_dtype(enum dtype dt, struct fault *f)
{
	if (dt == DT_F32)
		return 0;
	return fault_set(f,
		"the back end onednn has no bf16 products yet: use --precision f32, or --backend "
		"reference, which rounds operands to bf16 and is slow");
}

static void pack(const struct tensor *t, float *data, const float *plain)
{
	dnn_pack(t->packed, data, plain);
}

static void unpack(const struct tensor *t, const float *data, float *plain)
{
	dnn_unpack(t->packed, data, plain);
}

static size_t packed_count(const struct tensor *t)
{
	return dnn_layout_count(t->packed);
}

static void packed_free(const void *packed)
{
	dnn_layout_free(packed);
}

#define ROW(plan, name)                                                                            \
	{                                                                                          \
		plan, cpu_##name##_forward, cpu_##name##_backward, NULL, IMPL_ADDS                 \
	}

static const struct op_impl impl[OP_COUNT] = {
	/* the library overwrites gradients: no IMPL_ADDS */
	[OP_CONV] = {cpu_conv_plan, cpu_conv_forward, cpu_conv_backward, cpu_conv_release, 0},
	[OP_CONV_T] = {cpu_conv_t_plan, cpu_conv_t_forward, cpu_conv_t_backward, cpu_conv_release,
		0},
	[OP_LINEAR] = ROW(NULL, linear),
	[OP_MATMUL] = ROW(NULL, matmul),
	[OP_BATCHNORM] = ROW(cpu_batchnorm_plan, batchnorm),
	[OP_LAYERNORM] = ROW(NULL, layernorm),
	[OP_UNARY] = ROW(ref_eltwise_plan, unary),
	[OP_BINARY] = ROW(ref_eltwise_plan, binary),
	[OP_DROPOUT] = ROW(NULL, dropout),
	[OP_REORDER] = ROW(NULL, reorder),
	[OP_CONCAT] = ROW(cpu_concat_plan, concat),
	[OP_MAXPOOL] = ROW(cpu_maxpool_plan, maxpool),
	[OP_AVGPOOL] = ROW(cpu_avgpool_plan, avgpool),
	[OP_SOFTMAX] = ROW(NULL, softmax),
	[OP_ATTENTION] = ROW(cpu_attention_plan, attention),
	[OP_XENT] = ROW(NULL, xent),
	[OP_EMBED] = ROW(NULL, gather),
	[OP_GATHER] = ROW(NULL, gather),
	[OP_SCATTER] = ROW(NULL, scatter),
};

const struct backend backend_onednn = {
	.name = "onednn",
	.impl = impl,
	.has_dtype = has_dtype,
	.pack = pack,
	.unpack = unpack,
	.packed_count = packed_count,
	.packed_free = packed_free,
};
