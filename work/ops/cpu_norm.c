/* cpu_norm.c: batch norm over images in any channel block, layer norm over rows.
 *
 * An image is (N, C/b, H·W, b): for one block of channels, N pieces of plane × b floats. Sums are
 * taken in float over short runs and added up in double; the variance is about a pivot near the
 * mean, so that one pass does.
 */
#include <math.h>
#include <omp.h>
#include <string.h>
#include "comm/comm.h"
#include "ops/cpu.h"
#include "ops/ref.h"
#include "ops/vec.h"

#define INLINE static inline __attribute__((always_inline))
#define RUN    128 /* rows summed in float */
#define WIDE   16 /* largest block with kernels of its own */

struct image {
	int64_t n, c, plane, b, blocks;
};

static struct image image_of(const struct tensor *t)
{
	return (struct image){t->dim[0], t->dim[1], t->dim[2] * t->dim[3], t->cblock,
		(t->dim[1] + t->cblock - 1) / t->cblock};
}

/* sum += Σ (x − pivot), sq += Σ (x − pivot)² over rows */
INLINE void moments(
	const float *x, int64_t rows, const float *pivot, double *sum, double *sq, int b)
{
	for (int64_t r0 = 0; r0 < rows; r0 += RUN) {
		int64_t r1 = r0 + RUN < rows ? r0 + RUN : rows;
		float s[WIDE] = {0}, q[WIDE] = {0};

		for (int64_t r = r0; r < r1; r++)
			for (int j = 0; j < b; j++) {
				float d = x[r * b + j] - pivot[j];

				s[j] += d;
				q[j] += d * d;
			}
		for (int j = 0; j < b; j++) {
			sum[j] += s[j];
			sq[j] += q[j];
		}
	}
}

/* y = x a + c, and max(0, .) */
INLINE void affine(
	const float *x, float *y, int64_t rows, const float *a, const float *c, bool relu, int b)
{
	for (int64_t r = 0; r < rows; r++)
		for (int j = 0; j < b; j++) {
			float v = x[r * b + j] * a[j] + c[j];

			y[r * b + j] = relu && v < 0 ? 0 : v;
		}
}

/* sum += Σ dy, sx += Σ dy (x − mean), dy taken as 0 where y ≤ 0 if relu */
INLINE void back_sums(const float *x, const float *y, const float *dy, int64_t rows,
	const float *mean, bool relu, double *sum, double *sx, int b)
{
	for (int64_t r0 = 0; r0 < rows; r0 += RUN) {
		int64_t r1 = r0 + RUN < rows ? r0 + RUN : rows;
		float s[WIDE] = {0}, q[WIDE] = {0};

		for (int64_t r = r0; r < r1; r++)
			for (int j = 0; j < b; j++) {
				float d = relu && !(y[r * b + j] > 0) ? 0 : dy[r * b + j];

				s[j] += d;
				q[j] += d * (x[r * b + j] - mean[j]);
			}
		for (int j = 0; j < b; j++) {
			sum[j] += s[j];
			sx[j] += q[j];
		}
	}
}

/* dx = a dy + k x + c */
INLINE void back_affine(const float *x, const float *y, const float *dy, float *dx, int64_t rows,
	const float *a, const float *k, const float *c, bool relu, bool add, int b)
{
	for (int64_t r = 0; r < rows; r++)
		for (int j = 0; j < b; j++) {
			int64_t i = r * b + j;
			float d = relu && !(y[i] > 0) ? 0 : dy[i];

			d = a[j] * d + k[j] * x[i] + c[j];
			dx[i] = add ? dx[i] + d : d;
		}
}

/* The same for the blocks that occur; a row-major image has b = 1, where "rows" are its pixels:
 * they are folded into rows of 16 with the same coefficient. */
KERNEL static void k_moments(
	const float *x, int64_t rows, const float *p, double *s, double *q, int64_t b)
{
	if (b == 16)
		moments(x, rows, p, s, q, 16);
	else if (b == 8)
		moments(x, rows, p, s, q, 8);
	else
		moments(x, rows, p, s, q, (int)b);
}

KERNEL static void k_affine(const float *x, float *y, int64_t rows, const float *a, const float *c,
	bool relu, int64_t b)
{
	if (b == 16)
		affine(x, y, rows, a, c, relu, 16);
	else if (b == 8)
		affine(x, y, rows, a, c, relu, 8);
	else
		affine(x, y, rows, a, c, relu, (int)b);
}

KERNEL static void k_back_sums(const float *x, const float *y, const float *dy, int64_t rows,
	const float *m, bool relu, double *s, double *q, int64_t b)
{
	if (b == 16)
		back_sums(x, y, dy, rows, m, relu, s, q, 16);
	else if (b == 8)
		back_sums(x, y, dy, rows, m, relu, s, q, 8);
	else
		back_sums(x, y, dy, rows, m, relu, s, q, (int)b);
}

