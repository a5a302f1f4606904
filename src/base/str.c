/* str.c: the growing string and text helpers. */
#include "base/str.h"

#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void str_release(struct str *s)
{
	mem_free(s->p);
	*s = STR_INIT;
}

void str_clear(struct str *s)
{
	s->len = 0;
	s->failed = false;
	if (s->p)
		s->p[0] = '\0';
}

/* Room for n more bytes and the NUL; false and `failed` set when there is none. */
static bool reserve(struct str *s, size_t n)
{
	void *p = s->p;

	if (s->failed)
		return false;
	if (n >= STR_MAX || s->len > STR_MAX - 1 - n ||
		!mem_grow(&p, &s->cap, s->len + n + 1, 1, STR_MAX)) {
		s->failed = true;
		return false;
	}
	s->p = p;
	return true;
}

void str_addn(struct str *s, const char *bytes, size_t n)
{
	if (!reserve(s, n))
		return;
	if (n)
		memcpy(s->p + s->len, bytes, n);
	s->len += n;
	s->p[s->len] = '\0';
}

void str_add(struct str *s, const char *text)
{
	str_addn(s, text, strlen(text));
}

void str_addc(struct str *s, char c)
{
	str_addn(s, &c, 1);
}

void str_vaddf(struct str *s, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, ap);
	if (n < 0)
		s->failed = true;
	else if (reserve(s, (size_t)n)) {
		vsnprintf(s->p + s->len, (size_t)n + 1, fmt, again);
		s->len += (size_t)n;
	}
	va_end(again);
}

void str_addf(struct str *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	str_vaddf(s, fmt, ap);
	va_end(ap);
}

const char *str_cstr(const struct str *s)
{
	return s->p ? s->p : "";
}

char *str_take(struct str *s)
{
	char *p = s->p;

	/* an empty string is a string too: NULL is kept for failure */
	if (s->failed) {
		mem_free(p);
		p = NULL;
	} else if (!p) {
		p = mem_strdup("");
	}
	*s = STR_INIT;
	return p;
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

char *str_trim(char *s)
{
	size_t len;

	while (is_space(*s))
		s++;
	len = strlen(s);
	while (len && is_space(s[len - 1]))
		len--;
	s[len] = '\0';
	return s;
}

bool str_starts(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

bool str_ends(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && !memcmp(s + n - m, suffix, m);
}

#define NEAR_MAX 64 /* longer words are typos of nothing we know */

static char lower(char c)
{
	return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* Edit distance with transpositions of neighbours, capital letters ignored ("optimal string
 * alignment"). Both strings at most NEAR_MAX long. */
static unsigned distance(const char *a, size_t n, const char *b, size_t m)
{
	unsigned row[3][NEAR_MAX + 1];
	unsigned *before = row[0], *prev = row[1], *cur = row[2];

	for (unsigned j = 0; j <= m; j++)
		prev[j] = j;
	memset(before, 0, sizeof(row[0]));
	for (unsigned i = 1; i <= n; i++) {
		unsigned *tmp;

		cur[0] = i;
		for (unsigned j = 1; j <= m; j++) {
			char x = lower(a[i - 1]), y = lower(b[j - 1]);
			unsigned d = prev[j - 1] + (x != y);

			if (prev[j] + 1 < d)
				d = prev[j] + 1;
			if (cur[j - 1] + 1 < d)
				d = cur[j - 1] + 1;
			if (i > 1 && j > 1 && x == lower(b[j - 2]) && lower(a[i - 2]) == y &&
				before[j - 2] + 1 < d)
				d = before[j - 2] + 1;
			cur[j] = d;
		}
		tmp = before;
		before = prev;
		prev = cur;
		cur = tmp;
	}
	return prev[m];
}

const char *str_nearest(const char *word, const char *const *candidates, size_t n)
{
	size_t len = strlen(word);
	unsigned limit = (unsigned)((len + 2) / 3), best = UINT_MAX;
	const char *found = NULL;

	if (len == 0 || len > NEAR_MAX)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		size_t m = candidates[i] ? strlen(candidates[i]) : 0;
		unsigned d;

		if (m == 0 || m > NEAR_MAX)
			continue;
		d = distance(word, len, candidates[i], m);
		/* a word that shares nothing with the candidate is not near it */
		if (d <= limit && d < len && d < best) {
			best = d;
			found = candidates[i];
		}
	}
	return found;
}

void str_add_quoted(struct str *s, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-+=./:,@%^";

	if (*word && strspn(word, plain) == strlen(word)) {
		str_add(s, word);
		return;
	}
	str_addc(s, '\'');
	for (; *word; word++) {
		if (*word == '\'')
			str_add(s, "'\\''");
		else
			str_addc(s, *word);
	}
	str_addc(s, '\'');
}

static bool only_space(const char *s)
{
	while (is_space(*s))
		s++;
	return *s == '\0';
}

bool str_to_i64(const char *s, long long *out)
{
	long long v;
	char *end;

	errno = 0;
	v = strtoll(s, &end, 10);
	if (end == s || errno || !only_space(end))
		return false;
	*out = v;
	return true;
}

static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;
static locale_t c_locale;

static void make_c_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

bool str_to_double(const char *s, double *out)
{
	double v;
	char *end;

	pthread_once(&c_locale_once, make_c_locale);
	if (c_locale == (locale_t)0)
		return false;
	/* "inf", "nan" and hexadecimal are numbers to strtod, but not to a user's file */
	if (s[strspn(s, " \t\n\v\f\r+-0123456789.eE")] != '\0')
		return false;
	v = strtod_l(s, &end, c_locale);
	if (end == s || !isfinite(v) || !only_space(end))
		return false;
	*out = v;
	return true;
}
