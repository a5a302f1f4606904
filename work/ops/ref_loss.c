/* ref_loss.c: losses. Gradients are those of the sum over terms, times ctx->loss_scale. */
#include <math.h>
#include "ops/ref.h"

/* Scores of item i: class c is at first + c * pitch. */
static void item_place(const struct tensor *t, int64_t i, int64_t *first, int64_t *pitch)
{
	if (t->n_dims == 4) {
		int64_t plane = t->dim[2] * t->dim[3];

		*first = i / plane * t->dim[1] * plane + i % plane;
		*pitch = plane;
	} else {
		*first = i * tensor_cols(t);
		*pitch = 1;
	}
}

static int64_t n_classes(const struct tensor *t)
{
	return t->n_dims == 4 ? t->dim[1] : tensor_cols(t);
}

/* Probabilities of one item and the likeliest class; returns its loss. */
static double item_loss(
	const float *x, float *p, int64_t pitch, int64_t c, int label, double smooth, int64_t *best)
{
	double max = -INFINITY, sum = 0, loss = 0;

	*best = 0;
	for (int64_t k = 0; k < c; k++)
		if (x[k * pitch] > max) {
			max = x[k * pitch];
			*best = k;
		}
	for (int64_t k = 0; k < c; k++)
		sum += exp(x[k * pitch] - max);
	for (int64_t k = 0; k < c; k++) {
		double log_p = x[k * pitch] - max - log(sum);

		p[k * pitch] = (float)exp(log_p);
		loss -= log_p * ((k == label ? 1 - smooth : 0) + smooth / (double)c);
	}
	return loss;
}

static void count_pixel(struct op_stats *st, int64_t label, int64_t best)
{
	st->overlap[label] += label == best;
	st->either[label]++;
	st->either[best] += label != best;
}

void ref_xent_forward(struct node *nd)
{
	const struct args_xent *a = &nd->a.xent;
	struct op_stats *st = &nd->ctx->stats;
	int64_t n = tensor_count(nd->in[1]), first, pitch;

	for (int64_t i = 0; i < n; i++) {
		int label = ti(nd->in[1])[i];
		int64_t best;
		double loss;

		item_place(nd->in[0], i, &first, &pitch);
		loss = item_loss(tf(nd->in[0]) + first, tf(nd->out[0]) + first, pitch,
			n_classes(nd->in[0]), label, a->smoothing, &best);
		if (label < 0)
			continue;
		st->loss += a->weight * loss;
		if (a->aux)
			continue;
		st->count += 1;
		st->metric += best == label;
		st->metric_count += 1;
		if (nd->in[0]->n_dims == 4)
			count_pixel(st, label, best);
	}
}

void ref_xent_backward(struct node *nd)
{
	const struct args_xent *a = &nd->a.xent;
	int64_t n = tensor_count(nd->in[1]), c = n_classes(nd->in[0]), first, pitch;
	float scale = a->weight * nd->ctx->loss_scale;

	for (int64_t i = 0; i < n; i++) {
		int label = ti(nd->in[1])[i];

		item_place(nd->in[0], i, &first, &pitch);
		for (int64_t k = 0; k < c; k++) {
			double want =
				(k == label ? 1 - a->smoothing : 0) + a->smoothing / (double)c;
			double d = tf(nd->out[0])[first + k * pitch] - want;

			grad_put(tf(nd->in[0]->grad), first + k * pitch, label < 0 ? 0 : scale * d,
				nd->acc[0]);
		}
	}
}

static double row_weight(const struct node *nd, int64_t row)
{
	return nd->n_in > 2 ? tf(nd->in[2])[row] : 1;
}

void ref_regression_forward(struct node *nd)
{
	const struct args_regression *a = &nd->a.regression;
	struct op_stats *st = &nd->ctx->stats;
	int64_t cols = tensor_cols(nd->in[0]);
	double sum = 0;

	for (int64_t i = 0; i < tensor_count(nd->in[0]); i++) {
		double e = (double)tf(nd->in[0])[i] - tf(nd->in[1])[i],
		       w = row_weight(nd, i / cols);

		sum += w * (a->absolute ? fabs(e) : e * e);
		st->metric += w * fabs(e);
		st->count += w;
		st->metric_count += w;
	}
	st->loss += a->weight * sum;
	tf(nd->out[0])[0] = (float)sum;
}

void ref_regression_backward(struct node *nd)
{
	const struct args_regression *a = &nd->a.regression;
	double scale = a->weight * nd->ctx->loss_scale;
	int64_t cols = tensor_cols(nd->in[0]);

	for (int64_t i = 0; i < tensor_count(nd->in[0]); i++) {
		double e = (double)tf(nd->in[0])[i] - tf(nd->in[1])[i];
		double d = a->absolute ? (e > 0) - (e < 0) : 2 * e;

		grad_put(tf(nd->in[0]->grad), i, scale * row_weight(nd, i / cols) * d, nd->acc[0]);
	}
}
