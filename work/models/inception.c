/* inception.c: Inception v3 (Szegedy et al. 2015), as in torchvision.
 *
 * Published for 299 pixels with the channels below; cfg.width scales them all (64: as published).
 * The auxiliary classifier, weighted 0.4 in training, needs a 17×17 grid and is left out where the
 * image is too small for it.
 */
#include "models/model.h"

struct inception {
	struct net *n;
	int width;
};

/* convolution, batch norm, relu; k (h,w), padding (h,w) */
static struct tensor *unit(const struct inception *m, const char *name, struct tensor *x, int out,
	int kh, int kw, int stride, int ph, int pw)
{
	struct net *n = m->n;

	net_push(n, "%s", name);
	x = nn_conv(n, "conv", x,
		(struct conv_opt){.out = out * m->width / 64,
			.r = kh,
			.s = kw,
			.stride = stride,
			.pad_h = ph,
			.pad_w = pw,
			.init = {INIT_NORMAL, 0.1}});
	x = nn_batchnorm_eps(n, "bn", x, true, 1e-3f);
	net_pop(n);
	return x;
}

static struct tensor *square(
	const struct inception *m, const char *name, struct tensor *x, int out, int k)
{
	return unit(m, name, x, out, k, k, 1, k / 2, k / 2);
}

static struct tensor *flat(
	const struct inception *m, const char *name, struct tensor *x, int out, int kh, int kw)
{
	return unit(m, name, x, out, kh, kw, 1, kh / 2, kw / 2);
}

static struct tensor *halve(const struct inception *m, const char *name, struct tensor *x, int out)
{
	return unit(m, name, x, out, 3, 3, 2, 0, 0);
}

static struct tensor *pooled(const struct inception *m, struct tensor *x, int out)
{
	return square(m, "branch_pool", nn_avgpool(m->n, x, 3, 1, 1), out, 1);
}

/* 35×35: 64 + 64 + 96 + pool */
static struct tensor *block_a(
	const struct inception *m, const char *name, struct tensor *x, int pool)
{
	struct tensor *b[4];

	net_push(m->n, "%s", name);
	b[0] = square(m, "branch1x1", x, 64, 1);
	b[1] = square(m, "branch5x5_2", square(m, "branch5x5_1", x, 48, 1), 64, 5);
	b[2] = square(m, "branch3x3dbl_2", square(m, "branch3x3dbl_1", x, 64, 1), 96, 3);
	b[2] = square(m, "branch3x3dbl_3", b[2], 96, 3);
	b[3] = pooled(m, x, pool);
	net_pop(m->n);
	return nn_concat(m->n, 4, b);
}

/* 35×35 → 17×17 */
static struct tensor *block_b(const struct inception *m, const char *name, struct tensor *x)
{
	struct tensor *b[3];

	net_push(m->n, "%s", name);
	b[0] = halve(m, "branch3x3", x, 384);
	b[1] = square(m, "branch3x3dbl_2", square(m, "branch3x3dbl_1", x, 64, 1), 96, 3);
	b[1] = halve(m, "branch3x3dbl_3", b[1], 96);
	b[2] = nn_maxpool(m->n, x, 3, 2, 0);
	net_pop(m->n);
	return nn_concat(m->n, 3, b);
}

/* 17×17, with 1×7 and 7×1 */
static struct tensor *block_c(const struct inception *m, const char *name, struct tensor *x, int c7)
{
	struct tensor *b[4];

	net_push(m->n, "%s", name);
	b[0] = square(m, "branch1x1", x, 192, 1);
	b[1] = flat(m, "branch7x7_2", square(m, "branch7x7_1", x, c7, 1), c7, 1, 7);
	b[1] = flat(m, "branch7x7_3", b[1], 192, 7, 1);
	b[2] = flat(m, "branch7x7dbl_2", square(m, "branch7x7dbl_1", x, c7, 1), c7, 7, 1);
	b[2] = flat(m, "branch7x7dbl_3", b[2], c7, 1, 7);
	b[2] = flat(m, "branch7x7dbl_4", b[2], c7, 7, 1);
	b[2] = flat(m, "branch7x7dbl_5", b[2], 192, 1, 7);
	b[3] = pooled(m, x, 192);
	net_pop(m->n);
	return nn_concat(m->n, 4, b);
}

/* 17×17 → 8×8 */
static struct tensor *block_d(const struct inception *m, const char *name, struct tensor *x)
{
	struct tensor *b[3];

	net_push(m->n, "%s", name);
	b[0] = halve(m, "branch3x3_2", square(m, "branch3x3_1", x, 192, 1), 320);
	b[1] = flat(m, "branch7x7x3_2", square(m, "branch7x7x3_1", x, 192, 1), 192, 1, 7);
	b[1] = flat(m, "branch7x7x3_3", b[1], 192, 7, 1);
	b[1] = halve(m, "branch7x7x3_4", b[1], 192);
	b[2] = nn_maxpool(m->n, x, 3, 2, 0);
	net_pop(m->n);
	return nn_concat(m->n, 3, b);
}

