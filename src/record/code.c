/* code.c: the byte form of a record.
 *
 *   "WLRR" version:u16 0:u16, then the fields of layout_run in order, little endian:
 *   string  length+1:u32 (0 = NULL) bytes      quantity  status:u8 [value:i64 when it has one]
 *   array   count:u32 items                    bool u8, int i32, double its 64 bits
 *
 * Reading trusts nothing: every length is compared with what is left before memory is asked for.
 */
#include <string.h>

#include "base/mem.h"
#include "record/layout.h"
#include "record/record.h"

static const char magic[4] = {'W', 'L', 'R', 'R'};

static void put(struct str *s, uint64_t v, size_t bytes)
{
	char b[8];

	for (size_t i = 0; i < bytes; i++)
		b[i] = (char)(v >> (8 * i) & 0xff);
	str_addn(s, b, bytes);
}

static void put_str(struct str *s, const char *text)
{
	size_t n = text ? strlen(text) : 0;

	if (n >= UINT32_MAX) {
		s->failed = true;
		return;
	}
	put(s, text ? n + 1 : 0, 4);
	if (n)
		str_addn(s, text, n);
}

static bool qty_has_value(enum status st)
{
	return st == ST_OK || st == ST_PARTIAL;
}

static void encode(const struct layout *l, const void *p, struct str *s);

static void encode_list(const struct field *f, const char *p, struct str *s)
{
	size_t n = *(const size_t *)(const void *)(p + f->n_off);
	const char *items = *(const char *const *)(const void *)(p + f->off);

	if (n > (size_t)f->hi) {
		s->failed = true;
		return;
	}
	put(s, n, 4);
	for (size_t i = 0; i < n; i++) {
		if (f->type == FIELD_STRS)
			put_str(s, ((const char *const *)(const void *)items)[i]);
		else
			encode(f->sub, items + i * f->sub->size, s);
	}
}

static void encode(const struct layout *l, const void *p, struct str *s)
{
	for (size_t i = 0; i < l->n && !s->failed; i++) {
		const struct field *f = &l->fields[i];
		const void *at = (const char *)p + f->off;
		const struct qty *q = at;
		uint64_t bits;

		switch (f->type) {
		case FIELD_STR:
			put_str(s, *(char *const *)at);
			break;
		case FIELD_QTY:
			put(s, (uint64_t)q->st, 1);
			if (qty_has_value(q->st))
				put(s, (uint64_t)q->v, 8);
			break;
		case FIELD_I64:
			put(s, (uint64_t) * (const int64_t *)at, 8);
			break;
		case FIELD_INT:
			put(s, (uint64_t) * (const int *)at, 4);
			break;
		case FIELD_BOOL:
			put(s, *(const bool *)at, 1);
			break;
		case FIELD_F64:
			memcpy(&bits, at, 8);
			put(s, bits, 8);
			break;
		case FIELD_TEXT:
			str_addn(s, at, (size_t)f->hi);
			break;
		case FIELD_ONE:
			encode(f->sub, at, s);
			break;
		case FIELD_STRS:
		case FIELD_MANY:
			encode_list(f, p, s);
			break;
		}
	}
}

bool run_rec_encode(const struct run_rec *r, struct str *out)
{
	str_addn(out, magic, sizeof(magic));
	put(out, RECORD_VERSION, 2);
	put(out, 0, 2);
	encode(&layout_run, r, out);
	return !out->failed;
}

/* What is left to read. After the first fault st says which and everything reads as 0. */
struct in {
	const unsigned char *p;
	size_t left;
	unsigned version;
	enum status st;
};

static uint64_t take(struct in *in, size_t bytes)
{
	uint64_t v = 0;

	if (in->st || in->left < bytes) {
		in->st = in->st ? in->st : ST_CORRUPT;
		return 0;
	}
	for (size_t i = 0; i < bytes; i++)
		v |= (uint64_t)in->p[i] << (8 * i);
	in->p += bytes;
	in->left -= bytes;
	return v;
}

static void fault(struct in *in, enum status st)
{
	if (!in->st)
		in->st = st;
}

static char *take_str(struct in *in)
{
	size_t n = (size_t)take(in, 4);
	char *text;

	if (!n || in->st)
		return NULL;
	n--;
	if (n > in->left || memchr(in->p, 0, n)) {
		fault(in, ST_CORRUPT);
		return NULL;
	}
	text = mem_alloc(n + 1);
	if (!text) {
		fault(in, ST_NOMEM);
		return NULL;
	}
	memcpy(text, in->p, n);
	text[n] = '\0';
	in->p += n;
	in->left -= n;
	return text;
}

static void take_qty(struct in *in, struct qty *q)
{
	uint64_t st = take(in, 1);

	if (st >= ST_COUNT) {
		fault(in, ST_CORRUPT);
		return;
	}
	q->st = (enum status)st;
	if (qty_has_value(q->st))
		q->v = (int64_t)take(in, 8);
	if (in->st)
		*q = QTY_NONE(ST_UNKNOWN);
}

