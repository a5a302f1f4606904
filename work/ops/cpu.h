/* cpu.h: the onednn back end's own kernels: what oneDNN lacks or has only as a slow reference.
 *
 * Vectorised (ops/vec.h) and split over threads with OpenMP; sums run in an order that depends only
 * on shapes and the number of threads. Each operation has the meaning given in ops.h.
 */
#ifndef WORK_OPS_CPU_H
#define WORK_OPS_CPU_H

#include "ops/ops.h"

#define CPU_OP(name)                                                                               \
	int cpu_##name##_plan(struct node *nd, struct fault *f);                                   \
	void cpu_##name##_forward(struct node *nd);                                                \
	void cpu_##name##_backward(struct node *nd)

CPU_OP(conv);
CPU_OP(conv_t);
void cpu_conv_release(struct node *nd);
CPU_OP(linear);
CPU_OP(matmul);
CPU_OP(batchnorm);
CPU_OP(layernorm);
CPU_OP(unary);
CPU_OP(binary);
CPU_OP(dropout);
CPU_OP(reorder);
CPU_OP(concat);
CPU_OP(maxpool);
CPU_OP(avgpool);
CPU_OP(softmax);
CPU_OP(attention);
CPU_OP(xent);
CPU_OP(gather);
CPU_OP(scatter);

/* db (k) = sums of dy (rows,k) over rows, or over an image with its channel blocks. */
void cpu_bias_rows(const float *dy, int64_t rows, int64_t k, float *db, bool add);
void cpu_bias_image(const struct tensor *dy, float *db, bool add);

#endif
