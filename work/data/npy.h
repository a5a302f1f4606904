/* npy.h: arrays in NumPy's .npy, versions 1 to 3, read where they lie in memory.
 */
#ifndef WORK_DATA_NPY_H
#define WORK_DATA_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ops/fault.h"

#define NPY_DIMS 4

struct npy {
	char kind; /* 'b' bool, 'u', 'i', 'f' */
	int size; /* bytes of a value */
	bool swap; /* the other byte order */
	int n_dims;
	int64_t dim[NPY_DIMS], stride[NPY_DIMS]; /* in values, for either order */
	int64_t count;
	const uint8_t *data; /* borrowed */
};
/* name is for messages. Types b1 u1 u2 i1 i2 i4 i8 f4 f8; bytes must be as many as the shape says.
 */
int npy_parse(const char *name, const uint8_t *bytes, size_t len, struct npy *a, struct fault *f);
/* The value at `at`, a sum of index × stride. */
double npy_value(const struct npy *a, int64_t at);

#endif
