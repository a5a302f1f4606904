/* random.h: numbers that are the same in every run of a test.
 */
#ifndef WATTLAW_TESTS_RANDOM_H
#define WATTLAW_TESTS_RANDOM_H

#include <stdint.h>

/* The next of a sequence (xorshift64, Marsaglia 2003); *state is any number but 0. */
static inline uint64_t random_bits(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* 0 up to, not including, 1. */
__attribute__((unused)) static double random_unit(uint64_t *state)
{
	return (double)(random_bits(state) >> 11) / 9007199254740992.0;
}

#endif