KERNEL static void k_back_affine(const float *x, const float *y, const float *dy, float *dx,
	int64_t rows, const float *a, const float *k, const float *c, bool relu, bool add,
	int64_t b)
{
	if (b == 16)
		back_affine(x, y, dy, dx, rows, a, k, c, relu, add, 16);
	else if (b == 8)
		back_affine(x, y, dy, dx, rows, a, k, c, relu, add, 8);
	else
		back_affine(x, y, dy, dx, rows, a, k, c, relu, add, (int)b);
}

static int64_t padded(const struct node *nd)
{
	struct image g = image_of(nd->in[0]);

	return g.blocks * g.b;
}

int cpu_batchnorm_plan(struct node *nd, struct fault *f)
{
	int64_t c = nd->in[0]->dim[1], b = nd->in[0]->cblock;

	(void)f;
	if (b > WIDE)
		b = 1;
	nd->want[0] = b;
	nd->out[0]->cblock = b;
	c = (c + b - 1) / b * b;
	/* doubles: two sums and a count; floats: three coefficients */
	nd->scratch.bytes = (2 * (size_t)c + 1) * sizeof(double) + 3 * (size_t)c * sizeof(float);
	return 0;
}

/* Row-major planes whose size allows it are seen as rows of 16 equal channels. */
static int64_t fold(const struct image *g)
{
	return g->b == 1 && g->plane % WIDE == 0 ? WIDE : g->b;
}

/* Coefficients of one block, repeated over a fold. */
static const float *spread(const float *v, int64_t b, int64_t width, float *room)
{
	if (b == width)
		return v;
	for (int64_t j = 0; j < width; j++)
		room[j] = v[0];
	return room;
}

static void block_moments(const struct image *g, const float *x, int64_t k, const float *pivot,
	double *sum, double *sq)
{
	int64_t w = fold(g);
	double s[WIDE] = {0}, q[WIDE] = {0};
	float room[WIDE];
	const float *p = spread(pivot, g->b, w, room);

	for (int64_t n = 0; n < g->n; n++)
		k_moments(
			x + (n * g->blocks + k) * g->plane * g->b, g->plane * g->b / w, p, s, q, w);
	for (int64_t j = 0; j < w; j++) {
		sum[w == g->b ? j : 0] += s[j];
		sq[w == g->b ? j : 0] += q[j];
	}
}

/* sums over ranks for --sync-bn */
static void over_ranks(const struct node *nd, double *v, int n)
{
	if (nd->ctx->sync_bn && nd->ctx->comm)
		nd->ctx->comm->ops->sum_f64(nd->ctx->comm, v, n);
}

/* The first pixel of each channel; with --sync-bn that of the first sample of all, so that ranks
 * round as one process does: deep networks magnify a difference in the last bit a million times. */
static void choose_pivots(const struct node *nd, const struct image *g, double *room, float *pivot)
{
	const struct op_ctx *ctx = nd->ctx;
	int64_t c = padded(nd);

	for (int64_t k = 0; k < c; k++)
		pivot[k] = tf(nd->in[0])[k / g->b * g->plane * g->b + k % g->b];
	if (!ctx->sync_bn || !ctx->comm)
		return;
	for (int64_t k = 0; k < c; k++)
		room[k] = ctx->comm->rank ? 0 : pivot[k];
	over_ranks(nd, room, (int)c);
	for (int64_t k = 0; k < c; k++)
		pivot[k] = (float)room[k];
}

/* Mean and 1/σ of the batch (over all ranks if asked) into out[1], running statistics renewed. */
static void statistics(struct node *nd, const struct image *g)
{
	int64_t c = padded(nd), real = g->c;
	double *sum = nd->scratch.data, *sq = sum + c, count = (double)(g->n * g->plane);
	float *pivot = (float *)(sum + 2 * c + 1), *mean = tf(nd->out[1]), *rstd = mean + real;
	float m = nd->a.norm.momentum;

	choose_pivots(nd, g, sum, pivot);
	memset(sum, 0, 2 * (size_t)c * sizeof(*sum));
#pragma omp parallel for schedule(static)
	for (int64_t k = 0; k < g->blocks; k++)
		block_moments(g, tf(nd->in[0]), k, pivot + k * g->b, sum + k * g->b, sq + k * g->b);
	sum[2 * c] = count;
	over_ranks(nd, sum, (int)(2 * c + 1));
	count = sum[2 * c];
	for (int64_t k = 0; k < real; k++) {
		double off = sum[k] / count, var = fmax(sq[k] / count - off * off, 0);
		float *rm = tf(nd->in[3]) + k, *rv = tf(nd->in[4]) + k;

		mean[k] = (float)(pivot[k] + off);
		rstd[k] = (float)(1 / sqrt(var + nd->a.norm.eps));
		*rm += m * (mean[k] - *rm);
		*rv += m * ((float)(count > 1 ? var * count / (count - 1) : 0) - *rv);
	}
}

