/* trainer.h: a training run without its command line: data, nets, gradients over ranks, optimizer.
 *
 * Owns everything it opens. One thread drives it. Nets are made for each batch shape that appears
 * and kept (the oldest is dropped when there are too many); all share parameters and one arena.
 */
#ifndef WORK_TRAINER_H
#define WORK_TRAINER_H

#include <sched.h>
#include "comm/comm.h"
#include "data/data.h"
#include "models/model.h"
#include "nn/optim.h"
#include "options.h"

#define TRAINER_NETS 64

struct trainer_net {
	struct net *net;
	uint64_t key; /* hash of the batch's dims and of train */
	uint64_t used;
};

struct result {
	double loss; /* mean over the terms of the step or evaluation */
	double metric; /* the same; errors in data.info.unit */
	int64_t samples, global_samples;
	double lr, grad_norm;
	bool stop; /* some rank wants to stop */
};

struct trainer {
	const struct options *o;
	const struct model *model;
	struct model_cfg cfg;
	const struct backend *be;
	struct comm comm;
	struct data data;
	struct loader *loader;
	struct params *ps;
	struct op_ctx ctx;
	struct arena arena;
	struct optim optim;
	struct trainer_net nets[TRAINER_NETS];
	int n_nets;
	uint64_t clock;
	int64_t step; /* optimizer steps done */
	int64_t global_batch; /* samples of a micro-batch over all ranks */
	const cpu_set_t *cpus; /* for the prefetch thread, NULL: as the caller's */
	bool stop; /* set when a signal came; agreed on at the next step */
	double flops_per_sample;
};

/* Network and ranks; then the caller sets the number of threads; then data and parameters. */
int trainer_start(struct trainer *t, const struct options *o, struct fault *f);
int trainer_load(struct trainer *t, struct fault *f);
/* Optimizer steps the options ask for, INT64_MAX without end. */
int64_t trainer_steps(const struct trainer *t);
/* One optimizer step. −1 and a fault when the data fail or the loss is not finite. */
int trainer_step(struct trainer *t, struct result *r, struct fault *f);
/* Mean loss and metric over the held-out samples. */
int trainer_eval(struct trainer *t, struct result *r, struct fault *f);
/* The net for that batch, planned and placed. */
struct net *trainer_net(struct trainer *t, const struct batch *b, bool train, struct fault *f);
/* Writes a checkpoint (rank 0; the others do nothing). */
int trainer_save(const struct trainer *t, const char *path, struct fault *f);
void trainer_close(struct trainer *t);

#endif
