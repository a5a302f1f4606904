/* optim.c: SGD, Adam, AdamW over the flat arrays of parameters. */
#include <math.h>
#include <omp.h>
#include "nn/optim.h"
#include "ops/vec.h"

const char *const optim_name[4] = {"sgd", "adam", "adamw", NULL};
const char *const schedule_name[4] = {"constant", "linear", "cosine", NULL};

int optim_states(enum optim_kind kind)
{
	return kind == OPTIM_SGD ? 1 : 2;
}

double optim_lr(const struct optim *o, int64_t step)
{
	double t;

	if (step < o->warmup)
		return o->lr * (double)(step + 1) / (double)o->warmup;
	if (o->schedule == SCHED_CONSTANT || o->total <= o->warmup)
		return o->lr;
	t = (double)(step - o->warmup) / (double)(o->total - o->warmup);
	t = t > 1 ? 1 : t;
	return o->lr * (o->schedule == SCHED_LINEAR ? 1 - t : 0.5 * (1 + cos(M_PI * t)));
}

/* Constants of one step, for a range of elements. */
struct update {
	float lr, scale, momentum, b1, b2, eps, decay;
	float fix1, fix2; /* Adam: lr / (1 − β1ᵗ) and 1 / sqrt(1 − β2ᵗ) */
};

KERNEL static void sgd(const struct update *u, float *w, const float *g, float *m, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		float d = g[i] * u->scale + u->decay * w[i];

		m[i] = u->momentum * m[i] + d;
		w[i] -= u->lr * m[i];
	}
}

KERNEL static void adam(
	const struct update *u, float *w, const float *g, float *m, float *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		float d = g[i] * u->scale + u->decay * w[i];

		m[i] = u->b1 * m[i] + (1 - u->b1) * d;
		v[i] = u->b2 * v[i] + (1 - u->b2) * d * d;
		w[i] -= u->fix1 * m[i] / (__builtin_sqrtf(v[i]) * u->fix2 + u->eps);
	}
}

KERNEL static void shrink(float *w, float by, size_t n)
{
	for (size_t i = 0; i < n; i++)
		w[i] -= by * w[i];
}

KERNEL static double sum_squares(const float *g, size_t n)
{
	double s[8] = {0}, sum = 0;

	for (size_t i = 0; i < n; i++)
		s[i % 8] += (double)g[i] * g[i];
	for (int i = 0; i < 8; i++)
		sum += s[i];
	return sum;
}

/* The part of parameter p inside [a, b) of the flat arrays. */
static void update_range(
	const struct optim *o, const struct update *u, const struct param *p, size_t a, size_t b)
{
	size_t from = p->at > a ? p->at : a, to = p->at + p->count < b ? p->at + p->count : b;
	struct update mine = *u;
	float *w, *g;
	size_t k, n;

	if (from >= to)
		return;
	k = from - p->at;
	n = to - from;
	w = tf(&p->w) + k;
	g = tf(&p->g) + k;
	if (!p->decay)
		mine.decay = 0;
	if (o->kind == OPTIM_SGD) {
		sgd(&mine, w, g, p->m[0] + k, n);
		return;
	}
	if (o->kind == OPTIM_ADAMW) {
		if (mine.decay > 0)
			shrink(w, mine.lr * mine.decay, n);
		mine.decay = 0;
	}
	adam(&mine, w, g, p->m[0] + k, p->m[1] + k, n);
}

double optim_step(const struct optim *o, struct params *ps, int64_t step, double scale)
{
	double lr = optim_lr(o, step), t = (double)step + 1, norm = 0;
	struct update u = {.lr = (float)lr,
		.momentum = (float)o->momentum,
		.b1 = (float)o->beta1,
		.b2 = (float)o->beta2,
		.eps = (float)o->eps,
		.decay = (float)o->decay,
		.fix1 = (float)(lr / (1 - pow(o->beta1, t))),
		.fix2 = (float)(1 / sqrt(1 - pow(o->beta2, t)))};

	if (o->clip > 0) {
		norm = sqrt(sum_squares(ps->grad, ps->count)) * scale;
		if (norm > o->clip)
			scale *= o->clip / (norm + 1e-6);
	}
	u.scale = (float)scale;
#pragma omp parallel if (ps->count > 16384)
	{
		size_t a, b;

		vec_share(ps->count, omp_get_thread_num(), omp_get_num_threads(), &a, &b);
		for (int i = 0; i < ps->n; i++)
			if (ps->p[i]->trainable)
				update_range(o, &u, ps->p[i], a, b);
	}
	return norm;
}
