/* file.h: whole files, lines and numbers, as every reader of work/data wants them.
 *
 * Parsers work on bytes in memory, so that a fuzzer reaches all of them; only file_read opens.
 */
#ifndef WORK_DATA_FILE_H
#define WORK_DATA_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ops/fault.h"

/* A whole file, malloc'ed, with a zero behind it. Empty files are a fault. */
int file_read(const char *path, char **bytes, size_t *len, struct fault *f);
/* Does path end in that suffix, whatever its case? */
bool file_suffix(const char *path, const char *suffix);

/* Lines of a text in memory; owns nothing. path is only for messages. */
struct lines {
	const char *path, *at, *end;
	int64_t line; /* of text, from 1 */
	char text[1024]; /* without its end; longer lines are cut */
	struct fault *f;
};
void lines_init(struct lines *l, const char *path, const char *bytes, size_t len, struct fault *f);
bool lines_next(struct lines *l);
/* Fault "path:line: …" of the current line; −1 */
int lines_bad(struct lines *l, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The next word at *p as a finite number; *p moves on. QM9's "1.5*^-6" is 1.5e-6. */
bool text_number(char **p, double *out);

#endif
