/* folder.c: JPEG and PNG pictures in a folder, one folder inside it for each class.
 *
 *   PATH/cat/1.jpg PATH/cat/2.png PATH/dog/…          every tenth picture is held out
 *   PATH/train/cat/… PATH/val/cat/…                   or PATH/test: held out as given
 *
 * Classes are numbered in the order of their names. Only names are kept in memory; pictures are
 * read and decoded when a batch is filled, in the loader's thread. In training a square of 7/8 of
 * the shorter side is cut out anywhere and flipped at random, in evaluation the one in the middle.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "data/data.h"
#include "data/file.h"
#include "data/picture.h"
#include "ops/rng.h"

#define PART        0.875
#define MAX_CLASSES 10000

struct entry {
	char *path;
	int32_t label;
};
struct list {
	struct entry *e;
	int64_t n, cap;
};
struct folder {
	struct list train, held; /* held is empty when every tenth of train is */
	char **class;
	int n_classes;
};

static int is_visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static int is_picture(const struct dirent *e)
{
	return is_visible(e) &&
	       (file_suffix(e->d_name, ".jpg") || file_suffix(e->d_name, ".jpeg") ||
		       file_suffix(e->d_name, ".png"));
}

static char *join(const char *dir, const char *name)
{
	char *path = NULL;

	return asprintf(&path, "%s/%s", dir, name) < 0 ? NULL : path;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static void free_names(struct dirent **name, int n)
{
	for (int i = 0; i < n; i++)
		free(name[i]);
	free(name);
}

static int add(struct list *l, char *path, int32_t label)
{
	if (path && l->n == l->cap) {
		int64_t cap = l->cap ? 2 * l->cap : 256;
		struct entry *e = realloc(l->e, (size_t)cap * sizeof(*e));

		if (!e) {
			free(path);
			return -1;
		}
		l->e = e;
		l->cap = cap;
	}
	if (!path)
		return -1;
	l->e[l->n++] = (struct entry){path, label};
	return 0;
}

static int add_class(struct list *l, const char *dir, int32_t label, struct fault *f)
{
	struct dirent **name;
	int n = scandir(dir, &name, is_picture, alphasort), rc = 0;

	if (n < 0)
		return fault_set(f, "%s: %s", dir, strerror(errno));
	if (!n)
		rc = fault_set(f, "%s: no .jpg, .jpeg or .png in this class's folder", dir);
	for (int i = 0; !rc && i < n; i++)
		if (add(l, join(dir, name[i]->d_name), label))
			rc = fault_set(f, "%s: out of memory", dir);
	free_names(name, n);
	return rc;
}

/* The number of a class; new ones are added while `fresh`. −1: not one of them. */
static int class_of(struct folder *s, const char *name, bool fresh)
{
	char **more;

	for (int i = 0; i < s->n_classes; i++)
		if (!strcmp(s->class[i], name))
			return i;
	if (!fresh || s->n_classes == MAX_CLASSES)
		return -1;
	more = realloc(s->class, (size_t)(s->n_classes + 1) * sizeof(*more));
	if (!more)
		return -1;
	s->class = more;
	s->class[s->n_classes] = strdup(name);
	return s->class[s->n_classes] ? s->n_classes++ : -1;
}

static int add_classes(struct folder *s, struct list *l, const char *dir, struct fault *f)
{
	bool fresh = l == &s->train;
	struct dirent **name;
	int n = scandir(dir, &name, is_visible, alphasort), rc = 0;

	if (n < 0)
		return fault_set(f, "%s: %s", dir, strerror(errno));
	for (int i = 0; !rc && i < n; i++) {
		char *sub = join(dir, name[i]->d_name);
		int label;

		if (sub && is_folder(sub)) {
			label = class_of(s, name[i]->d_name, fresh);
			rc = label >= 0 ? add_class(l, sub, label, f)
			     : fresh    ? fault_set(f, "%s: more than %d classes", dir, MAX_CLASSES)
					: fault_set(
						  f, "%s: a class that the training part lacks", sub);
		}
		free(sub);
	}
	free_names(name, n);
	return rc;
}

static int read_folder(struct folder *s, const char *dir, struct fault *f)
{
	static const char *const held[] = {"val", "valid", "test"};
	char *train = join(dir, "train");
	int rc = -1;

	if (!train)
		return fault_set(f, "out of memory");
	if (!is_folder(train)) {
		rc = add_classes(s, &s->train, dir, f);
		goto out;
	}
	if (add_classes(s, &s->train, train, f))
		goto out;
	rc = 0;
	for (size_t i = 0; !rc && !s->held.n && i < sizeof(held) / sizeof(held[0]); i++) {
		char *path = join(dir, held[i]);

		if (path && is_folder(path))
			rc = add_classes(s, &s->held, path, f);
		free(path);
	}
out:
	free(train);
	if (!rc && s->n_classes < 2)
		return fault_set(f,
			"%s: expected a folder for each class with .jpg, .jpeg or .png in it, at "
			"least two, or data_batch_1.bin (CIFAR-10) or train.bin (CIFAR-100)",
			dir);
	return rc;
}

static int fill_one(struct data *d, const struct entry *e, bool train, uint64_t draw, float *to,
	struct fault *f)
{
	/* the usual mean and deviation of natural pictures, in pixel values */
	static const float mean[3] = {123.675f, 116.28f, 103.53f},
			   dev[3] = {58.395f, 57.12f, 57.375f};
	int side = d->info.height;
	struct picture p;
	struct window w;
	char *bytes;
	size_t len;
	int rc;

	if (file_read(e->path, &bytes, &len, f))
		return -1;
	rc = picture_decode(e->path, (const uint8_t *)bytes, len, (int)(side / PART) + 1, &p, f);
	free(bytes);
	if (rc)
		return -1;
	w = picture_window(p.height, p.width, PART, train, draw);
	if (picture_resize(&p, &w, side, mean, dev, to))
		rc = fault_set(f, "%s: out of memory", e->path);
	picture_release(&p);
	return rc;
}

static int fill(struct data *d, const int64_t *index, int64_t n, uint64_t epoch, bool eval,
	struct batch *b, struct fault *f)
{
	const struct folder *s = d->state;
	int64_t side = d->info.height;
	int32_t *label;
	float *image;

	if (batch_images(b, d, n, &image, &label, f))
		return -1;
	for (int64_t i = 0; i < n; i++) {
		const struct entry *e = s->held.n ? (eval ? s->held.e : s->train.e) + index[i]
						  : s->train.e + data_split(index[i], eval);

		label[i] = e->label;
		if (fill_one(d, e, !eval, rng_u64(d->spec.seed, epoch, (uint64_t)index[i]),
			    image + i * 3 * side * side, f))
			return -1;
	}
	return 0;
}

static void free_list(struct list *l)
{
	for (int64_t i = 0; i < l->n; i++)
		free(l->e[i].path);
	free(l->e);
}

static void close_folder(struct data *d)
{
	struct folder *s = d->state;

	free_list(&s->train);
	free_list(&s->held);
	for (int i = 0; i < s->n_classes; i++)
		free(s->class[i]);
	free(s->class);
	free(s);
}

static const struct data_ops ops = {"pictures", fill, close_folder};

int data_open_folder(struct data *d, struct fault *f)
{
	struct folder *s = calloc(1, sizeof(*s));

	if (!s)
		return fault_set(f, "out of memory");
	d->state = s;
	if (read_folder(s, d->spec.path, f)) {
		close_folder(d);
		return -1;
	}
	d->ops = &ops;
	d->info = (struct data_info){.channels = 3,
		.height = d->spec.height,
		.width = d->spec.width,
		.classes = s->n_classes,
		.n_train = s->train.n,
		.n_eval = s->held.n};
	if (!s->held.n)
		data_split_counts(s->train.n, &d->info);
	return 0;
}
