/* fault.c: error lines and the nearest word. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "ops/fault.h"

int fault_set(struct fault *f, const char *fmt, ...)
{
	va_list ap;

	if (!f || f->set)
		return -1;
	f->set = true;
	va_start(ap, fmt);
	vsnprintf(f->msg, sizeof(f->msg), fmt, ap);
	va_end(ap);
	return -1;
}

/* Levenshtein distance, words cut at 40 letters */
static int distance(const char *a, const char *b)
{
	int row[42];
	int n = (int)strnlen(a, 40), m = (int)strnlen(b, 40);

	for (int j = 0; j <= m; j++)
		row[j] = j;
	for (int i = 1; i <= n; i++) {
		int diag = row[0];

		row[0] = i;
		for (int j = 1; j <= m; j++) {
			int sub = diag + (a[i - 1] != b[j - 1]);
			int best = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;

			diag = row[j];
			row[j] = sub < best ? sub : best;
		}
	}
	return row[m];
}

const char *fault_nearest(const char *word, const char *const *names, int n)
{
	const char *best = NULL;
	int best_d = (int)strnlen(word, 40) / 2 + 2;

	for (int i = 0; i < n && names[i]; i++) {
		int d = distance(word, names[i]);

		if (d < best_d) {
			best_d = d;
			best = names[i];
		}
	}
	return best;
}
