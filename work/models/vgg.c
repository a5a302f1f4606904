/* vgg.c: VGG-16 (Simonyan & Zisserman 2014), configuration D, as in torchvision without batch norm.
 *
 * Five stages of 3×3 convolutions, each ended by pooling. The classifier has `hidden` units; at 224
 * pixels it sees 7×7 places, at 32 pixels one.
 */
#include <math.h>
#include <stdio.h>
#include "models/model.h"

static struct tensor *conv(struct net *n, int i, struct tensor *x, int out)
{
	char name[24];
	/* Kaiming normal over fan-out, as torchvision initialises */
	struct init init = {INIT_NORMAL, sqrt(2.0 / (9.0 * out))};

	snprintf(name, sizeof(name), "features.%d", i);
	x = nn_conv(n, name, x,
		(struct conv_opt){
			.out = out, .r = 3, .pad_h = 1, .pad_w = 1, .bias = true, .init = init});
	return nn_relu(n, x);
}

static struct tensor *hidden(
	struct net *n, const char *name, struct tensor *x, const struct model_cfg *c)
{
	struct init init = {INIT_NORMAL, c->size == SIZE_BASE ? 0.01
					 : x                  ? sqrt(2.0 / (double)tensor_cols(x))
							      : 1};

	x = nn_linear(n, name, x, c->hidden, true, init);
	return nn_dropout(n, nn_relu(n, x), c->dropout);
}

static void build(struct net *n, const struct model_cfg *c, const struct batch *b)
{
	static const int repeats[5] = {2, 2, 3, 3, 3}, times[5] = {1, 2, 4, 8, 8};
	struct tensor *x = model_input(n, b, "image"); /* (N,3,H,W) */
	int layer = 0;

	for (int stage = 0; stage < 5; stage++) {
		for (int i = 0; i < repeats[stage]; i++, layer++)
			x = conv(n, layer, x, c->width * times[stage]);
		x = nn_maxpool(n, x, 2, 2, 0);
	}
	if (!x)
		return;
	x = nn_reshape(n, x, DIMS(x->dim[0], x->dim[1] * x->dim[2] * x->dim[3]));
	x = hidden(n, "classifier.0", x, c);
	x = hidden(n, "classifier.1", x, c);
	x = nn_linear(n, "classifier.2", x, c->data.classes, true, (struct init){0});
	net_mark(n, "logits", x);
	nn_xent(n, x, model_input(n, b, "label"), (struct args_xent){0});
}

static void images(const struct model_cfg *c, struct data_spec *s)
{
	s->channels = 3;
	s->height = s->width = c->image;
	s->classes = c->size == SIZE_BASE ? 1000 : 10;
}

const struct model model_vgg16 = {
	.name = "vgg16",
	.domain = "vision",
	.task = "classification",
	.data = DATA_IMAGE,
	.metric = "accuracy",
	.optim = OPTIM_ADAM,
	.size = {{.batch = 8,
			 .lr = 5e-4,
			 .cfg = {.width = 8, .image = 32, .hidden = 64, .dropout = 0.5f}},
		{.batch = 16,
			.lr = 2e-4,
			.cfg = {.width = 64, .image = 32, .hidden = 512, .dropout = 0.5f}},
		{.batch = 16,
			.lr = 1e-4,
			.cfg = {.width = 64, .image = 224, .hidden = 4096, .dropout = 0.5f}}},
	.data_spec = images,
	.build = build,
};
