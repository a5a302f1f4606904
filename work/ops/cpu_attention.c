/* cpu_attention.c: softmax, attention and cross entropy: rows of exponentials. */
#include <math.h>
#include <omp.h>
#include "ops/cpu.h"
#include "ops/dnn.h"
#include "ops/ref.h"
#include "ops/rng.h"
#include "ops/vec.h"
#include "ops/vmath.h"

#define LANES 16

static inline __attribute__((always_inline)) float row_max(const float *x, int64_t n)
{
	float m[LANES], max = -INFINITY;
	int64_t i = 0;

	for (int j = 0; j < LANES; j++)
		m[j] = -INFINITY;
	for (; i + LANES <= n; i += LANES)
		for (int j = 0; j < LANES; j++)
			m[j] = x[i + j] > m[j] ? x[i + j] : m[j];
	for (; i < n; i++)
		max = x[i] > max ? x[i] : max;
	for (int j = 0; j < LANES; j++)
		max = m[j] > max ? m[j] : max;
	return max;
}

/* y = exp(x − max), returns the sum */
static inline __attribute__((always_inline)) float row_exp(
	const float *x, float *y, float max, int64_t n)
{
	float s[LANES] = {0}, sum = 0;
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (int j = 0; j < LANES; j++) {
			y[i + j] = vexp(x[i + j] - max);
			s[j] += y[i + j];
		}
	for (; i < n; i++) {
		y[i] = vexp(x[i] - max);
		sum += y[i];
	}
	for (int j = 0; j < LANES; j++)
		sum += s[j];
	return sum;
}

KERNEL static void softmax_row(const float *x, float *y, int64_t n)
{
	float sum = row_exp(x, y, row_max(x, n), n);

	for (int64_t i = 0; i < n; i++)
		y[i] /= sum;
}

KERNEL static void softmax_row_back(
	const float *y, const float *dy, float *dx, int64_t n, float scale, bool add)
{
	float s[LANES] = {0}, dot = 0;
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (int j = 0; j < LANES; j++)
			s[j] += y[i + j] * dy[i + j];
	for (; i < n; i++)
		dot += y[i] * dy[i];
	for (int j = 0; j < LANES; j++)
		dot += s[j];
	for (i = 0; i < n; i++) {
		float d = scale * y[i] * (dy[i] - dot);

		dx[i] = add ? dx[i] + d : d;
	}
}

void cpu_softmax_forward(struct node *nd)
{
	int64_t m = tensor_rows(nd->in[0]), n = tensor_cols(nd->in[0]);

#pragma omp parallel for schedule(static) if (m * n > 4096)
	for (int64_t i = 0; i < m; i++)
		softmax_row(tf(nd->in[0]) + i * n, tf(nd->out[0]) + i * n, n);
}

void cpu_softmax_backward(struct node *nd)
{
	int64_t m = tensor_rows(nd->in[0]), n = tensor_cols(nd->in[0]);

#pragma omp parallel for schedule(static) if (m * n > 4096)
	for (int64_t i = 0; i < m; i++)
		softmax_row_back(tf(nd->out[0]) + i * n, tf(nd->out[0]->grad) + i * n,
			tf(nd->in[0]->grad) + i * n, n, 1, nd->acc[0]);
}

/* ---- attention, one head of one sample at a time ---- */

struct head {
	const float *q, *k, *v; /* rows 3E apart */
	float *p;
	int64_t t, d, pitch, e;
	uint64_t first; /* number of p[0] over the global batch */
	const int32_t *mask;
	float scale;
};

static struct head head_of(const struct node *nd, int64_t i)
{
	int64_t t = nd->in[0]->dim[1], e = nd->in[0]->dim[2] / 3, heads = nd->a.attention.heads;
	int64_t b = i / heads, h = i % heads;
	const float *x = tf(nd->in[0]) + b * t * 3 * e + h * (e / heads);

