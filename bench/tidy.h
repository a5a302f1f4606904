/* tidy.h: a tidy CSV file (one header line, one row a line, RFC 4180 quotes) held in memory.
 * Owns the bytes of the file; cells are borrowed strings.
 */
#ifndef WATTLAW_BENCH_TIDY_H
#define WATTLAW_BENCH_TIDY_H

#include <stddef.h>

struct tidy {
	char *bytes;
	char **cell; /* n_rows * n_cols, row major; the header is not a row */
	char **name; /* n_cols */
	size_t n_rows, n_cols;
};

/* 0, or -1 with a message in err (size bytes). */
int tidy_read(const char *path, struct tidy *t, char *err, size_t size);
void tidy_release(struct tidy *t);
/* Cell of a named column, "" when the column or the cell is missing. */
const char *tidy_text(const struct tidy *t, size_t row, const char *column);
/* NAN when it is missing or not a number. */
double tidy_number(const struct tidy *t, size_t row, const char *column);
int tidy_has(const struct tidy *t, const char *column);

#endif
