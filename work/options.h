/* options.h: the command line of wl-train: one table for parsing and help.
 */
#ifndef WORK_OPTIONS_H
#define WORK_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include "ops/fault.h"

struct options {
	const char *network;
	int size; /* enum size */
	const char *data, *vocab, *task, *target;
	int64_t batch, global_batch, steps, epochs, accumulate;
	int64_t seed, threads;
	const char *precision, *backend, *comm, *pin;
	bool sync_bn;
	double lr, momentum, weight_decay, clip, dropout;
	const char *optimizer, *schedule;
	int64_t warmup;
	const char *checkpoint, *resume;
	int64_t checkpoint_every, eval_every, log_every, sample, bucket_kib;
	double target_loss;
	bool list, json, help, version, quiet;
};

/* Fills *o from the command line; strings are borrowed from argv. −1 and a line on a bad option. */
int options_parse(struct options *o, int argc, char **argv, struct fault *f);
void options_help(void);

#endif
