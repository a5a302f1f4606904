/* optim.h: what happens to the parameters after a step, and the learning rate over steps.
 *
 * The formulas are PyTorch's: SGD with momentum (first buffer = gradient), Adam with L2, AdamW with
 * decoupled decay; decay only for parameters with p->decay.
 */
#ifndef WORK_NN_OPTIM_H
#define WORK_NN_OPTIM_H

#include "nn/param.h"

enum optim_kind { OPTIM_SGD, OPTIM_ADAM, OPTIM_ADAMW };
extern const char *const optim_name[4];

enum schedule { SCHED_CONSTANT, SCHED_LINEAR, SCHED_COSINE };
extern const char *const schedule_name[4];

struct optim {
	enum optim_kind kind;
	double lr, momentum, beta1, beta2, eps, decay;
	double clip; /* largest norm of the gradient, 0: none */
	enum schedule schedule;
	int64_t warmup, total; /* steps; total is needed by linear and cosine */
};

/* Arrays of state that a kind keeps: n_state of params_finish. */
int optim_states(enum optim_kind kind);
/* Learning rate of step (from 0). */
double optim_lr(const struct optim *o, int64_t step);
/* One update from gradients × scale; step from 0 (Adam's bias correction). Returns the norm of the
 * scaled gradient if clipping is on, else 0. */
double optim_step(const struct optim *o, struct params *ps, int64_t step, double scale);

#endif
