/* wire.c: see wire.h. */
#include "exec/wire.h"

#include <endian.h>
#include <string.h>
#include "base/mem.h"

#define WIRE_NULL UINT32_MAX

void wire_u32(struct str *s, uint32_t v)
{
	v = htole32(v);
	str_addn(s, (const char *)&v, sizeof v);
}

void wire_u64(struct str *s, uint64_t v)
{
	v = htole64(v);
	str_addn(s, (const char *)&v, sizeof v);
}

void wire_i64(struct str *s, int64_t v)
{
	wire_u64(s, (uint64_t)v);
}

void wire_bytes(struct str *s, const void *p, size_t n)
{
	if (n >= WIRE_NULL) {
		s->failed = true;
		return;
	}
	wire_u32(s, (uint32_t)n);
	if (n)
		str_addn(s, p, n);
}

void wire_text(struct str *s, const char *text)
{
	if (text)
		wire_bytes(s, text, strlen(text));
	else
		wire_u32(s, WIRE_NULL);
}

static const void *take(struct wire *w, size_t n)
{
	const void *p = w->p;

	if (w->bad || n > w->left) {
		w->bad = true;
		return NULL;
	}
	w->p += n;
	w->left -= n;
	return p;
}

uint32_t wire_get_u32(struct wire *w)
{
	uint32_t v = 0;
	const void *p = take(w, sizeof v);

	if (p)
		memcpy(&v, p, sizeof v);
	return le32toh(v);
}

uint64_t wire_get_u64(struct wire *w)
{
	uint64_t v = 0;
	const void *p = take(w, sizeof v);

	if (p)
		memcpy(&v, p, sizeof v);
	return le64toh(v);
}

int64_t wire_get_i64(struct wire *w)
{
	return (int64_t)wire_get_u64(w);
}

const void *wire_get_bytes(struct wire *w, size_t *n)
{
	uint32_t len = wire_get_u32(w);
	const void *p;

	*n = 0;
	if (w->bad || len == WIRE_NULL)
		return NULL;
	p = take(w, len);
	if (p)
		*n = len;
	return p;
}

char *wire_get_text(struct wire *w)
{
	size_t n;
	const void *p = wire_get_bytes(w, &n);
	char *text;

	if (!p)
		return NULL;
	if (memchr(p, 0, n)) {
		w->bad = true;
		return NULL;
	}
	text = mem_alloc(n + 1);
	if (!text) {
		w->bad = true;
		return NULL;
	}
	memcpy(text, p, n);
	text[n] = 0;
	return text;
}

void wire_get_text_buf(struct wire *w, char *buf, size_t size)
{
	size_t n;
	const void *p = wire_get_bytes(w, &n);

	if (n >= size)
		n = size - 1;
	if (p)
		memcpy(buf, p, n);
	buf[p ? n : 0] = 0;
}
