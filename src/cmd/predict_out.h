/* predict_out.h: a question to the laws and its answers, and how they are printed. Private to the
 * command: predict.c asks, predict_out.c prints.
 */
#ifndef WATTLAW_CMD_PREDICT_OUT_H
#define WATTLAW_CMD_PREDICT_OUT_H

#include <jansson.h>

#include "base/str.h"
#include "cmd/planned.h"

struct predict_cmd {
	const char *db, *workload, *where, *currency, *carbon;
	int64_t workers, power_limit, clock_max, cpu_rate;
	double samples, steps, epochs, runs, epoch_samples;
	int64_t level;
	double pue, host_power, price, gpu_hour_price, unit_price;
	int64_t workers_per_host;
	bool prior, mixed, json;
};

/* What is asked of every workload. */
struct question {
	const struct predict_cmd *o;
	double x[FACTOR_COUNT];
	struct planned_work work;
	struct cost_terms terms;
};

/* One workload's answer. */
struct reply {
	const struct law_group *group;
	struct model *model;
	struct prior *prior[QTY_COUNT];
	struct planned plan;
	enum status st;
	struct err e;
};

/* A few lines for people. */
void predict_print(const struct question *q, const struct reply *r, struct str *out);
/* wattlaw.predict/1: one workload's document, or several in a list under "predictions". NULL: no
 * memory. */
json_t *predict_document(const struct question *q, const struct reply *r, size_t n);

#endif
