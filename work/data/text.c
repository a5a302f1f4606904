/* text.c: sequences of tokens from a text file, or generated.
 *
 * Tokens: bytes, or words (letters and digits in lower case; any other visible character alone).
 * The vocabulary of words is a file with one word a line ("##x" continues a word, longest match
 * first, as WordPiece) or the most frequent words of the text. The token stream is cut into pieces
 * of the sequence length; the last twentieth is held out. For classification each line is
 * "label<TAB>text".
 *
 * Generated text follows a rule: a token decides its successor four times out of five.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "data/data.h"
#include "data/file.h"
#include "data/text.h"
#include "ops/rng.h"

struct text {
	struct vocab *vocab;
	int32_t *token; /* of the whole file, one after another */
	int64_t n;
	int64_t *line; /* classification: first token of each line, and the end */
	int32_t *label;
	int64_t n_lines;
	int piece; /* tokens of the file in one sample */
};

/* Small numbers are frequent, as words of a language: v in [0, words) is squared down. */
static int32_t skewed(int64_t v, int32_t words)
{
	return (int32_t)(v * v / words);
}

static int32_t generated(const struct data *d, uint64_t id, int64_t i, int32_t prev, int rule)
{
	int32_t words = d->info.vocab - d->info.special;
	int32_t own = d->info.special, w = prev - own;

	if (i == 0 || rng_uniform(d->spec.seed, id, (uint64_t)i) < 0.2f)
		return own +
		       skewed(rng_below(d->spec.seed ^ 0x7e87, id, (uint64_t)i, words), words);
	return own + skewed((w * (rule ? 7 : 5) + (rule ? 1 : 3)) % words, words);
}

/* n tokens of sample id into out; returns how many there are */
static int64_t sample(
	const struct data *d, int64_t index, bool eval, int64_t n, int32_t *out, int32_t *label)
{
	const struct text *t = d->state;
	int64_t from = index * t->piece, count = n;

	if (!t->token) {
		uint64_t id = (uint64_t)index + (eval ? (uint64_t)1 << 40 : 0);
		int rule = (int)rng_below(d->spec.seed ^ 0xc1a5, id, 0, 2);

		*label = rule;
		if (d->spec.kind != DATA_SEQCLASS)
			rule = 0;
		for (int64_t i = 0; i < n; i++)
			out[i] = generated(d, id, i, i ? out[i - 1] : 0, rule);
		return n;
	}
	if (eval)
		index += d->info.n_train;
	from = index * t->piece;
	if (t->line) {
		from = t->line[index];
		count = t->line[index + 1] - from;
		*label = t->label[index];
	}
	count = count < n ? count : n;
	memcpy(out, t->token + from, (size_t)count * sizeof(*out));
	return count;
}

/* BERT's masking: of 15 % of the tokens 8 in 10 become [MASK], 1 a random token, 1 stays. At least
 * one. */
static void mask_tokens(const struct data *d, uint64_t key, int32_t *ids, int32_t *label, int64_t n)
{
	int64_t forced = rng_below(key, 7, 0, n);

	for (int64_t i = 0; i < n; i++) {
		float u = rng_uniform(key, 1, (uint64_t)i), how = rng_uniform(key, 2, (uint64_t)i);

		label[i] = -1;
		if (u >= 0.15f && i != forced)
			continue;
		label[i] = ids[i];
		if (how < 0.8f)
			ids[i] = TOKEN_MASK;
		else if (how < 0.9f)
			ids[i] = d->info.special + (int32_t)rng_below(key, 3, (uint64_t)i,
							   d->info.vocab - d->info.special);
	}
}