	return (struct head){x, x + e, x + 2 * e, tf(nd->out[1]) + i * t * t, t, e / heads, 3 * e,
		e, (uint64_t)((nd->ctx->row0 * heads + i) * t * t),
		nd->n_in > 1 ? ti(nd->in[1]) + b * t : NULL, 1 / sqrtf((float)(e / heads))};
}

/* Keys that may not be looked at get −∞; returns how many of the row's keys may at most. */
static int64_t mask_row(const struct node *nd, const struct head *a, int64_t i, float *s)
{
	int64_t n = nd->a.attention.causal ? i + 1 : a->t;

	for (int64_t j = 0; a->mask && j < n; j++)
		s[j] = a->mask[j] ? s[j] : -INFINITY;
	return n;
}

static bool all_masked(const float *s, int64_t n)
{
	for (int64_t j = 0; j < n; j++)
		if (s[j] != -INFINITY)
			return false;
	return true;
}

KERNEL static void drop_row(const float *x, float *y, int64_t n, uint32_t key, uint32_t first,
	uint32_t below, float scale)
{
	for (int64_t i = 0; i < n; i++)
		y[i] = rng_fast(key, first + (uint32_t)i) < below ? 0 : x[i] * scale;
}

/* y = p with dropout; y may be x */
static void drop_head(const struct node *nd, const struct head *a, const float *x, float *y)
{
	float p = nd->a.attention.dropout;

	drop_row(x, y, a->t * a->t, dropout_key(nd), (uint32_t)a->first, dropout_below(p),
		1 / (1 - p));
}

static bool drops(const struct node *nd)
{
	return nd->train && nd->a.attention.dropout > 0;
}

int cpu_attention_plan(struct node *nd, struct fault *f)
{
	int64_t t = nd->in[0]->dim[1];

	(void)f;
	nd->scratch.bytes = (size_t)omp_get_max_threads() * 2 * (size_t)(t * t) * sizeof(float);
	return 0;
}

static float *own_scratch(const struct node *nd, int64_t t)
{
	return (float *)nd->scratch.data + omp_get_thread_num() * 2 * t * t;
}

static void head_forward(const struct node *nd, const struct head *a, float *o, float *tmp)
{
	const float *p = a->p;

	dnn_gemm(false, true, a->t, a->t, a->d, a->scale, a->q, a->pitch, a->k, a->pitch, 0, a->p,
		a->t);
	for (int64_t i = 0; i < a->t; i++) {
		float *s = a->p + i * a->t;
		int64_t n = mask_row(nd, a, i, s);

		if (a->mask && all_masked(s, n))
			n = 0;
		else
			softmax_row(s, s, n);
		for (int64_t j = n; j < a->t; j++)
			s[j] = 0;
	}
	if (drops(nd)) {
		drop_head(nd, a, a->p, tmp);
		p = tmp;
	}
	dnn_gemm(false, false, a->t, a->d, a->t, 1, p, a->t, a->v, a->pitch, 0, o, a->e);
}

void cpu_attention_forward(struct node *nd)
{
	int64_t t = nd->in[0]->dim[1], e = nd->in[0]->dim[2] / 3, heads = nd->a.attention.heads;

#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < nd->in[0]->dim[0] * heads; i++) {
		struct head a = head_of(nd, i);

		head_forward(nd, &a, tf(nd->out[0]) + i / heads * t * e + i % heads * (e / heads),
			own_scratch(nd, t));
	}
}

/* dV = Pᵀ dO, dP = dO Vᵀ, dS = P (dP − Σ dP P) scale, dQ = dS K, dK = dSᵀ Q; with dropout P and dP
 * are masked on the way. */
