/* plan.c: layouts, lifetimes and places in memory.
 *
 * Time runs over the forward pass (node k at k) and back (node k at 2N−1−k). A tensor lives from
 * its first write to its last read on that line; two tensors may share memory when their lives do
 * not meet.
 */
#include <stdlib.h>
#include <string.h>
#include "nn/net.h"

/* ---- layouts ---- */

struct reorders { /* copies made so far, so that a tensor is reordered once */
	struct tensor **from, **to;
	int n, cap;
};

static struct tensor *reordered(
	struct net *n, struct reorders *r, struct tensor *t, int64_t cblock, struct fault *f)
{
	struct node *nd;

	for (int i = 0; i < r->n; i++)
		if (r->from[i] == t && r->to[i]->cblock == cblock)
			return r->to[i];
	nd = net_node(n, OP_REORDER, 1, (struct tensor *[]){t}, 1);
	if (!nd) {
		fault_set(f, "%s", n->fault.msg);
		return NULL;
	}
	net_dims(nd->out[0], t->n_dims, t->dim);
	nd->out[0]->cblock = cblock;
	nd->impl = backend_impl(n->be, OP_REORDER);
	if (r->n == r->cap) {
		int cap = r->cap ? 2 * r->cap : 32;
		struct tensor **a = realloc(r->from, (size_t)cap * sizeof(*a));
		struct tensor **b = a ? realloc(r->to, (size_t)cap * sizeof(*b)) : NULL;

		if (a)
			r->from = a;
		if (!b) {
			fault_set(f, "out of memory");
			return NULL;
		}
		r->to = b;
		r->cap = cap;
	}
	r->from[r->n] = t;
	r->to[r->n++] = nd->out[0];
	return nd->out[0];
}

/* What node nd wants of its inputs, from its implementation. */
static int ask(struct node *nd, struct fault *f)
{
	for (int i = 0; i < nd->n_in; i++)
		nd->want[i] = 1;
	if (nd->impl->plan)
		return nd->impl->plan(nd, f);
	if (nd->impl->flags & IMPL_ANY_LAYOUT) {
		for (int i = 0; i < nd->n_in; i++)
			nd->want[i] = nd->in[0]->cblock;
		for (int i = 0; i < nd->n_out; i++)
			nd->out[i]->cblock = nd->in[0]->cblock;
	}
	return 0;
}

/* Visits the nodes as built, in order, and puts reorders in front of those that want another
 * layout. */
static int plan_layouts(struct net *n, struct fault *f)
{
	int built = n->n_nodes, at = 0;
	struct node **old = malloc((size_t)(built + 1) * sizeof(*old));
	struct node **order = NULL;
	struct reorders r = {0};
	int rc = -1;

	if (!old)
		return fault_set(f, "out of memory");
	memcpy(old, n->node, (size_t)built * sizeof(*old));
	/* net_node appends the reorders behind; they are moved to their place below */
	order = malloc((size_t)built * (OP_MAX_IN + 1) * sizeof(*order) + sizeof(*order));
	if (!order) {
		fault_set(f, "out of memory");
		goto out;
	}
	for (int k = 0; k < built; k++) {
		struct node *nd = old[k];

		nd->impl = backend_impl(n->be, nd->op);
		if (ask(nd, f))
			goto out;
		for (int i = 0; i < nd->n_in; i++) {
			struct tensor *t = nd->in[i];
			int before = n->n_nodes;

			if (t->n_dims != 4 || t->param || !nd->want[i] || nd->want[i] == t->cblock)
				continue;
			nd->in[i] = reordered(n, &r, t, nd->want[i], f);
			if (!nd->in[i])
				goto out;
			if (n->n_nodes > before)
				order[at++] = n->node[before];
		}
		order[at++] = nd;
	}
	memcpy(n->node, order, (size_t)at * sizeof(*order));
	rc = 0;
out:
	free(old);
	free(order);
	free(r.from);
	free(r.to);
	return rc;
}

/* ---- which gradients are ever written ---- */

static bool wants_grad(const struct node *nd, int i)
{
	return ((op_info[nd->op].diff_in >> i) & 1) && nd->in[i]->grad;
}

/* From the losses back: a node is active if a gradient arrives at its output. Gradients that never
 * arrive are dropped. */
