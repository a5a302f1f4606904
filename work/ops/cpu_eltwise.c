/* cpu_eltwise.c: element-wise operations, reorders, concatenation. */
#include <omp.h>
#include <string.h>
#include "ops/cpu.h"
#include "ops/ref.h"
#include "ops/rng.h"
#include "ops/vec.h"
#include "ops/vmath.h"

#define SMALL 16384 /* elements below which threads do not pay */

static size_t stored(const struct tensor *t)
{
	return t->bytes / sizeof(float);
}

/* ---- unary ---- */

#define UNARY(name, value, slope)                                                                  \
	KERNEL static void name##_f(const float *xs, float *ys, size_t n, float eps)               \
	{                                                                                          \
		(void)eps;                                                                         \
		for (size_t i = 0; i < n; i++) {                                                   \
			float x = xs[i];                                                           \
                                                                                                   \
			ys[i] = (value);                                                           \
		}                                                                                  \
	}                                                                                          \
	KERNEL static void name##_b(                                                               \
		const float *xs, const float *ys, const float *dy, float *dx, size_t n, bool add)  \
	{                                                                                          \
		if (add)                                                                           \
			for (size_t i = 0; i < n; i++) {                                           \
				float x = xs[i], y = ys[i];                                        \
                                                                                                   \
				(void)x, (void)y;                                                  \
				dx[i] += dy[i] * (slope);                                          \
			}                                                                          \
		else                                                                               \
			for (size_t i = 0; i < n; i++) {                                           \
				float x = xs[i], y = ys[i];                                        \
                                                                                                   \
				(void)x, (void)y;                                                  \
				dx[i] = dy[i] * (slope);                                           \
			}                                                                          \
	}

static inline __attribute__((always_inline)) float gelu_inner(float x)
{
	return 0.79788456f * (x + 0.044715f * x * x * x);
}

static inline __attribute__((always_inline)) float gelu_tanh_slope(float x)
{
	float t = vtanh(gelu_inner(x));

	return 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * 0.79788456f * (1 + 0.134145f * x * x);
}

static inline __attribute__((always_inline)) float gelu_slope(float x)
{
	return 0.5f * (1 + verf(x * 0.70710678f)) + x * vexp(-0.5f * x * x) * 0.39894228f;
}

static inline __attribute__((always_inline)) float silu_slope(float x)
{
	float s = vsigmoid(x);

	return s * (1 + x * (1 - s));
}

/* log(1 + e^x) − log 2 = max(x,0) + log(1 + t) − log 2 with t = e^−|x|; log(1 + t) = 2
 * artanh(t/(2+t)), whose series in s ≤ 1/3 is good to 1e-8 after seven terms */
static inline __attribute__((always_inline)) float ssp(float x)
{
	float t = vexp(x > 0 ? -x : x), s = t / (2 + t), q = s * s;
	float sum =
		1 +
		q * (1.0f / 3 + q * (0.2f + q * (1.0f / 7 + q * (1.0f / 9 + q * (1.0f / 11 +
											q / 13)))));

	return (x > 0 ? x : 0) + 2 * s * sum - 0.69314718f;
}

UNARY(relu, x > 0 ? x : 0, y > 0 ? 1.0f : 0.0f)
UNARY(gelu, 0.5f * x * (1 + verf(x * 0.70710678f)), gelu_slope(x))
UNARY(gelu_tanh, 0.5f * x * (1 + vtanh(gelu_inner(x))), gelu_tanh_slope(x))
UNARY(tanh, vtanh(x), 1 - y * y)
UNARY(sigmoid, vsigmoid(x), y *(1 - y))
UNARY(silu, x *vsigmoid(x), silu_slope(x))
UNARY(square, x *x, 2 * x)
UNARY(exp, vexp(x), y)
UNARY(ssp, ssp(x), vsigmoid(x))
UNARY(recip, 1 / x, -y *y)

struct unary_kernel {
	void (*forward)(const float *, float *, size_t, float);
	void (*backward)(const float *, const float *, const float *, float *, size_t, bool);
};

/* Left out: done by the reference. */
static struct unary_kernel unary_kernel(enum unary f)
{
	switch (f) {
	case UN_RELU:
		return (struct unary_kernel){relu_f, relu_b};
	case UN_GELU:
		return (struct unary_kernel){gelu_f, gelu_b};
	case UN_GELU_TANH:
		return (struct unary_kernel){gelu_tanh_f, gelu_tanh_b};
	case UN_TANH:
		return (struct unary_kernel){tanh_f, tanh_b};
	case UN_SIGMOID:
		return (struct unary_kernel){sigmoid_f, sigmoid_b};
	case UN_SILU:
		return (struct unary_kernel){silu_f, silu_b};
	case UN_SQUARE:
		return (struct unary_kernel){square_f, square_b};
	case UN_EXP:
		return (struct unary_kernel){exp_f, exp_b};
	case UN_SSP:
		return (struct unary_kernel){ssp_f, ssp_b};
	case UN_RECIP:
		return (struct unary_kernel){recip_f, recip_b};
	case UN_SQRT:
	case UN_SIN:
	case UN_COUNT:
		break;
	}
	return (struct unary_kernel){0};
}

