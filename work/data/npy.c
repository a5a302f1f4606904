/* npy.c: NumPy's .npy: magic, version, length of the header, and a header that is a Python dict:
 *
 *   {'descr': '<f4', 'fortran_order': False, 'shape': (60, 32, 32, 3), }
 */
#include <stdlib.h>
#include <string.h>
#include "data/npy.h"

/* What is left of the header. */
struct head {
	const char *at, *end;
};

static void skip(struct head *h)
{
	while (h->at < h->end && (*h->at == ' ' || *h->at == '\n'))
		h->at++;
}

static bool take(struct head *h, const char *text)
{
	size_t n = strlen(text);

	skip(h);
	if ((size_t)(h->end - h->at) < n || memcmp(h->at, text, n) != 0)
		return false;
	h->at += n;
	return true;
}

/* 'text' in quotes into buf, cut at its size */
static bool take_text(struct head *h, char *buf, size_t size)
{
	const char *stop;
	size_t n;

	if (!take(h, "'"))
		return false;
	stop = memchr(h->at, '\'', (size_t)(h->end - h->at));
	if (!stop)
		return false;
	n = (size_t)(stop - h->at) < size - 1 ? (size_t)(stop - h->at) : size - 1;
	memcpy(buf, h->at, n);
	buf[n] = '\0';
	h->at = stop + 1;
	return true;
}

static bool take_number(struct head *h, int64_t *out)
{
	int digits = 0;

	skip(h);
	for (*out = 0; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++, digits++)
		if (digits < 18)
			*out = *out * 10 + (*h->at - '0');
	return digits > 0 && digits < 18;
}

/* (2, 3, 4) or (2,) */
static bool take_shape(struct head *h, struct npy *a)
{
	if (!take(h, "("))
		return false;
	for (a->n_dims = 0; !take(h, ")"); a->n_dims++) {
		if (a->n_dims == NPY_DIMS || !take_number(h, &a->dim[a->n_dims]))
			return false;
		if (!take(h, ",")) {
			a->n_dims++;
			return take(h, ")");
		}
	}
	return true;
}

static int set_type(const char *name, const char *descr, struct npy *a, struct fault *f)
{
	static const char *const read[] = {"b1", "u1", "u2", "i1", "i2", "i4", "i8", "f4", "f8"};

	for (size_t i = 0; i < sizeof(read) / sizeof(read[0]); i++)
		if (descr[0] && strchr("<>|", descr[0]) && !strcmp(descr + 1, read[i])) {
			a->kind = descr[1];
			a->size = descr[2] - '0';
			a->swap = descr[0] == '>' && a->size > 1;
			return 0;
		}
	return fault_set(f,
		"%s: values of type '%s'; read are b1 u1 u2 i1 i2 i4 i8 f4 f8, as '<f4' or '|u1'",
		name, descr);
}

static int read_head(
	const char *name, struct head *h, struct npy *a, bool *fortran, struct fault *f)
{
	char key[20], descr[20];
	unsigned seen = 0;

	if (!take(h, "{"))
		goto bad;
	while (!take(h, "}")) {
		if (!take_text(h, key, sizeof(key)) || !take(h, ":"))
			goto bad;
		if (!strcmp(key, "descr")) {
			if (!take_text(h, descr, sizeof(descr)))
				return fault_set(
					f, "%s: records of several fields are not read", name);
			if (set_type(name, descr, a, f))
				return -1;
			seen |= 1;
		} else if (!strcmp(key, "fortran_order")) {
			*fortran = take(h, "True");
			if (!*fortran && !take(h, "False"))
				goto bad;
			seen |= 2;
		} else if (!strcmp(key, "shape")) {
			if (!take_shape(h, a))
				return fault_set(
					f, "%s: expected a shape of 1 to %d sizes", name, NPY_DIMS);
			seen |= 4;
		} else {
			goto bad;
		}
		if (!take(h, ",") && (h->at == h->end || *h->at != '}'))
			goto bad;
	}
	if (seen == 7)
		return 0;
bad:
	return fault_set(
		f, "%s: expected a header with 'descr', 'fortran_order' and 'shape'", name);
}

/* Strides and count; −1 when the shape is empty or too large to count. */
static int set_strides(struct npy *a, bool fortran)
{
	a->count = 1;
	for (int i = 0; i < a->n_dims; i++) {
		int d = fortran ? i : a->n_dims - 1 - i;

		a->stride[d] = a->count;
		if (a->dim[d] < 1 || __builtin_mul_overflow(a->count, a->dim[d], &a->count))
			return -1;
	}
	return a->n_dims > 0 && a->count <= INT64_MAX / 8 ? 0 : -1;
}

int npy_parse(const char *name, const uint8_t *bytes, size_t len, struct npy *a, struct fault *f)
{
	size_t lead = 10, head, want;
	struct head h;
	bool fortran = false;

	*a = (struct npy){0};
	if (len < 12 || memcmp(bytes, "\x93NUMPY", 6) != 0)
		return fault_set(
			f, "%s: not a .npy file (it does not begin with \\x93NUMPY)", name);
	head = bytes[8] | (size_t)bytes[9] << 8;
	if (bytes[6] == 2 || bytes[6] == 3) {
		lead = 12;
		head |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
	} else if (bytes[6] != 1) {
		return fault_set(f, "%s: version %d of .npy; read are 1, 2 and 3", name, bytes[6]);
	}
	if (head > len - lead)
		return fault_set(f, "%s: truncated: a header of %zu bytes in a file of %zu", name,
			head, len);
	h = (struct head){(const char *)bytes + lead, (const char *)bytes + lead + head};
	if (read_head(name, &h, a, &fortran, f))
		return -1;
	if (set_strides(a, fortran))
		return fault_set(f, "%s: an empty or impossible shape", name);
	a->data = bytes + lead + head;
	want = (size_t)a->count * (size_t)a->size;
	if (len - lead - head != want)
		return fault_set(f, "%s: %s: %zu bytes of values, its shape and type mean %zu",
			name, len - lead - head < want ? "truncated" : "damaged", len - lead - head,
			want);
	return 0;
}

double npy_value(const struct npy *a, int64_t at)
{
	uint8_t b[8] = {0};
	union {
		int16_t i2;
		uint16_t u2;
		int32_t i4;
		int64_t i8;
		float f4;
		double f8;
	} v;
	const uint8_t *p = a->data + at * a->size;

	for (int i = 0; i < a->size; i++)
		b[i] = p[a->swap ? a->size - 1 - i : i];
	memcpy(&v, b, sizeof(v));
	switch (a->size) {
	case 1:
		return a->kind == 'i' ? (int8_t)b[0] : b[0];
	case 2:
		return a->kind == 'u' ? (double)v.u2 : (double)v.i2;
	case 4:
		return a->kind == 'f' ? (double)v.f4 : (double)v.i4;
	default:
		return a->kind == 'f' ? v.f8 : (double)v.i8;
	}
}
