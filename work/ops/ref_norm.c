/* ref_norm.c: batch and layer normalisation. */
#include <math.h>
#include <string.h>
#include "comm/comm.h"
#include "ops/ref.h"

int ref_batchnorm_plan(struct node *nd, struct fault *f)
{
	(void)f;
	nd->out[0]->cblock = 1;
	nd->scratch.bytes = (2 * (size_t)nd->in[0]->dim[1] + 1) * sizeof(double);
	return 0;
}

/* Sums over ranks if statistics are global. */
static void over_ranks(const struct node *nd, double *v, int n)
{
	if (nd->ctx->sync_bn && nd->ctx->comm)
		nd->ctx->comm->ops->sum_f64(nd->ctx->comm, v, n);
}

/* saved = mean and 1/sqrt(var + eps) of the batch; running ← (1−m) running + m batch, its variance
 * unbiased, as PyTorch does. */
static void batch_statistics(struct node *nd, int64_t plane)
{
	int64_t batch = nd->in[0]->dim[0], c = nd->in[0]->dim[1];
	double *sum = nd->scratch.data, count;
	float *mean = tf(nd->out[1]), *rstd = mean + c, m = nd->a.norm.momentum;

	memset(sum, 0, (2 * (size_t)c + 1) * sizeof(*sum));
	sum[c] = (double)(batch * plane);
	for (int64_t i = 0; i < batch * c * plane; i++)
		sum[i / plane % c] += tf(nd->in[0])[i];
	over_ranks(nd, sum, (int)c + 1);
	count = sum[c];
	for (int64_t k = 0; k < c; k++)
		mean[k] = (float)(sum[k] / count);
	memset(sum, 0, (size_t)c * sizeof(*sum));
	for (int64_t i = 0; i < batch * c * plane; i++) {
		double d = tf(nd->in[0])[i] - (double)mean[i / plane % c];

		sum[i / plane % c] += d * d;
	}
	over_ranks(nd, sum, (int)c);
	for (int64_t k = 0; k < c; k++) {
		double unbiased = count > 1 ? sum[k] / (count - 1) : 0;
		float *rm = tf(nd->in[3]) + k, *rv = tf(nd->in[4]) + k;

		rstd[k] = (float)(1 / sqrt(sum[k] / count + nd->a.norm.eps));
		*rm += m * (mean[k] - *rm);
		*rv += m * ((float)unbiased - *rv);
	}
}

void ref_batchnorm_forward(struct node *nd)
{
	int64_t c = nd->in[0]->dim[1], plane = nd->in[0]->dim[2] * nd->in[0]->dim[3];
	float *mean = tf(nd->out[1]), *rstd = mean + c;

	if (nd->train)
		batch_statistics(nd, plane);
	else
		for (int64_t k = 0; k < c; k++) {
			mean[k] = tf(nd->in[3])[k];
			rstd[k] = 1 / sqrtf(tf(nd->in[4])[k] + nd->a.norm.eps);
		}
	for (int64_t i = 0; i < tensor_count(nd->in[0]); i++) {
		int64_t k = i / plane % c;
		float y = (tf(nd->in[0])[i] - mean[k]) * rstd[k] * tf(nd->in[1])[k] +
			  tf(nd->in[2])[k];

		tf(nd->out[0])[i] = nd->a.norm.relu && y < 0 ? 0 : y;
	}
}

/* sum holds Σdy (c), Σdy x̂ (c) and the count: gradients of β and γ, then the sums of all ranks. */
static void put_sums(const struct node *nd, double *sum, int64_t c)
{
	struct tensor *dg = grad_of(nd, 1), *db = grad_of(nd, 2);

	for (int64_t k = 0; dg && k < c; k++)
		grad_put(tf(dg), k, sum[c + k], nd->acc[1]);
	for (int64_t k = 0; db && k < c; k++)
		grad_put(tf(db), k, sum[k], nd->acc[2]);
	over_ranks(nd, sum, (int)(2 * c + 1));
}