void cpu_unary_forward(struct node *nd)
{
	struct unary_kernel k = unary_kernel(nd->a.unary.f);
	size_t n = stored(nd->out[0]);

	if (!k.forward) {
		ref_unary_forward(nd);
		return;
	}
#pragma omp parallel if (n > SMALL)
	{
		size_t a, b;

		vec_share(n, omp_get_thread_num(), omp_get_num_threads(), &a, &b);
		k.forward(tf(nd->in[0]) + a, tf(nd->out[0]) + a, b - a, nd->a.unary.eps);
	}
}

void cpu_unary_backward(struct node *nd)
{
	struct unary_kernel k = unary_kernel(nd->a.unary.f);
	size_t n = stored(nd->out[0]);

	if (!k.backward) {
		ref_unary_backward(nd);
		return;
	}
#pragma omp parallel if (n > SMALL)
	{
		size_t a, b;

		vec_share(n, omp_get_thread_num(), omp_get_num_threads(), &a, &b);
		k.backward(tf(nd->in[0]) + a, tf(nd->out[0]) + a, tf(nd->out[0]->grad) + a,
			tf(nd->in[0]->grad) + a, b - a, nd->acc[0]);
	}
}

/* ---- binary ---- */

/* y = a ∘ b; b advances by one element a time, or not at all */
KERNEL static void binary_row(
	enum binary f, const float *a, const float *b, float *y, size_t n, bool fixed)
{
	if (fixed) {
		float v = b[0];

		for (size_t i = 0; i < n; i++)
			y[i] = f == BIN_MUL ? a[i] * v : f == BIN_SUB ? a[i] - v : a[i] + v;
		return;
	}
	switch (f) {
	case BIN_ADD:
		for (size_t i = 0; i < n; i++)
			y[i] = a[i] + b[i];
		break;
	case BIN_SUB:
		for (size_t i = 0; i < n; i++)
			y[i] = a[i] - b[i];
		break;
	case BIN_MUL:
		for (size_t i = 0; i < n; i++)
			y[i] = a[i] * b[i];
		break;
	case BIN_ADD_RELU:
		for (size_t i = 0; i < n; i++)
			y[i] = a[i] + b[i] > 0 ? a[i] + b[i] : 0;
		break;
	}
}

void cpu_binary_forward(struct node *nd)
{
	const float *a = tf(nd->in[0]), *b = tf(nd->in[1]);
	float *y = tf(nd->out[0]);
	enum binary f = nd->a.binary.f;
	int64_t rows = tensor_rows(nd->in[0]), cols = tensor_cols(nd->in[0]);
	bool fixed = nd->a.binary.bcast == BC_COL;

	if (nd->a.binary.bcast == BC_NONE) {
		size_t n = stored(nd->out[0]);

#pragma omp parallel if (n > SMALL)
		{
			size_t from, to;

			vec_share(n, omp_get_thread_num(), omp_get_num_threads(), &from, &to);
			binary_row(f, a + from, b + from, y + from, to - from, false);
		}
		return;
	}
	if (f == BIN_ADD_RELU) {
		ref_binary_forward(nd);
		return;
	}
#pragma omp parallel for schedule(static) if (rows * cols > SMALL)
	for (int64_t r = 0; r < rows; r++)
		binary_row(f, a + r * cols, fixed ? b + r : b, y + r * cols, (size_t)cols, fixed);
}

/* d = dy × s (s = NULL: 1), with dy taken as 0 where y ≤ 0 (y = NULL: everywhere) */
KERNEL static void back_same(
	const float *dy, const float *y, const float *s, float *d, size_t n, float sign, bool add)
{
	for (size_t i = 0; i < n; i++) {
		float v = y && !(y[i] > 0) ? 0 : dy[i] * sign;

		v = s ? v * s[i] : v;
		d[i] = add ? d[i] + v : v;
	}
}

KERNEL static void back_scaled(const float *dy, float s, float *d, size_t n, bool add)
{
	for (size_t i = 0; i < n; i++)
		d[i] = add ? d[i] + dy[i] * s : dy[i] * s;
}

/* sum += dy × a over rows */
KERNEL static void back_row_mul(const float *dy, const float *a, float *sum, int64_t rows,
	int64_t pitch, int64_t n, float sign)
{
	for (int64_t r = 0; r < rows; r++)
		for (int64_t j = 0; j < n; j++)
			sum[j] += sign * dy[r * pitch + j] * (a ? a[r * pitch + j] : 1);
}