static void head_backward(const struct node *nd, const struct head *a, const float *od, float *dq,
	float *tmp, float beta)
{
	float *dk = dq + a->e, *dv = dk + a->e, *dp = tmp + a->t * a->t;
	const float *p = a->p;

	if (drops(nd)) {
		drop_head(nd, a, a->p, tmp);
		p = tmp;
	}
	dnn_gemm(true, false, a->t, a->d, a->t, 1, p, a->t, od, a->e, beta, dv, a->pitch);
	dnn_gemm(false, true, a->t, a->t, a->d, 1, od, a->e, a->v, a->pitch, 0, dp, a->t);
	if (drops(nd))
		drop_head(nd, a, dp, dp);
	for (int64_t i = 0; i < a->t; i++)
		softmax_row_back(
			a->p + i * a->t, dp + i * a->t, dp + i * a->t, a->t, a->scale, false);
	dnn_gemm(false, false, a->t, a->d, a->t, 1, dp, a->t, a->k, a->pitch, beta, dq, a->pitch);
	dnn_gemm(true, false, a->t, a->d, a->t, 1, dp, a->t, a->q, a->pitch, beta, dk, a->pitch);
}

void cpu_attention_backward(struct node *nd)
{
	int64_t t = nd->in[0]->dim[1], e = nd->in[0]->dim[2] / 3, heads = nd->a.attention.heads;

#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < nd->in[0]->dim[0] * heads; i++) {
		struct head a = head_of(nd, i);
		int64_t b = i / heads, h = i % heads;

		head_backward(nd, &a, tf(nd->out[0]->grad) + b * t * e + h * (e / heads),
			tf(nd->in[0]->grad) + b * t * 3 * e + h * (e / heads), own_scratch(nd, t),
			nd->acc[0] ? 1 : 0);
	}
}

/* ---- cross entropy over rows; images and label smoothing are the reference's ---- */

static bool by_rows(const struct node *nd)
{
	return nd->in[0]->n_dims != 4 && nd->a.xent.smoothing == 0;
}

/* probabilities of one row into p; the loss; whether the label is the largest */
KERNEL static float xent_row(const float *x, float *p, int64_t n, int label, bool *right)
{
	float max = row_max(x, n), sum = row_exp(x, p, max, n), own = x[label];

	for (int64_t i = 0; i < n; i++)
		p[i] /= sum;
	*right = own == max;
	for (int64_t i = 0; *right && i < label; i++)
		*right = x[i] != max; /* the first of several equals counts */
	return logf(sum) + max - own;
}

void cpu_xent_forward(struct node *nd)
{
	const struct args_xent *a = &nd->a.xent;
	struct op_stats *st = &nd->ctx->stats;
	int64_t m = tensor_count(nd->in[1]), n = tensor_cols(nd->in[0]);
	const int32_t *label = ti(nd->in[1]);
	double loss = 0, right = 0, count = 0;

	if (!by_rows(nd)) {
		ref_xent_forward(nd);
		return;
	}
#pragma omp parallel for schedule(static) reduction(+ : loss, right, count) if (m * n > 4096)
	for (int64_t i = 0; i < m; i++) {
		bool hit;

		if (label[i] < 0)
			continue;
		loss += xent_row(tf(nd->in[0]) + i * n, tf(nd->out[0]) + i * n, n, label[i], &hit);
		right += hit;
		count += 1;
	}
	st->loss += a->weight * loss;
	if (a->aux)
		return;
	st->count += count;
	st->metric += right;
	st->metric_count += count;
}

KERNEL static void xent_row_back(const float *p, float *d, int64_t n, float scale, bool add)
{
	for (int64_t i = 0; i < n; i++)
		d[i] = add ? d[i] + scale * p[i] : scale * p[i];
}

void cpu_xent_backward(struct node *nd)
{
	int64_t m = tensor_count(nd->in[1]), n = tensor_cols(nd->in[0]);
	float scale = nd->a.xent.weight * nd->ctx->loss_scale;
	const int32_t *label = ti(nd->in[1]);

	if (!by_rows(nd)) {
		ref_xent_backward(nd);
		return;
	}
#pragma omp parallel for schedule(static) if (m * n > 4096)
	for (int64_t i = 0; i < m; i++) {
		float *d = tf(nd->in[0]->grad) + i * n;

		if (label[i] >= 0) {
			xent_row_back(tf(nd->out[0]) + i * n, d, n, scale, nd->acc[0]);
			d[label[i]] -= scale;
		} else if (!nd->acc[0]) {
			memset(d, 0, (size_t)n * sizeof(*d));
		}
	}
}
