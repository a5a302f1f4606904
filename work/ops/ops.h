/* ops.h: tensors, the operations networks are made of, and the back ends that compute them.
 *
 * A network is a list of nodes (struct node), built once for a batch shape by nn/net.h. A node
 * names an operation (enum op), its input and output tensors and its arguments. What an operation
 * means is written here; how it is computed is a back end's: `reference` is plain readable C and
 * knows only row-major f32; `onednn` keeps images in blocked layouts and uses oneDNN or the
 * vectorised kernels of cpu_*.c. An operation that a back end leaves out is done by the reference
 * one.
 *
 * Layouts. Everything is row-major except images (N,C,H,W), whose channels may be blocked:
 * `cblock` = b means memory is (N, ceil(C/b), H, W, b); 1 is NCHW, C is NHWC. The padding channels
 * of the last block are zero and stay zero. Parameters may have a layout only their back end
 * understands (`packed`); optimizers are element-wise and need not know.
 *
 * Gradients. A tensor with `grad` takes part in differentiation; grad has its shape and layout. An
 * operation's backward reads out[0]->grad and writes in[i]->grad, or adds to it where acc[i].
 */
#ifndef WORK_OPS_OPS_H
#define WORK_OPS_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ops/fault.h"

#define TENSOR_DIMS 5

enum dtype { DT_F32, DT_BF16, DT_I32, DT_U8 };

size_t dtype_size(enum dtype dt);
const char *dtype_name(enum dtype dt);

struct tensor {
	const char *name;
	enum dtype dt;
	int n_dims;
	int64_t dim[TENSOR_DIMS];
	int64_t cblock; /* channels per block of an image, 1 = row-major */
	const void *packed; /* a back end's own layout of a parameter, NULL = row-major */
	size_t bytes; /* of data, padding included */
	void *data; /* owned by the net's arena, the parameters or the batch */
	struct tensor *grad; /* NULL: no gradient wanted */
	struct param *param; /* set if this is a parameter (nn/param.h) */

	/* for nn/plan.c: when it is alive, where it lies; a view shares its base's memory */
	struct tensor *base;
	int first, last;
	size_t offset;
	bool external; /* memory is not the arena's */
	bool written; /* a gradient: holds something of this backward pass */
};

/* Number of elements without padding. */
int64_t tensor_count(const struct tensor *t);
/* Product of all dimensions but the last, and the last: a tensor seen as (rows, cols). */
int64_t tensor_rows(const struct tensor *t);
int64_t tensor_cols(const struct tensor *t);
/* Bytes for the present dims, dtype and cblock; 0 if they overflow. */
size_t tensor_size(const struct tensor *t);
bool tensor_same_shape(const struct tensor *a, const struct tensor *b);
/* "(8,64,32,32)" into buf, returns buf */
const char *tensor_shape(const struct tensor *t, char *buf, size_t len);

static inline float *tf(const struct tensor *t)
{
	return t->data;
}
static inline int32_t *ti(const struct tensor *t)
{
	return t->data;
}