static void back_none(struct node *nd, int i, const float *other)
{
	struct tensor *g = grad_of(nd, i);
	const float *y = nd->a.binary.f == BIN_ADD_RELU ? tf(nd->out[0]) : NULL;
	float sign = i == 1 && nd->a.binary.f == BIN_SUB ? -1 : 1;
	size_t n = g ? stored(g) : 0;

#pragma omp parallel if (n > SMALL)
	{
		size_t a, b;

		vec_share(n, omp_get_thread_num(), omp_get_num_threads(), &a, &b);
		if (b > a)
			back_same(tf(nd->out[0]->grad) + a, y ? y + a : NULL,
				other ? other + a : NULL, tf(g) + a, b - a, sign, nd->acc[i]);
	}
}

/* b is one row: da by rows, db summed over rows */
static void back_bcast_row(struct node *nd, int64_t rows, int64_t cols)
{
	const float *dy = tf(nd->out[0]->grad), *a = tf(nd->in[0]), *b = tf(nd->in[1]);
	bool mul = nd->a.binary.f == BIN_MUL;
	struct tensor *da = grad_of(nd, 0), *db = grad_of(nd, 1);
	float sign = nd->a.binary.f == BIN_SUB ? -1 : 1;

	grad_clear(nd, 1);
#pragma omp parallel if (rows * cols > SMALL)
	{
		size_t from, to;

		if (da) {
#pragma omp for schedule(static)
			for (int64_t r = 0; r < rows; r++)
				back_same(dy + r * cols, NULL, mul ? b : NULL, tf(da) + r * cols,
					(size_t)cols, 1, nd->acc[0]);
		}
		vec_share((size_t)cols, omp_get_thread_num(), omp_get_num_threads(), &from, &to);
		if (db && to > from)
			back_row_mul(dy + from, mul ? a + from : NULL, tf(db) + from, rows, cols,
				(int64_t)(to - from), sign);
	}
}

/* b is one value a row */
static void back_bcast_col(struct node *nd, int64_t rows, int64_t cols)
{
	const float *dy = tf(nd->out[0]->grad), *a = tf(nd->in[0]), *b = tf(nd->in[1]);
	bool mul = nd->a.binary.f == BIN_MUL;
	struct tensor *da = grad_of(nd, 0), *db = grad_of(nd, 1);
	double sign = nd->a.binary.f == BIN_SUB ? -1 : 1;

#pragma omp parallel for schedule(static) if (rows * cols > SMALL)
	for (int64_t r = 0; r < rows; r++) {
		double sum = 0;

		if (da)
			back_scaled(dy + r * cols, mul ? b[r] : 1, tf(da) + r * cols, (size_t)cols,
				nd->acc[0]);
		for (int64_t j = 0; db && j < cols; j++)
			sum += dy[r * cols + j] * (mul ? a[r * cols + j] : 1);
		if (db)
			grad_put(tf(db), r, sign * sum, nd->acc[1]);
	}
}

void cpu_binary_backward(struct node *nd)
{
	int64_t rows = tensor_rows(nd->in[0]), cols = tensor_cols(nd->in[0]);
	bool mul = nd->a.binary.f == BIN_MUL;

	if (nd->a.binary.bcast == BC_NONE) {
		if (grad_of(nd, 0))
			back_none(nd, 0, mul ? tf(nd->in[1]) : NULL);
		if (grad_of(nd, 1))
			back_none(nd, 1, mul ? tf(nd->in[0]) : NULL);
	} else if (nd->a.binary.f == BIN_ADD_RELU) {
		ref_binary_backward(nd);
	} else if (nd->a.binary.bcast == BC_ROW) {
		back_bcast_row(nd, rows, cols);
	} else {
		back_bcast_col(nd, rows, cols);
	}
}

/* ---- dropout ---- */

KERNEL static void drop(const float *x, float *y, size_t n, uint32_t key, uint32_t first,
	uint32_t below, float scale, bool add)
{
	for (size_t i = 0; i < n; i++) {
		float v = rng_fast(key, first + (uint32_t)i) < below ? 0 : x[i] * scale;

		y[i] = add ? y[i] + v : v;
	}
}

static void dropout(const struct node *nd, const float *x, float *y, bool add)
{
	size_t n = (size_t)tensor_count(nd->out[0]);
	uint64_t first = dropout_first(nd);

#pragma omp parallel if (n > SMALL)
	{
		size_t a, b;

		vec_share(n, omp_get_thread_num(), omp_get_num_threads(), &a, &b);
		drop(x + a, y + a, b - a, dropout_key(nd), (uint32_t)(first + a),
			dropout_below(nd->a.dropout.p), 1 / (1 - nd->a.dropout.p), add);
	}
}