/* dx = γ/σ (dy − mean(dy) − x̂ mean(dy x̂)), means over everything but the channel */
void ref_batchnorm_backward(struct node *nd)
{
	int64_t c = nd->in[0]->dim[1], plane = nd->in[0]->dim[2] * nd->in[0]->dim[3];
	int64_t total = tensor_count(nd->in[0]);
	const float *x = tf(nd->in[0]), *y = tf(nd->out[0]), *dy = tf(nd->out[0]->grad);
	const float *mean = tf(nd->out[1]), *rstd = mean + c;
	double *sum = nd->scratch.data, *sum_x = sum + c, *count = sum + 2 * c;
	struct tensor *dx = grad_of(nd, 0);

	memset(sum, 0, 2 * (size_t)c * sizeof(*sum));
	*count = (double)(total / c);
	for (int64_t i = 0; i < total; i++) {
		int64_t k = i / plane % c;

		if (nd->a.norm.relu && y[i] <= 0)
			continue;
		sum[k] += dy[i];
		sum_x[k] += dy[i] * (double)(x[i] - mean[k]) * rstd[k];
	}
	put_sums(nd, sum, c);
	for (int64_t i = 0; dx && i < total; i++) {
		int64_t k = i / plane % c;
		double d = nd->a.norm.relu && y[i] <= 0 ? 0 : dy[i];
		double xh = (double)(x[i] - mean[k]) * rstd[k];

		d = rstd[k] * tf(nd->in[1])[k] * (d - sum[k] / *count - xh * sum_x[k] / *count);
		grad_put(tf(dx), i, d, nd->acc[0]);
	}
}

int ref_norm_rows_plan(struct node *nd, struct fault *f)
{
	(void)f;
	nd->scratch.bytes = (2 * (size_t)tensor_cols(nd->in[0]) + 1) * sizeof(double);
	return 0;
}

/* Mean and 1/σ over the rows that count, of all ranks if asked, into saved; running ones renewed.
 */
static void row_statistics(struct node *nd)
{
	int64_t rows = tensor_rows(nd->in[0]), c = tensor_cols(nd->in[0]);
	double *sum = nd->scratch.data, count;
	const int32_t *index = ti(nd->in[5]);
	float *mean = tf(nd->out[1]), *rstd = mean + c, m = nd->a.norm.momentum;

	memset(sum, 0, ((size_t)c + 1) * sizeof(*sum));
	for (int64_t i = 0; i < rows; i++)
		for (int64_t k = 0; index[i] >= 0 && k <= c; k++)
			sum[k] += k < c ? tf(nd->in[0])[i * c + k] : 1;
	over_ranks(nd, sum, (int)c + 1);
	count = sum[c] > 0 ? sum[c] : 1;
	for (int64_t k = 0; k < c; k++)
		mean[k] = (float)(sum[k] / count);
	memset(sum, 0, (size_t)c * sizeof(*sum));
	for (int64_t i = 0; i < rows; i++)
		for (int64_t k = 0; index[i] >= 0 && k < c; k++) {
			double d = (double)tf(nd->in[0])[i * c + k] - mean[k];

			sum[k] += d * d;
		}
	over_ranks(nd, sum, (int)c);
	for (int64_t k = 0; k < c; k++) {
		float *rm = tf(nd->in[3]) + k, *rv = tf(nd->in[4]) + k;

		rstd[k] = (float)(1 / sqrt(sum[k] / count + nd->a.norm.eps));
		*rm += m * (mean[k] - *rm);
		*rv += m * ((float)(count > 1 ? sum[k] / (count - 1) : 0) - *rv);
	}
}

void ref_norm_rows_forward(struct node *nd)
{
	int64_t rows = tensor_rows(nd->in[0]), c = tensor_cols(nd->in[0]);
	const float *x = tf(nd->in[0]), *gamma = tf(nd->in[1]), *beta = tf(nd->in[2]);
	float *y = tf(nd->out[0]), *mean = tf(nd->out[1]), *rstd = mean + c;

	if (nd->train)
		row_statistics(nd);
	for (int64_t k = 0; k < c && !nd->train; k++) {
		mean[k] = tf(nd->in[3])[k];
		rstd[k] = 1 / sqrtf(tf(nd->in[4])[k] + nd->a.norm.eps);
	}
	for (int64_t i = 0; i < rows; i++)
		for (int64_t k = 0; k < c; k++)
			y[i * c + k] =
				ti(nd->in[5])[i] < 0
					? 0
					: (x[i * c + k] - mean[k]) * rstd[k] * gamma[k] + beta[k];
}