/* One line an operation: inputs → output; extra outputs are kept for backward. [x] optional. */
enum op {
	OP_CONV, /* x(N,C,H,W), w(K,C,R,S), [bias(K)] → y(N,K,P,Q) */
	OP_CONV_T, /* x(N,C,H,W), w(C,K,R,S), [bias(K)] → y(N,K,(H-1)s+R,(W-1)s+S): transposed */
	OP_LINEAR, /* x(...,I), w(O,I), [bias(O)] → y(...,O) = x wᵀ + bias */
	OP_MATMUL, /* a, b: batched, see struct args_matmul */
	OP_BATCHNORM, /* x(N,C,H,W), gamma(C), beta(C), mean(C), var(C) → y, saved(2,C); [relu] */
	OP_NORM_ROWS, /* x(A,C), gamma(C), beta(C), mean(C), var(C), index i32 (A) → y, saved(2,C):
		       * batch norm over the rows whose index is not negative; the others give 0 */
	OP_LAYERNORM, /* x(...,D), gamma(D), beta(D) → y, saved(rows,2) */
	OP_UNARY, /* x → y = f(x), see enum unary */
	OP_BINARY, /* a, b → y, see enum binary; b may be (cols) or (rows,1), see enum bcast */
	OP_AXPB, /* x → y = a x + b, constants */
	OP_MAXPOOL, /* x(N,C,H,W) → y, index of the maximum in its window */
	OP_AVGPOOL, /* x(N,C,H,W) → y, padding counts unless exclude_pad */
	OP_CONCAT, /* images: on channels; others: on the last dimension. Up to OP_MAX_IN inputs */
	OP_SLICE, /* x(...,D) → y(...,n) = x(..., from : from+n) */
	OP_RESHAPE, /* same elements, other dims; row-major */
	OP_PERMUTE, /* dims permuted */
	OP_SUM_AXIS, /* x(A,B,C) → y(A,C), summed over the middle */
	OP_SOFTMAX, /* x(...,D) → y over the last dimension */
	OP_ATTENTION, /* qkv(B,T,3E), [mask i32 (B,T): 1 = attend] → y(B,T,E), probs(B,H,T,T) */
	OP_EMBED, /* table(V,D), index i32 (...) → y(...,D) = table[index] */
	OP_GATHER, /* x(M,D), index i32 (E) → y(E,D) = x[index]; index < 0 gives 0 */
	OP_SCATTER, /* x(E,D), index i32 (E) → y(M,D), y[index] += x; index < 0 is skipped */
	OP_SEGMENT, /* x(E,D), index i32 (E) → y(M,D): max, min, mean per target, see enum segment
		     */
	OP_DROPOUT, /* x → y; the mask is a hash of (seed, step, node, global element) */
	OP_XENT, /* logits(rows,C) or image (N,C,H,W), label i32: sum of −log p; label < 0 ignored
		  */
	OP_REGRESSION, /* y(N,T), target(N,T), [weight(N)]: sum of squared or absolute errors */
	OP_REORDER, /* x → y, other cblock or dtype (inserted by the planner) */
	OP_COUNT
};

#define OP_MAX_IN  16
#define OP_MAX_OUT 3

enum unary {
	UN_RELU,
	UN_GELU, /* x Φ(x), exact */
	UN_GELU_TANH, /* GPT-2's */
	UN_TANH,
	UN_SIGMOID,
	UN_SILU, /* x σ(x) */
	UN_SSP, /* log(1 + eˣ) − log 2: shifted softplus */
	UN_SQUARE,
	UN_SQRT, /* of max(x, 0) + eps, eps in args */
	UN_EXP,
	UN_RECIP, /* 1/x */
	UN_SIN,
	UN_COUNT
};

enum binary { BIN_ADD, BIN_SUB, BIN_MUL, BIN_ADD_RELU };

enum bcast {
	BC_NONE, /* same shape */
	BC_ROW, /* b has cols elements: one for each column */
	BC_COL /* b has rows elements: one for each row */
};

enum segment { SEG_MAX, SEG_MIN, SEG_MEAN };

struct args_conv { /* OP_CONV, OP_CONV_T, OP_MAXPOOL, OP_AVGPOOL */
	int r, s, stride, pad_h, pad_w;
	bool exclude_pad;
};
/* C[i] (m,n) = alpha op(A[i]) op(B[i]) for i < batch; A, B, C are tensors of rank ≥ 2 with the
 * batch in front. ta: A is (k,m); tb: B is (n,k). batch of b may be 1: shared. */
struct args_matmul {
	int64_t batch, m, n, k;
	bool ta, tb;
	float alpha;
};
struct args_norm {
	float eps, momentum;
	bool relu; /* batch norm: y = max(0, .) */
};
struct args_attention {
	int heads;
	bool causal;
	float dropout;
};
struct args_xent {
	float weight; /* of this loss in the total */
	bool aux; /* no share in the metric and the count */
	float smoothing;
};
struct args_regression {
	bool absolute;
	float weight;
};

union op_args {
	struct args_conv conv;
	struct args_matmul matmul;
	struct args_norm norm;
	struct args_attention attention;
	struct args_xent xent;
	struct args_regression regression;
	struct {
		enum unary f;
		float eps;
	} unary;
	struct {
		enum binary f;
		enum bcast bcast;
	} binary;
	struct {
		float a, b;
	} axpb;
	struct {
		int64_t from;
	} slice;
	struct {
		int perm[TENSOR_DIMS];
	} permute;
	struct {
		enum segment f;
	} segment;
	struct {
		float p;
	} dropout;
	struct { /* small constants of operations that need no struct of their own */
		int i[6];
		float f[6];
	} num;
};

