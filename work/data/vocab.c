/* vocab.c: words to numbers and back. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "data/file.h"
#include "data/text.h"
#include "ops/rng.h"

#define WORD_MAX 63

struct word {
	char text[WORD_MAX + 1];
	int64_t count;
};

/* Open addressing: table of word numbers + 1. */
struct vocab {
	bool bytes, pieces; /* pieces: has "##" continuations */
	struct word *word;
	int n, cap;
	int *table;
	int slots;
};

static uint64_t hash_of(const char *s, size_t len)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)s[i]) * 0x100000001b3u;
	return rng_mix(h);
}

/* The slot of a word: its own or the free one where it would go. */
static int slot_of(const struct vocab *v, const char *s, size_t len)
{
	int i = (int)(hash_of(s, len) & (uint64_t)(v->slots - 1));

	while (v->table[i]) {
		const char *t = v->word[v->table[i] - 1].text;

		if (!strncmp(t, s, len) && !t[len])
			return i;
		i = (i + 1) & (v->slots - 1);
	}
	return i;
}

static int grow(struct vocab *v)
{
	int cap = v->cap ? 2 * v->cap : 512;
	struct word *w = realloc(v->word, (size_t)cap * sizeof(*w));
	int *table;

	if (!w)
		return -1;
	v->word = w;
	v->cap = cap;
	table = calloc((size_t)cap * 2, sizeof(*table));
	if (!table)
		return -1;
	free(v->table);
	v->table = table;
	v->slots = 2 * cap;
	for (int i = 0; i < v->n; i++)
		v->table[slot_of(v, w[i].text, strlen(w[i].text))] = i + 1;
	return 0;
}

static int find(const struct vocab *v, const char *s, size_t len)
{
	return len <= WORD_MAX && v->slots ? v->table[slot_of(v, s, len)] - 1 : -1;
}

static int add(struct vocab *v, const char *s, size_t len)
{
	int i;

	len = len < WORD_MAX ? len : WORD_MAX;
	if (v->n == v->cap && grow(v))
		return -1;
	i = slot_of(v, s, len);
	if (!v->table[i]) {
		memset(&v->word[v->n], 0, sizeof(v->word[0]));
		memcpy(v->word[v->n].text, s, len);
		v->table[i] = ++v->n;
	}
	v->word[v->table[i] - 1].count++;
	return v->table[i] - 1;
}

static int add_special(struct vocab *v)
{
	static const char *const name[] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

	for (int i = 0; i < TOKEN_SPECIAL; i++)
		if (add(v, name[i], strlen(name[i])) != i)
			return -1;
	return 0;
}

void vocab_free(struct vocab *v)
{
	if (!v)
		return;
	free(v->word);
	free(v->table);
	free(v);
}

struct vocab *vocab_bytes(void)
{
	struct vocab *v = calloc(1, sizeof(*v));

	if (v)
		v->bytes = true;
	return v;
}

int vocab_size(const struct vocab *v)
{
	return v->bytes ? TOKEN_SPECIAL + 256 : v->n;
}

bool vocab_spaced(const struct vocab *v)
{
	return !v->bytes;
}

/* The next word from text[*at]: letters and digits (and bytes of UTF-8) together, others alone.
 * Lower case into buf. Returns its length, 0 at the end. */
static size_t next_word(const char *text, size_t len, size_t *at, char *buf)
{
	size_t n = 0;

	while (*at < len && isspace((unsigned char)text[*at]))
		++*at;
	while (*at < len) {
		unsigned char c = (unsigned char)text[*at];
		bool inner = isalnum(c) || c >= 0x80;

		if (isspace(c) || (!inner && n))
			break;
		if (n < WORD_MAX)
			buf[n++] = (char)(c < 0x80 ? tolower(c) : c);
		++*at;
		if (!inner)
			break;
	}
	return n;
}

static int by_count(const void *a, const void *b)
{
	const struct word *x = a, *y = b;

	if (x->count != y->count)
		return x->count < y->count ? 1 : -1;
	return strcmp(x->text, y->text);
}

struct vocab *vocab_words(const char *text, size_t len, int size)
{
	struct vocab *all = calloc(1, sizeof(*all)), *v = calloc(1, sizeof(*v));
	char buf[WORD_MAX + 1];
	size_t at = 0, n;

