/* gen_image.c: generated images with something to learn.
 *
 * Each class is a smooth pattern (a few waves per channel); a sample is its class's pattern,
 * shifted by a few pixels, dimmed or brightened, plus noise.
 */
#include <math.h>
#include <stdlib.h>
#include "data/data.h"
#include "ops/rng.h"

#define WAVES 4

struct gen {
	float *pattern; /* [class][channel][y][x], periodic */
};

static void draw(struct data *d, float *p)
{
	const struct data_info *in = &d->info;
	float amp[WAVES], fx[WAVES], fy[WAVES], ph[WAVES];

	for (int64_t k = 0; k < (int64_t)in->classes * in->channels; k++) {
		for (int w = 0; w < WAVES; w++) {
			uint64_t i = (uint64_t)(k * WAVES + w) * 4;

			amp[w] = 0.4f + 0.6f * rng_uniform(d->spec.seed, 1, i);
			/* whole waves across the image, so that a shift wraps */
			fx[w] = (float)rng_below(d->spec.seed, 1, i + 1, 4) * 6.2831853f /
				(float)in->width;
			fy[w] = (float)rng_below(d->spec.seed, 1, i + 2, 4) * 6.2831853f /
				(float)in->height;
			ph[w] = 6.2831853f * rng_uniform(d->spec.seed, 1, i + 3);
		}
		for (int y = 0; y < in->height; y++)
			for (int x = 0; x < in->width; x++, p++) {
				*p = 0;
				for (int w = 0; w < WAVES; w++)
					*p += amp[w] *
					      sinf(fx[w] * (float)x + fy[w] * (float)y + ph[w]);
			}
	}
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

static void sample(struct data *d, uint64_t id, int label, float *v)
{
	const struct data_info *in = &d->info;
	struct gen *g = d->state;
	int64_t plane = (int64_t)in->height * in->width;
	const float *p = g->pattern + label * in->channels * plane;
	int dy = (int)rng_below(d->spec.seed, 3, id, 5),
	    dx = (int)rng_below(d->spec.seed, 4, id, 5);
	float gain = 0.7f + 0.6f * rng_uniform(d->spec.seed, 5, id);

	for (int c = 0; c < in->channels; c++)
		for (int y = 0; y < in->height; y++) {
			const float *row = p + c * plane + (y + dy) % in->height * in->width;
			float *out = v + c * plane + (int64_t)y * in->width;

			for (int x = 0; x < in->width; x++)
				out[x] = gain *
					 row[x + dx < in->width ? x + dx : x + dx - in->width];
		}
	add_noise(v, in->channels * plane, rng_u64(d->spec.seed, 6, id));
}

static int fill(struct data *d, const int64_t *index, int64_t n, uint64_t epoch, bool eval,
	struct batch *b, struct fault *f)
{
	const struct data_info *in = &d->info;
	int64_t size = (int64_t)in->channels * in->height * in->width;
	float *image = batch_array(
		b, "image", DT_F32, 4, (const int64_t[]){n, in->channels, in->height, in->width});
	int32_t *label = batch_array(b, "label", DT_I32, 1, &n);

	(void)epoch;
	if (!image || !label)
		return fault_set(f, "out of memory for a batch of %lld images", (long long)n);
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

	free(g->pattern);
	free(g);
}

static const struct data_ops ops = {"generated images", fill, close_gen};

int data_open_gen_image(struct data *d, struct fault *f)
{
	const struct data_spec *s = &d->spec;
	struct gen *g = calloc(1, sizeof(*g));
	size_t n = (size_t)s->classes * (size_t)s->channels * (size_t)s->height * (size_t)s->width;

	d->info = (struct data_info){.n_train = s->n_train ? s->n_train : 8192,
		.n_eval = 512,
		.channels = s->channels,
		.height = s->height,
		.width = s->width,
		.classes = s->classes,
		.generated = true};
	if (!g || !(g->pattern = malloc(n * sizeof(float)))) {
		free(g);
		return fault_set(f, "out of memory for generated images");
	}
	d->state = g;
	d->ops = &ops;
	draw(d, g->pattern);
	return 0;
}