static void plan_active(struct net *n)
{
	for (int k = n->n_nodes - 1; k >= 0; k--) {
		struct node *nd = n->node[k];
		struct tensor *g = nd->n_out ? nd->out[0]->grad : NULL;
		bool any = false, is_loss = nd->op == OP_XENT || nd->op == OP_REGRESSION;

		for (int i = 0; i < nd->n_in; i++)
			any |= wants_grad(nd, i);
		nd->active =
			n->train && any && nd->impl->backward && (is_loss || (g && g->written));
		if (!nd->active) {
			if (nd->n_out)
				nd->out[0]->grad = NULL;
			continue;
		}
		for (int i = 0; i < nd->n_in; i++)
			if (wants_grad(nd, i))
				nd->in[i]->grad->written = true;
	}
	for (int i = 0; i < n->ps->n; i++)
		n->ps->p[i]->g.written = false;
}

static void set_sizes(struct net *n)
{
	for (int k = 0; k < n->n_nodes; k++) {
		struct node *nd = n->node[k];

		for (int i = 0; i < nd->n_out; i++) {
			struct tensor *t = nd->out[i], *g = t->grad;

			t->bytes = tensor_size(t);
			if (!t->bytes)
				net_fail(n, "%s: an empty or too large tensor",
					op_info[nd->op].name);
			if (!g)
				continue;
			g->n_dims = t->n_dims;
			memcpy(g->dim, t->dim, sizeof(g->dim));
			g->cblock = t->cblock;
			g->dt = t->dt;
			g->bytes = t->bytes;
		}
	}
	for (int i = 0; i < n->n_inputs; i++)
		n->input[i]->bytes = tensor_size(n->input[i]);
}

/* The lists of parameters completed after each node of the backward pass. */
static int plan_done(struct net *n, struct fault *f)
{
	n->done = calloc((size_t)n->n_nodes + 1, sizeof(*n->done));
	if (!n->done)
		return fault_set(f, "out of memory");
	for (int k = 0; k < n->n_nodes; k++) {
		struct node *nd = n->node[k];
		int m = 0;

		for (int i = 0; nd->active && i < nd->n_in; i++)
			m += nd->in[i]->param && wants_grad(nd, i);
		if (!m)
			continue;
		n->done[k] = calloc((size_t)m + 1, sizeof(**n->done));
		if (!n->done[k])
			return fault_set(f, "out of memory");
		m = 0;
		/* the first user in forward is the last in backward */
		for (int i = 0; i < nd->n_in; i++) {
			struct param *p = wants_grad(nd, i) ? nd->in[i]->param : NULL;
			bool seen = false;

			for (int j = 0; p && j <= k; j++)
				for (struct param **q = n->done[j]; q && *q; q++)
					seen |= *q == p;
			if (p && !seen)
				n->done[k][m++] = p;
		}
	}
	return 0;
}

int net_plan(struct net *n, struct fault *f)
{
	if (n->fault.set)
		return fault_set(f, "%s", n->fault.msg);
	if (plan_layouts(n, f))
		return -1;
	set_sizes(n);
	plan_active(n);
	if (n->fault.set)
		return fault_set(f, "%s", n->fault.msg);
	if (plan_done(n, f))
		return -1;
	n->planned = true;
	return 0;
}

/* ---- lifetimes ---- */

static void touch(struct tensor *t, int time)
{
	while (t->base)
		t = t->base;
	if (t->first < 0 || time < t->first)
		t->first = time;
	if (time > t->last)
		t->last = time;
}

/* A reshape shares the memory of its input: forward if that is row-major (always, after
 * plan_layouts), backward if nobody else adds to the input's gradient. */
static void plan_views(struct net *n)
{
	for (int k = 0; k < n->n_nodes; k++) {
		struct node *nd = n->node[k];
		struct tensor *x = nd->in[0], *y = nd->out[0];
		int users = 0;

		if (nd->op != OP_RESHAPE || x->cblock != 1 || y->dt != x->dt)
			continue;
		y->base = x;
		for (int j = 0; j < n->n_nodes; j++)
			for (int i = 0; i < n->node[j]->n_in; i++)
				users += n->node[j]->in[i] == x;
		if (y->grad && x->grad && !x->param && users == 1)
			y->grad->base = x->grad;
	}
	for (int i = 0; i < n->n_tensors; i++)
		while (n->tensor[i]->base && n->tensor[i]->base->base)
			n->tensor[i]->base = n->tensor[i]->base->base;
}

