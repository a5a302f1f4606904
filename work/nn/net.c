/* net.c: building a net and running it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "nn/net.h"
#include "ops/vec.h"

struct net *net_new(const struct backend *be, struct params *ps, struct op_ctx *ctx,
	struct arena *arena, bool train)
{
	struct net *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	n->be = be;
	n->ps = ps;
	n->ctx = ctx;
	n->arena = arena;
	n->train = train;
	return n;
}

void net_free(struct net *n)
{
	if (!n)
		return;
	for (int i = 0; i < n->n_nodes; i++) {
		struct node *nd = n->node[i];

		if (nd->impl && nd->impl->release)
			nd->impl->release(nd);
		free(nd);
		if (n->done)
			free(n->done[i]);
	}
	for (int i = 0; i < n->n_tensors; i++)
		free(n->tensor[i]);
	free(n->done);
	free(n->node);
	free(n->tensor);
	free(n);
}

void arena_release(struct arena *a)
{
	free(a->mem);
	*a = (struct arena){0};
}

struct tensor *net_fail(struct net *n, const char *fmt, ...)
{
	va_list ap;

	if (n->fault.set)
		return NULL;
	n->fault.set = true;
	va_start(ap, fmt);
	vsnprintf(n->fault.msg, sizeof(n->fault.msg), fmt, ap);
	va_end(ap);
	return NULL;
}

/* Makes room for one more pointer in a growing list. */
static int room(void ***v, int n, int *cap)
{
	void **w;
	int c;

	if (n < *cap)
		return 0;
	c = *cap ? 2 * *cap : 64;
	w = realloc(*v, (size_t)c * sizeof(*w));
	if (!w)
		return -1;
	*v = w;
	*cap = c;
	return 0;
}

static struct tensor *tensor_new(struct net *n, enum dtype dt)
{
	struct tensor *t;

	if (room((void ***)&n->tensor, n->n_tensors, &n->cap_tensors))
		return net_fail(n, "out of memory");
	t = calloc(1, sizeof(*t));
	if (!t)
		return net_fail(n, "out of memory");
	t->dt = dt;
	t->cblock = 1;
	t->first = -1;
	n->tensor[n->n_tensors++] = t;
	return t;
}

struct tensor *net_dims(struct tensor *t, int n_dims, const int64_t *dim)
{
	if (!t)
		return NULL;
	t->n_dims = n_dims;
	memcpy(t->dim, dim, (size_t)n_dims * sizeof(*dim));
	return t;
}

struct tensor *net_input(
	struct net *n, const char *name, enum dtype dt, int n_dims, const int64_t *dim)
{
	struct tensor *t;

	for (int i = 0; i < n->n_inputs; i++)
		if (!strcmp(n->input[i]->name, name))
			return n->input[i];
	if (n->n_inputs == (int)(sizeof(n->input) / sizeof(n->input[0])))
		return net_fail(n, "too many inputs");
	t = net_dims(tensor_new(n, dt), n_dims, dim);
	if (!t)
		return NULL;
	t->name = name;
	t->external = true;
	n->input[n->n_inputs++] = t;
	return t;
}

void net_input_grad(struct net *n, struct tensor *t)
{
	struct tensor *g = t && n->train && !t->grad ? tensor_new(n, t->dt) : NULL;

	if (!g)
		return;
	*g = (struct tensor){.dt = t->dt, .n_dims = t->n_dims, .cblock = 1, .first = -1};
	memcpy(g->dim, t->dim, sizeof(g->dim));
	g->bytes = tensor_size(g);
	t->grad = g;
	net_mark(n, t->name, t);
}

struct node *net_node(struct net *n, enum op op, int n_in, struct tensor *const *in, int n_out)
{
	struct node *nd;
	bool want = false;

	if (n->fault.set)
		return NULL;
	for (int i = 0; i < n_in; i++)
		if (!in[i])
			return (void *)net_fail(n, "%s: an input is missing", op_info[op].name);
	if (n_in > OP_MAX_IN || room((void ***)&n->node, n->n_nodes, &n->cap_nodes))
		return (void *)net_fail(
			n, "%s: out of memory or too many inputs", op_info[op].name);
	nd = calloc(1, sizeof(*nd));
	if (!nd)
		return (void *)net_fail(n, "out of memory");
	nd->op = op;
	nd->id = n->n_nodes;
	nd->n_in = n_in;
	nd->n_out = n_out;
	nd->ctx = n->ctx;
	nd->train = n->train;
	for (int i = 0; i < n_in; i++) {
		nd->in[i] = in[i];
		want |= ((op_info[op].diff_in >> i) & 1) && in[i]->grad;
	}
	n->node[n->n_nodes++] = nd;
	for (int i = 0; i < n_out; i++) {
		nd->out[i] = tensor_new(n, DT_F32);
		if (!nd->out[i])
			return NULL;
	}
	if (n->train && want && n_out) {
		nd->out[0]->grad = tensor_new(n, DT_F32);
		if (!nd->out[0]->grad)
			return NULL;
	}
	return nd;
}

static struct tensor *parameter(struct net *n, const char *name, int n_dims, const int64_t *dim,
	struct init init, bool trainable)
{
	char full[160];
	struct param *p;

	if (n->fault.set)
		return NULL;
	snprintf(full, sizeof(full), "%s%s", n->prefix, name);
	p = params_get(n->ps, full, n_dims, dim, init, trainable, &n->fault);
	return p ? &p->w : NULL;
}