void cpu_dropout_forward(struct node *nd)
{
	dropout(nd, tf(nd->in[0]), tf(nd->out[0]), false);
}

void cpu_dropout_backward(struct node *nd)
{
	dropout(nd, tf(nd->out[0]->grad), tf(nd->in[0]->grad), nd->acc[0]);
}

/* ---- layouts ---- */

/* One block of channels of one image between row-major (pitch = plane) and blocked. */
KERNEL static void to_block(
	const float *x, float *y, int64_t plane, int64_t b, int64_t real, bool add)
{
	for (int64_t i = 0; i < plane; i++)
		for (int64_t j = 0; j < real; j++)
			y[i * b + j] = add ? y[i * b + j] + x[j * plane + i] : x[j * plane + i];
}

KERNEL static void from_block(
	const float *x, float *y, int64_t plane, int64_t b, int64_t real, bool add)
{
	for (int64_t j = 0; j < real; j++)
		for (int64_t i = 0; i < plane; i++)
			y[j * plane + i] = add ? y[j * plane + i] + x[i * b + j] : x[i * b + j];
}

static void reorder(const struct tensor *from, const struct tensor *to, bool add)
{
	const struct tensor *blocked = to->cblock > 1 ? to : from;
	int64_t plane = to->dim[2] * to->dim[3], c = to->dim[1], b = blocked->cblock;
	int64_t blocks = (c + b - 1) / b;

	if (c % b && !add && to->cblock > 1)
		memset(to->data, 0, to->bytes);
#pragma omp parallel for schedule(static) if (to->bytes > 65536)
	for (int64_t i = 0; i < to->dim[0] * blocks; i++) {
		int64_t k = i % blocks * b, real = c - k < b ? c - k : b;
		int64_t flat = (i / blocks * c + k) * plane, at = i * plane * b;

		if (to->cblock > 1)
			to_block(tf(from) + flat, tf(to) + at, plane, b, real, add);
		else
			from_block(tf(from) + at, tf(to) + flat, plane, b, real, add);
	}
}

void cpu_reorder_forward(struct node *nd)
{
	if (nd->in[0]->cblock > 1 && nd->out[0]->cblock > 1)
		ref_reorder_forward(nd);
	else
		reorder(nd->in[0], nd->out[0], false);
}

void cpu_reorder_backward(struct node *nd)
{
	if (nd->in[0]->cblock > 1 && nd->out[0]->cblock > 1)
		ref_reorder_backward(nd);
	else
		reorder(nd->out[0]->grad, nd->in[0]->grad, nd->acc[0]);
}

/* Blocked if every input fills its blocks; then a sample's channels are contiguous in each. */
int cpu_concat_plan(struct node *nd, struct fault *f)
{
	int64_t b = nd->in[0]->cblock;

	(void)f;
	if (nd->in[0]->n_dims != 4)
		return 0;
	for (int i = 0; i < nd->n_in; i++)
		if (nd->in[i]->dim[1] % b || nd->in[i]->cblock != b)
			b = 1;
	for (int i = 0; i < nd->n_in; i++)
		nd->want[i] = b;
	nd->out[0]->cblock = b;
	return 0;
}

static void concat_rows(const struct node *nd, int64_t *rows, int64_t *all)
{
	const struct tensor *y = nd->out[0];

	*rows = y->n_dims == 4 ? y->dim[0] : tensor_rows(y);
	*all = tensor_count(y) / *rows;
}

void cpu_concat_forward(struct node *nd)
{
	int64_t rows, all, at = 0;

	concat_rows(nd, &rows, &all);
	for (int i = 0; i < nd->n_in; i++) {
		int64_t n = tensor_count(nd->in[i]) / rows;

#pragma omp parallel for schedule(static) if (rows * n > SMALL)
		for (int64_t r = 0; r < rows; r++)
			memcpy(tf(nd->out[0]) + r * all + at, tf(nd->in[i]) + r * n,
				(size_t)n * sizeof(float));
		at += n;
	}
}

void cpu_concat_backward(struct node *nd)
{
	int64_t rows, all, at = 0;

	concat_rows(nd, &rows, &all);
	for (int i = 0; i < nd->n_in; i++) {
		int64_t n = tensor_count(nd->in[i]) / rows;
		struct tensor *g = grad_of(nd, i);

#pragma omp parallel for schedule(static) if (rows * n > SMALL)
		for (int64_t r = 0; r < rows; r++)
			if (g)
				back_scaled(tf(nd->out[0]->grad) + r * all + at, 1, tf(g) + r * n,
					(size_t)n, nd->acc[i]);
		at += n;
	}
}
