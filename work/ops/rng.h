/* rng.h: numbers from a hash of (seed, stream, index).
 *
 * No state: weight 17 of "fc.bias", the dropout of element 5 in step 3 and pixel 9 of image 4 are
 * the same whoever asks and in whatever order. Resume, ranks and the PyTorch fixtures rest on that.
 */
#ifndef WORK_OPS_RNG_H
#define WORK_OPS_RNG_H

#include <math.h>
#include <stdint.h>

/* splitmix64's finaliser (Steele, Lea, Flood 2014) */
static inline uint64_t rng_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* FNV-1a of a name, as a stream number */
static inline uint64_t rng_name(const char *s)
{
	uint64_t h = 0xcbf29ce484222325u;

	while (*s)
		h = (h ^ (unsigned char)*s++) * 0x100000001b3u;
	return h;
}

static inline uint64_t rng_u64(uint64_t seed, uint64_t stream, uint64_t index)
{
	return rng_mix(rng_mix(seed ^ rng_mix(stream)) ^ index);
}

/* uniform in [0, 1), 24 bits */
static inline float rng_uniform(uint64_t seed, uint64_t stream, uint64_t index)
{
	return (float)(rng_u64(seed, stream, index) >> 40) * 0x1p-24f;
}

/* standard normal (Box-Muller on the two halves of one hash) */
static inline float rng_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
	uint64_t h = rng_u64(seed, stream, index);
	double u = ((double)(h >> 32) + 0.5) * 0x1p-32, v = (double)(h & 0xffffffffu) * 0x1p-32;

	return (float)(sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v));
}

/* 32 bits from 32-bit arithmetic alone, which vectorises (two rounds of xor-shift-multiply):
 * dropout */
static inline uint32_t rng_fast(uint32_t key, uint32_t index)
{
	uint32_t x = index * 0x9e3779b1u ^ key;

	x = (x ^ x >> 16) * 0x7feb352du;
	x = (x ^ x >> 15) * 0x846ca68bu;
	return x ^ x >> 16;
}

/* integer in [0, n) */
static inline int64_t rng_below(uint64_t seed, uint64_t stream, uint64_t index, int64_t n)
{
	return (int64_t)(((rng_u64(seed, stream, index) >> 32) * (uint64_t)n) >> 32);
}

#endif
