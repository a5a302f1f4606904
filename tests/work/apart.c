/* apart.c: how far two checkpoints are apart: the largest difference of any array (values,
 * optimizer state), relative to the largest value of that array. */
#include <math.h>
#include <stdio.h>
#include "nn/checkpoint.h"

static double array_apart(const float *x, const float *y, int64_t n)
{
	double most = 1e-6, diff = 0;

	for (int64_t i = 0; i < n; i++) {
		most = fmax(most, fabs(x[i]));
		diff = fmax(diff, fabs((double)x[i] - y[i]));
	}
	return diff / most;
}

int main(int argc, char **argv)
{
	struct checkpoint a, b;
	struct fault f = {0};
	double worst = 0;

	if (argc != 3 || checkpoint_read(argv[1], &a, &f) || checkpoint_read(argv[2], &b, &f)) {
		fprintf(stderr, "apart: %s\n", f.msg);
		return 1;
	}
	for (int64_t k = 0; k < a.n; k++)
		for (int s = 0; s <= a.e[k].n_state && s <= b.e[k].n_state; s++)
			worst = fmax(
				worst, array_apart(a.e[k].data[s], b.e[k].data[s], a.e[k].count));
	printf("%g\n", worst);
	checkpoint_release(&a);
	checkpoint_release(&b);
	return 0;
}