static void decode(const struct layout *l, void *p, struct in *in);

static void decode_list(const struct field *f, char *p, struct in *in)
{
	size_t *n = (size_t *)(void *)(p + f->n_off);
	size_t want = (size_t)take(in, 4);
	size_t size = f->type == FIELD_STRS ? sizeof(char *) : f->sub->size;
	size_t min = f->type == FIELD_STRS ? 4 : f->sub->min_bytes;
	char *items;

	if (in->st || !want)
		return;
	if (want > (size_t)f->hi || want > in->left / min) {
		fault(in, ST_CORRUPT);
		return;
	}
	items = mem_calloc(want, size);
	if (!items) {
		fault(in, ST_NOMEM);
		return;
	}
	*(char **)(void *)(p + f->off) = items;
	/* The count follows the items, so that what is there can always be released. */
	for (*n = 0; *n < want && !in->st; (*n)++) {
		if (f->type == FIELD_STRS)
			((char **)(void *)items)[*n] = take_str(in);
		else
			decode(f->sub, items + *n * size, in);
	}
}

static void decode_int(const struct field *f, int *at, struct in *in)
{
	int v = (int)(int32_t)(uint32_t)take(in, 4);

	if (v < f->lo || v > f->hi)
		fault(in, ST_CORRUPT);
	else
		*at = v;
}

static void decode(const struct layout *l, void *p, struct in *in)
{
	layout_init(l, p);
	for (size_t i = 0; i < l->n && !in->st; i++) {
		const struct field *f = &l->fields[i];
		void *at = (char *)p + f->off;
		uint64_t v;

		if (f->since > in->version)
			continue;
		switch (f->type) {
		case FIELD_STR:
			*(char **)at = take_str(in);
			break;
		case FIELD_QTY:
			take_qty(in, at);
			break;
		case FIELD_I64:
			*(int64_t *)at = (int64_t)take(in, 8);
			break;
		case FIELD_INT:
			decode_int(f, at, in);
			break;
		case FIELD_BOOL:
			v = take(in, 1);
			if (v > 1)
				fault(in, ST_CORRUPT);
			*(bool *)at = v == 1;
			break;
		case FIELD_F64:
			v = take(in, 8);
			memcpy(at, &v, 8);
			break;
		case FIELD_TEXT:
			if (in->left < (size_t)f->hi || !memchr(in->p, 0, (size_t)f->hi)) {
				fault(in, ST_CORRUPT);
				break;
			}
			memcpy(at, in->p, (size_t)f->hi);
			in->p += f->hi;
			in->left -= (size_t)f->hi;
			break;
		case FIELD_ONE:
			decode(f->sub, at, in);
			break;
		case FIELD_STRS:
		case FIELD_MANY:
			decode_list(f, p, in);
			break;
		}
	}
}

/* Relations between fields that the rest of the program relies on. */
static bool consistent(const struct run_rec *r)
{
	if (!r->run_id)
		return false;
	for (size_t i = 0; i < r->n_axes; i++) {
		if (!r->axes[i].name)
			return false;
	}
	for (size_t i = 0; i < r->n_samples; i++) {
		if ((size_t)r->samples[i].dev >= r->n_devs)
			return false;
	}
	for (size_t i = 0; i < r->n_command; i++) {
		if (!r->command[i])
			return false;
	}
	for (size_t i = 0; i < r->n_warnings; i++) {
		if (!r->warnings[i])
			return false;
	}
	return true;
}

enum status run_rec_decode(struct run_rec *r, const void *bytes, size_t n, struct err *e)
{
	struct in in = {bytes, n, 0, ST_OK};

	run_rec_init(r);
	if (n < 8 || memcmp(bytes, magic, sizeof(magic)))
		return err_set(e, ST_CORRUPT, "not a run record");
	in.p += 4;
	in.left -= 4;
	in.version = (unsigned)take(&in, 2);
	if (in.version > RECORD_VERSION)
		return err_set(e, ST_UNSUPPORTED,
			"run record version %u is newer than this program reads (%d)", in.version,
			RECORD_VERSION);
	if (!in.version || take(&in, 2))
		return err_set(e, ST_CORRUPT, "run record with a broken header");
	decode(&layout_run, r, &in);
	if (!in.st && (in.left || !consistent(r)))
		in.st = ST_CORRUPT;
	r->cap_samples = r->n_samples;
	r->cap_marks = r->n_marks;
	if (in.st) {
		run_rec_release(r);
		return err_set(e, in.st,
			in.st == ST_NOMEM ? "run record: out of memory"
					  : "run record cut or damaged at byte %zu of %zu",
			n - in.left, n);
	}
	return ST_OK;
}
