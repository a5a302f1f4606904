/* window.c: see window.h. */
#include "exec/window.h"

void window_whole_periods(const int64_t *end, size_t n, int64_t period_ns, size_t *from, size_t *to)
{
	int64_t best = INT64_MAX;

	*from = 0;
	*to = n - 1;
	for (size_t i = 0; i < n && end[i] - end[0] <= period_ns; i++)
		for (size_t j = n;
			j-- > i + WINDOW_STEPS_MIN && end[n - 1] - end[j] <= period_ns;) {
			int64_t len = end[j] - end[i], off = len % period_ns;

			if (off > period_ns / 2)
				off = period_ns - off;
			/* The longest is met first. */
			if (len >= period_ns && off < best) {
				best = off;
				*from = i;
				*to = j;
			}
		}
}
