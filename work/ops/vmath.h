/* vmath.h: exp and friends in plain arithmetic, so that loops over them vectorise.
 *
 * expf: range reduction by ln 2 and a polynomial of degree 6, error below 2 ulp. erf: Abramowitz &
 * Stegun 7.1.26, absolute error below 2e-7.
 */
#ifndef WORK_OPS_VMATH_H
#define WORK_OPS_VMATH_H

#include <stdint.h>
#include <string.h>

static inline __attribute__((always_inline)) float vexp(float x)
{
	float n, r, p;
	int32_t bits;

	x = x < -87.0f ? -87.0f : x;
	x = x > 88.0f ? 88.0f : x;
	/* adding and subtracting 1.5 × 2²³ rounds to an integer */
	n = x * 1.44269504f + 12582912.0f;
	n -= 12582912.0f;
	r = x - n * 0.693359375f;
	r += n * 2.12194440e-4f;
	p = 1.9875691500e-4f;
	p = p * r + 1.3981999507e-3f;
	p = p * r + 8.3334519073e-3f;
	p = p * r + 4.1665795894e-2f;
	p = p * r + 1.6666665459e-1f;
	p = p * r + 5.0000001201e-1f;
	p = p * r * r + r + 1.0f;
	bits = ((int32_t)n + 127) << 23;
	memcpy(&n, &bits, sizeof(n));
	return p * n;
}

static inline __attribute__((always_inline)) float vsigmoid(float x)
{
	return 1.0f / (1.0f + vexp(-x));
}

static inline __attribute__((always_inline)) float vtanh(float x)
{
	return 1.0f - 2.0f / (vexp(2.0f * x) + 1.0f);
}

static inline __attribute__((always_inline)) float verf(float x)
{
	float a = __builtin_fabsf(x), t = 1.0f / (1.0f + 0.3275911f * a), y;

	y = ((((1.061405429f * t - 1.453152027f) * t + 1.421413741f) * t - 0.284496736f) * t +
		    0.254829592f) *
	    t;
	y = 1.0f - y * vexp(-a * a);
	return __builtin_copysignf(y, x);
}

#endif
