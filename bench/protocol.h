/* protocol.h: what bench/accuracy measures: how each protocol hides settings and asks for them.
 *
 * A case is one series of one workload; running it yields outcomes (hidden truth and prediction).
 * Cases are independent, so they may run on several threads; everything here is read-only then.
 */
#ifndef WATTLAW_BENCH_PROTOCOL_H
#define WATTLAW_BENCH_PROTOCOL_H

#include "model/joint.h"
#include "model/predict.h"
#include "tidy.h"

enum protocol {
	CAPS_LOO,
	CAPS_3PROBE,
	CLOCK_LOO,
	SCALE_LAST,
	JOINT_HOLDOUT,
	CAPS_LOO_POWER, /* as CAPS_LOO, of mean power and of energy */
	CAPS_LOO_ENERGY,
	CLOCK_LOO_POWER,
	CLOCK_LOO_ENERGY,
	CAPS_3PROBE_POWER,
	CAPS_3PROBE_ENERGY,
	SCALE_LAST_POWER,
	SCALE_LAST_ENERGY,
	PROTOCOL_COUNT
};

struct outcome {
	double x, truth; /* ln of the hidden value */
	double pred, lo, hi; /* ln */
	double plain, plain_lo, plain_hi; /* of the plain power law, ln */
	double product; /* JOINT_HOLDOUT: of measured ratios of one factor each, ln; NAN otherwise
			 */
	struct error_parts parts;
	double prior, prior_sd; /* conditional curve alone */
	double laws; /* the laws without it */
	struct {
		const char *law;
		double ly, loo;
	} part[SELECT_MAX]; /* every family's own answer */
	unsigned n_parts;
};

struct test_case {
	char *name; /* its hash decides the half */
	char *group, *network;
	char *unit; /* what time and throughput are of: rows of two units are two series */
	struct obs *obs;
	double *rate; /* units of work per second of each row; NAN unknown */
	size_t n, cap, cap_rate;
	struct outcome *out;
	size_t n_out, cap_out;
	unsigned n_refused; /* questions beyond the evidence: no error to count */
};

struct case_list {
	struct test_case *c;
	size_t n, cap;
};

/* Sort the rows of a file into the cases of one protocol. 0, or -1 out of memory. */
int cases_build(const struct tidy *t, enum protocol p, struct case_list *out);
void cases_release(struct case_list *l);
/* Run one case; all is the whole list (other workloads are its prior). 0, or -1 out of memory. */
int case_run(enum protocol p, struct test_case *c, const struct case_list *all);

const char *protocol_name(enum protocol p);
/* FNV-1a of the name is odd: the half that no constant was learnt from. */
int name_is_odd(const char *name);

#endif
