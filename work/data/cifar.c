/* cifar.c: CIFAR-10 and -100 in their binary form.
 *
 * A record is the label (CIFAR-100: coarse label, then fine label) and 3 × 32 × 32 bytes, planes
 * red, green, blue. `path` is one .bin file or a folder with data_batch_*.bin / test_batch.bin or
 * train.bin / test.bin. Training images are flipped and shifted by up to 4 pixels, as is usual.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "data/data.h"
#include "ops/rng.h"

#define SIDE   32
#define PLANE  (SIDE * SIDE)
#define PIXELS (3 * PLANE)

struct cifar {
	uint8_t *train, *test;
	int label_bytes; /* 1: CIFAR-10, 2: CIFAR-100 */
};

static int record_size(const struct cifar *c)
{
	return PIXELS + c->label_bytes;
}

/* Appends a file of whole records to *v. */
static int append(struct data *d, const char *path, uint8_t **v, int64_t *n, struct fault *f)
{
	struct cifar *c = d->state;
	int size = record_size(c), classes = c->label_bytes == 1 ? 10 : 100;
	FILE *file = fopen(path, "rb");
	uint8_t *w;
	long len;
	int rc = -1;

	if (!file)
		return fault_set(f, "%s: %s", path, strerror(errno));
	if (fseek(file, 0, SEEK_END) || (len = ftell(file)) < 0 || fseek(file, 0, SEEK_SET)) {
		fault_set(f, "%s: %s", path, strerror(errno));
		goto out;
	}
	if (len == 0 || len % size) {
		fault_set(f,
			"%s: %ld bytes is not a whole number of records of %d bytes: truncated, or "
			"not CIFAR-%d",
			path, len, size, classes);
		goto out;
	}
	w = realloc(*v, (size_t)(*n * size) + (size_t)len);
	if (!w) {
		fault_set(f, "%s: out of memory", path);
		goto out;
	}
	*v = w;
	if (fread(w + *n * size, 1, (size_t)len, file) != (size_t)len) {
		fault_set(f, "%s: cannot be read", path);
		goto out;
	}
	for (int64_t i = 0; i < len / size; i++) {
		int label = w[(*n + i) * size + c->label_bytes - 1];

		if (label < classes)
			continue;
		fault_set(f, "%s: record %lld has label %d, expected 0 to %d", path, (long long)i,
			label, classes - 1);
		goto out;
	}
	*n += len / size;
	rc = 0;
out:
	fclose(file);
	return rc;
}

static bool exists(const char *dir, const char *name, char *path, size_t len)
{
	struct stat st;

	snprintf(path, len, "%s/%s", dir, name);
	return !stat(path, &st);
}

static int open_folder(struct data *d, struct fault *f)
{
	struct cifar *c = d->state;
	struct data_info *in = &d->info;
	const char *dir = d->spec.path;
	char path[4096], name[32];

	if (exists(dir, "train.bin", path, sizeof(path))) {
		c->label_bytes = 2;
		if (append(d, path, &c->train, &in->n_train, f))
			return -1;
		return exists(dir, "test.bin", path, sizeof(path))
			       ? append(d, path, &c->test, &in->n_eval, f)
			       : 0;
	}
	for (int i = 1; i <= 5; i++) {
		snprintf(name, sizeof(name), "data_batch_%d.bin", i);
		if (exists(dir, name, path, sizeof(path)) &&
			append(d, path, &c->train, &in->n_train, f))
			return -1;
	}
	if (!in->n_train)
		return fault_set(f,
			"%s: expected data_batch_1.bin (CIFAR-10) or train.bin (CIFAR-100) in this "
			"folder",
			dir);
	return exists(dir, "test_batch.bin", path, sizeof(path))
		       ? append(d, path, &c->test, &in->n_eval, f)
		       : 0;
}

static int fill(struct data *d, const int64_t *index, int64_t n, uint64_t epoch, bool eval,
	struct batch *b, struct fault *f)
{
	/* the usual per-channel mean and deviation of CIFAR-10, in pixel values */
	static const float mean[3] = {125.3f, 123.0f, 113.9f}, dev[3] = {63.0f, 62.1f, 66.7f};
	struct cifar *c = d->state;
	float *image = batch_array(b, "image", DT_F32, 4, (const int64_t[]){n, 3, SIDE, SIDE});
	int32_t *label = batch_array(b, "label", DT_I32, 1, &n);

	if (!image || !label)
		return fault_set(f, "out of memory for a batch of %lld images", (long long)n);
	for (int64_t i = 0; i < n; i++) {
		const uint8_t *r =
			(eval && c->test ? c->test : c->train) + index[i] * record_size(c);
		const uint8_t *p = r + c->label_bytes;
		uint64_t key = rng_u64(d->spec.seed, epoch, (uint64_t)index[i]);
		int dy = eval ? 0 : (int)(key % 9) - 4, dx = eval ? 0 : (int)(key / 9 % 9) - 4;
		bool flip = !eval && (key >> 40 & 1);

		label[i] = r[c->label_bytes - 1];
		for (int ch = 0; ch < 3; ch++)
			for (int y = 0; y < SIDE; y++)
				for (int x = 0; x < SIDE; x++) {
					int sy = y + dy, sx = (flip ? SIDE - 1 - x : x) + dx;
					bool in = sy >= 0 && sy < SIDE && sx >= 0 && sx < SIDE;
					float v = in ? p[ch * PLANE + sy * SIDE + sx] : mean[ch];

					image[i * PIXELS + ch * PLANE + y * SIDE + x] =
						(v - mean[ch]) / dev[ch];
				}
	}
	return 0;
}

static void close_cifar(struct data *d)
{
	struct cifar *c = d->state;

	free(c->train);
	free(c->test);
	free(c);
}

static const struct data_ops ops = {"CIFAR", fill, close_cifar};

int data_open_cifar(struct data *d, struct fault *f)
{
	struct cifar *c = calloc(1, sizeof(*c));
	struct stat st;
	int rc;

	if (!c)
		return fault_set(f, "out of memory");
	d->state = c;
	d->ops = &ops;
	d->info = (struct data_info){.channels = 3, .height = SIDE, .width = SIDE};
	c->label_bytes = 1;
	if (stat(d->spec.path, &st)) {
		rc = fault_set(f, "%s: %s", d->spec.path, strerror(errno));
	} else if (S_ISDIR(st.st_mode)) {
		rc = open_folder(d, f);
	} else {
		if (st.st_size % (PIXELS + 1) && st.st_size % (PIXELS + 2) == 0)
			c->label_bytes = 2;
		rc = append(d, d->spec.path, &c->train, &d->info.n_train, f);
	}
	d->info.classes = c->label_bytes == 1 ? 10 : 100;
	if (!d->info.n_eval) /* no test set: evaluate on the training set, unshifted */
		d->info.n_eval = d->info.n_train;
	if (rc) {
		close_cifar(d);
		d->ops = NULL;
	}
	return rc;
}