#define STAT_CLASSES 255 /* of labelled images, at most */

/* What a step adds up. Loss nodes add; the trainer all-reduces and divides. */
struct op_stats {
	double loss; /* sum of the weighted losses */
	double count; /* number of terms in the loss: samples, tokens, pixels */
	double metric; /* sum over terms: correct ones, absolute errors */
	double metric_count;
	/* labelled images, by class: pixels rightly of it; pixels that are or are taken to be of it
	 */
	double overlap[STAT_CLASSES], either[STAT_CLASSES];
};

struct comm;

/* What operations know about the run. One per process, borrowed by every net. */
struct op_ctx {
	uint64_t seed;
	uint64_t step; /* changes dropout; advanced by the trainer */
	int64_t row0; /* first sample of this rank in the global batch */
	int64_t n_local; /* samples of this rank */
	int64_t n_global; /* samples in the global batch of this step */
	bool bf16; /* operands of products are rounded to bf16, see ops/ref_bf16.c */
	bool sync_bn; /* batch norm statistics over all ranks */
	struct comm *comm; /* for sync_bn; NULL with one rank */
	struct op_stats stats;
	/* scale of the loss gradient; 1: gradients are sums over samples, divided in the optimizer
	 */
	float loss_scale;
};

struct node;

/* One operation in one back end. */
struct op_impl {
	/* Chooses layouts before memory is planned: from the inputs' present cblock sets
	 * want[i] (a reorder is inserted where it differs) and out[0]->cblock; may set packed of
	 * a parameter whose layout is still free; sets scratch and prepares primitives. NULL: all
	 * row-major. */
	int (*plan)(struct node *nd, struct fault *f);
	void (*forward)(struct node *nd);
	/* NULL: the operation has no gradient */
	void (*backward)(struct node *nd);
	/* Frees nd->state. */
	void (*release)(struct node *nd);
	unsigned flags;
};
#define IMPL_ADDS (1u << 0) /* backward honours acc[]; otherwise the net adds for it */
#define IMPL_ANY_LAYOUT                                                                            \
	(1u << 1) /* element-wise: no plan needed, out has in[0]'s cblock and others follow */

/* Facts about an operation that hold in every back end. */
struct op_info {
	const char *name;
	uint32_t diff_in; /* bit i: in[i] can have a gradient */
	uint32_t back_in; /* bit i: backward reads in[i]->data */
	uint32_t back_out; /* bit i: backward reads out[i]->data */
};
extern const struct op_info op_info[OP_COUNT];

struct node {
	enum op op;
	int id; /* place in the net as built: the stream of its random numbers */
	int n_in, n_out;
	struct tensor *in[OP_MAX_IN];
	struct tensor *out[OP_MAX_OUT];
	union op_args a;
	struct op_ctx *ctx;
	bool train;
	bool active; /* takes part in backward */
	bool acc[OP_MAX_IN]; /* backward adds to in[i]->grad */
	int64_t want[OP_MAX_IN]; /* cblock asked for by plan; 0 = as it is */
	const struct op_impl *impl;
	void *state; /* the back end's */
	struct tensor scratch; /* scratch.bytes asked for by plan; undefined between calls */
};

struct backend {
	const char *name;
	const struct op_impl *impl; /* [OP_COUNT]; no forward: the reference one is used */
	/* 0 if products can take operands of dt here; otherwise f says what is missing */
	int (*has_dtype)(enum dtype dt, struct fault *f);
	/* A parameter between its packed layout and row-major f32. */
	void (*pack)(const struct tensor *t, float *data, const float *plain);
	void (*unpack)(const struct tensor *t, const float *data, float *plain);
	/* Packed layout of a parameter: its size in elements, same for every dtype. */
	size_t (*packed_count)(const struct tensor *t);
	void (*packed_free)(const void *packed);
};
extern const struct backend backend_reference;
#ifdef WORK_ONEDNN
extern const struct backend backend_onednn;
#endif
/* by name; NULL if there is no such back end */
const struct backend *backend_find(const char *name);
/* The implementation used for op in b, never NULL in forward. */
const struct op_impl *backend_impl(const struct backend *b, enum op op);

/* Multiply-adds × 2 of one forward pass of a node (0 for what is bound by memory). */
double node_flops(const struct node *nd);

#endif
