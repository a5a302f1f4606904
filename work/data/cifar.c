/* cifar.c: CIFAR-10 and -100 in their binary form.
 *
 * A record is the label (CIFAR-100: coarse label, then fine label) and 3 × 32 × 32 bytes, planes
 * red, green, blue. `path` is one .bin file or a folder with data_batch_*.bin / test_batch.bin or
 * train.bin / test.bin; without a test file every tenth record is held out. Training images are
 * flipped and shifted by up to 4 pixels, as is usual. A network that wants another side than 32
 * gets them resized.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "data/data.h"
#include "data/file.h"
#include "data/picture.h"
#include "ops/rng.h"

#define SIDE   32
#define PLANE  (SIDE * SIDE)
#define PIXELS (3 * PLANE)

/* the usual per-channel mean and deviation of CIFAR-10, in pixel values */
static const float mean[3] = {125.3f, 123.0f, 113.9f}, dev[3] = {63.0f, 62.1f, 66.7f};

struct cifar {
	uint8_t *train, *test;
	int label_bytes; /* 1: CIFAR-10, 2: CIFAR-100 */
	bool coarse; /* CIFAR-100: 20 classes instead of 100 */
};

static int record_size(const struct cifar *c)
{
	return PIXELS + c->label_bytes;
}

int cifar_check(
	const char *name, const uint8_t *bytes, size_t len, int label_bytes, struct fault *f)
{
	size_t size = PIXELS + (size_t)label_bytes;

	if (len == 0 || len % size)
		return fault_set(f,
			"%s: %zu bytes is not a whole number of records of %zu bytes: truncated, "
			"or not CIFAR-%d",
			name, len, size, label_bytes == 1 ? 10 : 100);
	for (size_t i = 0; i < len / size; i++)
		for (int k = 0; k < label_bytes; k++) {
			int classes = label_bytes == 1 ? 10 : k == 0 ? 20 : 100;
			int label = bytes[i * size + (size_t)k];

			if (label >= classes)
				return fault_set(f,
					"%s: record %zu has %slabel %d, expected 0 to %d", name, i,
					label_bytes == 1 ? ""
					: k == 0         ? "coarse "
							 : "fine ",
					label, classes - 1);
		}
	return 0;
}

/* Appends a file of whole records to *v. */
static int append(struct data *d, const char *path, uint8_t **v, int64_t *n, struct fault *f)
{
	struct cifar *c = d->state;
	size_t size = (size_t)record_size(c), have = (size_t)*n * size, len;
	char *bytes;
	uint8_t *w;
	int rc;

	if (file_read(path, &bytes, &len, f))
		return -1;
	rc = cifar_check(path, (const uint8_t *)bytes, len, c->label_bytes, f);
	w = rc ? NULL : realloc(*v, have + len);
	if (w) {
		memcpy(w + have, bytes, len);
		*v = w;
		*n += (int64_t)(len / size);
	} else if (!rc) {
		rc = fault_set(f, "%s: out of memory", path);
	}
	free(bytes);
	return rc;
}

static bool exists(const char *dir, const char *name, char *path, size_t len)
{
	struct stat st;

	return (size_t)snprintf(path, len, "%s/%s", dir, name) < len && !stat(path, &st);
}

bool cifar_folder(const char *dir)
{
	char path[4096], name[32];

	for (int i = 1; i <= 5; i++) {
		snprintf(name, sizeof(name), "data_batch_%d.bin", i);
		if (exists(dir, name, path, sizeof(path)))
			return true;
	}
	return exists(dir, "train.bin", path, sizeof(path));
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
	return exists(dir, "test_batch.bin", path, sizeof(path))
		       ? append(d, path, &c->test, &in->n_eval, f)
		       : 0;
}

/* The pixel (y, x) of plane p, or the mean beyond the border. */
static float pixel(const uint8_t *p, int ch, int y, int x)
{
	bool in = y >= 0 && y < SIDE && x >= 0 && x < SIDE;

	return in ? p[ch * PLANE + y * SIDE + x] : mean[ch];
}

static int fill_one(const uint8_t *p, int dy, int dx, bool flip, int side, float *to)
{
	uint8_t rgb[PIXELS];
	struct picture pic = {SIDE, SIDE, rgb};
	struct window whole = {.side = SIDE};

	for (int ch = 0; ch < 3; ch++)
		for (int y = 0; y < SIDE; y++)
			for (int x = 0; x < SIDE; x++) {
				float v = pixel(p, ch, y + dy, (flip ? SIDE - 1 - x : x) + dx);

				if (side == SIDE)
					to[ch * PLANE + y * SIDE + x] = (v - mean[ch]) / dev[ch];
				else
					rgb[(y * SIDE + x) * 3 + ch] = (uint8_t)(v + 0.5f);
			}
	return side == SIDE ? 0 : picture_resize(&pic, &whole, side, mean, dev, to);
}

static int fill(struct data *d, const int64_t *index, int64_t n, uint64_t epoch, bool eval,
	struct batch *b, struct fault *f)
{
	struct cifar *c = d->state;
	int side = d->info.height;
	int32_t *label;
	float *image;

	if (batch_images(b, d, n, &image, &label, f))
		return -1;
	for (int64_t i = 0; i < n; i++) {
		const uint8_t *r = c->test ? (eval ? c->test : c->train) + index[i] * record_size(c)
					   : c->train + data_split(index[i], eval) * record_size(c);
		uint64_t key = rng_u64(d->spec.seed, epoch, (uint64_t)index[i]);
		int dy = eval ? 0 : (int)(key % 9) - 4, dx = eval ? 0 : (int)(key / 9 % 9) - 4;

		label[i] = r[c->coarse ? 0 : c->label_bytes - 1];
		if (fill_one(r + c->label_bytes, dy, dx, !eval && (key >> 40 & 1), side,
			    image + i * 3 * side * side))
			return fault_set(f, "out of memory for a batch of images");
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

static int read_cifar(struct data *d, struct fault *f)
{
	struct cifar *c = d->state;
	const char *target = d->spec.target;
	struct stat st;

	c->label_bytes = 1;
	if (stat(d->spec.path, &st))
		return fault_set(f, "%s: %s", d->spec.path, strerror(errno));
	if (S_ISDIR(st.st_mode)) {
		if (open_folder(d, f))
			return -1;
	} else {
		if (st.st_size % (PIXELS + 1) && st.st_size % (PIXELS + 2) == 0)
			c->label_bytes = 2;
		if (append(d, d->spec.path, &c->train, &d->info.n_train, f))
			return -1;
	}
	c->coarse = target && !strcmp(target, "coarse");
	if (target && (c->label_bytes == 1 || (!c->coarse && strcmp(target, "fine") != 0)))
		return fault_set(f, "--target %s: %s", target,
			c->label_bytes == 1 ? "CIFAR-10 has one kind of label"
					    : "CIFAR-100 has labels fine and coarse");
	d->info.classes = c->label_bytes == 1 ? 10 : c->coarse ? 20 : 100;
	if (!c->test)
		data_split_counts(d->info.n_train, &d->info);
	return 0;
}

int data_open_cifar(struct data *d, struct fault *f)
{
	struct cifar *c = calloc(1, sizeof(*c));

	if (!c)
		return fault_set(f, "out of memory");
	d->state = c;
	d->info = (struct data_info){.channels = 3,
		.height = d->spec.height ? d->spec.height : SIDE,
		.width = d->spec.width ? d->spec.width : SIDE};
	if (read_cifar(d, f)) {
		close_cifar(d);
		return -1;
	}
	d->ops = &ops;
	return 0;
}
