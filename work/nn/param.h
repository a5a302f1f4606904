/* param.h: the parameters of a model in one flat list, and their gradients in buckets.
 *
 * Parameters are named when a model is first built; every later net of the same model (another
 * batch shape, evaluation) asks for them by name and gets the same. After the first net is planned
 * params_finish fixes layouts and lays values, gradients and optimizer state out in one block
 * each, in reverse order of use, so that a bucket of gradients that backward completes early is one
 * contiguous range for the all-reduce. Statistics (running mean and variance) are not trainable and
 * have no gradient.
 */
#ifndef WORK_NN_PARAM_H
#define WORK_NN_PARAM_H

#include "ops/ops.h"

enum init_kind { INIT_CONST, INIT_NORMAL, INIT_UNIFORM, INIT_MULTIPLES };

struct init {
	enum init_kind kind;
	double a; /* value, standard deviation, bound of [−a, a], or a, 2a, 3a … */
};
#define INIT_ZERO ((struct init){INIT_CONST, 0})
#define INIT_ONE  ((struct init){INIT_CONST, 1})

struct param {
	char name[80];
	struct tensor w; /* f32; in the flat array of values if trainable */
	struct tensor g; /* gradient, f32, in the element order of w */
	float *m[2]; /* optimizer state */
	struct init init;
	bool trainable;
	bool decay; /* weight decay applies (not to biases and norms) */
	size_t count; /* elements stored, padding included */
	size_t at; /* first element in the flat arrays (trainable ones) */
	int bucket;
	bool written; /* its gradient holds something of this step */
};

struct bucket {
	size_t at, count; /* elements of the flat gradient array */
	int n_params, n_done;
};

struct params {
	const struct backend *be;
	struct param **p;
	int n, cap;
	bool finished;
	size_t count; /* trainable elements with padding */
	int64_t n_trainable; /* as a person counts them */
	float *value, *grad, *m[2];
	struct bucket *bucket;
	int n_buckets;
};

struct params *params_new(const struct backend *be);
void params_free(struct params *ps);
/* The parameter of that name, created with those dims if new. NULL (and a fault) on a different
 * shape. */
struct param *params_get(struct params *ps, const char *name, int n_dims, const int64_t *dim,
	struct init init, bool trainable, struct fault *f);
struct param *params_find(const struct params *ps, const char *name);
/* Allocates everything; bucket_bytes is the smallest bucket to all-reduce. n_state: 0..2 optimizer
 * arrays. */
int params_finish(struct params *ps, int n_state, size_t bucket_bytes, struct fault *f);
/* Initial values: a hash of (seed, name, row-major index). */
int params_init(struct params *ps, uint64_t seed, struct fault *f);
/* One array of a parameter (values, gradient or optimizer state) from and to row-major f32. */
void param_pack(const struct params *ps, const struct param *p, float *to, const float *plain);
void param_unpack(const struct params *ps, const struct param *p, const float *from, float *plain);
/* The values and the gradient as row-major f32 copies; buf holds tensor_count(&p->w) floats. */
void param_load(struct params *ps, struct param *p, const float *buf);
void param_store(const struct params *ps, const struct param *p, float *buf);
void param_store_grad(const struct params *ps, const struct param *p, float *buf);
/* Before the first backward of a step: gradients are overwritten, not added to. */
void params_begin_step(struct params *ps);

#endif