/* As in ref_batchnorm_backward, over the rows that count. */
void ref_norm_rows_backward(struct node *nd)
{
	int64_t rows = tensor_rows(nd->in[0]), c = tensor_cols(nd->in[0]);
	const float *x = tf(nd->in[0]), *dy = tf(nd->out[0]->grad), *gamma = tf(nd->in[1]);
	const float *mean = tf(nd->out[1]), *rstd = mean + c;
	const int32_t *index = ti(nd->in[5]);
	double *sum = nd->scratch.data, *sum_x = sum + c, *count = sum + 2 * c;
	struct tensor *dx = grad_of(nd, 0);

	memset(sum, 0, (2 * (size_t)c + 1) * sizeof(*sum));
	for (int64_t i = 0; i < rows; i++) {
		*count += index[i] >= 0;
		for (int64_t k = 0; index[i] >= 0 && k < c; k++) {
			double d = dy[i * c + k];

			sum[k] += d;
			sum_x[k] += d * (double)(x[i * c + k] - mean[k]) * rstd[k];
		}
	}
	put_sums(nd, sum, c);
	for (int64_t i = 0; dx && i < rows * c; i++) {
		int64_t k = i % c;
		double xh = (double)(x[i] - mean[k]) * rstd[k];
		double d = dy[i] - sum[k] / *count - xh * sum_x[k] / *count;

		grad_put(tf(dx), i, index[i / c] < 0 ? 0 : rstd[k] * gamma[k] * d, nd->acc[0]);
	}
}

void ref_layernorm_forward(struct node *nd)
{
	int64_t m = tensor_rows(nd->in[0]), n = tensor_cols(nd->in[0]);

	for (int64_t i = 0; i < m; i++) {
		const float *x = tf(nd->in[0]) + i * n;
		float *saved = tf(nd->out[1]) + 2 * i;
		double sum = 0, sq = 0;

		for (int64_t j = 0; j < n; j++)
			sum += x[j];
		for (int64_t j = 0; j < n; j++)
			sq += (x[j] - sum / (double)n) * (x[j] - sum / (double)n);
		saved[0] = (float)(sum / (double)n);
		saved[1] = (float)(1 / sqrt(sq / (double)n + nd->a.norm.eps));
		for (int64_t j = 0; j < n; j++)
			tf(nd->out[0])[i * n + j] =
				(x[j] - saved[0]) * saved[1] * tf(nd->in[1])[j] + tf(nd->in[2])[j];
	}
}

void ref_layernorm_backward(struct node *nd)
{
	int64_t m = tensor_rows(nd->in[0]), n = tensor_cols(nd->in[0]);
	const float *gamma = tf(nd->in[1]);
	struct tensor *dx = grad_of(nd, 0), *dg = grad_of(nd, 1), *db = grad_of(nd, 2);

	grad_clear(nd, 1);
	grad_clear(nd, 2);
	for (int64_t i = 0; i < m; i++) {
		const float *x = tf(nd->in[0]) + i * n, *dy = tf(nd->out[0]->grad) + i * n;
		const float *saved = tf(nd->out[1]) + 2 * i;
		double sum = 0, sum_x = 0;

		for (int64_t j = 0; j < n; j++) {
			double xh = (double)(x[j] - saved[0]) * saved[1],
			       d = (double)dy[j] * gamma[j];

			sum += d / (double)n;
			sum_x += d * xh / (double)n;
			if (dg)
				tf(dg)[j] += (float)(dy[j] * xh);
			if (db)
				tf(db)[j] += dy[j];
		}
		for (int64_t j = 0; dx && j < n; j++) {
			double xh = (double)(x[j] - saved[0]) * saved[1];

			grad_put(tf(dx), i * n + j,
				saved[1] * ((double)dy[j] * gamma[j] - sum - xh * sum_x),
				nd->acc[0]);
		}
	}
}
