/* pairs.c: images and their masks as .npy arrays, for segmentation.
 *
 *   IMAGES.npy,MASKS.npy                    two stacks (N,H,W), (N,H,W,C) or (N,C,H,W); (N,H,W)
 *   PATH/images.npy PATH/masks.npy          the same in a folder
 *   PATH/images/1.npy PATH/masks/1.npy …    one file a sample, of like names, without the N
 *
 * The axis shorter than 16 is the channels. Values are standardised by channel over the first 64
 * images. A mask holds classes from 0; −1, and 255 beside other numbers, mean "not labelled". The
 * shorter side is resized to the network's, the longer one cropped: in training anywhere, and
 * flipped at random. Every tenth pair is held out. Stacks are kept in memory, single files are
 * read when a batch is filled.
 */
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "data/data.h"
#include "data/file.h"
#include "data/npy.h"
#include "data/picture.h"
#include "ops/ops.h"
#include "ops/rng.h"

#define CHANNELS   15
#define SURVEY     64
#define UNLABELLED 255

struct file {
	char *bytes; /* owned */
	struct npy a;
};

struct pairs {
	char *image, *mask; /* paths: files, or folders */
	struct file images, masks; /* stacks; bytes NULL: one file a sample */
	struct dirent **name;
	int n_names;
	int64_t n;
	float mean[CHANNELS], dev[CHANNELS];
};

/* One image or mask inside an array. */
struct view {
	const struct npy *a;
	int64_t base, sy, sx, sc;
	int h, w, c;
};

/* One pair, open. */
struct sample {
	struct file f[2]; /* when read for this sample */
	struct view image, mask;
	char name[2][512]; /* for messages */
};

static int file_open(struct file *file, const char *path, struct fault *f)
{
	size_t len;

	if (file_read(path, &file->bytes, &len, f))
		return -1;
	if (!npy_parse(path, (const uint8_t *)file->bytes, len, &file->a, f))
		return 0;
	free(file->bytes);
	file->bytes = NULL;
	return -1;
}

static int view_of(const char *name, const struct npy *a, int first, int64_t index, bool mask,
	struct view *v, struct fault *f)
{
	const int64_t *dim = a->dim + first, *stride = a->stride + first;
	int n = a->n_dims - first, y = 0, c = -1;

	*v = (struct view){.a = a, .base = first ? index * a->stride[0] : 0, .c = 1};
	if (n == 3)
		c = dim[2] <= CHANNELS ? 2 : dim[0] <= CHANNELS ? 0 : -1;
	if (n != 2 && c < 0)
		return fault_set(f, "%s: expected %s%s, the axis of channels shorter than %d", name,
			first ? "N, " : "", "H, W or with channels first or last", CHANNELS + 1);
	if (c >= 0) {
		v->c = (int)dim[c];
		v->sc = stride[c];
		y = c == 0;
	}
	if (dim[y] > PICTURE_SIDE || dim[y + 1] > PICTURE_SIDE)
		return fault_set(f, "%s: %lldx%lld pixels; at most %d a side", name,
			(long long)dim[y + 1], (long long)dim[y], PICTURE_SIDE);
	if (mask && v->c != 1)
		return fault_set(f, "%s: a mask has one number a pixel, not %d", name, v->c);
	v->h = (int)dim[y];
	v->w = (int)dim[y + 1];
	v->sy = stride[y];
	v->sx = stride[y + 1];
	return 0;
}

static void sample_close(struct sample *s)
{
	free(s->f[0].bytes);
	free(s->f[1].bytes);
}

/* Opens pair i; mask_only: its image is left. */
static int sample_open(
	const struct pairs *p, int64_t i, bool mask_only, struct sample *s, struct fault *f)
{
	bool stack = p->images.bytes;
	int first = stack ? 1 : 0;

	memset(s->f, 0, sizeof(s->f));
	snprintf(s->name[0], sizeof(s->name[0]), "%s", p->image);
	snprintf(s->name[1], sizeof(s->name[1]), "%s", p->mask);
	if (!stack) {
		snprintf(s->name[0], sizeof(s->name[0]), "%s/%s", p->image, p->name[i]->d_name);
		snprintf(s->name[1], sizeof(s->name[1]), "%s/%s", p->mask, p->name[i]->d_name);
		if (file_open(&s->f[1], s->name[1], f) ||
			(!mask_only && file_open(&s->f[0], s->name[0], f)))
			goto fail;
	}
	if (view_of(s->name[1], stack ? &p->masks.a : &s->f[1].a, first, i, true, &s->mask, f))
		goto fail;
	if (mask_only)
		return 0;
	if (view_of(s->name[0], stack ? &p->images.a : &s->f[0].a, first, i, false, &s->image, f))
		goto fail;
	if (s->image.h == s->mask.h && s->image.w == s->mask.w)
		return 0;
	fault_set(f, "%s: %dx%d pixels, but its image has %dx%d", s->name[1], s->mask.w, s->mask.h,
		s->image.w, s->image.h);
fail:
	sample_close(s);
	return -1;
}

