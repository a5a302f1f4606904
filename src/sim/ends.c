#include "sim/ends.h"

#include <string.h>

#include "base/mem.h"

struct ends_node {
	double end_s, watts, sum_watts;
	int64_t gpus, sum_gpus;
	int32_t left, right;
	uint32_t prio;
};

bool ends_init(struct ends *t, size_t cap)
{
	memset(t, 0, sizeof(*t));
	t->root = -1;
	t->rng = UINT64_C(0x9e3779b97f4a7c15);
	t->cap = cap;
	t->nodes = mem_calloc(cap ? cap : 1, sizeof(*t->nodes));
	return t->nodes != NULL;
}

void ends_release(struct ends *t)
{
	mem_free(t->nodes);
	memset(t, 0, sizeof(*t));
	t->root = -1;
}

static bool before(const struct ends *t, int32_t a, int32_t b)
{
	double x = t->nodes[a].end_s, y = t->nodes[b].end_s;

	return x < y || (!(y < x) && a < b);
}

static void sum_up(struct ends *t, int32_t i)
{
	struct ends_node *n = &t->nodes[i];

	n->sum_gpus = n->gpus;
	n->sum_watts = n->watts;
	if (n->left >= 0) {
		n->sum_gpus += t->nodes[n->left].sum_gpus;
		n->sum_watts += t->nodes[n->left].sum_watts;
	}
	if (n->right >= 0) {
		n->sum_gpus += t->nodes[n->right].sum_gpus;
		n->sum_watts += t->nodes[n->right].sum_watts;
	}
}

/* Everything before `key` goes left. The depth is O(log n) with high probability. */
static void split(struct ends *t, int32_t root, int32_t key, int32_t *left, int32_t *right)
{
	if (root < 0) {
		*left = *right = -1;
	} else if (before(t, root, key)) {
		split(t, t->nodes[root].right, key, &t->nodes[root].right, right);
		*left = root;
		sum_up(t, root);
	} else {
		split(t, t->nodes[root].left, key, left, &t->nodes[root].left);
		*right = root;
		sum_up(t, root);
	}
}

static int32_t merge(struct ends *t, int32_t a, int32_t b)
{
	if (a < 0 || b < 0)
		return a < 0 ? b : a;
	if (t->nodes[a].prio > t->nodes[b].prio) {
		t->nodes[a].right = merge(t, t->nodes[a].right, b);
		sum_up(t, a);
		return a;
	}
	t->nodes[b].left = merge(t, a, t->nodes[b].left);
	sum_up(t, b);
	return b;
}

void ends_add(struct ends *t, int32_t id, double end_s, int64_t gpus, double watts)
{
	struct ends_node *n = &t->nodes[id];
	int32_t left, right;

	t->rng ^= t->rng << 13;
	t->rng ^= t->rng >> 7;
	t->rng ^= t->rng << 17;
	*n = (struct ends_node){.end_s = end_s,
		.watts = watts,
		.gpus = gpus,
		.left = -1,
		.right = -1,
		.prio = (uint32_t)(t->rng >> 32)};
	sum_up(t, id);
	split(t, t->root, id, &left, &right);
	t->root = merge(t, merge(t, left, id), right);
	t->n++;
}

static int32_t remove_from(struct ends *t, int32_t root, int32_t id)
{
	struct ends_node *n;

	if (root == id)
		return merge(t, t->nodes[id].left, t->nodes[id].right);
	n = &t->nodes[root];
	if (before(t, id, root))
		n->left = remove_from(t, n->left, id);
	else
		n->right = remove_from(t, n->right, id);
	sum_up(t, root);
	return root;
}

void ends_remove(struct ends *t, int32_t id)
{
	t->root = remove_from(t, t->root, id);
	t->n--;
}

int32_t ends_first(const struct ends *t, double *end_s)
{
	int32_t i = t->root;

	while (i >= 0 && t->nodes[i].left >= 0)
		i = t->nodes[i].left;
	if (i >= 0)
		*end_s = t->nodes[i].end_s;
	return i;
}

bool ends_when(const struct ends *t, int64_t gpus, double watts, double *end_s, int64_t *gpus_then,
	double *watts_then)
{
	int64_t g = 0;
	double w = 0;
	int32_t i = t->root, hit = -1;

	while (i >= 0) {
		const struct ends_node *n = &t->nodes[i];
		int64_t g_here = g + n->gpus;
		double w_here = w + n->watts;

		if (n->left >= 0) {
			g_here += t->nodes[n->left].sum_gpus;
			w_here += t->nodes[n->left].sum_watts;
		}
		if (g_here >= gpus && w_here >= watts) {
			hit = i;
			*gpus_then = g_here;
			*watts_then = w_here;
			i = n->left;
		} else {
			g = g_here;
			w = w_here;
			i = n->right;
		}
	}
	if (hit < 0)
		return false;
	*end_s = t->nodes[hit].end_s;
	return true;
}
