/* ref_dense.c: products of matrices, softmax, attention. */
#include <math.h>
#include "ops/ref.h"

void ref_linear_forward(struct node *nd)
{
	const float *x = tf(nd->in[0]), *w = tf(nd->in[1]);
	const float *b = nd->n_in > 2 ? tf(nd->in[2]) : NULL;
	int64_t m = tensor_rows(nd->in[0]), k = tensor_cols(nd->in[0]), n = nd->in[1]->dim[0];

	for (int64_t i = 0; i < m; i++)
		for (int64_t j = 0; j < n; j++) {
			double sum = b ? b[j] : 0;

			for (int64_t l = 0; l < k; l++)
				sum += (double)x[i * k + l] * w[j * k + l];
			tf(nd->out[0])[i * n + j] = (float)sum;
		}
}

void ref_linear_backward(struct node *nd)
{
	const float *x = tf(nd->in[0]), *w = tf(nd->in[1]), *dy = tf(nd->out[0]->grad);
	struct tensor *dx = grad_of(nd, 0), *dw = grad_of(nd, 1), *db = grad_of(nd, 2);
	int64_t m = tensor_rows(nd->in[0]), k = tensor_cols(nd->in[0]), n = nd->in[1]->dim[0];

	for (int64_t i = 0; dx && i < m; i++)
		for (int64_t l = 0; l < k; l++) {
			double sum = 0;

			for (int64_t j = 0; j < n; j++)
				sum += (double)dy[i * n + j] * w[j * k + l];
			grad_put(tf(dx), i * k + l, sum, nd->acc[0]);
		}
	for (int64_t j = 0; dw && j < n; j++)
		for (int64_t l = 0; l < k; l++) {
			double sum = 0;

			for (int64_t i = 0; i < m; i++)
				sum += (double)dy[i * n + j] * x[i * k + l];
			grad_put(tf(dw), j * k + l, sum, nd->acc[1]);
		}
	for (int64_t j = 0; db && j < n; j++) {
		double sum = 0;

		for (int64_t i = 0; i < m; i++)
			sum += dy[i * n + j];
		grad_put(tf(db), j, sum, nd->acc[2]);
	}
}

/* element (i,l) of op(A) */
static double at(const float *a, bool t, int64_t rows, int64_t cols, int64_t i, int64_t l)
{
	return t ? a[l * rows + i] : a[i * cols + l];
}

void ref_matmul_forward(struct node *nd)
{
	const struct args_matmul *g = &nd->a.matmul;
	bool shared = nd->in[1]->n_dims == 2 || nd->in[1]->dim[0] == 1;

	for (int64_t z = 0; z < g->batch; z++) {
		const float *a = tf(nd->in[0]) + z * g->m * g->k;
		const float *b = tf(nd->in[1]) + (shared ? 0 : z * g->k * g->n);
		float *c = tf(nd->out[0]) + z * g->m * g->n;

		for (int64_t i = 0; i < g->m; i++)
			for (int64_t j = 0; j < g->n; j++) {
				double sum = 0;

				for (int64_t l = 0; l < g->k; l++)
					sum += at(a, g->ta, g->m, g->k, i, l) *
					       at(b, g->tb, g->k, g->n, l, j);
				c[i * g->n + j] = (float)(g->alpha * sum);
			}
	}
}

void ref_matmul_backward(struct node *nd)
{
	const struct args_matmul *g = &nd->a.matmul;
	bool shared = nd->in[1]->n_dims == 2 || nd->in[1]->dim[0] == 1;
	struct tensor *ga = grad_of(nd, 0), *gb = grad_of(nd, 1);

	grad_clear(nd, 0);
	grad_clear(nd, 1);
	for (int64_t z = 0; z < g->batch; z++) {
		int64_t oa = z * g->m * g->k, ob = shared ? 0 : z * g->k * g->n;
		const float *a = tf(nd->in[0]) + oa, *b = tf(nd->in[1]) + ob;
		const float *d = tf(nd->out[0]->grad) + z * g->m * g->n;

		for (int64_t i = 0; ga && i < g->m; i++) /* dA = alpha dC op(B)ᵀ */
			for (int64_t l = 0; l < g->k; l++) {
				double sum = 0;

				for (int64_t j = 0; j < g->n; j++)
					sum += d[i * g->n + j] * at(b, g->tb, g->k, g->n, l, j);
				tf(ga)[oa + (g->ta ? l * g->m + i : i * g->k + l)] +=
					(float)(g->alpha * sum);
			}
		for (int64_t l = 0; gb && l < g->k; l++) /* dB = alpha op(A)ᵀ dC */
			for (int64_t j = 0; j < g->n; j++) {
				double sum = 0;

				for (int64_t i = 0; i < g->m; i++)
					sum += d[i * g->n + j] * at(a, g->ta, g->m, g->k, i, l);
				tf(gb)[ob + (g->tb ? j * g->k + l : l * g->n + j)] +=
					(float)(g->alpha * sum);
			}
	}
}

/* One row: y = exp(x − max) / sum. Entries of −INFINITY give 0; a row of nothing else gives zeros.
 */
static void softmax_row(const float *x, float *y, int64_t n)
{
	double max = -INFINITY, sum = 0;

	for (int64_t i = 0; i < n; i++)
		max = x[i] > max ? x[i] : max;
	for (int64_t i = 0; i < n; i++)
		sum += max == -INFINITY ? 1 : exp(x[i] - max);
	for (int64_t i = 0; i < n; i++)
		y[i] = max == -INFINITY ? 0 : (float)(exp(x[i] - max) / sum);
}

