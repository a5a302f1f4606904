/* wire.h: integers and strings as bytes, little endian, for pipes and shards.
 *
 * The writer appends to a struct str (check `failed` once at the end); the reader walks bytes it
 * does not trust: after the first short or impossible field `bad` stays set and every further get
 * returns 0 or NULL, so the caller checks once. Strings are copied out and owned by the caller.
 */
#ifndef WATTLAW_EXEC_WIRE_H
#define WATTLAW_EXEC_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/str.h"

void wire_u32(struct str *s, uint32_t v);
void wire_u64(struct str *s, uint64_t v);
void wire_i64(struct str *s, int64_t v);
/* NULL is kept apart from "". */
void wire_text(struct str *s, const char *text);
void wire_bytes(struct str *s, const void *p, size_t n);

struct wire {
	const unsigned char *p;
	size_t left;
	bool bad;
};

uint32_t wire_get_u32(struct wire *w);
uint64_t wire_get_u64(struct wire *w);
int64_t wire_get_i64(struct wire *w);
/* Copy, NULL when the text was NULL or on failure (w->bad tells them apart). */
char *wire_get_text(struct wire *w);
/* Into a fixed buffer; longer text is cut. */
void wire_get_text_buf(struct wire *w, char *buf, size_t size);
/* Borrowed from the bytes being read. */
const void *wire_get_bytes(struct wire *w, size_t *n);

#endif
