/* cpu_dense.c: convolutions and products through oneDNN; sums of biases by hand. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include "ops/cpu.h"
#include "ops/dnn.h"
#include "ops/ref.h"
#include "ops/vec.h"

/* ---- bias sums ---- */

KERNEL static void add_rows(float *sum, const float *x, int64_t rows, int64_t pitch, int64_t n)
{
	for (int64_t r = 0; r < rows; r++)
		for (int64_t j = 0; j < n; j++)
			sum[j] += x[r * pitch + j];
}

void cpu_bias_rows(const float *dy, int64_t rows, int64_t k, float *db, bool add)
{
	if (!add)
		memset(db, 0, (size_t)k * sizeof(float));
#pragma omp parallel if (rows * k > 32768)
	{
		size_t a, b;

		vec_share((size_t)k, omp_get_thread_num(), omp_get_num_threads(), &a, &b);
		if (b > a)
			add_rows(db + a, dy + a, rows, k, (int64_t)(b - a));
	}
}

KERNEL static float sum_plane(const float *x, int64_t n)
{
	float s[16] = {0};
	float sum = 0;
	int64_t i = 0;

	for (; i + 16 <= n; i += 16)
		for (int j = 0; j < 16; j++)
			s[j] += x[i + j];
	for (; i < n; i++)
		sum += x[i];
	for (int j = 0; j < 16; j++)
		sum += s[j];
	return sum;
}

void cpu_bias_image(const struct tensor *dy, float *db, bool add)
{
	int64_t c = dy->dim[1], b = dy->cblock, plane = dy->dim[2] * dy->dim[3];
	int64_t blocks = (c + b - 1) / b;

#pragma omp parallel for schedule(static) if (c * plane * dy->dim[0] > 32768)
	for (int64_t k = 0; k < blocks; k++) {
		int64_t real = c - k * b < b ? c - k * b : b;
		float sum[16] = {0};

		for (int64_t n = 0; n < dy->dim[0]; n++) {
			const float *x = tf(dy) + (n * blocks + k) * plane * b;

			if (b == 1)
				sum[0] += sum_plane(x, plane);
			else
				add_rows(sum, x, plane, b, real);
		}
		for (int64_t j = 0; j < real; j++)
			db[k * b + j] = add ? db[k * b + j] + sum[j] : sum[j];
	}
}

/* ---- convolution ---- */

/* The transposed convolution is the backward pass of the convolution from its output to its input:
 * the two swap roles, forward and backward-data as well; weights are (C,K,R,S) in both. */
static struct dnn_conv_spec spec_of(const struct node *nd, bool transposed)
{
	const struct args_conv *a = &nd->a.conv;
	const struct tensor *x = nd->in[0], *y = nd->out[0];
	bool dx = nd->train && x->grad, dw = nd->train && nd->in[1]->grad;

	if (transposed) {
		const struct tensor *t = x;

		x = y;
		y = t;
	}
	return (struct dnn_conv_spec){.n = x->dim[0],
		.c = x->dim[1],
		.h = x->dim[2],
		.w = x->dim[3],
		.k = y->dim[1],
		.p = y->dim[2],
		.q = y->dim[3],
		.r = a->r,
		.s = a->s,
		.stride = a->stride,
		.pad_h = a->pad_h,
		.pad_w = a->pad_w,
		.bias = !transposed && nd->n_in > 2,
		.data = transposed || dx,
		.weights = dw};
}

static int plan(struct node *nd, bool transposed, struct fault *f)
{
	struct dnn_conv_spec sp = spec_of(nd, transposed);
	struct tensor *w = nd->in[1];
	struct dnn_conv *c = dnn_conv_new(&sp, w->packed, f);

	if (!c)
		return -1;
	nd->state = c;
	if (!w->packed) {
		if (w->data)
			return fault_set(f, "parameter %s: its layout came too late", w->name);
		w->packed = dnn_conv_layout(c);
		if (!w->packed)
			return fault_set(f, "out of memory");
	}
	nd->want[0] = transposed ? dnn_conv_block_y(c) : dnn_conv_block_x(c);
	nd->out[0]->cblock = transposed ? dnn_conv_block_x(c) : dnn_conv_block_y(c);
	nd->scratch.bytes = dnn_conv_scratch(c);
	return 0;
}

