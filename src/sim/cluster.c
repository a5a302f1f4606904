#include "sim/cluster.h"

#include <math.h>
#include <string.h>

#define BACKWARD_SHARE (2.0 / 3.0) /* of a training step's operations */

/* Inverse of the normal distribution, Acklam's rational approximation (relative error 1.2e-9 in
 * the centre). */
static double normal_quantile(double p)
{
	static const double a[] = {-3.969683028665376e+01, 2.209460984245205e+02,
		-2.759285104469687e+02, 1.383577518672690e+02, -3.066479806614716e+01,
		2.506628277459239e+00};
	static const double b[] = {-5.447609879822406e+01, 1.615858368580409e+02,
		-1.556989798598866e+02, 6.680131188771972e+01, -1.328068155288572e+01};
	static const double c[] = {-7.784894002430293e-03, -3.223964580411365e-01,
		-2.400758277161838e+00, -2.549732539343734e+00, 4.374664141464968e+00,
		2.938163982698783e+00};
	static const double d[] = {7.784695709041462e-03, 3.224671290700398e-01,
		2.445134137142996e+00, 3.754408661907416e+00};
	double q, r;

	if (p < 0.02425 || p > 1 - 0.02425) {
		double s = p < 0.5 ? 1 : -1;

		q = sqrt(-2 * log(p < 0.5 ? p : 1 - p));
		return s * (((((c[0] * q + c[1]) * q + c[2]) * q + c[3]) * q + c[4]) * q + c[5]) /
		       ((((d[0] * q + d[1]) * q + d[2]) * q + d[3]) * q + 1);
	}
	q = p - 0.5;
	r = q * q;
	return (((((a[0] * r + a[1]) * r + a[2]) * r + a[3]) * r + a[4]) * r + a[5]) * q /
	       (((((b[0] * r + b[1]) * r + b[2]) * r + b[3]) * r + b[4]) * r + 1);
}

double normal_max(int n)
{
	return n < 2 ? 0 : normal_quantile(((double)n - 0.375) / ((double)n + 0.25));
}

static double all_reduce_s(const struct cluster *c, double bytes, int gpus, int nodes)
{
	double t = 0;

	if (gpus > 1)
		t += 2.0 * (gpus - 1) / gpus * bytes / c->intra_bytes_s +
		     2.0 * (gpus - 1) * c->intra_latency_s;
	if (nodes > 1)
		t += 2.0 * (nodes - 1) / nodes * bytes / c->inter_bytes_s +
		     2.0 * fmin(nodes - 1, ceil(log2(nodes))) * c->inter_latency_s;
	return t;
}

static double exposed_s(const struct cluster *c, double comm_s, double compute_s, double bytes)
{
	double hidden = c->overlap * BACKWARD_SHARE * compute_s;
	double tail = bytes > 0 ? comm_s * fmin(1, c->bucket_bytes / bytes) : 0;

	return comm_s > 0 ? fmax(comm_s - hidden, tail) : 0;
}

static enum status check(const struct cluster *c, const struct cluster_setting *s, struct err *e)
{
	const struct gpu_profile *p = &c->gpu;
	long long have = (long long)c->nodes * c->gpus_per_node;

	if (s->workers < 1 || s->workers > have)
		return err_set(e, ST_RANGE, "%d workers; cluster '%s' has %lld GPUs", s->workers,
			c->name, have);
	if (s->limit_mw && (s->limit_mw < p->limit_min_mw || s->limit_mw > p->limit_max_mw))
		return err_set(e, ST_RANGE, "power limit %g W is outside %g–%g W of %s",
			(double)s->limit_mw / 1e3, (double)p->limit_min_mw / 1e3,
			(double)p->limit_max_mw / 1e3, p->name);
	if (s->clock_khz && (s->clock_khz < p->clock_min_khz || s->clock_khz > p->clock_max_khz))
		return err_set(e, ST_RANGE, "clock %g MHz is outside %g–%g MHz of %s",
			(double)s->clock_khz / 1e3, (double)p->clock_min_khz / 1e3,
			(double)p->clock_max_khz / 1e3, p->name);
	if (s->batch_per_gpu < 0 || !isfinite(s->batch_per_gpu))
		return err_set(e, ST_RANGE, "batch per GPU must be above 0");
	return ST_OK;
}

