/* ends.h: the running jobs of a simulated site, ordered by when they end.
 *
 * A balanced tree (treap) with the GPUs and the power of each subtree, so that the scheduler can
 * ask in O(log n): who ends first, and when will so many GPUs and watts be free? Deterministic:
 * priorities come from a fixed generator. Capacity is fixed at init; ids are 0 … cap-1.
 */
#ifndef WATTLAW_SIM_ENDS_H
#define WATTLAW_SIM_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ends_node;

struct ends {
	struct ends_node *nodes;
	int32_t root;
	size_t cap, n;
	uint64_t rng;
};

bool ends_init(struct ends *t, size_t cap);
void ends_release(struct ends *t);
/* id must not be in the tree. */
void ends_add(struct ends *t, int32_t id, double end_s, int64_t gpus, double watts);
void ends_remove(struct ends *t, int32_t id);
/* The id that ends first (ties: the smaller id), or -1. */
int32_t ends_first(const struct ends *t, double *end_s);
/* The earliest end after which at least gpus and watts have been given back in total. Returns false
 * when all of them together do not suffice. *gpus_then, *watts_then: what has been given back by
 * then (including that job's). */
bool ends_when(const struct ends *t, int64_t gpus, double watts, double *end_s, int64_t *gpus_then,
	double *watts_then);

#endif
