/* checkpoint.c: header, then for each parameter a head and its arrays, then a hash of all before.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "nn/checkpoint.h"
#include "ops/rng.h"

static const char magic[8] = "WLCKPT1";

struct head {
	char magic[8];
	struct checkpoint_meta meta;
	int64_t n;
};

struct entry_head {
	char name[80];
	int64_t n_dims, dim[TENSOR_DIMS], count, n_state;
};

struct writer {
	FILE *file;
	uint64_t hash;
	bool failed;
};

static uint64_t hash_words(uint64_t h, const void *data, size_t bytes)
{
	const unsigned char *p = data;
	uint64_t w = 0;

	for (; bytes >= 8; bytes -= 8, p += 8) {
		memcpy(&w, p, 8);
		h = rng_mix(h ^ w);
	}
	if (bytes) {
		w = 0;
		memcpy(&w, p, bytes);
		h = rng_mix(h ^ w ^ (uint64_t)bytes << 56);
	}
	return h;
}

static void put(struct writer *w, const void *data, size_t bytes)
{
	w->hash = hash_words(w->hash, data, bytes);
	w->failed |= fwrite(data, 1, bytes, w->file) != bytes;
}

static void put_param(struct writer *w, const struct params *ps, const struct param *p, float *buf)
{
	struct entry_head h = {.n_dims = p->w.n_dims, .count = tensor_count(&p->w)};

	memcpy(h.name, p->name, sizeof(h.name));
	memcpy(h.dim, p->w.dim, sizeof(h.dim));
	for (int k = 0; k < 2; k++)
		h.n_state += p->m[k] != NULL;
	put(w, &h, sizeof(h));
	param_unpack(ps, p, tf(&p->w), buf);
	put(w, buf, (size_t)h.count * sizeof(*buf));
	for (int k = 0; k < h.n_state; k++) {
		param_unpack(ps, p, p->m[k], buf);
		put(w, buf, (size_t)h.count * sizeof(*buf));
	}
}

static float *largest_buffer(const struct params *ps)
{
	int64_t most = 1;

	for (int i = 0; i < ps->n; i++)
		if (tensor_count(&ps->p[i]->w) > most)
			most = tensor_count(&ps->p[i]->w);
	return malloc((size_t)most * sizeof(float));
}

int checkpoint_write(
	const char *path, const struct checkpoint_meta *m, const struct params *ps, struct fault *f)
{
	struct writer w = {0};
	struct head h = {.meta = *m, .n = ps->n};
	char tmp[4096];
	float *buf = largest_buffer(ps);
	int fd;

	if (!buf)
		return fault_set(f, "out of memory for a checkpoint");
	memcpy(h.magic, magic, sizeof(magic));
	if ((size_t)snprintf(tmp, sizeof(tmp), "%s.%ld.tmp", path, (long)getpid()) >= sizeof(tmp)) {
		free(buf);
		return fault_set(f, "%s: the name is too long", path);
	}
	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	w.file = fd < 0 ? NULL : fdopen(fd, "wb");
	if (!w.file) {
		free(buf);
		return fault_set(f, "%s: %s", tmp, strerror(errno));
	}
	put(&w, &h, sizeof(h));
	for (int i = 0; i < ps->n; i++)
		put_param(&w, ps, ps->p[i], buf);
	free(buf);
	w.failed |= fwrite(&w.hash, sizeof(w.hash), 1, w.file) != 1;
	w.failed |= fflush(w.file) || fsync(fd);
	w.failed |= fclose(w.file) != 0;
	if (!w.failed && !rename(tmp, path))
		return 0;
	fault_set(f, "%s: cannot be written: %s", path, strerror(errno));
	unlink(tmp);
	return -1;
}

static int read_all(const char *path, char **mem, size_t *len, struct fault *f)
{
	FILE *file = fopen(path, "rb");
	long size = -1;
	int rc = -1;

	if (!file)
		return fault_set(f, "%s: %s", path, strerror(errno));
	if (!fseek(file, 0, SEEK_END) && (size = ftell(file)) >= 0 && !fseek(file, 0, SEEK_SET))
		*mem = malloc((size_t)size + 1);
	if (*mem && fread(*mem, 1, (size_t)size, file) == (size_t)size)
		rc = 0;
	else
		fault_set(f, "%s: cannot be read", path);
	*len = (size_t)size;
	fclose(file);
	return rc;
}

/* Entry i from *at on; −1 if it does not fit into the rest. */
static int parse_entry(struct checkpoint_entry *e, char **at, const char *end)
{
	struct entry_head h;
	int64_t count = 1;

	if ((size_t)(end - *at) < sizeof(h))
		return -1;
	memcpy(&h, *at, sizeof(h));
	*at += sizeof(h);
	if (h.n_dims < 0 || h.n_dims > TENSOR_DIMS || h.n_state < 0 || h.n_state > 2 ||
		!memchr(h.name, '\0', sizeof(h.name)))
		return -1;
	for (int d = 0; d < h.n_dims; d++)
		if (h.dim[d] < 0 || __builtin_mul_overflow(count, h.dim[d], &count))
			return -1;
	if (count != h.count || count > (end - *at) / (int64_t)sizeof(float) / (1 + h.n_state))
		return -1;
	memcpy(e->name, h.name, sizeof(e->name));
	memcpy(e->dim, h.dim, sizeof(e->dim));
	e->n_dims = h.n_dims;
	e->count = h.count;
	e->n_state = h.n_state;
	for (int k = 0; k <= h.n_state; k++) {
		e->data[k] = (float *)(void *)*at;
		*at += (size_t)h.count * sizeof(float);
	}
	return 0;
}

