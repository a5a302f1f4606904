/* ref_index.c: rows chosen by an index: embedding, gather, scatter, segments. */
#include <string.h>
#include "ops/ref.h"

/* y[e] = x[index[e]]; a negative index gives zeros */
static void gather(const float *x, const int32_t *index, float *y, int64_t n, int64_t d)
{
	for (int64_t e = 0; e < n; e++)
		for (int64_t j = 0; j < d; j++)
			y[e * d + j] = index[e] < 0 ? 0 : x[index[e] * d + j];
}

/* y[index[e]] += x[e]; a negative index is skipped */
static void scatter(const float *x, const int32_t *index, float *y, int64_t n, int64_t d)
{
	for (int64_t e = 0; e < n; e++)
		for (int64_t j = 0; index[e] >= 0 && j < d; j++)
			y[index[e] * d + j] += x[e * d + j];
}

void ref_gather_forward(struct node *nd)
{
	gather(tf(nd->in[0]), ti(nd->in[1]), tf(nd->out[0]), tensor_count(nd->in[1]),
		tensor_cols(nd->in[0]));
}

void ref_gather_backward(struct node *nd)
{
	grad_clear(nd, 0);
	scatter(tf(nd->out[0]->grad), ti(nd->in[1]), tf(nd->in[0]->grad), tensor_count(nd->in[1]),
		tensor_cols(nd->in[0]));
}

void ref_embed_forward(struct node *nd)
{
	ref_gather_forward(nd);
}

void ref_embed_backward(struct node *nd)
{
	ref_gather_backward(nd);
}

void ref_scatter_forward(struct node *nd)
{
	memset(nd->out[0]->data, 0, nd->out[0]->bytes);
	scatter(tf(nd->in[0]), ti(nd->in[1]), tf(nd->out[0]), tensor_count(nd->in[1]),
		tensor_cols(nd->in[0]));
}

void ref_scatter_backward(struct node *nd)
{
	int64_t d = tensor_cols(nd->in[0]);
	const int32_t *index = ti(nd->in[1]);

	for (int64_t e = 0; e < tensor_count(nd->in[1]); e++)
		for (int64_t j = 0; j < d; j++)
			grad_put(tf(nd->in[0]->grad), e * d + j,
				index[e] < 0 ? 0 : tf(nd->out[0]->grad)[index[e] * d + j],
				nd->acc[0]);
}

/* out[1] holds for max and min the winning row of x (−1: nobody), for mean the number of rows */
void ref_segment_forward(struct node *nd)
{
	const float *x = tf(nd->in[0]);
	const int32_t *index = ti(nd->in[1]);
	float *y = tf(nd->out[0]);
	int32_t *kept = ti(nd->out[1]);
	int64_t n = tensor_count(nd->in[1]), d = tensor_cols(nd->in[0]), m = nd->out[0]->dim[0];
	enum segment f = nd->a.segment.f;

	memset(y, 0, nd->out[0]->bytes);
	memset(kept, f == SEG_MEAN ? 0 : 0xff, nd->out[1]->bytes);
	for (int64_t e = 0; e < n; e++) {
		if (index[e] < 0)
			continue;
		for (int64_t j = 0; j < d; j++) {
			int64_t at = index[e] * d + j;
			float v = x[e * d + j];

			if (f == SEG_MEAN) {
				y[at] += v;
			} else if (kept[at] < 0 || (f == SEG_MAX ? v > y[at] : v < y[at])) {
				y[at] = v;
				kept[at] = (int32_t)e;
			}
		}
		if (f == SEG_MEAN)
			kept[index[e]]++;
	}
	for (int64_t i = 0; f == SEG_MEAN && i < m * d; i++)
		y[i] /= kept[i / d] > 0 ? (float)kept[i / d] : 1;
}

void ref_segment_backward(struct node *nd)
{
	const int32_t *index = ti(nd->in[1]), *kept = ti(nd->out[1]);
	const float *dy = tf(nd->out[0]->grad);
	float *dx = tf(nd->in[0]->grad);
	int64_t n = tensor_count(nd->in[1]), d = tensor_cols(nd->in[0]), m = nd->out[0]->dim[0];

	grad_clear(nd, 0);
	if (nd->a.segment.f != SEG_MEAN) {
		for (int64_t i = 0; i < m * d; i++)
			if (kept[i] >= 0)
				dx[kept[i] * d + i % d] += dy[i];
		return;
	}
	for (int64_t e = 0; e < n; e++)
		for (int64_t j = 0; index[e] >= 0 && j < d; j++)
			dx[e * d + j] += dy[index[e] * d + j] / (float)kept[index[e]];
}
