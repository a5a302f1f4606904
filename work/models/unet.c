/* unet.c: U-Net (Ronneberger et al. 2015) for segmentation, with padding and batch norm as is usual
 * now.
 *
 * Four halvings and back; each way up joins what its level saw on the way down. Sides must be
 * multiples of 16.
 */
#include <stdio.h>
#include "models/model.h"

#define DEPTH 4

/* twice: 3×3 convolution, batch norm, relu */
static struct tensor *twice(struct net *n, const char *name, struct tensor *x, int out)
{
	struct conv_opt o = {.out = out, .r = 3, .pad_h = 1, .pad_w = 1};

	net_push(n, "%s", name);
	x = nn_batchnorm(n, "bn1", nn_conv(n, "conv1", x, o), true);
	x = nn_batchnorm(n, "bn2", nn_conv(n, "conv2", x, o), true);
	net_pop(n);
	return x;
}

static void build(struct net *n, const struct model_cfg *c, const struct batch *b)
{
	struct tensor *x = model_input(n, b, "image"), *level[DEPTH]; /* (N,C,H,W) */
	char name[16];

	if (x && (x->dim[2] % 16 || x->dim[3] % 16)) {
		net_fail(n, "unet: the image is %lldx%lld; its sides must be multiples of 16",
			(long long)x->dim[3], (long long)x->dim[2]);
		return;
	}
	for (int i = 0; i < DEPTH; i++) {
		snprintf(name, sizeof(name), "down%d", i);
		level[i] = twice(n, name, x, c->width << i);
		x = nn_maxpool(n, level[i], 2, 2, 0);
	}
	x = twice(n, "bottom", x, c->width << DEPTH);
	for (int i = DEPTH - 1; i >= 0; i--) {
		snprintf(name, sizeof(name), "up%d", i);
		x = nn_conv_transpose(n, name, x, c->width << i, 2, 2);
		snprintf(name, sizeof(name), "join%d", i);
		x = twice(
			n, name, nn_concat(n, 2, (struct tensor *[]){level[i], x}), c->width << i);
	}
	x = nn_conv(n, "out", x, (struct conv_opt){.out = c->data.classes, .r = 1, .bias = true});
	net_mark(n, "logits", x);
	nn_xent(n, x, model_input(n, b, "label"), (struct args_xent){0}); /* one label a pixel */
}

static void images(const struct model_cfg *c, struct data_spec *s)
{
	s->channels = 3;
	s->height = s->width = c->image;
	s->classes = 4;
}

const struct model model_unet = {
	.name = "unet",
	.domain = "vision",
	.task = "segmentation",
	.data = DATA_SEGMENT,
	.metric = "mean IoU",
	.optim = OPTIM_ADAM,
	.size = {{.batch = 4, .lr = 2e-3, .cfg = {.width = 4, .image = 32}},
		{.batch = 4, .lr = 1e-3, .cfg = {.width = 32, .image = 96}},
		{.batch = 4, .lr = 1e-3, .cfg = {.width = 64, .image = 256}}},
	.data_spec = images,
	.build = build,
};
