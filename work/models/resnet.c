/* resnet.c: residual networks (He et al. 2015), as in torchvision; stride of a bottleneck in its
 * 3×3.
 *
 * Images of up to 64 pixels get the small stem (3×3, no pooling) usual for CIFAR; larger ones the
 * 7×7 stem with pooling. width w is 64 in the published networks.
 */
#include <math.h>
#include <stdio.h>
#include "models/model.h"

/* Kaiming normal over fan-out, as torchvision initialises */
static struct tensor *conv(
	struct net *n, const char *name, struct tensor *x, int out, int k, int stride)
{
	return nn_conv(n, name, x,
		(struct conv_opt){.out = out,
			.r = k,
			.stride = stride,
			.pad_h = k / 2,
			.pad_w = k / 2,
			.init = {INIT_NORMAL, sqrt(2.0 / ((double)out * k * k))}});
}

/* The input, or its projection where shape changes. */
static struct tensor *shortcut(struct net *n, struct tensor *x, int out, int stride)
{
	if (!x || (x->dim[1] == out && stride == 1))
		return x;
	x = conv(n, "downsample.0", x, out, 1, stride);
	return nn_batchnorm(n, "downsample.1", x, false);
}

/* x (N,C,H,W) → (N,ch,H/s,W/s) */
static struct tensor *basic(struct net *n, struct tensor *x, int ch, int stride)
{
	struct tensor *y = conv(n, "conv1", x, ch, 3, stride);

	y = nn_batchnorm(n, "bn1", y, true);
	y = conv(n, "conv2", y, ch, 3, 1);
	y = nn_batchnorm(n, "bn2", y, false);
	return nn_binary(n, y, shortcut(n, x, ch, stride), BIN_ADD_RELU);
}

/* x (N,C,H,W) → (N,4ch,H/s,W/s) */
static struct tensor *bottleneck(struct net *n, struct tensor *x, int ch, int stride)
{
	struct tensor *y = conv(n, "conv1", x, ch, 1, 1);

	y = nn_batchnorm(n, "bn1", y, true);
	y = conv(n, "conv2", y, ch, 3, stride);
	y = nn_batchnorm(n, "bn2", y, true);
	y = conv(n, "conv3", y, 4 * ch, 1, 1);
	y = nn_batchnorm(n, "bn3", y, false);
	return nn_binary(n, y, shortcut(n, x, 4 * ch, stride), BIN_ADD_RELU);
}

static void resnet(struct net *n, const struct model_cfg *c, const struct batch *b,
	const int *blocks, struct tensor *(*block)(struct net *, struct tensor *, int, int))
{
	struct tensor *x = model_input(n, b, "image"); /* (N,3,H,W) */
	bool small = x && x->dim[2] <= 64;

	x = conv(n, "conv1", x, c->width, small ? 3 : 7, small ? 1 : 2);
	x = nn_batchnorm(n, "bn1", x, true);
	if (!small)
		x = nn_maxpool(n, x, 3, 2, 1);
	for (int stage = 0; stage < 4; stage++)
		for (int i = 0; i < blocks[stage]; i++) {
			net_push(n, "layer%d.%d", stage + 1, i);
			x = block(n, x, c->width << stage, stage && !i ? 2 : 1);
			net_pop(n);
		}
	x = nn_global_avgpool(n, x);
	x = nn_linear(n, "fc", x, c->data.classes, true, (struct init){0});
	net_mark(n, "logits", x);
	nn_xent(n, x, model_input(n, b, "label"), (struct args_xent){0});
}

static void build18(struct net *n, const struct model_cfg *c, const struct batch *b)
{
	resnet(n, c, b, (const int[]){2, 2, 2, 2}, basic);
}

static void build50(struct net *n, const struct model_cfg *c, const struct batch *b)
{
	resnet(n, c, b, (const int[]){3, 4, 6, 3}, bottleneck);
}

static void images(const struct model_cfg *c, struct data_spec *s)
{
	s->channels = 3;
	s->height = s->width = c->image;
	s->classes = c->size == SIZE_BASE ? 1000 : 10;
}

const struct model model_resnet18 = {
	.name = "resnet18",
	.domain = "vision",
	.task = "classification",
	.data = DATA_IMAGE,
	.metric = "accuracy",
	.optim = OPTIM_SGD,
	.weight_decay = 1e-4,
	.size = {{.batch = 8, .lr = 0.05, .cfg = {.width = 8, .image = 32}},
		{.batch = 32, .lr = 0.05, .cfg = {.width = 64, .image = 32}},
		{.batch = 32, .lr = 0.1, .cfg = {.width = 64, .image = 224}}},
	.data_spec = images,
	.build = build18,
};

const struct model model_resnet50 = {
	.name = "resnet50",
	.domain = "vision",
	.task = "classification",
	.data = DATA_IMAGE,
	.metric = "accuracy",
	.optim = OPTIM_SGD,
	.weight_decay = 1e-4,
	.size = {{.batch = 8, .lr = 0.02, .cfg = {.width = 8, .image = 32}},
		{.batch = 32, .lr = 0.05, .cfg = {.width = 64, .image = 32}},
		{.batch = 32, .lr = 0.1, .cfg = {.width = 64, .image = 224}}},
	.data_spec = images,
	.build = build50,
};
