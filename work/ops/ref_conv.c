/* ref_conv.c: convolutions and pooling. x (N,C,H,W), w (K,C,R,S), y (N,K,P,Q). */
#include "ops/ref.h"

struct geom {
	int64_t n, c, h, w, k, p, q;
	int r, s, stride, pad_h, pad_w;
};

static struct geom geom_of(const struct node *nd)
{
	const int64_t *x = nd->in[0]->dim, *y = nd->out[0]->dim;
	const struct args_conv *a = &nd->a.conv;

	return (struct geom){x[0], x[1], x[2], x[3], y[1], y[2], y[3], a->r, a->s, a->stride,
		a->pad_h, a->pad_w};
}

/* Input row or column under tap k of output place o; false outside of the image. */
static bool under(int64_t o, int k, int stride, int pad, int64_t size, int64_t *i)
{
	*i = o * stride + k - pad;
	return *i >= 0 && *i < size;
}

static double conv_at(const struct geom *g, const float *x, const float *w, int64_t p, int64_t q)
{
	double sum = 0;
	int64_t i, j;

	for (int64_t c = 0; c < g->c; c++)
		for (int r = 0; r < g->r; r++)
			for (int s = 0; s < g->s; s++)
				if (under(p, r, g->stride, g->pad_h, g->h, &i) &&
					under(q, s, g->stride, g->pad_w, g->w, &j))
					sum += (double)x[(c * g->h + i) * g->w + j] *
					       w[(c * g->r + r) * g->s + s];
	return sum;
}

void ref_conv_forward(struct node *nd)
{
	struct geom g = geom_of(nd);
	const float *x = tf(nd->in[0]), *w = tf(nd->in[1]);
	const float *b = nd->n_in > 2 ? tf(nd->in[2]) : NULL;
	float *y = tf(nd->out[0]);

	for (int64_t n = 0; n < g.n; n++)
		for (int64_t k = 0; k < g.k; k++)
			for (int64_t p = 0; p < g.p; p++)
				for (int64_t q = 0; q < g.q; q++)
					*y++ = (float)(conv_at(&g, x + n * g.c * g.h * g.w,
							       w + k * g.c * g.r * g.s, p, q) +
						       (b ? b[k] : 0));
}

/* Calls visit for every product of the convolution: y[yi] += x[xi] w[wi]. */
static void conv_products(
	const struct geom *g, void (*visit)(void *, int64_t, int64_t, int64_t), void *arg)
{
	int64_t yi = 0, i, j;

	for (int64_t n = 0; n < g->n; n++)
		for (int64_t k = 0; k < g->k; k++)
			for (int64_t p = 0; p < g->p; p++)
				for (int64_t q = 0; q < g->q; q++, yi++)
					for (int64_t c = 0; c < g->c; c++)
						for (int r = 0; r < g->r; r++)
							for (int s = 0; s < g->s; s++)
								if (under(p, r, g->stride, g->pad_h,
									    g->h, &i) &&
									under(q, s, g->stride,
										g->pad_w, g->w, &j))
									visit(arg, yi,
										((n * g->c +
											 c) * g->h +
											i) * g->w +
											j,
										((k * g->c +
											 c) * g->r +
											r) * g->s +
											s);
}

struct conv_back {
	const float *x, *w, *dy;
	float *dx, *dw;
};

static void conv_back_product(void *arg, int64_t yi, int64_t xi, int64_t wi)
{
	struct conv_back *b = arg;

	if (b->dx)
		b->dx[xi] += b->dy[yi] * b->w[wi];
	if (b->dw)
		b->dw[wi] += b->dy[yi] * b->x[xi];
}

/* db[k] = sum of dy over everything but the channel */
static void bias_backward(struct node *nd, const struct geom *g)
{
	struct tensor *db = grad_of(nd, 2);
	const float *dy = tf(nd->out[0]->grad);

	for (int64_t k = 0; db && k < g->k; k++) {
		double sum = 0;

		for (int64_t n = 0; n < g->n; n++)
			for (int64_t i = 0; i < g->p * g->q; i++)
				sum += dy[(n * g->k + k) * g->p * g->q + i];
		grad_put(tf(db), k, sum, nd->acc[2]);
	}
}

void ref_conv_backward(struct node *nd)
{
	struct geom g = geom_of(nd);
	struct tensor *dx = grad_of(nd, 0), *dw = grad_of(nd, 1);
	struct conv_back b = {tf(nd->in[0]), tf(nd->in[1]), tf(nd->out[0]->grad),
		dx ? tf(dx) : NULL, dw ? tf(dw) : NULL};

	grad_clear(nd, 0);
	grad_clear(nd, 1);
	conv_products(&g, conv_back_product, &b);
	bias_backward(nd, &g);
}

/* The transposed convolution is the backward of a convolution from y to x: x and y change roles. */
static struct geom transposed(const struct node *nd)
{
	const int64_t *x = nd->in[0]->dim, *y = nd->out[0]->dim;
	const struct args_conv *a = &nd->a.conv;

	return (struct geom){x[0], y[1], y[2], y[3], x[1], x[2], x[3], a->r, a->s, a->stride,
		a->pad_h, a->pad_w};
}

struct conv_t_forward {
	const float *x, *w;
	float *y;
};

static void conv_t_product(void *arg, int64_t xi, int64_t yi, int64_t wi)
{
	struct conv_t_forward *f = arg;

	f->y[yi] += f->x[xi] * f->w[wi];
}