int cpu_conv_plan(struct node *nd, struct fault *f)
{
	return plan(nd, false, f);
}

int cpu_conv_t_plan(struct node *nd, struct fault *f)
{
	return plan(nd, true, f);
}

void cpu_conv_release(struct node *nd)
{
	dnn_conv_free(nd->state);
	nd->state = NULL;
}

void cpu_conv_forward(struct node *nd)
{
	dnn_conv_forward(nd->state, tf(nd->in[0]), tf(nd->in[1]),
		nd->n_in > 2 ? tf(nd->in[2]) : NULL, tf(nd->out[0]), nd->scratch.data);
}

/* The library overwrites dx; the net adds where that is wanted (no IMPL_ADDS). */
void cpu_conv_backward(struct node *nd)
{
	const struct tensor *dy = nd->out[0]->grad;
	struct tensor *dx = grad_of(nd, 0), *dw = grad_of(nd, 1), *db = grad_of(nd, 2);

	if (dw)
		dnn_conv_backward_weights(
			nd->state, tf(nd->in[0]), tf(dy), tf(dw), nd->scratch.data);
	if (db)
		cpu_bias_image(dy, tf(db), false);
	if (dx)
		dnn_conv_backward_data(nd->state, tf(dy), tf(nd->in[1]), tf(dx), nd->scratch.data);
}

static void add_bias_image(const struct tensor *y, const float *bias)
{
	int64_t c = y->dim[1], b = y->cblock, plane = y->dim[2] * y->dim[3],
		blocks = (c + b - 1) / b;

#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < y->dim[0] * blocks; i++) {
		int64_t k = i % blocks * b, real = c - k < b ? c - k : b;
		float *p = tf(y) + i * plane * b;

		for (int64_t j = 0; j < plane; j++)
			for (int64_t l = 0; l < real; l++)
				p[j * b + l] += bias[k + l];
	}
}

void cpu_conv_t_forward(struct node *nd)
{
	dnn_conv_backward_data(
		nd->state, tf(nd->in[0]), tf(nd->in[1]), tf(nd->out[0]), nd->scratch.data);
	if (nd->n_in > 2)
		add_bias_image(nd->out[0], tf(nd->in[2]));
}

void cpu_conv_t_backward(struct node *nd)
{
	const struct tensor *dy = nd->out[0]->grad;
	struct tensor *dx = grad_of(nd, 0), *dw = grad_of(nd, 1), *db = grad_of(nd, 2);

	if (dw)
		dnn_conv_backward_weights(
			nd->state, tf(dy), tf(nd->in[0]), tf(dw), nd->scratch.data);
	if (db)
		cpu_bias_image(dy, tf(db), false);
	if (dx)
		dnn_conv_forward(nd->state, tf(dy), tf(nd->in[1]), NULL, tf(dx), nd->scratch.data);
}

/* ---- linear: y = x wᵀ + b ---- */

static void copy_rows(float *y, const float *b, int64_t m, int64_t n)
{
#pragma omp parallel for schedule(static) if (m * n > 32768)
	for (int64_t i = 0; i < m; i++)
		memcpy(y + i * n, b, (size_t)n * sizeof(float));
}

void cpu_linear_forward(struct node *nd)
{
	int64_t m = tensor_rows(nd->in[0]), k = tensor_cols(nd->in[0]), n = nd->in[1]->dim[0];
	bool bias = nd->n_in > 2;

	if (bias)
		copy_rows(tf(nd->out[0]), tf(nd->in[2]), m, n);
	dnn_gemm(false, true, m, n, k, 1, tf(nd->in[0]), k, tf(nd->in[1]), k, bias ? 1 : 0,
		tf(nd->out[0]), n);
}