void cpu_batchnorm_forward(struct node *nd)
{
	struct image g = image_of(nd->in[0]);
	int64_t c = padded(nd), w = fold(&g);
	float *a = (float *)((double *)nd->scratch.data + 2 * c + 1), *shift = a + c;
	float *mean = tf(nd->out[1]), *rstd = mean + g.c;

	if (nd->train)
		statistics(nd, &g);
	else
		for (int64_t k = 0; k < g.c; k++) {
			mean[k] = tf(nd->in[3])[k];
			rstd[k] = 1 / sqrtf(tf(nd->in[4])[k] + nd->a.norm.eps);
		}
	for (int64_t k = 0; k < c; k++) { /* padding channels stay zero */
		a[k] = k < g.c ? rstd[k] * tf(nd->in[1])[k] : 0;
		shift[k] = k < g.c ? tf(nd->in[2])[k] - mean[k] * a[k] : 0;
	}
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < g.n * g.blocks; i++) {
		int64_t k = i % g.blocks * g.b, at = i * g.plane * g.b;
		float r1[WIDE], r2[WIDE];

		k_affine(tf(nd->in[0]) + at, tf(nd->out[0]) + at, g.plane * g.b / w,
			spread(a + k, g.b, w, r1), spread(shift + k, g.b, w, r2), nd->a.norm.relu,
			w);
	}
}

static void block_back_sums(const struct node *nd, const struct image *g, int64_t k,
	const float *mean, double *sum, double *sx)
{
	int64_t w = fold(g);
	double s[WIDE] = {0}, q[WIDE] = {0};
	float room[WIDE];
	const float *m = spread(mean, g->b, w, room);

	for (int64_t n = 0; n < g->n; n++) {
		int64_t at = (n * g->blocks + k) * g->plane * g->b;

		k_back_sums(tf(nd->in[0]) + at, tf(nd->out[0]) + at, tf(nd->out[0]->grad) + at,
			g->plane * g->b / w, m, nd->a.norm.relu, s, q, w);
	}
	for (int64_t j = 0; j < w; j++) {
		sum[w == g->b ? j : 0] += s[j];
		sx[w == g->b ? j : 0] += q[j];
	}
}

/* dx = γ/σ (dy − Σdy/n − x̂ Σ(dy x̂)/n), as a dy + k x + c per channel */
void cpu_batchnorm_backward(struct node *nd)
{
	struct image g = image_of(nd->in[0]);
	int64_t c = padded(nd), w = fold(&g);
	double *sum = nd->scratch.data, *sx = sum + c, count;
	float *a = (float *)(sum + 2 * c + 1), *kx = a + c, *shift = kx + c;
	const float *mean = tf(nd->out[1]), *rstd = mean + g.c;
	struct tensor *dx = grad_of(nd, 0), *dg = grad_of(nd, 1), *db = grad_of(nd, 2);

	memset(sum, 0, 2 * (size_t)c * sizeof(*sum));
	for (int64_t k = 0; k < c; k++)
		a[k] = k < g.c ? mean[k] : 0;
#pragma omp parallel for schedule(static)
	for (int64_t k = 0; k < g.blocks; k++)
		block_back_sums(nd, &g, k, a + k * g.b, sum + k * g.b, sx + k * g.b);
	for (int64_t k = 0; k < g.c; k++) {
		if (dg)
			grad_put(tf(dg), k, sx[k] * rstd[k], nd->acc[1]);
		if (db)
			grad_put(tf(db), k, sum[k], nd->acc[2]);
	}
	if (!dx)
		return;
	sum[2 * c] = (double)(g.n * g.plane);
	over_ranks(nd, sum, (int)(2 * c + 1));
	count = sum[2 * c];
	for (int64_t k = 0; k < c; k++) {
		double s = k < g.c ? (double)tf(nd->in[1])[k] * rstd[k] : 0;
		double q = k < g.c ? -s * rstd[k] * rstd[k] * sx[k] / count : 0;

		a[k] = (float)s;
		kx[k] = (float)q;
		shift[k] = k < g.c ? (float)(-s * sum[k] / count - q * mean[k]) : 0;
	}
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < g.n * g.blocks; i++) {
		int64_t k = i % g.blocks * g.b, at = i * g.plane * g.b;
		float r1[WIDE], r2[WIDE], r3[WIDE];

		k_back_affine(tf(nd->in[0]) + at, tf(nd->out[0]) + at, tf(nd->out[0]->grad) + at,
			tf(dx) + at, g.plane * g.b / w, spread(a + k, g.b, w, r1),
			spread(kx + k, g.b, w, r2), spread(shift + k, g.b, w, r3), nd->a.norm.relu,
			nd->acc[0], w);
	}
}

