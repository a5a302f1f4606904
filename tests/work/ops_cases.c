/* ops_cases.c: the nets of ops_test. */
#include "ops_cases.h"

static struct tensor *input(struct net *n, const char *name, int n_dims, const int64_t *dim)
{
	struct tensor *t = net_input(n, name, DT_F32, n_dims, dim);

	net_input_grad(n, t);
	return t;
}

static struct tensor *whole(struct net *n, const char *name, int n_dims, const int64_t *dim)
{
	return net_input(n, name, DT_I32, n_dims, dim);
}

/* y row-major, kept, and compared with a target */
static void finish(struct net *n, struct tensor *y)
{
	int64_t cols;

	if (!y)
		return;
	cols = tensor_cols(y);
	y = nn_reshape(n, y, DIMS(tensor_count(y) / cols, cols));
	net_mark(n, "y", y);
	nn_regression(
		n, y, net_input(n, "target", DT_F32, 2, y->dim), NULL, (struct args_regression){0});
}

#define IMAGE(c, h, w) input(n, "x", DIMS(3, c, h, w))
#define ROWS(r, c)     input(n, "x", DIMS(r, c))

static void conv3(struct net *n)
{
	finish(n, nn_conv(n, "c", IMAGE(16, 8, 8),
			  (struct conv_opt){.out = 24, .r = 3, .pad_h = 1, .pad_w = 1}));
}

static void conv3_stride(struct net *n)
{
	finish(n,
		nn_conv(n, "c", IMAGE(8, 9, 9),
			(struct conv_opt){.out = 16, .r = 3, .stride = 2, .pad_h = 1, .pad_w = 1}));
}

static void conv1_even(struct net *n)
{
	finish(n, nn_conv(n, "c", IMAGE(16, 8, 8),
			  (struct conv_opt){.out = 16, .r = 1, .stride = 2}));
}

static void conv_stem(struct net *n)
{
	finish(n, nn_conv(n, "c", IMAGE(3, 16, 16),
			  (struct conv_opt){.out = 16,
				  .r = 7,
				  .stride = 2,
				  .pad_h = 3,
				  .pad_w = 3,
				  .bias = true}));
}

static void conv_flat(struct net *n)
{
	finish(n, nn_conv(n, "c", IMAGE(8, 5, 9),
			  (struct conv_opt){.out = 8, .r = 1, .s = 7, .pad_w = 3, .bias = true}));
}

static void conv_odd(struct net *n)
{
	finish(n,
		nn_conv(n, "c", IMAGE(5, 6, 7), (struct conv_opt){.out = 7, .r = 3, .bias = true}));
}

static void conv_chain(struct net *n)
{
	struct tensor *x = nn_conv(n, "a", IMAGE(3, 8, 8),
		(struct conv_opt){.out = 16, .r = 3, .pad_h = 1, .pad_w = 1});

	x = nn_conv(n, "b", x, (struct conv_opt){.out = 16, .r = 3, .pad_h = 1, .pad_w = 1});
	finish(n, nn_conv(n, "c", x, (struct conv_opt){.out = 5, .r = 1, .bias = true}));
}

static void conv_transpose(struct net *n)
{
	finish(n, nn_conv_transpose(n, "t", IMAGE(16, 4, 5), 8, 2, 2));
}

static void residual(struct net *n)
{
	struct tensor *x = nn_conv(n, "a", IMAGE(8, 6, 6),
		(struct conv_opt){.out = 8, .r = 3, .pad_h = 1, .pad_w = 1});
	struct tensor *y =
		nn_conv(n, "b", x, (struct conv_opt){.out = 8, .r = 3, .pad_h = 1, .pad_w = 1});

	y = nn_batchnorm(n, "bn", y, false);
	finish(n, nn_binary(n, y, x, BIN_ADD_RELU));
}

static void batchnorm_plain(struct net *n)
{
	finish(n, nn_batchnorm(n, "bn", IMAGE(5, 4, 4), false));
}

static void batchnorm_ragged(struct net *n)
{
	finish(n, nn_batchnorm(n, "bn", IMAGE(3, 5, 3), false));
}

static void batchnorm_blocked(struct net *n)
{
	struct tensor *x = nn_conv(n, "a", IMAGE(8, 6, 6), (struct conv_opt){.out = 12, .r = 3});

	x = nn_batchnorm(n, "bn", x, true);
	finish(n, nn_conv(n, "b", x, (struct conv_opt){.out = 8, .r = 1}));
}

static void norm_rows(struct net *n)
{
	finish(n, nn_batchnorm_rows(n, "bn", ROWS(17, 5), whole(n, "index6", DIMS(17))));
}

static void layernorm(struct net *n)
{
	finish(n, nn_layernorm(n, "ln", ROWS(6, 37), 1e-5f));
}