static void plan_lives(struct net *n)
{
	int end = 2 * n->n_nodes;

	for (int k = 0; k < n->n_nodes; k++) {
		struct node *nd = n->node[k];
		const struct op_info *o = &op_info[nd->op];
		int back = end - 1 - k;

		for (int i = 0; i < nd->n_in; i++) {
			touch(nd->in[i], k);
			if (nd->active && ((o->back_in >> i) & 1))
				touch(nd->in[i], back);
			if (nd->active && wants_grad(nd, i))
				touch(nd->in[i]->grad, back);
		}
		for (int i = 0; i < nd->n_out; i++) {
			touch(nd->out[i], k);
			if (nd->active && ((o->back_out >> i) & 1))
				touch(nd->out[i], back);
		}
		if (nd->active && nd->out[0]->grad)
			touch(nd->out[0]->grad, back);
	}
	for (int i = 0; i < n->n_marked; i++) {
		touch(n->marked[i], end);
		if (n->marked[i]->grad)
			touch(n->marked[i]->grad, end);
	}
}

/* ---- places ---- */

static int by_size(const void *a, const void *b)
{
	const struct tensor *x = *(struct tensor *const *)a, *y = *(struct tensor *const *)b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return (x->first > y->first) - (x->first < y->first);
}

static size_t rounded(size_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

/* Lowest offset for t that meets none of the placed tensors alive at the same time. placed is
 * sorted by offset. */
static size_t lowest(const struct tensor *t, struct tensor *const *placed, int m)
{
	size_t at = 0;

	for (int i = 0; i < m; i++) {
		const struct tensor *p = placed[i];

		if (p->last < t->first || t->last < p->first)
			continue;
		if (at + rounded(t->bytes) <= p->offset)
			break;
		if (p->offset + rounded(p->bytes) > at)
			at = p->offset + rounded(p->bytes);
	}
	return at;
}

static size_t place_all(struct tensor **v, int m, struct tensor **placed)
{
	size_t end = 0;

	/* the largest first: the classic first-fit-decreasing of offset assignment */
	qsort(v, (size_t)m, sizeof(*v), by_size);
	for (int i = 0; i < m; i++) {
		int at = i;

		v[i]->offset = lowest(v[i], placed, i);
		if (v[i]->offset + rounded(v[i]->bytes) > end)
			end = v[i]->offset + rounded(v[i]->bytes);
		while (at > 0 && placed[at - 1]->offset > v[i]->offset) {
			placed[at] = placed[at - 1];
			at--;
		}
		placed[at] = v[i];
	}
	return end;
}

/* Room for what operations that cannot add write, and for their scratch. */
static void plan_scratch(struct net *n)
{
	n->scratch_bytes = n->tmp_bytes = 0;
	for (int k = 0; k < n->n_nodes; k++) {
		struct node *nd = n->node[k];
		size_t sum = 0;

		if (nd->scratch.bytes > n->scratch_bytes)
			n->scratch_bytes = nd->scratch.bytes;
		if (!nd->active || (nd->impl->flags & IMPL_ADDS))
			continue;
		for (int i = 0; i < nd->n_in; i++)
			if (wants_grad(nd, i))
				sum += rounded(nd->in[i]->grad->bytes);
		if (sum > n->tmp_bytes)
			n->tmp_bytes = sum;
	}
}

static int grow(struct arena *a, size_t bytes, struct fault *f)
{
	void *mem = NULL;

	if (bytes <= a->bytes)
		return 0;
	if (posix_memalign(&mem, 4096, bytes))
		return fault_set(f, "out of memory: the network needs %zu MiB", bytes >> 20);
	memset(mem, 0, bytes);
	free(a->mem);
	a->mem = mem;
	a->bytes = bytes;
	return 0;
}

int net_place(struct net *n, struct fault *f)
{
	struct tensor **v = malloc(2 * (size_t)(n->n_tensors + 1) * sizeof(*v));
	int m = 0;
	size_t end;

	if (!v)
		return fault_set(f, "out of memory");
	plan_views(n);
	plan_lives(n);
	plan_scratch(n);
	for (int i = 0; i < n->n_tensors; i++) {
		struct tensor *t = n->tensor[i];

		if (!t->external && !t->base && t->first >= 0)
			v[m++] = t;
	}
	end = place_all(v, m, v + m);
	n->scratch_at = end;
	n->tmp_at = end + rounded(n->scratch_bytes);
	n->arena_bytes = n->tmp_at + rounded(n->tmp_bytes) + 64;
	n->placed_in = NULL;
	free(v);
	return grow(n->arena, n->arena_bytes, f);
}