/* [CLS] tokens [SEP], padded; labels at the masked places or one a sample */
static void fill_bert(struct data *d, const int64_t *index, int64_t n, uint64_t epoch, bool eval,
	int32_t *ids, int32_t *mask, int32_t *label)
{
	int64_t seq = d->info.seq;
	bool mlm = d->spec.kind == DATA_MLM;

	for (int64_t s = 0; s < n; s++) {
		int32_t *row = ids + s * seq, cls = 0;
		int64_t count = sample(d, index[s], eval, seq - 2, row + 1, &cls);

		row[0] = TOKEN_CLS;
		row[1 + count] = TOKEN_SEP;
		for (int64_t i = 0; i < count + 2; i++)
			mask[s * seq + i] = 1;
		if (!mlm) {
			label[s] = cls;
			continue;
		}
		for (int64_t i = 0; i < seq; i++)
			label[s * seq + i] = -1;
		mask_tokens(d, rng_u64(d->spec.seed, eval ? 0 : epoch + 1, (uint64_t)index[s]),
			row + 1, label + s * seq + 1, count);
	}
}

static int fill(struct data *d, const int64_t *index, int64_t n, uint64_t epoch, bool eval,
	struct batch *b, struct fault *f)
{
	int64_t seq = d->info.seq, dims[2] = {n, seq};
	int32_t *ids = batch_array(b, "ids", DT_I32, 2, dims);
	int32_t *pos = batch_array(b, "position", DT_I32, 2, dims), *mask = NULL;
	int32_t *label =
		batch_array(b, "label", DT_I32, d->spec.kind == DATA_SEQCLASS ? 1 : 2, dims);
	int32_t *both = NULL, none;

	if (d->spec.kind != DATA_CLM)
		mask = batch_array(b, "mask", DT_I32, 2, dims);
	else
		both = malloc((size_t)(seq + 1) * sizeof(*both));
	if (!ids || !pos || !label || (!mask && !both)) {
		free(both);
		return fault_set(f, "out of memory for a batch of %lld sequences", (long long)n);
	}
	for (int64_t i = 0; i < n * seq; i++)
		pos[i] = (int32_t)(i % seq);
	if (mask)
		fill_bert(d, index, n, epoch, eval, ids, mask, label);
	for (int64_t s = 0; both && s < n; s++) {
		sample(d, index[s], eval, seq + 1, both, &none);
		memcpy(ids + s * seq, both, (size_t)seq * sizeof(*ids));
		memcpy(label + s * seq, both + 1, (size_t)seq * sizeof(*ids));
	}
	free(both);
	return 0;
}

static void close_text(struct data *d)
{
	struct text *t = d->state;

	vocab_free(t->vocab);
	free(t->token);
	free(t->line);
	free(t->label);
	free(t);
}

static const struct data_ops ops = {"text", fill, close_text};
static const struct data_ops without_file = {"generated text", fill, close_text};

/* The number from p to end, 0 to 999; −1: something else */
static int label_of(const char *p, const char *end)
{
	int v = 0;

	if (p == end || end - p > 3)
		return -1;
	for (; p < end; p++) {
		if (*p < '0' || *p > '9')
			return -1;
		v = v * 10 + (*p - '0');
	}
	return v;
}

/* "label<TAB>text" lines → tokens line after line */
static int read_lines(struct data *d, const char *bytes, size_t len, struct fault *f)
{
	struct text *t = d->state;
	int64_t cap = 0, line_no = 0;
	int most = 0;

	for (size_t at = 0; at < len;) {
		const char *end = memchr(bytes + at, '\n', len - at);
		size_t n = end ? (size_t)(end - bytes) - at : len - at;
		const char *tab = memchr(bytes + at, '\t', n);
		int label = tab ? label_of(bytes + at, tab) : -1;

		line_no++;
		if (n == 0) {
			at++;
			continue;
		}
		if (label < 0)
			return fault_set(f,
				"%s:%lld: expected 'label<TAB>text' with a label from 0 to 999",
				d->spec.path, (long long)line_no);
		if (t->n_lines + 2 > cap) {
			int64_t *a;
			int32_t *b;

			cap = cap ? 2 * cap : 256;
			a = realloc(t->line, (size_t)cap * sizeof(*a));
			b = a ? realloc(t->label, (size_t)cap * sizeof(*b)) : NULL;
			t->line = a ? a : t->line;
			t->label = b ? b : t->label;
			if (!b)
				return fault_set(f, "%s: out of memory", d->spec.path);
		}
		t->line[t->n_lines] = t->n;
		t->label[t->n_lines++] = label;
		if (vocab_encode(t->vocab, tab + 1, n - (size_t)(tab + 1 - (bytes + at)), &t->token,
			    &t->n))
			return fault_set(f, "%s: out of memory", d->spec.path);
		t->line[t->n_lines] = t->n;
		most = label > most ? label : most;
		at += n + 1;
	}
	if (!most)
		return fault_set(f, "%s: every label is 0; expected at least two classes, from 0",
			d->spec.path);
	d->info.classes = most + 1;
	return 0;
}

