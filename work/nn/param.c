/* param.c: the flat list of parameters. */
#include <stdlib.h>
#include <string.h>
#include "nn/param.h"
#include "ops/rng.h"

#define ALIGN_FLOATS 16 /* one cache line, one AVX-512 vector */

struct params *params_new(const struct backend *be)
{
	struct params *ps = calloc(1, sizeof(*ps));

	if (ps)
		ps->be = be;
	return ps;
}

void params_free(struct params *ps)
{
	if (!ps)
		return;
	for (int i = 0; i < ps->n; i++) {
		struct param *p = ps->p[i];

		if (p->w.packed)
			ps->be->packed_free(p->w.packed);
		if (!p->trainable)
			free(p->w.data);
		free(p);
	}
	free(ps->p);
	free(ps->value);
	free(ps->grad);
	free(ps->m[0]);
	free(ps->m[1]);
	free(ps->bucket);
	free(ps);
}

struct param *params_find(const struct params *ps, const char *name)
{
	for (int i = 0; i < ps->n; i++)
		if (!strcmp(ps->p[i]->name, name))
			return ps->p[i];
	return NULL;
}

struct param *params_get(struct params *ps, const char *name, int n_dims, const int64_t *dim,
	struct init init, bool trainable, struct fault *f)
{
	struct param *p = params_find(ps, name);

