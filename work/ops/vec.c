/* vec.c: vectorised loops shared by all. */
#include <omp.h>
#include "ops/vec.h"

KERNEL static void add(float *x, const float *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		x[i] += y[i];
}

void vec_add(float *x, const float *y, size_t n)
{
#pragma omp parallel if (n > 16384)
	{
		size_t a, b;

		vec_share(n, omp_get_thread_num(), omp_get_num_threads(), &a, &b);
		add(x + a, y + a, b - a);
	}
}