static void linear(struct net *n)
{
	finish(n, nn_linear(n, "fc", input(n, "x", DIMS(2, 5, 19)), 13, true, (struct init){0}));
}

static void linear_tied(struct net *n)
{
	struct tensor *w = net_param(n, "w", DIMS(11, 11), (struct init){INIT_UNIFORM, 0.5});
	struct tensor *x = nn_linear_tied(n, ROWS(4, 11), w, NULL);

	finish(n, nn_linear_tied(n, x, w, NULL));
}

#define MATMUL(name, ad, bd, ta, tb)                                                               \
	static void name(struct net *n)                                                            \
	{                                                                                          \
		struct tensor *a = input(n, "a", DIMS ad), *b = input(n, "b", DIMS bd);            \
                                                                                                   \
		finish(n, nn_matmul(n, a, b, ta, tb, 0.5f));                                       \
	}
MATMUL(matmul_nn, (3, 4, 5), (3, 5, 6), false, false)
MATMUL(matmul_nt, (3, 4, 5), (3, 6, 5), false, true)
MATMUL(matmul_tn, (3, 5, 4), (3, 5, 6), true, false)
MATMUL(matmul_tt, (3, 5, 4), (3, 6, 5), true, true)
MATMUL(matmul_shared, (3, 4, 5), (5, 6), false, false)
MATMUL(matmul_shared_t, (3, 4, 5), (6, 5), false, true)

#define UNARY(f)                                                                                   \
	static void unary_##f(struct net *n)                                                       \
	{                                                                                          \
		finish(n, nn_unary(n, nn_axpb(n, ROWS(5, 21), 3, 0.1f), f));                       \
	}
UNARY(UN_RELU)
UNARY(UN_GELU)
UNARY(UN_GELU_TANH)
UNARY(UN_TANH)
UNARY(UN_SIGMOID)
UNARY(UN_SILU)
UNARY(UN_SSP)
UNARY(UN_SQUARE)
UNARY(UN_EXP)
UNARY(UN_SIN)

static void unary_UN_SQRT(struct net *n)
{
	struct tensor *x =
		nn_unary(n, nn_axpb(n, nn_unary(n, ROWS(5, 21), UN_SQUARE), 1, 0.2f), UN_SQRT);

	finish(n, x);
}

#define BINARY(name, f, br, bc)                                                                    \
	static void name(struct net *n)                                                            \
	{                                                                                          \
		finish(n, nn_binary(n, ROWS(6, 9), input(n, "b", DIMS(br, bc)), f));               \
	}
BINARY(add_same, BIN_ADD, 6, 9)
BINARY(sub_same, BIN_SUB, 6, 9)
BINARY(mul_same, BIN_MUL, 6, 9)
BINARY(add_row, BIN_ADD, 1, 9)
BINARY(sub_row, BIN_SUB, 1, 9)
BINARY(mul_row, BIN_MUL, 1, 9)
BINARY(add_col, BIN_ADD, 6, 1)
BINARY(sub_col, BIN_SUB, 6, 1)
BINARY(mul_col, BIN_MUL, 6, 1)

static void same_twice(struct net *n)
{
	struct tensor *x = ROWS(4, 8);

	finish(n, nn_add(n, nn_mul(n, x, x), nn_sub(n, x, nn_axpb(n, x, 2, 0))));
}

static void maxpool(struct net *n)
{
	struct tensor *x = nn_conv(n, "a", IMAGE(8, 9, 9), (struct conv_opt){.out = 8, .r = 1});

	finish(n, nn_maxpool(n, x, 3, 2, 1));
}

static void maxpool_plain(struct net *n)
{
	finish(n, nn_maxpool(n, IMAGE(3, 8, 8), 2, 2, 0));
}

static void avgpool(struct net *n)
{
	struct tensor *x = nn_conv(n, "a", IMAGE(8, 7, 7), (struct conv_opt){.out = 8, .r = 1});

	finish(n, nn_avgpool(n, x, 3, 1, 1));
}

static void global_avgpool(struct net *n)
{
	struct tensor *x = nn_conv(n, "a", IMAGE(8, 4, 6), (struct conv_opt){.out = 12, .r = 1});

	finish(n, nn_global_avgpool(n, x));
}

static void concat_images(struct net *n)
{
	struct tensor *x = IMAGE(8, 4, 4), *in[3];

	in[0] = nn_conv(n, "a", x, (struct conv_opt){.out = 16, .r = 1});
	in[1] = nn_conv(n, "b", x, (struct conv_opt){.out = 8, .r = 1});
	in[2] = in[0];
	finish(n, nn_conv(n, "c", nn_concat(n, 3, in), (struct conv_opt){.out = 8, .r = 1}));
}

