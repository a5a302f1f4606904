/* cpu_index.c: rows by index. Sums are split over columns, so their order is the index's order. */
#include <omp.h>
#include <string.h>
#include "ops/cpu.h"
#include "ops/ref.h"
#include "ops/vec.h"

KERNEL static void row_add(float *y, const float *x, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		y[i] += x[i];
}

/* y[e] = or += x[index[e]] */
static void gather(const float *x, const int32_t *index, float *y, int64_t n, int64_t d, bool add)
{
#pragma omp parallel for schedule(static) if (n * d > 16384)
	for (int64_t e = 0; e < n; e++) {
		if (index[e] < 0 && !add)
			memset(y + e * d, 0, (size_t)d * sizeof(float));
		else if (index[e] >= 0 && add)
			row_add(y + e * d, x + index[e] * d, d);
		else if (index[e] >= 0)
			memcpy(y + e * d, x + index[e] * d, (size_t)d * sizeof(float));
	}
}

/* y[index[e]] += x[e] */
static void scatter(const float *x, const int32_t *index, float *y, int64_t n, int64_t d)
{
#pragma omp parallel if (n * d > 16384)
	{
		size_t a, b;

		vec_share((size_t)d, omp_get_thread_num(), omp_get_num_threads(), &a, &b);
		for (int64_t e = 0; b > a && e < n; e++)
			if (index[e] >= 0)
				row_add(y + index[e] * d + a, x + e * d + a, (int64_t)(b - a));
	}
}

void cpu_gather_forward(struct node *nd)
{
	gather(tf(nd->in[0]), ti(nd->in[1]), tf(nd->out[0]), tensor_count(nd->in[1]),
		tensor_cols(nd->in[0]), false);
}

void cpu_gather_backward(struct node *nd)
{
	grad_clear(nd, 0);
	scatter(tf(nd->out[0]->grad), ti(nd->in[1]), tf(nd->in[0]->grad), tensor_count(nd->in[1]),
		tensor_cols(nd->in[0]));
}

void cpu_scatter_forward(struct node *nd)
{
	memset(nd->out[0]->data, 0, nd->out[0]->bytes);
	scatter(tf(nd->in[0]), ti(nd->in[1]), tf(nd->out[0]), tensor_count(nd->in[1]),
		tensor_cols(nd->in[0]));
}

void cpu_scatter_backward(struct node *nd)
{
	gather(tf(nd->out[0]->grad), ti(nd->in[1]), tf(nd->in[0]->grad), tensor_count(nd->in[1]),
		tensor_cols(nd->in[0]), nd->acc[0]);
}