	if (p) {
		if (p->w.n_dims != n_dims ||
			memcmp(p->w.dim, dim, (size_t)n_dims * sizeof(*dim)) != 0) {
			fault_set(f, "parameter %s is used with two different shapes", name);
			return NULL;
		}
		return p;
	}
	if (ps->finished) {
		fault_set(f, "parameter %s appears only for this batch shape", name);
		return NULL;
	}
	if (strlen(name) >= sizeof(p->name)) {
		fault_set(f, "parameter name too long: %s", name);
		return NULL;
	}
	if (ps->n == ps->cap) {
		int cap = ps->cap ? 2 * ps->cap : 64;
		struct param **v = realloc(ps->p, (size_t)cap * sizeof(*v));

		if (!v)
			goto nomem;
		ps->p = v;
		ps->cap = cap;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		goto nomem;
	strcpy(p->name, name);
	p->w.name = p->name;
	p->w.n_dims = n_dims;
	memcpy(p->w.dim, dim, (size_t)n_dims * sizeof(*dim));
	p->w.cblock = 1;
	p->w.external = true;
	p->w.param = p;
	p->g = p->w;
	p->w.grad = trainable ? &p->g : NULL;
	p->init = init;
	p->trainable = trainable;
	p->decay = trainable && n_dims > 1;
	ps->p[ps->n++] = p;
	return p;
nomem:
	fault_set(f, "out of memory for parameter %s", name);
	return NULL;
}

static void *floats(size_t n)
{
	size_t bytes = (n ? n : 1) * sizeof(float);
	void *p = NULL;

	bytes = (bytes + 63) / 64 * 64;
	if (posix_memalign(&p, 64, bytes))
		return NULL;
	memset(p, 0, bytes);
	return p;
}

static size_t stored_count(const struct params *ps, const struct tensor *t)
{
	return t->packed ? ps->be->packed_count(t) : (size_t)tensor_count(t);
}

/* Reverse order of creation: the order in which backward completes gradients, nearly. */
static int make_buckets(struct params *ps, size_t bucket_bytes)
{
	size_t want = bucket_bytes / sizeof(float);

	ps->bucket = calloc((size_t)ps->n + 1, sizeof(*ps->bucket));
	if (!ps->bucket)
		return -1;
	for (int i = ps->n - 1; i >= 0; i--) {
		struct param *p = ps->p[i];
		struct bucket *b = &ps->bucket[ps->n_buckets];

		if (!p->trainable)
			continue;
		p->bucket = ps->n_buckets;
		if (!b->n_params++)
			b->at = p->at;
		b->count = p->at + p->count - b->at;
		if (b->count >= want)
			ps->n_buckets++;
	}
	if (ps->bucket[ps->n_buckets].n_params)
		ps->n_buckets++;
	return 0;
}

int params_finish(struct params *ps, int n_state, size_t bucket_bytes, struct fault *f)
{
	size_t at = 0;

	for (int i = ps->n - 1; i >= 0; i--) {
		struct param *p = ps->p[i];

		p->count = stored_count(ps, &p->w);
		if (!p->trainable)
			continue;
		ps->n_trainable += tensor_count(&p->w);
		p->at = at;
		at += (p->count + ALIGN_FLOATS - 1) / ALIGN_FLOATS * ALIGN_FLOATS;
	}
	ps->count = at;
	ps->value = floats(at);
	ps->grad = floats(at);
	for (int k = 0; k < n_state; k++) {
		ps->m[k] = floats(at);
		if (!ps->m[k])
			goto nomem;
	}
	if (!ps->value || !ps->grad)
		goto nomem;
	for (int i = 0; i < ps->n; i++) {
		struct param *p = ps->p[i];

		if (!p->trainable) {
			p->w.data = floats(p->count);
			if (!p->w.data)
				goto nomem;
		} else {
			p->w.data = ps->value + p->at;
			p->g.data = ps->grad + p->at;
			p->g.packed = p->w.packed;
			for (int k = 0; k < n_state; k++)
				p->m[k] = ps->m[k] + p->at;
		}
		p->w.bytes = p->g.bytes = p->count * sizeof(float);
	}
	if (make_buckets(ps, bucket_bytes))
		goto nomem;
	ps->finished = true;
	return 0;
nomem:
	return fault_set(f, "out of memory for %zu parameters", at);
}

void param_pack(const struct params *ps, const struct param *p, float *to, const float *plain)
{
	if (p->w.packed)
		ps->be->pack(&p->w, to, plain);
	else
		memcpy(to, plain, p->count * sizeof(float));
}

void param_unpack(const struct params *ps, const struct param *p, const float *from, float *plain)
{
	if (p->w.packed)
		ps->be->unpack(&p->w, from, plain);
	else
		memcpy(plain, from, p->count * sizeof(float));
}

void param_load(struct params *ps, struct param *p, const float *buf)
{
	param_pack(ps, p, tf(&p->w), buf);
}

void param_store(const struct params *ps, const struct param *p, float *buf)
{
	param_unpack(ps, p, tf(&p->w), buf);
}

void param_store_grad(const struct params *ps, const struct param *p, float *buf)
{
	param_unpack(ps, p, p->g.data, buf);
}

static float initial(const struct param *p, uint64_t seed, uint64_t stream, int64_t i)
{
	switch (p->init.kind) {
	case INIT_CONST:
		return (float)p->init.a;
	case INIT_NORMAL:
		return (float)p->init.a * rng_normal(seed, stream, (uint64_t)i);
	case INIT_MULTIPLES:
		return (float)(p->init.a * (double)(i + 1));
	case INIT_UNIFORM:
		return (float)p->init.a * (2 * rng_uniform(seed, stream, (uint64_t)i) - 1);
	}
	return 0;
}

int params_init(struct params *ps, uint64_t seed, struct fault *f)
{
	for (int k = 0; k < ps->n; k++) {
		struct param *p = ps->p[k];
		int64_t n = tensor_count(&p->w);
		float *buf = malloc((size_t)(n ? n : 1) * sizeof(float));
		uint64_t stream = rng_name(p->name);

		if (!buf)
			return fault_set(f, "out of memory for parameter %s", p->name);
		for (int64_t i = 0; i < n; i++)
			buf[i] = initial(p, seed, stream, i);
		param_load(ps, p, buf);
		free(buf);
	}
	return 0;
}

void params_begin_step(struct params *ps)
{
	for (int i = 0; i < ps->n; i++)
		ps->p[i]->written = false;
	for (int i = 0; i < ps->n_buckets; i++)
		ps->bucket[i].n_done = 0;
}