enum status cluster_eval(const struct cluster *c, const struct workload *w,
	const struct gpu_load *load, const struct cluster_setting *s, struct cluster_step *out,
	struct err *e)
{
	const struct gpu_profile *p = &c->gpu;
	double batch = s->batch_per_gpu > 0 ? s->batch_per_gpu : (double)w->batch;
	int gpus = s->workers < c->gpus_per_node ? s->workers : c->gpus_per_node;
	double slowest = 1 + c->board_spread * normal_max(s->workers), cap_mw, x_hi, busy = 1;
	struct gpu_load l = *load;
	enum status st = check(c, s, e);
	struct gpu_point pt;

	memset(out, 0, sizeof(*out));
	if (st)
		return st;
	out->nodes = (s->workers + c->gpus_per_node - 1) / c->gpus_per_node;
	l.step_s *= batch / (double)w->batch;
	cap_mw = (double)(s->limit_mw ? s->limit_mw : p->limit_def_mw);
	x_hi = s->clock_khz ? (double)gpu_clock_grid(p, s->clock_khz) / (double)p->clock_max_khz
			    : 1;
	out->comm_s = all_reduce_s(c, (double)w->gradient_bytes, gpus, out->nodes);
	out->loader_s = w->loader_s * batch * gpus;
	/* The busy share sets the power left for computing, that the time of computing, and that
	 * the busy share. Starting from "always busy" it only falls, so this converges. */
	for (int i = 0; i < 60; i++) {
		double next;

		gpu_eval(p, &l, gpu_computing_limit(p, cap_mw, busy), x_hi, s->mem_clock_khz, &pt);
		out->compute_s = 1 / pt.rate;
		out->exposed_s =
			exposed_s(c, out->comm_s, out->compute_s, (double)w->gradient_bytes);
		out->step_s = fmax(out->compute_s * slowest + out->exposed_s, out->loader_s);
		next = out->compute_s / out->step_s;
		if (fabs(next - busy) < 1e-10)
			break;
		busy = next;
	}
	out->wait_s = out->step_s - out->compute_s;
	out->gpu_mw = busy * pt.power_mw + (1 - busy) * p->wait_mw;
	out->samples_per_s = batch * s->workers / out->step_s;
	out->clock_khz = pt.clock_khz;
	out->util = busy * pt.util;
	out->capped = busy * pt.capped;
	out->enforced_mw = cap_mw;
	out->host_mw = c->host_mw * out->nodes;
	return ST_OK;
}

/* SplitMix64 finaliser: an even spread from (seed, run, which). */
static double unit_draw(uint64_t seed, uint64_t run, uint64_t which)
{
	uint64_t z = seed * UINT64_C(0x9e3779b97f4a7c15) + run * UINT64_C(0xbf58476d1ce4e5b9) +
		     which * UINT64_C(0x94d049bb133111eb) + UINT64_C(0x2545f4914f6cdd1d);

	for (int i = 0; i < 2; i++) {
		z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
		z ^= z >> 31;
	}
	return ((double)(z >> 11) + 0.5) / 9007199254740992.0;
}

void cluster_noise(const struct cluster *c, const struct workload *w, uint64_t seed, uint64_t run,
	struct cluster_step *step)
{
	double sd = sqrt(c->noise * c->noise + w->noise * w->noise);
	double slow = exp(sd * normal_quantile(unit_draw(seed, run, 1)));
	double power = exp(CLUSTER_POWER_NOISE * sd * normal_quantile(unit_draw(seed, run, 2)));

	step->step_s *= slow;
	step->samples_per_s /= slow;
	step->gpu_mw *= power;
}
