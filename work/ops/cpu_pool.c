/* cpu_pool.c: pooling over images in channel blocks: every loop's inside runs over a block. */
#include <string.h>
#include "ops/cpu.h"
#include "ops/ref.h"
#include "ops/vec.h"

struct pool {
	int64_t h, w, p, q, b;
	int r, s, stride, pad_h, pad_w;
	bool exclude_pad;
};

static struct pool pool_of(const struct node *nd)
{
	const int64_t *x = nd->in[0]->dim, *y = nd->out[0]->dim;
	const struct args_conv *a = &nd->a.conv;

	return (struct pool){x[2], x[3], y[2], y[3], nd->in[0]->cblock, a->r, a->s, a->stride,
		a->pad_h, a->pad_w, a->exclude_pad};
}

/* the part of a window inside the image, as tap numbers [from, to) */
static inline void inside(int64_t o, int stride, int pad, int k, int64_t size, int *from, int *to)
{
	int64_t start = o * stride - pad;

	*from = start < 0 ? (int)-start : 0;
	*to = start + k > size ? (int)(size - start) : k;
}

KERNEL static void max_piece(const struct pool *g, const float *x, float *y, uint8_t *won)
{
	for (int64_t p = 0; p < g->p; p++)
		for (int64_t q = 0; q < g->q; q++) {
			float *best = y + (p * g->q + q) * g->b;
			uint8_t *at = won + (p * g->q + q) * g->b;
			bool first = true;
			int r0, r1, s0, s1;

			inside(p, g->stride, g->pad_h, g->r, g->h, &r0, &r1);
			inside(q, g->stride, g->pad_w, g->s, g->w, &s0, &s1);
			for (int r = r0; r < r1; r++)
				for (int s = s0; s < s1; s++) {
					const float *v =
						x + ((p * g->stride + r - g->pad_h) * g->w +
							    q * g->stride + s - g->pad_w) *
							    g->b;
					uint8_t tap = (uint8_t)(r * g->s + s);

					for (int64_t j = 0; j < g->b; j++) {
						bool more = first || v[j] > best[j];

						best[j] = more ? v[j] : best[j];
						at[j] = more ? tap : at[j];
					}
					first = false;
				}
		}
}

static void max_piece_back(const struct pool *g, const float *dy, const uint8_t *won, float *dx)
{
	for (int64_t p = 0; p < g->p; p++)
		for (int64_t q = 0; q < g->q; q++)
			for (int64_t j = 0; j < g->b; j++) {
				int64_t i = (p * g->q + q) * g->b + j;
				int64_t y = p * g->stride + won[i] / g->s - g->pad_h;
				int64_t x = q * g->stride + won[i] % g->s - g->pad_w;

				dx[(y * g->w + x) * g->b + j] += dy[i];
			}
}

/* forward: y = mean of x; backward (back): x += y / size */
KERNEL static void avg_piece(const struct pool *g, float *x, float *y, bool back)
{
	for (int64_t p = 0; p < g->p; p++)
		for (int64_t q = 0; q < g->q; q++) {
			float *o = y + (p * g->q + q) * g->b, scale;
			int r0, r1, s0, s1;

			inside(p, g->stride, g->pad_h, g->r, g->h, &r0, &r1);
			inside(q, g->stride, g->pad_w, g->s, g->w, &s0, &s1);
			scale = 1.0f /
				(float)(g->exclude_pad ? (r1 - r0) * (s1 - s0) : g->r * g->s);
			if (!back)
				memset(o, 0, (size_t)g->b * sizeof(*o));
			for (int r = r0; r < r1; r++)
				for (int s = s0; s < s1; s++) {
					float *v = x + ((p * g->stride + r - g->pad_h) * g->w +
							       q * g->stride + s - g->pad_w) *
							       g->b;

					for (int64_t j = 0; j < g->b; j++)
						if (back)
							v[j] += o[j] * scale;
						else
							o[j] += v[j] * scale;
				}
		}
}

int cpu_maxpool_plan(struct node *nd, struct fault *f)
{
	(void)f;
	nd->want[0] = nd->in[0]->cblock;
	nd->out[0]->cblock = nd->out[1]->cblock = nd->in[0]->cblock;
	return 0;
}

int cpu_avgpool_plan(struct node *nd, struct fault *f)
{
	(void)f;
	nd->want[0] = nd->in[0]->cblock;
	nd->out[0]->cblock = nd->in[0]->cblock;
	return 0;
}

/* samples × channel blocks, each an independent piece */
static int64_t pieces(const struct node *nd)
{
	const struct tensor *x = nd->in[0];

	return x->dim[0] * ((x->dim[1] + x->cblock - 1) / x->cblock);
}

void cpu_maxpool_forward(struct node *nd)
{
	struct pool g = pool_of(nd);

#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < pieces(nd); i++)
		max_piece(&g, tf(nd->in[0]) + i * g.h * g.w * g.b,
			tf(nd->out[0]) + i * g.p * g.q * g.b,
			(uint8_t *)nd->out[1]->data + i * g.p * g.q * g.b);
}

void cpu_maxpool_backward(struct node *nd)
{
	struct pool g = pool_of(nd);

	grad_clear(nd, 0);
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < pieces(nd); i++)
		max_piece_back(&g, tf(nd->out[0]->grad) + i * g.p * g.q * g.b,
			(uint8_t *)nd->out[1]->data + i * g.p * g.q * g.b,
			tf(nd->in[0]->grad) + i * g.h * g.w * g.b);
}

void cpu_avgpool_forward(struct node *nd)
{
	struct pool g = pool_of(nd);

#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < pieces(nd); i++)
		avg_piece(&g, tf(nd->in[0]) + i * g.h * g.w * g.b,
			tf(nd->out[0]) + i * g.p * g.q * g.b, false);
}

void cpu_avgpool_backward(struct node *nd)
{
	struct pool g = pool_of(nd);

	grad_clear(nd, 0);
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < pieces(nd); i++)
		avg_piece(&g, tf(nd->in[0]->grad) + i * g.h * g.w * g.b,
			tf(nd->out[0]->grad) + i * g.p * g.q * g.b, true);
}