/* ---- layer norm ---- */

#define LANES 16

KERNEL static void ln_row(const float *x, float *y, const float *gamma, const float *beta,
	int64_t n, float eps, float *saved)
{
	float s[LANES] = {0}, sum = 0, mean, rstd;
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (int j = 0; j < LANES; j++)
			s[j] += x[i + j];
	for (; i < n; i++)
		sum += x[i];
	for (int j = 0; j < LANES; j++)
		sum += s[j];
	mean = sum / (float)n;
	memset(s, 0, sizeof(s));
	sum = 0;
	for (i = 0; i + LANES <= n; i += LANES)
		for (int j = 0; j < LANES; j++)
			s[j] += (x[i + j] - mean) * (x[i + j] - mean);
	for (; i < n; i++)
		sum += (x[i] - mean) * (x[i] - mean);
	for (int j = 0; j < LANES; j++)
		sum += s[j];
	rstd = 1 / sqrtf(sum / (float)n + eps);
	for (i = 0; i < n; i++)
		y[i] = (x[i] - mean) * rstd * gamma[i] + beta[i];
	saved[0] = mean;
	saved[1] = rstd;
}

KERNEL static void ln_row_back(const float *x, const float *dy, float *dx, const float *gamma,
	int64_t n, const float *saved, bool add)
{
	float s[LANES] = {0}, q[LANES] = {0}, sum = 0, sx = 0, mean = saved[0], rstd = saved[1];
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (int j = 0; j < LANES; j++) {
			float d = dy[i + j] * gamma[i + j];

			s[j] += d;
			q[j] += d * (x[i + j] - mean);
		}
	for (; i < n; i++) {
		sum += dy[i] * gamma[i];
		sx += dy[i] * gamma[i] * (x[i] - mean);
	}
	for (int j = 0; j < LANES; j++) {
		sum += s[j];
		sx += q[j];
	}
	sum /= (float)n;
	sx *= rstd * rstd / (float)n;
	for (i = 0; i < n; i++) {
		float d = rstd * (dy[i] * gamma[i] - sum - (x[i] - mean) * sx);

		dx[i] = add ? dx[i] + d : d;
	}
}

/* dγ and dβ of columns [0, n) of a table of rows */
KERNEL static void ln_columns(const float *x, const float *dy, const float *saved, int64_t rows,
	int64_t pitch, float *dg, float *db, int64_t n)
{
	for (int64_t r = 0; r < rows; r++) {
		float mean = saved[2 * r], rstd = saved[2 * r + 1];

		for (int64_t j = 0; j < n; j++) {
			float d = dy[r * pitch + j];

			dg[j] += d * (x[r * pitch + j] - mean) * rstd;
			db[j] += d;
		}
	}
}

void cpu_layernorm_forward(struct node *nd)
{
	int64_t m = tensor_rows(nd->in[0]), n = tensor_cols(nd->in[0]);

#pragma omp parallel for schedule(static) if (m * n > 8192)
	for (int64_t i = 0; i < m; i++)
		ln_row(tf(nd->in[0]) + i * n, tf(nd->out[0]) + i * n, tf(nd->in[1]), tf(nd->in[2]),
			n, nd->a.norm.eps, tf(nd->out[1]) + 2 * i);
}

void cpu_layernorm_backward(struct node *nd)
{
	int64_t m = tensor_rows(nd->in[0]), n = tensor_cols(nd->in[0]);
	const float *x = tf(nd->in[0]), *dy = tf(nd->out[0]->grad), *saved = tf(nd->out[1]);
	struct tensor *dx = grad_of(nd, 0), *dg = grad_of(nd, 1), *db = grad_of(nd, 2);

	grad_clear(nd, 1);
	grad_clear(nd, 2);
#pragma omp parallel if (m * n > 8192)
	{
		size_t a, b;

		if (dx) {
#pragma omp for schedule(static)
			for (int64_t i = 0; i < m; i++)
				ln_row_back(x + i * n, dy + i * n, tf(dx) + i * n, tf(nd->in[1]), n,
					saved + 2 * i, nd->acc[0]);
		}
		vec_share((size_t)n, omp_get_thread_num(), omp_get_num_threads(), &a, &b);
		if (dg && db && b > a)
			ln_columns(x + a, dy + a, saved, m, n, tf(dg) + a, tf(db) + a,
				(int64_t)(b - a));
	}
}
