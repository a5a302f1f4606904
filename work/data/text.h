/* text.h: words to numbers and back.
 */
#ifndef WORK_DATA_TEXT_H
#define WORK_DATA_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include "ops/fault.h"

enum { TOKEN_PAD, TOKEN_UNK, TOKEN_CLS, TOKEN_SEP, TOKEN_MASK, TOKEN_SPECIAL };

struct vocab;
struct vocab *vocab_bytes(void);
/* The most frequent words of a text, at most size entries with the special ones. */
struct vocab *vocab_words(const char *text, size_t len, int size);
/* A file with one word a line; the special tokens are found by name or added in front. */
int vocab_read(const char *path, struct vocab **out, struct fault *f);
int vocab_parse(
	const char *path, const char *bytes, size_t len, struct vocab **out, struct fault *f);
void vocab_free(struct vocab *v);
int vocab_size(const struct vocab *v);
/* Appends the tokens of text to *token (*n of them, realloc'ed). −1: out of memory. */
int vocab_encode(const struct vocab *v, const char *text, size_t len, int32_t **token, int64_t *n);
/* The text of a token; bytes give one character. buf holds 2 bytes at least. */
const char *vocab_text(const struct vocab *v, int32_t token, char *buf);
/* Do words need a space between them? */
bool vocab_spaced(const struct vocab *v);

struct data;
/* of text data, or NULL */
const struct vocab *data_vocab(const struct data *d);

#endif
