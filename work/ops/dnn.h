/* dnn.h: oneDNN behind a few calls. Everything that differs between oneDNN 2.x and 3.x is in dnn.c.
 *
 * Convolutions come as objects that hold the primitives of one shape; creating one costs about
 * 0.1 ms a primitive, so nodes keep theirs. Memory is the caller's: images in the layouts reported
 * by the object, weights in a `struct dnn_layout`, scratch of the size asked for. One engine and
 * one stream for the process; calls come from one thread, the library uses OpenMP inside.
 */
#ifndef WORK_OPS_DNN_H
#define WORK_OPS_DNN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ops/fault.h"

struct dnn_layout; /* of a weight tensor, immutable */
void dnn_layout_free(const struct dnn_layout *l);
/* f32 elements with padding */
size_t dnn_layout_count(const struct dnn_layout *l);
void dnn_pack(const struct dnn_layout *l, float *packed, const float *plain);
void dnn_unpack(const struct dnn_layout *l, const float *packed, float *plain);

struct dnn_conv_spec {
	int64_t n, c, h, w, k, p, q; /* x (n,c,h,w), y (n,k,p,q) */
	int r, s, stride, pad_h, pad_w;
	bool bias;
	bool data, weights; /* the backward passes that are needed */
};
struct dnn_conv;
/* w: the layout that the weights have already, or NULL to choose one. */
struct dnn_conv *dnn_conv_new(
	const struct dnn_conv_spec *sp, const struct dnn_layout *w, struct fault *f);
void dnn_conv_free(struct dnn_conv *c);
/* channels per block of x and y */
int64_t dnn_conv_block_x(const struct dnn_conv *c);
int64_t dnn_conv_block_y(const struct dnn_conv *c);
/* The layout in which weights are taken; a copy, the caller's. */
struct dnn_layout *dnn_conv_layout(const struct dnn_conv *c);
size_t dnn_conv_scratch(const struct dnn_conv *c);
void dnn_conv_forward(struct dnn_conv *c, const float *x, const float *w, const float *b, float *y,
	void *scratch);
void dnn_conv_backward_data(
	struct dnn_conv *c, const float *dy, const float *w, float *dx, void *scratch);
void dnn_conv_backward_weights(
	struct dnn_conv *c, const float *x, const float *dy, float *dw, void *scratch);

/* Row-major C (m,n) = alpha op(A) op(B) + beta C, rows ld apart. Safe inside an OpenMP parallel
 * region: then single-threaded. */
void dnn_gemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
	int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

/* "2.6.3" */
const char *dnn_version(char *buf, size_t len);

#endif
