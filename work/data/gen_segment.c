/* gen_segment.c: generated images of shapes to segment.
 *
 * On a noisy ground lie three to six shapes; class 1 are discs, 2 are squares, 3 are bars (and so
 * on in turn), each class with colours of its own. The label of a pixel is the class of the shape
 * on top, 0 the ground.
 */
#include <math.h>
#include <stdlib.h>
#include "data/data.h"
#include "ops/rng.h"

struct shape {
	float y, x, size;
	int kind;
	float colour[8];
};

static float unit(uint64_t seed, uint64_t id, uint64_t i)
{
	return rng_uniform(seed ^ 0x5e6, id, i);
}

static int draw_shapes(const struct data *d, uint64_t id, struct shape *v)
{
	const struct data_info *in = &d->info;
	int n = 3 + (int)(4 * unit(d->spec.seed, id, 0));

	for (int i = 0; i < n; i++) {
		uint64_t k = 16 + 16 * (uint64_t)i;

		v[i].kind = 1 + (int)((float)(in->classes - 1) * unit(d->spec.seed, id, k));
		v[i].y = (float)in->height * unit(d->spec.seed, id, k + 1);
		v[i].x = (float)in->width * unit(d->spec.seed, id, k + 2);
		v[i].size = (float)in->height * (0.08f + 0.12f * unit(d->spec.seed, id, k + 3));
		for (int c = 0; c < in->channels && c < 8; c++)
			v[i].colour[c] =
				2 * unit(d->spec.seed, 0xc0105, (uint64_t)(v[i].kind * 8 + c)) - 1 +
				0.4f * (unit(d->spec.seed, id, k + 4 + (uint64_t)c) - 0.5f);
	}
	return n;
}

static bool covers(const struct shape *s, float y, float x)
{
	float dy = fabsf(y - s->y), dx = fabsf(x - s->x);

	switch (s->kind % 3) {
	case 1:
		return dy * dy + dx * dx < s->size * s->size;
	case 2:
		return dy < s->size && dx < s->size;
	default:
		return dy < 0.4f * s->size && dx < 2.5f * s->size;
	}
}

static void sample(const struct data *d, uint64_t id, float *image, int32_t *label)
{
	const struct data_info *in = &d->info;
	int64_t plane = (int64_t)in->height * in->width;
	struct shape v[8];
	int n = draw_shapes(d, id, v);

	for (int64_t i = 0; i < plane; i++) {
		int top = -1;

		for (int k = 0; k < n; k++)
			if (covers(&v[k], (float)(i / in->width), (float)(i % in->width)))
				top = k;
		label[i] = top < 0 ? 0 : v[top].kind;
		for (int c = 0; c < in->channels; c++) {
			uint64_t h = rng_u64(d->spec.seed, id, (uint64_t)(c * plane + i));

			image[c * plane + i] =
				(top < 0 ? 0 : v[top].colour[c & 7]) +
				0.3f * ((float)(h & 0xffff) / 65536 +
					       (float)(h >> 16 & 0xffff) / 65536 - 1);
		}
	}
}

static int fill(struct data *d, const int64_t *index, int64_t n, uint64_t epoch, bool eval,
	struct batch *b, struct fault *f)
{
	const struct data_info *in = &d->info;
	int64_t plane = (int64_t)in->height * in->width;
	int32_t *label;
	float *image;

	(void)epoch;
	if (batch_images(b, d, n, &image, &label, f))
		return -1;
	for (int64_t i = 0; i < n; i++)
		sample(d, (uint64_t)index[i] + (eval ? (uint64_t)1 << 40 : 0),
			image + i * in->channels * plane, label + i * plane);
	return 0;
}

static void close_gen(struct data *d)
{
	(void)d;
}

static const struct data_ops ops = {"generated segmentation", fill, close_gen};

int data_open_gen_segment(struct data *d, struct fault *f)
{
	const struct data_spec *s = &d->spec;

	(void)f;
	d->info = (struct data_info){.n_train = s->n_train ? s->n_train : 4096,
		.n_eval = 128,
		.channels = s->channels,
		.height = s->height,
		.width = s->width,
		.classes = s->classes,
		.generated = true};
	d->ops = &ops;
	return 0;
}
