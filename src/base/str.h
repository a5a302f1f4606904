/* str.h: a growing byte string with a ceiling, and small text helpers.
 *
 * After a failed allocation the string keeps what it had and `failed` stays set; the writer
 * checks once at the end. Always NUL-terminated once anything was added.
 */
#ifndef WATTLAW_BASE_STR_H
#define WATTLAW_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#define STR_MAX ((size_t)1 << 30) /* no buffer of ours grows past 1 GiB */

struct str {
	char *p;
	size_t len, cap;
	bool failed;
};

#define STR_INIT ((struct str){NULL, 0, 0, false})

void str_release(struct str *s);
void str_clear(struct str *s); /* length 0, not failed, memory kept */
void str_add(struct str *s, const char *text);
void str_addn(struct str *s, const char *bytes, size_t n);
void str_addc(struct str *s, char c);
void str_addf(struct str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void str_vaddf(struct str *s, const char *fmt, va_list ap) __attribute__((format(printf, 2, 0)));
/* Borrowed; "" when empty. */
const char *str_cstr(const struct str *s);
/* Hand the memory over to the caller (free with mem_free); s is empty afterwards. NULL only when
 * an allocation failed: an empty string gives "". */
char *str_take(struct str *s);

/* Trim ASCII white space in place; returns the first kept character. */
char *str_trim(char *s);
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
/* The candidate nearest to `word` by edit distance, or NULL when none is near (distance more
 * than a third of the word, rounded up). Capitals are ignored. For "did you mean". Borrowed. */
const char *str_nearest(const char *word, const char *const *candidates, size_t n);
/* POSIX-shell quoting of one word, for printing commands a user can paste. */
void str_add_quoted(struct str *s, const char *word);
/* Numbers in the C locale whatever the process locale. Return false unless the whole string
 * (after trimming) is one finite decimal number in range; *out is untouched then. */
bool str_to_i64(const char *s, long long *out);
bool str_to_double(const char *s, double *out);

#endif