/* 8×8: 320 + 768 + 768 + 192 */
static struct tensor *block_e(const struct inception *m, const char *name, struct tensor *x)
{
	struct tensor *b[6], *y;

	net_push(m->n, "%s", name);
	b[0] = square(m, "branch1x1", x, 320, 1);
	y = square(m, "branch3x3_1", x, 384, 1);
	b[1] = flat(m, "branch3x3_2a", y, 384, 1, 3);
	b[2] = flat(m, "branch3x3_2b", y, 384, 3, 1);
	y = square(m, "branch3x3dbl_2", square(m, "branch3x3dbl_1", x, 448, 1), 384, 3);
	b[3] = flat(m, "branch3x3dbl_3a", y, 384, 1, 3);
	b[4] = flat(m, "branch3x3dbl_3b", y, 384, 3, 1);
	b[5] = pooled(m, x, 192);
	net_pop(m->n);
	return nn_concat(m->n, 6, b);
}

/* The second classifier, on the 17×17 grid. */
static void auxiliary(const struct inception *m, struct tensor *x, const struct model_cfg *c,
	const struct batch *b)
{
	struct net *n = m->n;

	net_push(n, "AuxLogits");
	x = square(m, "conv0", nn_avgpool(n, x, 5, 3, 0), 128, 1);
	x = unit(m, "conv1", x, 768, 5, 5, 1, 0, 0);
	x = nn_linear(n, "fc", nn_global_avgpool(n, x), c->data.classes, true,
		(struct init){INIT_NORMAL, 0.001});
	net_pop(n);
	nn_xent(n, x, model_input(n, b, "label"), (struct args_xent){.weight = 0.4f, .aux = true});
}

static void build(struct net *n, const struct model_cfg *c, const struct batch *b)
{
	struct inception m = {n, c->width};
	struct tensor *x = model_input(n, b, "image"); /* (N,3,299,299) */

	x = halve(&m, "Conv2d_1a_3x3", x, 32);
	x = unit(&m, "Conv2d_2a_3x3", x, 32, 3, 3, 1, 0, 0);
	x = square(&m, "Conv2d_2b_3x3", x, 64, 3);
	x = nn_maxpool(n, x, 3, 2, 0);
	x = square(&m, "Conv2d_3b_1x1", x, 80, 1);
	x = unit(&m, "Conv2d_4a_3x3", x, 192, 3, 3, 1, 0, 0);
	x = nn_maxpool(n, x, 3, 2, 0); /* (N,192,35,35) */
	x = block_a(&m, "Mixed_5b", x, 32);
	x = block_a(&m, "Mixed_5c", x, 64);
	x = block_a(&m, "Mixed_5d", x, 64);
	x = block_b(&m, "Mixed_6a", x); /* (N,768,17,17) */
	x = block_c(&m, "Mixed_6b", x, 128);
	x = block_c(&m, "Mixed_6c", x, 160);
	x = block_c(&m, "Mixed_6d", x, 160);
	x = block_c(&m, "Mixed_6e", x, 192);
	if (n->train && x && x->dim[2] >= 17)
		auxiliary(&m, x, c, b);
	x = block_d(&m, "Mixed_7a", x); /* (N,1280,8,8) */
	x = block_e(&m, "Mixed_7b", x);
	x = block_e(&m, "Mixed_7c", x); /* (N,2048,8,8) */
	x = nn_dropout(n, nn_global_avgpool(n, x), c->dropout);
	x = nn_linear(n, "fc", x, c->data.classes, true, (struct init){0});
	net_mark(n, "logits", x);
	nn_xent(n, x, model_input(n, b, "label"), (struct args_xent){0});
}

static void images(const struct model_cfg *c, struct data_spec *s)
{
	s->channels = 3;
	s->height = s->width = c->image;
	s->classes = c->size == SIZE_BASE ? 1000 : 10;
}

const struct model model_inception_v3 = {
	.name = "inception_v3",
	.domain = "vision",
	.task = "classification",
	.data = DATA_IMAGE,
	.metric = "accuracy",
	.optim = OPTIM_SGD,
	.weight_decay = 4e-5,
	.size = {{.batch = 8, .lr = 0.02, .cfg = {.width = 8, .image = 75}},
		{.batch = 8, .lr = 0.02, .cfg = {.width = 32, .image = 139, .dropout = 0.5f}},
		{.batch = 16, .lr = 0.05, .cfg = {.width = 64, .image = 299, .dropout = 0.5f}}},
	.data_spec = images,
	.build = build,
};