static double value(const struct view *v, int y, int x, int c)
{
	return npy_value(v->a, v->base + y * v->sy + x * v->sx + c * v->sc);
}

/* Largest class of a mask into *most; odd: a number that is neither 0 nor 255 was seen. */
static int check_mask(const struct sample *s, int64_t i, int *most, bool *odd, struct fault *f)
{
	const struct view *v = &s->mask;

	for (int y = 0; y < v->h; y++)
		for (int x = 0; x < v->w; x++) {
			double k = value(v, y, x, 0);

			if (k == UNLABELLED || k == -1)
				continue;
			if (!(k >= 0 && k < STAT_CLASSES) || k != floor(k))
				return fault_set(f,
					"%s: pair %lld, row %d, column %d: label %g, expected 0 to "
					"%d, or -1 or 255 for none",
					s->name[1], (long long)i, y, x, k, STAT_CLASSES - 1);
			*most = k > *most ? (int)k : *most;
			*odd |= k != 0;
		}
	return 0;
}

static int count_classes(struct pairs *p, struct data_info *in, struct fault *f)
{
	int most = 0;
	bool odd = false;

	for (int64_t i = 0; i < p->n; i++) {
		struct sample s;
		int rc;

		if (sample_open(p, i, true, &s, f))
			return -1;
		rc = check_mask(&s, i, &most, &odd, f);
		sample_close(&s);
		if (rc)
			return -1;
	}
	if (!odd)
		return fault_set(f,
			"%s: all labels are 0%s; expected at least two classes, numbered from 0",
			p->mask, " or 255");
	in->classes = most + 1;
	return 0;
}

/* Mean and deviation of each channel over the first images; checks that values are numbers. */
static int survey(struct pairs *p, struct data_info *in, struct fault *f)
{
	double sum[CHANNELS] = {0}, sq[CHANNELS] = {0}, count = 0;

	for (int64_t i = 0; i < p->n && i < SURVEY; i++) {
		struct sample s;
		bool good = true;

		if (sample_open(p, i, false, &s, f))
			return -1;
		if (!in->channels)
			in->channels = s.image.c;
		for (int y = 0; s.image.c == in->channels && y < s.image.h; y++)
			for (int x = 0; x < s.image.w; x++)
				for (int c = 0; c < s.image.c; c++) {
					double v = value(&s.image, y, x, c);

					good &= isfinite(v);
					sum[c] += v;
					sq[c] += v * v;
				}
		count += (double)s.image.h * s.image.w;
		if (s.image.c != in->channels)
			fault_set(f, "%s: %d channels, the first image has %d", s.name[0],
				s.image.c, in->channels);
		else if (!good)
			fault_set(f,
				"%s: image %lld has values that are not numbers (NaN or infinite)",
				s.name[0], (long long)i);
		sample_close(&s);
		if (f->set)
			return -1;
	}
	for (int c = 0; c < in->channels; c++) {
		double mean = sum[c] / count, var = sq[c] / count - mean * mean;

		p->mean[c] = (float)mean;
		p->dev[c] = var > 1e-12 * (1 + mean * mean) ? (float)sqrt(var) : 1;
	}
	return 0;
}

static void image_row(const void *arg, int y, float *row)
{
	const struct view *v = arg;

	for (int x = 0; x < v->w; x++)
		for (int c = 0; c < v->c; c++)
			*row++ = (float)value(v, y, x, c);
}

static int at_most(double v, int size)
{
	return v < 0 ? 0 : v > size - 1 ? size - 1 : (int)v;
}

/* Nearest labels of the window. */
static int mask_out(
	const struct sample *s, const struct window *w, int side, int classes, int32_t *to)
{
	for (int i = 0; i < side; i++)
		for (int j = 0; j < side; j++) {
			int x = w->flip ? side - 1 - j : j;
			double k = value(&s->mask,
				at_most(w->y + (i + 0.5) * w->side / side, s->mask.h),
				at_most(w->x + (x + 0.5) * w->side / side, s->mask.w), 0);
			bool none = k == UNLABELLED || k == -1;

			if (!none && !(k >= 0 && k < classes))
				return -1;
			to[i * side + j] = none ? -1 : (int32_t)k;
		}
	return 0;
}

