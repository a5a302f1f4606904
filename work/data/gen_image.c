/* gen_image.c: generated images with something to learn.
 *
 * Each class is a smooth pattern: a few plane waves per channel, whole periods across the image. A
 * sample is its class's pattern, shifted by a few pixels, dimmed or brightened, plus noise.
 */
#include <math.h>
#include <stdlib.h>
#include "data/data.h"
#include "ops/rng.h"

#define WAVES   4
#define PERIODS 4 /* a wave has 0 to 3 of them in each direction */
#define TAU     6.2831853f

struct gen {
	float *sin_x, *cos_x; /* [periods][x] */
};

struct wave {
	float amp, phase;
	int kx, ky;
};

static struct wave wave_of(const struct data *d, int64_t label, int channel, int w)
{
	uint64_t seed = d->spec.seed;
	uint64_t i = (uint64_t)((label * d->info.channels + channel) * WAVES + w) * 4;

	return (struct wave){.amp = 0.4f + 0.6f * rng_uniform(seed, 1, i),
		.kx = (int)rng_below(seed, 1, i + 1, PERIODS),
		.ky = (int)rng_below(seed, 1, i + 2, PERIODS),
		.phase = TAU * rng_uniform(seed, 1, i + 3)};
}

/* roughly normal: the sum of four uniform bytes of one hash, two values a hash */
static void add_noise(float *v, int64_t n, uint64_t key)
{
	for (int64_t i = 0; i < n; i += 2) {
		uint64_t h = rng_mix(key ^ (uint64_t)i);

		for (int64_t j = i; j < i + 2 && j < n; j++, h >>= 32) {
			uint64_t s = (h & 255) + (h >> 8 & 255) + (h >> 16 & 255) + (h >> 24 & 255);

			v[j] += ((float)s - 510) * (0.5f / 148);
		}
	}
}

/* v += amp sin(x part + y part), by the addition theorem from the tables */
static void add_wave(
	const struct data *d, const struct wave *w, float gain, int dy, int dx, float *v)
{
	const struct gen *g = d->state;
	int width = d->info.width, height = d->info.height;
	const float *sx = g->sin_x + w->kx * width, *cx = g->cos_x + w->kx * width;

	for (int y = 0; y < height; y++, v += width) {
		float angle = w->phase + TAU * (float)(w->ky * (y + dy)) / (float)height +
			      TAU * (float)(w->kx * dx) / (float)width;
		float a = gain * w->amp * cosf(angle), b = gain * w->amp * sinf(angle);

		for (int x = 0; x < width; x++)
			v[x] += a * sx[x] + b * cx[x];
	}
}

static void sample(const struct data *d, uint64_t id, int label, float *v)
{
	const struct data_info *in = &d->info;
	int64_t plane = (int64_t)in->height * in->width;
	int dy = (int)rng_below(d->spec.seed, 3, id, 5),
	    dx = (int)rng_below(d->spec.seed, 4, id, 5);
	float gain = 0.7f + 0.6f * rng_uniform(d->spec.seed, 5, id);

	for (int c = 0; c < in->channels; c++)
		for (int k = 0; k < WAVES; k++) {
			struct wave w = wave_of(d, label, c, k);

			add_wave(d, &w, gain, dy, dx, v + c * plane);
		}
	add_noise(v, in->channels * plane, rng_u64(d->spec.seed, 6, id));
}

static int fill(struct data *d, const int64_t *index, int64_t n, uint64_t epoch, bool eval,
	struct batch *b, struct fault *f)
{
	const struct data_info *in = &d->info;
	int64_t size = (int64_t)in->channels * in->height * in->width;
	int32_t *label;
	float *image;

	(void)epoch;
	if (batch_images(b, d, n, &image, &label, f))
		return -1;
	for (int64_t i = 0; i < n; i++) {
		uint64_t id = (uint64_t)index[i] + (eval ? (uint64_t)1 << 40 : 0);

		label[i] = (int32_t)rng_below(d->spec.seed, 2, id, in->classes);
		sample(d, id, label[i], image + i * size);
	}
	return 0;
}

static void close_gen(struct data *d)
{
	struct gen *g = d->state;

	free(g->sin_x);
	free(g->cos_x);
	free(g);
}

static const struct data_ops ops = {"generated images", fill, close_gen};

int data_open_gen_image(struct data *d, struct fault *f)
{
	const struct data_spec *s = &d->spec;
	struct gen *g = calloc(1, sizeof(*g));
	size_t n = (size_t)PERIODS * (size_t)s->width * sizeof(float);

	if (!g)
		return fault_set(f, "out of memory for generated images");
	d->info = (struct data_info){.n_train = s->n_train ? s->n_train : 8192,
		.n_eval = 512,
		.channels = s->channels,
		.height = s->height,
		.width = s->width,
		.classes = s->classes,
		.generated = true};
	d->state = g;
	g->sin_x = malloc(n);
	g->cos_x = malloc(n);
	if (!g->sin_x || !g->cos_x) {
		close_gen(d);
		return fault_set(f, "out of memory for generated images");
	}
	d->ops = &ops;
	for (int k = 0; k < PERIODS; k++)
		for (int x = 0; x < s->width; x++) {
			g->sin_x[k * s->width + x] = sinf(TAU * (float)(k * x) / (float)s->width);
			g->cos_x[k * s->width + x] = cosf(TAU * (float)(k * x) / (float)s->width);
		}
	return 0;
}
