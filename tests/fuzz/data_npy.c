/* data_npy.c: an array that is accepted can be read at every index. */
#include "fuzz.h"

#include <math.h>

#include "data/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fault f = {0};
	struct npy a;
	int64_t last = 0;

	if (npy_parse("f", data, size, &a, &f)) {
		must(f.set && !strncmp(f.msg, "f: ", 3));
		return 0;
	}
	must(a.n_dims >= 1 && a.n_dims <= NPY_DIMS && a.count >= 1);
	for (int i = 0; i < a.n_dims; i++)
		last += (a.dim[i] - 1) * a.stride[i];
	must(last == a.count - 1);
	for (int64_t i = 0; i < a.count; i++)
		must(a.kind == 'f' || fabs(npy_value(&a, i)) <= 0x1p63);
	return 0;
}