static void concat_odd(struct net *n)
{
	struct tensor *x = IMAGE(8, 4, 4), *in[2];

	in[0] = nn_conv(n, "a", x, (struct conv_opt){.out = 5, .r = 1});
	in[1] = nn_conv(n, "b", x, (struct conv_opt){.out = 8, .r = 1});
	finish(n, nn_concat(n, 2, in));
}

static void concat_rows(struct net *n)
{
	finish(n, nn_concat(n, 2, (struct tensor *[]){ROWS(5, 3), input(n, "b", DIMS(5, 4))}));
}

static void slice(struct net *n)
{
	struct tensor *x = ROWS(5, 9);

	finish(n, nn_add(n, nn_slice(n, x, 0, 4), nn_slice(n, x, 3, 4)));
}

static void permute(struct net *n)
{
	finish(n, nn_permute(n, input(n, "x", DIMS(2, 3, 4, 5)), (const int[]){2, 0, 3, 1}));
}

static void sum_axis(struct net *n)
{
	finish(n, nn_sum_axis(n, input(n, "x", DIMS(3, 4, 5))));
}

static void softmax(struct net *n)
{
	finish(n, nn_softmax(n, nn_axpb(n, ROWS(4, 23), 4, 0)));
}

static void attention_masked(struct net *n)
{
	finish(n, nn_attention(n, input(n, "x", DIMS(3, 7, 36)), whole(n, "mask", DIMS(3, 7)), 3,
			  false, 0));
}

static void attention_causal(struct net *n)
{
	finish(n, nn_attention(n, input(n, "x", DIMS(3, 19, 24)), NULL, 2, true, 0));
}

static void attention_dropout(struct net *n)
{
	finish(n, nn_attention(n, input(n, "x", DIMS(3, 17, 24)), whole(n, "mask", DIMS(3, 17)), 2,
			  false, 0.3f));
}

static void embed(struct net *n)
{
	finish(n, nn_embed(n, "e", whole(n, "index6", DIMS(3, 5)), 6, 8, (struct init){0}));
}

static void gather(struct net *n)
{
	finish(n, nn_gather(n, ROWS(6, 8), whole(n, "index6", DIMS(17))));
}

static void scatter(struct net *n)
{
	finish(n, nn_scatter(n, ROWS(17, 8), whole(n, "index6", DIMS(17)), 6));
}

static void segment_max(struct net *n)
{
	finish(n, nn_segment(n, ROWS(17, 8), whole(n, "index6", DIMS(17)), 7, SEG_MAX));
}

static void segment_min(struct net *n)
{
	finish(n, nn_segment(n, ROWS(17, 8), whole(n, "index6", DIMS(17)), 7, SEG_MIN));
}

static void segment_mean(struct net *n)
{
	finish(n, nn_segment(n, ROWS(17, 8), whole(n, "index6", DIMS(17)), 7, SEG_MEAN));
}

/* Operations with corners, at values that a small step does not take across one. */

static void relu_apart(struct net *n)
{
	finish(n, nn_relu(n, input(n, "apart", DIMS(5, 21))));
}

static void add_relu_apart(struct net *n)
{
	struct tensor *x = nn_axpb(n, ROWS(6, 9), 0.1f, 0);

	finish(n, nn_binary(n, input(n, "apart", DIMS(6, 9)), x, BIN_ADD_RELU));
}

static void batchnorm_relu_apart(struct net *n)
{
	finish(n, nn_batchnorm(n, "bn", input(n, "apart", DIMS(3, 5, 4, 4)), true));
}

static void maxpool_ranked(struct net *n)
{
	finish(n, nn_maxpool(n, input(n, "ranked", DIMS(2, 2, 6, 6)), 3, 2, 1));
}

static void segment_ranked(struct net *n)
{
	struct tensor *x = input(n, "ranked", DIMS(17, 8)), *at = whole(n, "index6", DIMS(17));

	finish(n, nn_sub(n, nn_segment(n, x, at, 7, SEG_MAX), nn_segment(n, x, at, 7, SEG_MIN)));
}

static void absolute_apart(struct net *n)
{
	struct tensor *x = nn_axpb(n, input(n, "apart", DIMS(6, 2)), 5, 0);

	nn_regression(n, x, net_input(n, "target", DT_F32, DIMS(6, 2)), NULL,
		(struct args_regression){.absolute = true});
}

static void recip(struct net *n)
{
	finish(n, nn_unary(n, input(n, "apart", DIMS(5, 21)), UN_RECIP));
}

static void dropout(struct net *n)
{
	finish(n, nn_dropout(n, ROWS(9, 33), 0.4f));
}

static void xent_rows(struct net *n)
{
	nn_xent(n, nn_axpb(n, ROWS(9, 21), 3, 0), whole(n, "label21", DIMS(9)),
		(struct args_xent){.weight = 0.5f});
}