	if (!all || !v || add_special(v))
		goto fail;
	while ((n = next_word(text, len, &at, buf)))
		if (add(all, buf, n) < 0)
			goto fail;
	if (all->n) /* the table of numbers is void from here on */
		qsort(all->word, (size_t)all->n, sizeof(all->word[0]), by_count);
	for (int i = 0; i < all->n && v->n < size; i++)
		if (add(v, all->word[i].text, strlen(all->word[i].text)) < 0)
			goto fail;
	vocab_free(all);
	return v;
fail:
	vocab_free(all);
	vocab_free(v);
	return NULL;
}

int vocab_parse(
	const char *path, const char *bytes, size_t len, struct vocab **out, struct fault *f)
{
	struct vocab *v = calloc(1, sizeof(*v));
	int line = 1;

	if (!v || add_special(v))
		goto nomem;
	for (size_t at = 0; at < len; line++) {
		const char *s = bytes + at, *end = memchr(s, '\n', len - at);
		size_t n = end ? (size_t)(end - s) : len - at;

		at += n + 1;
		if (memchr(s, '\0', n)) {
			fault_set(f, "%s:%d: a zero byte; expected one word a line", path, line);
			goto fail;
		}
		if (n && s[n - 1] == '\r')
			n--;
		if (n > WORD_MAX) {
			fault_set(f, "%s:%d: a word of %zu bytes; at most %d", path, line, n,
				WORD_MAX);
			goto fail;
		}
		if (n > 2 && !strncmp(s, "##", 2))
			v->pieces = true;
		if (n && add(v, s, n) < 0)
			goto nomem;
	}
	if (v->n == TOKEN_SPECIAL) {
		fault_set(f, "%s: no words in the vocabulary", path);
		goto fail;
	}
	*out = v;
	return 0;
nomem:
	fault_set(f, "%s: out of memory", path);
fail:
	vocab_free(v);
	return -1;
}

int vocab_read(const char *path, struct vocab **out, struct fault *f)
{
	char *bytes;
	size_t len;
	int rc;

	if (file_read(path, &bytes, &len, f))
		return -1;
	rc = vocab_parse(path, bytes, len, out, f);
	free(bytes);
	return rc;
}

static int push(int32_t **token, int64_t *n, int32_t id)
{
	/* grows when n is a power of two: the capacity need not be kept */
	if (!(*n & (*n - 1))) {
		int32_t *t = realloc(*token, (size_t)(*n ? 2 * *n : 1) * sizeof(*t));

		if (!t)
			return -1;
		*token = t;
	}
	(*token)[(*n)++] = id;
	return 0;
}

/* Longest pieces first; a word with no way through is [UNK]. */
static int encode_pieces(
	const struct vocab *v, const char *w, size_t len, int32_t **token, int64_t *n)
{
	char buf[WORD_MAX + 3];
	int64_t start = *n;

	for (size_t at = 0; at < len;) {
		size_t k = len - at, lead = at ? 2 : 0;
		int id = -1;

		memcpy(buf, "##", 2);
		for (; k > 0 && id < 0; k--) {
			memcpy(buf + lead, w + at, k);
			id = find(v, buf, lead + k);
			if (id >= 0)
				break;
		}
		if (id < 0) {
			*n = start; /* the array may keep more room than n says: that is harmless */
			return push(token, n, TOKEN_UNK);
		}
		if (push(token, n, id))
			return -1;
		at += k;
	}
	return 0;
}

int vocab_encode(const struct vocab *v, const char *text, size_t len, int32_t **token, int64_t *n)
{
	char buf[WORD_MAX + 1];
	size_t at = 0, k;

	if (v->bytes) {
		for (; at < len; at++)
			if (push(token, n, TOKEN_SPECIAL + (unsigned char)text[at]))
				return -1;
		return 0;
	}
	while ((k = next_word(text, len, &at, buf))) {
		int id = find(v, buf, k);

		if (id < 0 && v->pieces) {
			if (encode_pieces(v, buf, k, token, n))
				return -1;
			continue;
		}
		if (push(token, n, id < 0 ? TOKEN_UNK : id))
			return -1;
	}
	return 0;
}

const char *vocab_text(const struct vocab *v, int32_t token, char *buf)
{
	buf[0] = '\0';
	buf[1] = '\0';
	if (!v->bytes)
		return token >= 0 && token < v->n ? v->word[token].text : "";
	if (token >= TOKEN_SPECIAL)
		buf[0] = (char)(token - TOKEN_SPECIAL);
	return buf;
}