void ref_conv_t_forward(struct node *nd)
{
	struct geom g = transposed(nd);
	struct conv_t_forward f = {tf(nd->in[0]), tf(nd->in[1]), tf(nd->out[0])};
	int64_t plane = g.h * g.w;

	for (int64_t i = 0; i < g.n * g.c * plane; i++)
		f.y[i] = nd->n_in > 2 ? tf(nd->in[2])[i / plane % g.c] : 0;
	conv_products(&g, conv_t_product, &f);
}

static void conv_t_back_product(void *arg, int64_t xi, int64_t yi, int64_t wi)
{
	struct conv_back *b = arg;

	if (b->dx)
		b->dx[xi] += b->dy[yi] * b->w[wi];
	if (b->dw)
		b->dw[wi] += b->dy[yi] * b->x[xi];
}

void ref_conv_t_backward(struct node *nd)
{
	struct geom g = transposed(nd);
	struct geom bias = {.n = g.n, .k = g.c, .p = g.h, .q = g.w};
	struct tensor *dx = grad_of(nd, 0), *dw = grad_of(nd, 1);
	struct conv_back b = {tf(nd->in[0]), tf(nd->in[1]), tf(nd->out[0]->grad),
		dx ? tf(dx) : NULL, dw ? tf(dw) : NULL};

	grad_clear(nd, 0);
	grad_clear(nd, 1);
	conv_products(&g, conv_t_back_product, &b);
	bias_backward(nd, &bias);
}

void ref_maxpool_forward(struct node *nd)
{
	struct geom g = geom_of(nd);
	uint8_t *won = nd->out[1]->data;
	int64_t yi = 0, i, j;

	for (int64_t plane = 0; plane < g.n * g.c; plane++) {
		const float *x = tf(nd->in[0]) + plane * g.h * g.w;

		for (int64_t p = 0; p < g.p; p++)
			for (int64_t q = 0; q < g.q; q++, yi++) {
				bool any = false;

				for (int r = 0; r < g.r; r++)
					for (int s = 0; s < g.s; s++) {
						if (!under(p, r, g.stride, g.pad_h, g.h, &i) ||
							!under(q, s, g.stride, g.pad_w, g.w, &j))
							continue;
						if (any && !(x[i * g.w + j] > tf(nd->out[0])[yi]))
							continue;
						any = true;
						tf(nd->out[0])[yi] = x[i * g.w + j];
						won[yi] = (uint8_t)(r * g.s + s);
					}
			}
	}
}

void ref_maxpool_backward(struct node *nd)
{
	struct geom g = geom_of(nd);
	const uint8_t *won = nd->out[1]->data;
	const float *dy = tf(nd->out[0]->grad);
	int64_t yi = 0;

	grad_clear(nd, 0);
	for (int64_t plane = 0; plane < g.n * g.c; plane++) {
		float *dx = tf(nd->in[0]->grad) + plane * g.h * g.w;

		for (int64_t p = 0; p < g.p; p++)
			for (int64_t q = 0; q < g.q; q++, yi++) {
				int64_t i = p * g.stride + won[yi] / g.s - g.pad_h;
				int64_t j = q * g.stride + won[yi] % g.s - g.pad_w;

				dx[i * g.w + j] += dy[yi];
			}
	}
}

static int window_size(const struct node *nd, const struct geom *g, int64_t p, int64_t q)
{
	int64_t i, j;
	int n = 0;

	for (int r = 0; r < g->r; r++)
		for (int s = 0; s < g->s; s++)
			n += !nd->a.conv.exclude_pad ||
			     (under(p, r, g->stride, g->pad_h, g->h, &i) &&
				     under(q, s, g->stride, g->pad_w, g->w, &j));
	return n;
}

void ref_avgpool_forward(struct node *nd)
{
	struct geom g = geom_of(nd);
	float *y = tf(nd->out[0]);
	int64_t i, j;

	for (int64_t plane = 0; plane < g.n * g.c; plane++) {
		const float *x = tf(nd->in[0]) + plane * g.h * g.w;

		for (int64_t p = 0; p < g.p; p++)
			for (int64_t q = 0; q < g.q; q++) {
				double sum = 0;

				for (int r = 0; r < g.r; r++)
					for (int s = 0; s < g.s; s++)
						if (under(p, r, g.stride, g.pad_h, g.h, &i) &&
							under(q, s, g.stride, g.pad_w, g.w, &j))
							sum += x[i * g.w + j];
				*y++ = (float)(sum / window_size(nd, &g, p, q));
			}
	}
}

void ref_avgpool_backward(struct node *nd)
{
	struct geom g = geom_of(nd);
	const float *dy = tf(nd->out[0]->grad);
	int64_t i, j;

	grad_clear(nd, 0);
	for (int64_t plane = 0; plane < g.n * g.c; plane++) {
		float *dx = tf(nd->in[0]->grad) + plane * g.h * g.w;

		for (int64_t p = 0; p < g.p; p++)
			for (int64_t q = 0; q < g.q; q++, dy++) {
				float d = *dy / (float)window_size(nd, &g, p, q);

				for (int r = 0; r < g.r; r++)
					for (int s = 0; s < g.s; s++)
						if (under(p, r, g.stride, g.pad_h, g.h, &i) &&
							under(q, s, g.stride, g.pad_w, g.w, &j))
							dx[i * g.w + j] += d;
			}
	}
}