static void xent_smooth(struct net *n)
{
	nn_xent(n, ROWS(9, 11), whole(n, "label11", DIMS(9)),
		(struct args_xent){.smoothing = 0.1f});
}

static void xent_image(struct net *n)
{
	struct tensor *x =
		nn_conv(n, "a", IMAGE(8, 4, 5), (struct conv_opt){.out = 3, .r = 1, .bias = true});

	nn_xent(n, x, whole(n, "label3", DIMS(3, 4, 5)), (struct args_xent){0});
}

static void regression_weighted(struct net *n)
{
	struct tensor *x = ROWS(6, 2);

	nn_regression(n, x, net_input(n, "target", DT_F32, DIMS(6, 2)),
		net_input(n, "weight", DT_F32, DIMS(6)), (struct args_regression){.weight = 2});
}

static void regression_absolute(struct net *n)
{
	struct tensor *x = ROWS(6, 2);

	nn_regression(n, x, net_input(n, "target", DT_F32, DIMS(6, 2)), NULL,
		(struct args_regression){.absolute = true});
}

const struct ops_case ops_cases[] = {
	{"convolution 3x3", conv3},
	{"convolution 3x3 with stride", conv3_stride},
	{"convolution 1x1 with stride on an even image", conv1_even},
	{"convolution 7x7 on three channels", conv_stem},
	{"convolution 1x7", conv_flat},
	{"convolution of 5 into 7 channels", conv_odd},
	{"convolutions in a chain", conv_chain},
	{"transposed convolution", conv_transpose},
	{"residual block: two gradients meet", residual, .kinked = true},
	{"batch norm, row-major", batchnorm_plain},
	{"batch norm, odd plane", batchnorm_ragged},
	{"batch norm and relu, blocked with padding", batchnorm_blocked, .kinked = true},
	{"batch norm in evaluation", batchnorm_blocked, .eval = true},
	{"batch norm over some rows", norm_rows},
	{"batch norm over some rows in evaluation", norm_rows, .eval = true},
	{"layer norm", layernorm},
	{"linear", linear},
	{"linear twice with one weight", linear_tied},
	{"matmul", matmul_nn},
	{"matmul, b transposed", matmul_nt},
	{"matmul, a transposed", matmul_tn},
	{"matmul, both transposed", matmul_tt},
	{"matmul, b shared", matmul_shared},
	{"matmul, b shared and transposed", matmul_shared_t},
	{"relu", unary_UN_RELU, .kinked = true},
	{"gelu", unary_UN_GELU},
	{"gelu, tanh form", unary_UN_GELU_TANH},
	{"tanh", unary_UN_TANH},
	{"sigmoid", unary_UN_SIGMOID},
	{"silu", unary_UN_SILU},
	{"shifted softplus", unary_UN_SSP},
	{"square", unary_UN_SQUARE},
	{"square root", unary_UN_SQRT},
	{"exp", unary_UN_EXP},
	{"sine", unary_UN_SIN},
	{"add", add_same},
	{"subtract", sub_same},
	{"multiply", mul_same},
	{"add a row", add_row},
	{"subtract a row", sub_row},
	{"multiply by a row", mul_row},
	{"add a column", add_col},
	{"subtract a column", sub_col},
	{"multiply by a column", mul_col},
	{"a tensor used five times", same_twice},
	{"max pooling, blocked", maxpool, .kinked = true},
	{"max pooling, row-major", maxpool_plain, .kinked = true},
	{"average pooling with padding", avgpool},
	{"global average pooling", global_avgpool},
	{"concatenation of images", concat_images},
	{"concatenation of odd images", concat_odd},
	{"concatenation of rows", concat_rows},
	{"slices that overlap", slice},
	{"permutation", permute},
	{"sum over an axis", sum_axis},
	{"softmax", softmax},
	{"attention with a mask", attention_masked},
	{"attention, causal", attention_causal},
	{"attention with dropout", attention_dropout},
	{"embedding", embed},
	{"gather", gather},
	{"scatter", scatter},
	{"segment maximum", segment_max},
	{"segment minimum", segment_min},
	{"segment mean", segment_mean},
	{"relu away from its corner", relu_apart},
	{"sum and relu away from its corner", add_relu_apart},
	{"batch norm and relu away from its corner", batchnorm_relu_apart},
	{"max pooling of distinct values", maxpool_ranked},
	{"segment maximum and minimum of distinct values", segment_ranked},
	{"absolute error away from its corner", absolute_apart},
	{"reciprocal", recip},
	{"dropout", dropout},
	{"cross entropy", xent_rows},
	{"cross entropy with smoothing", xent_smooth},
	{"cross entropy of an image", xent_image},
	{"weighted squared error", regression_weighted},
	{"absolute error", regression_absolute, .kinked = true},
	{0},
};