static int fill_one(struct data *d, int64_t i, bool eval, uint64_t draw, float *image,
	int32_t *label, struct fault *f)
{
	const struct pairs *p = d->state;
	int side = d->info.height, rc = -1;
	struct sample s;
	struct window w;

	if (sample_open(p, i, false, &s, f))
		return -1;
	w = picture_window(s.image.h, s.image.w, 1, !eval, draw);
	if (s.image.c != d->info.channels)
		fault_set(f, "%s: %d channels, the first image has %d", s.name[0], s.image.c,
			d->info.channels);
	else if (mask_out(&s, &w, side, d->info.classes, label))
		fault_set(f, "%s: a label beyond the %d classes seen at the start", s.name[1],
			d->info.classes);
	else if (window_resize(&(struct rows){image_row, &s.image, s.image.h, s.image.w, s.image.c},
			 &w, side, p->mean, p->dev, image))
		fault_set(f, "%s: out of memory", s.name[0]);
	else
		rc = 0;
	sample_close(&s);
	return rc;
}

static int fill(struct data *d, const int64_t *index, int64_t n, uint64_t epoch, bool eval,
	struct batch *b, struct fault *f)
{
	const struct data_info *in = &d->info;
	int64_t side = in->height, size = in->channels * side * side;
	int32_t *label;
	float *image;

	if (batch_images(b, d, n, &image, &label, f))
		return -1;
	for (int64_t i = 0; i < n; i++) {
		uint64_t draw = rng_u64(d->spec.seed, epoch, (uint64_t)index[i]);
		float *to = image + i * size;

		if (fill_one(d, data_split(index[i], eval), eval, draw, to, label + i * side * side,
			    f))
			return -1;
		for (int64_t k = 0; k < size; k++)
			if (!isfinite(to[k]))
				return fault_set(f,
					"%s: pair %lld has values that are not numbers (NaN or "
					"infinite)",
					d->spec.path, (long long)data_split(index[i], eval));
	}
	return 0;
}

static void close_pairs(struct data *d)
{
	struct pairs *p = d->state;

	free(p->image);
	free(p->mask);
	free(p->images.bytes);
	free(p->masks.bytes);
	for (int i = 0; i < p->n_names; i++)
		free(p->name[i]);
	free(p->name);
	free(p);
}

static const struct data_ops ops = {"pairs of image and mask", fill, close_pairs};

static bool is_there(const char *path, bool folder)
{
	struct stat st;

	return path && !stat(path, &st) && !!S_ISDIR(st.st_mode) == folder;
}

static int is_npy(const struct dirent *e)
{
	return e->d_name[0] != '.' && file_suffix(e->d_name, ".npy");
}

/* Sets both paths: "A,B", or the two in a folder. */
static int find_paths(struct pairs *p, const char *path, struct fault *f)
{
	const char *comma = strchr(path, ',');
	bool stacks;

	if (comma) {
		p->image = strndup(path, (size_t)(comma - path));
		p->mask = strdup(comma + 1);
		return p->image && p->mask ? 0 : fault_set(f, "out of memory");
	}
	for (stacks = true;; stacks = false) {
		const char *end = stacks ? ".npy" : "";

		free(p->image);
		free(p->mask);
		p->image = p->mask = NULL;
		if (asprintf(&p->image, "%s/images%s", path, end) < 0 ||
			asprintf(&p->mask, "%s/masks%s", path, end) < 0)
			return fault_set(f, "out of memory");
		if (is_there(p->image, !stacks) && is_there(p->mask, !stacks))
			return 0;
		if (!stacks)
			break;
	}
	return fault_set(f, "%s: expected %s", path, data_formats(DATA_SEGMENT));
}

static int open_stacks(struct pairs *p, struct fault *f)
{
	if (file_open(&p->images, p->image, f) || file_open(&p->masks, p->mask, f))
		return -1;
	p->n = p->images.a.dim[0];
	if (p->n != p->masks.a.dim[0])
		return fault_set(f, "%s: %lld masks for the %lld images of %s", p->mask,
			(long long)p->masks.a.dim[0], (long long)p->n, p->image);
	return 0;
}

static int open_folders(struct pairs *p, struct fault *f)
{
	p->n_names = scandir(p->image, &p->name, is_npy, alphasort);
	if (p->n_names < 0) {
		p->n_names = 0;
		return fault_set(f, "%s: %s", p->image, strerror(errno));
	}
	p->n = p->n_names;
	return 0;
}

int data_open_pairs(struct data *d, struct fault *f)
{
	struct pairs *p = calloc(1, sizeof(*p));

	if (!p)
		return fault_set(f, "out of memory");
	d->state = p;
	d->info = (struct data_info){.height = d->spec.height, .width = d->spec.width};
	if (find_paths(p, d->spec.path, f) ||
		(is_there(p->image, true) ? open_folders(p, f) : open_stacks(p, f)))
		goto fail;
	if (p->n < 2) {
		fault_set(f, "%s: %lld images; expected at least 2", p->image, (long long)p->n);
		goto fail;
	}
	if (survey(p, &d->info, f) || count_classes(p, &d->info, f))
		goto fail;
	data_split_counts(p->n, &d->info);
	d->ops = &ops;
	return 0;
fail:
	close_pairs(d);
	return -1;
}
