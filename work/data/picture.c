/* picture.c: from a picture to the pixels a network sees. */
#include <math.h>
#include <stdlib.h>
#include "data/picture.h"

void picture_release(struct picture *p)
{
	free(p->rgb);
	*p = (struct picture){0};
}

struct window picture_window(int height, int width, double part, bool train, uint64_t draw)
{
	double side = part * (height < width ? height : width);
	double u = (double)(draw & 0xffffff) * 0x1p-24,
	       v = (double)(draw >> 24 & 0xffffff) * 0x1p-24;

	return (struct window){
		.y = (height - side) * (train ? u : 0.5),
		.x = (width - side) * (train ? v : 0.5),
		.side = side,
		.flip = train && draw >> 63,
	};
}

/* Weights of source pixels for each of n output pixels along one axis. */
struct taps {
	int n, width; /* width: weights an output pixel has */
	int *from; /* first source pixel of each */
	float *w; /* (n, width) */
};

static void release_taps(struct taps *t)
{
	free(t->from);
	free(t->w);
}

/* A triangle of the width of an output pixel, or of a source pixel if that is larger. */
static int make_taps(struct taps *t, double at, double side, int size, int n)
{
	double scale = side / n, reach = scale > 1 ? scale : 1;

	t->n = n;
	t->width = 2 * (int)ceil(reach) + 1;
	t->from = malloc((size_t)n * sizeof(*t->from));
	t->w = calloc((size_t)n * (size_t)t->width, sizeof(*t->w));
	if (!t->from || !t->w)
		return -1;
	for (int i = 0; i < n; i++) {
		double centre = at + (i + 0.5) * scale - 0.5, sum = 0;
		float *w = t->w + (size_t)i * (size_t)t->width;
		int first = (int)ceil(centre - reach);

		first = first < 0 ? 0 : first > size - 1 ? size - 1 : first;
		t->from[i] = first;
		for (int k = 0; k < t->width && first + k < size; k++) {
			double d = 1 - fabs(first + k - centre) / reach;

			w[k] = d > 0 ? (float)d : 0;
			sum += w[k];
		}
		if (sum <= 0) { /* beyond the border by rounding: the pixel at it */
			w[0] = 1;
			sum = 1;
		}
		for (int k = 0; k < t->width; k++)
			w[k] = (float)(w[k] / sum);
	}
	return 0;
}

/* A row of the source (width, n) resized along x → to (out, n) */
static void resize_row(const struct taps *tx, int width, int n, const float *row, float *to)
{
	for (int i = 0; i < tx->n; i++) {
		const float *w = tx->w + (size_t)i * (size_t)tx->width;

		for (int c = 0; c < n; c++)
			to[n * i + c] = 0;
		for (int k = 0; k < tx->width && tx->from[i] + k < width; k++)
			for (int c = 0; c < n; c++)
				to[n * i + c] += w[k] * row[(tx->from[i] + k) * n + c];
	}
}

/* rows (·, out, n), the first of which is source row `first` → planes (n, out, out) */
static void resize_columns(const struct taps *ty, const float *rows, int first, int last, int n,
	bool flip, const float *mean, const float *dev, float *planes)
{
	size_t out = (size_t)ty->n, stride = out * (size_t)n;

	for (size_t i = 0; i < out; i++) {
		const float *w = ty->w + i * (size_t)ty->width;
		const float *from = rows + (size_t)(ty->from[i] - first) * stride;

		for (size_t j = 0; j < stride; j++) {
			size_t x = j / (size_t)n, c = j % (size_t)n;
			float sum = 0;

			for (int k = 0; k < ty->width && ty->from[i] + k < last; k++)
				sum += w[k] * from[(size_t)k * stride + j];
			x = flip ? out - 1 - x : x;
			planes[(c * out + i) * out + x] = (sum - mean[c]) / dev[c];
		}
	}
}

int window_resize(const struct rows *r, const struct window *w, int out, const float *mean,
	const float *dev, float *planes)
{
	struct taps ty = {0}, tx = {0};
	size_t stride = (size_t)out * (size_t)r->channels;
	float *rows = NULL, *row = NULL;
	int first, last, rc = -1;

	if (make_taps(&ty, w->y, w->side, r->height, out) ||
		make_taps(&tx, w->x, w->side, r->width, out))
		goto done;
	first = ty.from[0];
	last = ty.from[out - 1] + ty.width;
	last = last < r->height ? last : r->height;
	rows = malloc((size_t)(last - first) * stride * sizeof(*rows));
	row = malloc((size_t)r->width * (size_t)r->channels * sizeof(*row));
	if (!rows || !row)
		goto done;
	for (int y = first; y < last; y++) {
		r->get(r->arg, y, row);
		resize_row(&tx, r->width, r->channels, row, rows + (size_t)(y - first) * stride);
	}
	resize_columns(&ty, rows, first, last, r->channels, w->flip, mean, dev, planes);
	rc = 0;
done:
	release_taps(&ty);
	release_taps(&tx);
	free(rows);
	free(row);
	return rc;
}

static void picture_row(const void *arg, int y, float *row)
{
	const struct picture *p = arg;
	size_t n = 3 * (size_t)p->width;
	const uint8_t *s = p->rgb + (size_t)y * n;

	for (size_t i = 0; i < n; i++)
		row[i] = s[i];
}

int picture_resize(const struct picture *p, const struct window *w, int out, const float mean[3],
	const float dev[3], float *planes)
{
	struct rows r = {picture_row, p, p->height, p->width, 3};

	return window_resize(&r, w, out, mean, dev, planes);
}
