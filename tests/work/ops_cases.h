/* ops_cases.h: small nets, one an operation, each ending in a squared error against a fixed target.
 */
#ifndef TESTS_WORK_OPS_CASES_H
#define TESTS_WORK_OPS_CASES_H

#include "nn/layers.h"
#include "ops/rng.h"

struct ops_case {
	const char *name;
	void (*build)(struct net *n);
	bool eval; /* built for evaluation: outputs only */
	bool kinked; /* no finite differences: the loss has corners, or is random on purpose */
};
extern const struct ops_case ops_cases[];

#endif