void cpu_linear_backward(struct node *nd)
{
	int64_t m = tensor_rows(nd->in[0]), k = tensor_cols(nd->in[0]), n = nd->in[1]->dim[0];
	struct tensor *dx = grad_of(nd, 0), *dw = grad_of(nd, 1), *db = grad_of(nd, 2);
	const float *dy = tf(nd->out[0]->grad);

	if (dw)
		dnn_gemm(true, false, n, k, m, 1, dy, n, tf(nd->in[0]), k, nd->acc[1] ? 1 : 0,
			tf(dw), k);
	if (db)
		cpu_bias_rows(dy, m, n, tf(db), nd->acc[2]);
	if (dx)
		dnn_gemm(false, false, m, k, n, 1, dy, n, tf(nd->in[1]), k, nd->acc[0] ? 1 : 0,
			tf(dx), k);
}

/* ---- batched products ---- */

struct batch_gemm {
	bool ta, tb;
	int64_t m, n, k;
	const float *a, *b;
	float *c;
	int64_t sa, sb, sc; /* from one matrix to the next */
	float alpha, beta;
};

/* Matrices are small: one thread each; a single one is split inside the library. */
static void run_batch(const struct batch_gemm *g, int64_t batch)
{
	int64_t lda = g->ta ? g->m : g->k, ldb = g->tb ? g->k : g->n;

#pragma omp parallel for schedule(static) if (batch > 1)
	for (int64_t z = 0; z < batch; z++)
		dnn_gemm(g->ta, g->tb, g->m, g->n, g->k, g->alpha, g->a + z * g->sa, lda,
			g->b + z * g->sb, ldb, g->beta, g->c + z * g->sc, g->n);
}

static bool shared_b(const struct node *nd)
{
	return nd->in[1]->n_dims == 2 || nd->in[1]->dim[0] == 1;
}

void cpu_matmul_forward(struct node *nd)
{
	const struct args_matmul *g = &nd->a.matmul;
	struct batch_gemm b = {g->ta, g->tb, g->m, g->n, g->k, tf(nd->in[0]), tf(nd->in[1]),
		tf(nd->out[0]), g->m * g->k, shared_b(nd) ? 0 : g->k * g->n, g->m * g->n, g->alpha,
		0};

	run_batch(&b, g->batch);
}

/* C = α op(A) op(B): dA = α dC op(B)ᵀ, or its transpose; dB = α op(A)ᵀ dC, or its transpose. */
void cpu_matmul_backward(struct node *nd)
{
	const struct args_matmul *g = &nd->a.matmul;
	struct tensor *ga = grad_of(nd, 0), *gb = grad_of(nd, 1);
	const float *a = tf(nd->in[0]), *b = tf(nd->in[1]), *d = tf(nd->out[0]->grad);
	int64_t sa = g->m * g->k, sb = shared_b(nd) ? 0 : g->k * g->n, sc = g->m * g->n;
	struct batch_gemm t;

	if (ga) {
		float beta = nd->acc[0] ? 1 : 0;

		if (g->ta)
			t = (struct batch_gemm){g->tb, true, g->k, g->m, g->n, b, d, tf(ga), sb, sc,
				sa, g->alpha, beta};
		else
			t = (struct batch_gemm){false, !g->tb, g->m, g->k, g->n, d, b, tf(ga), sc,
				sb, sa, g->alpha, beta};
		run_batch(&t, g->batch);
	}
	if (!gb)
		return;
	if (g->tb)
		t = (struct batch_gemm){true, g->ta, g->n, g->k, g->m, d, a, tf(gb), sc, sa, sb,
			g->alpha, nd->acc[1] ? 1 : 0};
	else
		t = (struct batch_gemm){!g->ta, false, g->k, g->n, g->m, a, d, tf(gb), sa, sc, sb,
			g->alpha, nd->acc[1] ? 1 : 0};
	if (sb) {
		run_batch(&t, g->batch);
		return;
	}
	for (int64_t z = 0; z < g->batch; z++) { /* one after another into the shared gradient */
		run_batch(&t, 1);
		t.a += t.sa;
		t.b += t.sb;
		t.beta = 1;
	}
}