static int make_vocab(struct data *d, const char *bytes, size_t len, struct fault *f)
{
	struct text *t = d->state;
	const char *v = d->spec.vocab;

	if (!v)
		v = d->spec.kind == DATA_CLM ? "bytes" : "words";
	if (!strcmp(v, "bytes"))
		t->vocab = vocab_bytes();
	else if (!strcmp(v, "words"))
		t->vocab = vocab_words(bytes, len, d->spec.vocab_size);
	else
		return vocab_read(v, &t->vocab, f);
	return t->vocab ? 0 : fault_set(f, "%s: out of memory", d->spec.path);
}

static int read_text(struct data *d, const char *bytes, size_t len, struct fault *f)
{
	struct text *t = d->state;
	bool lines = d->spec.kind == DATA_SEQCLASS;
	int64_t pieces;

	if (make_vocab(d, bytes, len, f) || (lines && read_lines(d, bytes, len, f)))
		return -1;
	if (!lines && vocab_encode(t->vocab, bytes, len, &t->token, &t->n))
		return fault_set(f, "%s: out of memory", d->spec.path);
	t->piece = d->spec.kind == DATA_CLM ? d->info.seq : d->info.seq - 2;
	pieces = lines ? t->n_lines : (t->n - (d->spec.kind == DATA_CLM)) / t->piece;
	if (pieces < 1)
		return fault_set(f, "%s: %lld tokens are too few for sequences of %d", d->spec.path,
			(long long)t->n, d->info.seq);
	d->info.vocab = vocab_size(t->vocab);
	d->info.n_eval = pieces > 19 ? pieces / 20 : 0;
	d->info.n_train = pieces - d->info.n_eval;
	return 0;
}

const struct vocab *data_vocab(const struct data *d)
{
	const struct text *t = d->state;

	return d->ops == &ops ? t->vocab : NULL;
}

static int prepare(struct data *d, struct fault *f)
{
	struct text *t = calloc(1, sizeof(*t));

	if (!t)
		return fault_set(f, "out of memory");
	d->state = t;
	d->ops = d->spec.path ? &ops : &without_file;
	d->info = (struct data_info){.n_train = 16384,
		.n_eval = 256,
		.seq = d->spec.seq,
		.vocab = d->spec.vocab_size,
		.special = TOKEN_SPECIAL,
		.classes = 2,
		.generated = !d->spec.path};
	return 0;
}

int data_open_text_bytes(struct data *d, const char *bytes, size_t len, struct fault *f)
{
	if (prepare(d, f))
		return -1;
	if (!read_text(d, bytes, len, f))
		return 0;
	close_text(d);
	d->ops = NULL;
	return -1;
}

int data_open_text(struct data *d, struct fault *f)
{
	char *bytes;
	size_t len;
	int rc;

	if (!d->spec.path)
		return prepare(d, f);
	if (file_read(d->spec.path, &bytes, &len, f))
		return -1;
	rc = data_open_text_bytes(d, bytes, len, f);
	free(bytes);
	return rc;
}
