/* net.h: a network for one batch shape: nodes, their memory, forward and backward.
 *
 * A model's build function calls nn_* (nn/layers.h) on a fresh net; each call appends nodes.
 * net_plan then chooses layouts (inserting reorders), finds when each tensor is needed, and gives
 * every tensor a place in one arena; nothing is allocated while training. Nets of one model share
 * parameters and may share the arena, as only one runs at a time.
 *
 * Errors while building are sticky: a failed call returns NULL, calls given NULL return NULL, and
 * net_plan reports the first fault. So models are written without checks.
 *
 * Threads: a net is used by one thread; operations use OpenMP inside.
 */
#ifndef WORK_NN_NET_H
#define WORK_NN_NET_H

#include "nn/param.h"
#include "ops/ops.h"

#define NET_DEPTH 8 /* nesting of net_push */

struct arena {
	void *mem;
	size_t bytes;
};
void arena_release(struct arena *a);

struct net {
	const struct backend *be;
	struct params *ps;
	struct op_ctx *ctx;
	struct arena *arena;
	bool train; /* false: no gradients, running statistics, no dropout */
	struct fault fault;

	struct node **node;
	int n_nodes, cap_nodes;
	struct tensor **tensor; /* every activation, gradient and input; owned */
	int n_tensors, cap_tensors;
	struct tensor *input[16];
	int n_inputs;
	char prefix[64]; /* of parameter names, see net_push */
	unsigned char prefix_at[NET_DEPTH];
	int depth;
	size_t arena_bytes; /* what this net needs of the arena */
	const void *placed_in; /* arena->mem when the pointers were set */
	size_t scratch_at, tmp_at;
	size_t scratch_bytes, tmp_bytes;
	bool planned;
	/* after node i of the backward order, these parameters' gradients are complete */
	struct param ***done; /* [node] NULL-terminated lists or NULL */
	struct tensor tmp; /* gradients of operations that cannot add */
	struct tensor *marked[8];
	const char *mark_name[8];
	int n_marked;
};

struct net *net_new(const struct backend *be, struct params *ps, struct op_ctx *ctx,
	struct arena *arena, bool train);
void net_free(struct net *n);

/* ---- building ---- */

/* An input, bound by name to an array of the batch; asking again for a name gives the same tensor.
 */
struct tensor *net_input(
	struct net *n, const char *name, enum dtype dt, int n_dims, const int64_t *dim);
/* Gives an input a gradient, which stays readable after backward (forces from energies, tests). */
void net_input_grad(struct net *n, struct tensor *t);
/* A node with fresh outputs; the outputs' dims are set by the caller before the next call. Layers
 * use this; models do not. out[0] gets a gradient if any differentiable input has one. */
struct node *net_node(struct net *n, enum op op, int n_in, struct tensor *const *in, int n_out);
/* Sets the dims of an output. */
struct tensor *net_dims(struct tensor *t, int n_dims, const int64_t *dim);
/* Trainable parameter, or statistics, named prefix + name. */
struct tensor *net_param(
	struct net *n, const char *name, int n_dims, const int64_t *dim, struct init init);
struct tensor *net_stat(
	struct net *n, const char *name, int n_dims, const int64_t *dim, struct init init);
/* Prefix of parameter names: net_push(n, "layer%d", i) … net_pop(n). Names are
 * "layer1.conv.weight". */
void net_push(struct net *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void net_pop(struct net *n);
/* Keeps a tensor readable after forward under that name (logits for sampling, outputs for tests).
 */
void net_mark(struct net *n, const char *name, struct tensor *t);
struct tensor *net_marked(const struct net *n, const char *name);
/* Record a fault; returns NULL. */
struct tensor *net_fail(struct net *n, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- planning and running ---- */

/* Layouts and primitives. Call once for the first net, then params_finish, then net_place. */
int net_plan(struct net *n, struct fault *f);
/* Memory. The arena grows if it must; nets placed in it before are re-based when they next run. */
int net_place(struct net *n, struct fault *f);
/* Inputs point at the batch's arrays (data borrowed until the step ends). */
int net_bind(struct net *n, const char *name, void *data);
void net_forward(struct net *n);
/* Called as soon as a parameter's gradient is complete, in backward order. */
typedef void net_done_fn(void *arg, struct param *p);
void net_backward(struct net *n, net_done_fn *done, void *arg);
/* Multiply-adds × 2 of a forward pass. */
double net_flops(const struct net *n);

#endif