int checkpoint_read(const char *path, struct checkpoint *c, struct fault *f)
{
	char *mem = NULL, *at, *end;
	size_t len = 0;
	uint64_t hash;
	struct head h;

	*c = (struct checkpoint){0};
	if (read_all(path, &mem, &len, f))
		goto fail;
	c->mem = mem;
	if (len < sizeof(h) + sizeof(hash) || memcmp(mem, magic, sizeof(magic)) != 0) {
		fault_set(f, "%s: not a checkpoint of wl-train", path);
		goto fail;
	}
	memcpy(&h, mem, sizeof(h));
	end = mem + len - sizeof(hash);
	at = mem + sizeof(h);
	c->meta = h.meta;
	if (h.n >= 0 && h.n < 100000)
		c->e = calloc((size_t)h.n + 1, sizeof(*c->e));
	hash = hash_words(0, &h, sizeof(h));
	for (c->n = 0; c->e && c->n < h.n; c->n++) {
		struct checkpoint_entry *e = &c->e[c->n];
		const char *from = at;

		if (parse_entry(e, &at, end))
			break;
		hash = hash_words(hash, from, sizeof(struct entry_head));
		for (int k = 0; k <= e->n_state; k++)
			hash = hash_words(hash, e->data[k], (size_t)e->count * sizeof(float));
	}
	if (!c->e || c->n != h.n || at != end || memcmp(end, &hash, sizeof(hash)) != 0) {
		fault_set(f, "%s: the checkpoint is truncated or damaged", path);
		goto fail;
	}
	return 0;
fail:
	c->mem = mem;
	checkpoint_release(c);
	return -1;
}

int checkpoint_apply(const struct checkpoint *c, struct params *ps, struct fault *f)
{
	for (int i = 0; i < ps->n; i++) {
		struct param *p = ps->p[i];
		const struct checkpoint_entry *e = NULL;

		for (int64_t k = 0; k < c->n; k++)
			if (!strcmp(c->e[k].name, p->name))
				e = &c->e[k];
		if (!e)
			return fault_set(f, "the checkpoint has no parameter %s", p->name);
		if (e->n_dims != p->w.n_dims ||
			memcmp(e->dim, p->w.dim, (size_t)e->n_dims * sizeof(e->dim[0])) != 0)
			return fault_set(
				f, "parameter %s has another shape in the checkpoint", p->name);
		param_pack(ps, p, tf(&p->w), e->data[0]);
		for (int k = 0; k < 2 && p->m[k]; k++) {
			if (k >= e->n_state)
				return fault_set(f, "the checkpoint is of another optimizer");
			param_pack(ps, p, p->m[k], e->data[1 + k]);
		}
	}
	return 0;
}

void checkpoint_release(struct checkpoint *c)
{
	free(c->e);
	free(c->mem);
	*c = (struct checkpoint){0};
}
