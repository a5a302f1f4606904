/* vec.h: vectorised loops over rows of floats, compiled for several instruction sets.
 *
 * The library is built for the baseline of the architecture; KERNEL functions exist once more for
 * AVX2 and AVX-512 and are chosen when the program starts. They hold no OpenMP: callers split the
 * work.
 */
#ifndef WORK_OPS_VEC_H
#define WORK_OPS_VEC_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Sanitizers are not ready when the loader picks clones. Clones are named by level, not by model: a
 * model's name is matched against the maker, too, and other makers' processors would get the
 * baseline. clang does not know levels; AVX2 alone is the most it picks by feature. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(WORK_NO_CLONES)
#ifdef __clang__
#define KERNEL __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define KERNEL __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
#else
#define KERNEL
#endif

static inline float bf16_to(uint16_t h)
{
	uint32_t u = (uint32_t)h << 16;
	float f;

	memcpy(&f, &u, sizeof(f));
	return f;
}

/* round to nearest even; a NaN stays one */
static inline uint16_t bf16_from(float f)
{
	uint32_t u;

	memcpy(&u, &f, sizeof(u));
	if ((u & 0x7fffffff) > 0x7f800000)
		return 0x7fc0;
	return (uint16_t)((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

/* Splits n over the team in pieces of whole cache lines: for use inside `omp parallel`. */
static inline void vec_share(size_t n, int part, int parts, size_t *from, size_t *to)
{
	size_t lines = (n + 15) / 16, a = lines * (size_t)part / (size_t)parts * 16;
	size_t b = lines * ((size_t)part + 1) / (size_t)parts * 16;

	*from = a < n ? a : n;
	*to = b < n ? b : n;
}

/* x += y, in parallel */
void vec_add(float *x, const float *y, size_t n);

#endif