void ref_softmax_forward(struct node *nd)
{
	int64_t m = tensor_rows(nd->in[0]), n = tensor_cols(nd->in[0]);

	for (int64_t i = 0; i < m; i++)
		softmax_row(tf(nd->in[0]) + i * n, tf(nd->out[0]) + i * n, n);
}

void ref_softmax_backward(struct node *nd)
{
	int64_t m = tensor_rows(nd->in[0]), n = tensor_cols(nd->in[0]);

	for (int64_t i = 0; i < m; i++) {
		const float *y = tf(nd->out[0]) + i * n, *dy = tf(nd->out[0]->grad) + i * n;
		double dot = 0;

		for (int64_t j = 0; j < n; j++)
			dot += (double)y[j] * dy[j];
		for (int64_t j = 0; j < n; j++)
			grad_put(tf(nd->in[0]->grad), i * n + j, y[j] * (dy[j] - dot), nd->acc[0]);
	}
}

/* One head of one sample: rows of q, k, v are `pitch` apart in qkv (B,T,3E), rows of o in y
 * (B,T,E). */
struct head {
	const float *q, *k, *v;
	float *p; /* probabilities (T,T) before dropout */
	int64_t t, d, pitch, e, first; /* first: number of p[0] over the global batch */
	const int32_t *mask;
	double scale;
};

static struct head head_of(const struct node *nd, int64_t b, int h)
{
	int64_t t = nd->in[0]->dim[1], e = nd->in[0]->dim[2] / 3, heads = nd->a.attention.heads;
	const float *x = tf(nd->in[0]) + b * t * 3 * e + h * (e / heads);

	return (struct head){x, x + e, x + 2 * e, tf(nd->out[1]) + (b * heads + h) * t * t, t,
		e / heads, 3 * e, e, ((nd->ctx->row0 + b) * heads + h) * t * t,
		nd->n_in > 1 ? ti(nd->in[1]) + b * t : NULL, 1 / sqrt((double)(e / heads))};
}

static bool attends(const struct node *nd, const struct head *a, int64_t i, int64_t j)
{
	return (!a->mask || a->mask[j]) && (!nd->a.attention.causal || j <= i);
}

static double kept(const struct node *nd, const struct head *a, int64_t i, int64_t j)
{
	float p = nd->a.attention.dropout;

	return nd->train && p > 0 ? dropout_factor(nd, p, (uint64_t)(a->first + i * a->t + j)) : 1;
}

static void head_forward(const struct node *nd, const struct head *a, float *o)
{
	for (int64_t i = 0; i < a->t; i++) {
		float *p = a->p + i * a->t;

		for (int64_t j = 0; j < a->t; j++) {
			double dot = 0;

			for (int64_t l = 0; l < a->d; l++)
				dot += (double)a->q[i * a->pitch + l] * a->k[j * a->pitch + l];
			p[j] = attends(nd, a, i, j) ? (float)(dot * a->scale) : -INFINITY;
		}
		softmax_row(p, p, a->t);
		for (int64_t l = 0; l < a->d; l++) {
			double sum = 0;

			for (int64_t j = 0; j < a->t; j++)
				sum += ref_operand(nd, p[j] * kept(nd, a, i, j)) *
				       a->v[j * a->pitch + l];
			o[i * a->e + l] = (float)sum;
		}
	}
}

void ref_attention_forward(struct node *nd)
{
	int64_t t = nd->in[0]->dim[1], e = nd->in[0]->dim[2] / 3;
	int heads = nd->a.attention.heads;

	for (int64_t b = 0; b < nd->in[0]->dim[0]; b++)
		for (int h = 0; h < heads; h++) {
			struct head a = head_of(nd, b, h);

			head_forward(nd, &a, tf(nd->out[0]) + b * t * e + h * (e / heads));
		}
}

/* dq, dk, dv have the pitch of qkv and are added to. */
static void head_backward(const struct node *nd, const struct head *a, const float *od, float *dq)
{
	float *dk = dq + a->e, *dv = dk + a->e;

	for (int64_t i = 0; i < a->t; i++) {
		const float *p = a->p + i * a->t;
		double dot = 0;

		for (int64_t j = 0; j < a->t; j++)
			for (int64_t l = 0; l < a->d; l++)
				dot += p[j] * kept(nd, a, i, j) * a->v[j * a->pitch + l] *
				       od[i * a->e + l];
		for (int64_t j = 0; j < a->t; j++) {
			double dp = 0, keep = kept(nd, a, i, j), ds;
			double pk = ref_operand(nd, p[j] * keep);

			for (int64_t l = 0; l < a->d; l++) {
				dp += keep * a->v[j * a->pitch + l] * od[i * a->e + l];
				dv[j * a->pitch + l] += (float)(pk * od[i * a->e + l]);
			}
			ds = ref_operand(nd, p[j] * (dp - dot) * a->scale);
			for (int64_t l = 0; l < a->d; l++) {
				dq[i * a->pitch + l] += (float)(ds * a->k[j * a->pitch + l]);
				dk[j * a->pitch + l] += (float)(ds * a->q[i * a->pitch + l]);
			}
		}
	}
}

void ref_attention_backward(struct node *nd)
{
	int64_t t = nd->in[0]->dim[1], e = nd->in[0]->dim[2] / 3;
	int heads = nd->a.attention.heads;

	grad_clear(nd, 0);
	for (int64_t b = 0; b < nd->in[0]->dim[0]; b++)
		for (int h = 0; h < heads; h++) {
			struct head a = head_of(nd, b, h);

			head_backward(nd, &a, tf(nd->out[0]->grad) + b * t * e + h * (e / heads),
				tf(nd->in[0]->grad) + b * t * 3 * e + h * (e / heads));
		}
}