struct tensor *net_param(
	struct net *n, const char *name, int n_dims, const int64_t *dim, struct init init)
{
	return parameter(n, name, n_dims, dim, init, true);
}

struct tensor *net_stat(
	struct net *n, const char *name, int n_dims, const int64_t *dim, struct init init)
{
	return parameter(n, name, n_dims, dim, init, false);
}

void net_push(struct net *n, const char *fmt, ...)
{
	size_t at = strlen(n->prefix);
	va_list ap;
	int k;

	va_start(ap, fmt);
	k = vsnprintf(n->prefix + at, sizeof(n->prefix) - at, fmt, ap);
	va_end(ap);
	if (k < 0 || at + (size_t)k + 2 > sizeof(n->prefix) || n->depth == NET_DEPTH) {
		net_fail(n, "parameter prefix too long: %s", n->prefix);
		n->prefix[at] = '\0';
		return;
	}
	strcat(n->prefix, ".");
	n->prefix_at[n->depth++] = (unsigned char)at;
}

void net_pop(struct net *n)
{
	n->prefix[n->depth ? n->prefix_at[--n->depth] : 0] = '\0';
}

void net_mark(struct net *n, const char *name, struct tensor *t)
{
	if (!t)
		return;
	if (n->n_marked == (int)(sizeof(n->marked) / sizeof(n->marked[0]))) {
		net_fail(n, "too many marked tensors");
		return;
	}
	n->mark_name[n->n_marked] = name;
	n->marked[n->n_marked++] = t;
}

struct tensor *net_marked(const struct net *n, const char *name)
{
	for (int i = 0; i < n->n_marked; i++)
		if (!strcmp(n->mark_name[i], name))
			return n->marked[i];
	return NULL;
}

int net_bind(struct net *n, const char *name, void *data)
{
	for (int i = 0; i < n->n_inputs; i++)
		if (!strcmp(n->input[i]->name, name)) {
			n->input[i]->data = data;
			return 0;
		}
	return -1;
}

static void set_data(struct tensor *t, char *mem)
{
	if (!t->external)
		t->data = mem + t->offset;
}

/* Points every tensor into the arena, which may have moved since the last run. */
static void rebase(struct net *n)
{
	char *mem = n->arena->mem;

	for (int i = 0; i < n->n_tensors; i++)
		if (!n->tensor[i]->base)
			set_data(n->tensor[i], mem);
	for (int i = 0; i < n->n_tensors; i++)
		if (n->tensor[i]->base)
			n->tensor[i]->data = n->tensor[i]->base->data;
	for (int i = 0; i < n->n_nodes; i++)
		n->node[i]->scratch.data = mem + n->scratch_at;
	n->tmp.data = mem + n->tmp_at;
	n->placed_in = mem;
}

/* Views of inputs: inputs are bound anew for every batch. */
static void rebind_views(struct net *n)
{
	for (int i = 0; i < n->n_tensors; i++) {
		struct tensor *t = n->tensor[i];

		if (t->base && t->base->external)
			t->data = t->base->data;
	}
}

void net_forward(struct net *n)
{
	if (n->placed_in != n->arena->mem)
		rebase(n);
	rebind_views(n);
	for (int i = 0; i < n->n_nodes; i++)
		n->node[i]->impl->forward(n->node[i]);
}

static bool *written_flag(struct tensor *t)
{
	return t->param ? &t->param->written : &t->grad->written;
}

/* For an operation that only overwrites gradients, when some hold one already: those are written to
 * n->tmp first and added. */
static void backward_adding(struct net *n, struct node *nd)
{
	struct tensor *g[OP_MAX_IN], tmp[OP_MAX_IN];
	size_t at = 0;

	for (int i = 0; i < nd->n_in; i++) {
		g[i] = nd->in[i]->grad;
		if (!nd->acc[i])
			continue;
		tmp[i] = *g[i];
		tmp[i].data = (char *)n->tmp.data + at;
		at += (g[i]->bytes + 63) / 64 * 64;
		nd->in[i]->grad = &tmp[i];
	}
	nd->impl->backward(nd);
	for (int i = 0; i < nd->n_in; i++)
		nd->in[i]->grad = g[i];
	for (int i = 0; i < nd->n_in; i++)
		if (nd->acc[i])
			vec_add(tf(g[i]), tf(&tmp[i]), g[i]->bytes / sizeof(float));
}

void net_backward(struct net *n, net_done_fn *done, void *arg)
{
	for (int i = 0; i < n->n_tensors; i++)
		n->tensor[i]->written = false;
	for (int k = n->n_nodes - 1; k >= 0; k--) {
		struct node *nd = n->node[k];
		bool any = false;

		if (nd->active) {
			for (int i = 0; i < nd->n_in; i++) {
				struct tensor *t = nd->in[i];
				bool *w;

				nd->acc[i] = false;
				if (!((op_info[nd->op].diff_in >> i) & 1) || !t->grad)
					continue;
				w = written_flag(t);
				nd->acc[i] = *w;
				any |= *w;
				*w = true;
			}
			if (any && !(nd->impl->flags & IMPL_ADDS))
				backward_adding(n, nd);
			else
				nd->impl->backward(nd);
		}
		if (n->done[k] && done)
			for (struct param **p = n->done[k]; *p; p++)
				done(arg, *p);
	}
}

double net_flops(const struct net *n)
{
	double sum = 0;

	for (int i = 0; i < n->n_nodes; i++)
		sum += node_flops(n->node[i]);
	return sum;
}
