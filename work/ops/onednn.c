/* onednn.c: the table of the onednn back end. */
#include "ops/cpu.h"
#include "ops/dnn.h"

static int has_dtype(enum dtype dt, struct fault *f)
{
	if (dt == DT_F32)
		return 0;
	return fault_set(f, "this back end computes in f32 only");
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

static const struct op_impl impl[OP_COUNT] = {
	[OP_CONV] = {cpu_conv_plan, cpu_conv_forward, cpu_conv_backward, cpu_conv_release, 0},
	[OP_CONV_T] = {cpu_conv_t_plan, cpu_conv_t_forward, cpu_conv_t_backward, cpu_conv_release,
		0},
	[OP_LINEAR] = {.forward = cpu_linear_forward,
		.backward = cpu_linear_backward,
		.flags = IMPL_ADDS},
	[OP_MATMUL] = {.forward = cpu_matmul_forward,
		.backward = cpu_matmul_backward,
		.flags = IMPL_ADDS},
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
