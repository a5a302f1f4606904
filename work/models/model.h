/* model.h: what a network is to the trainer.
 *
 * A model is one file with a `struct model`: a table of sizes and a build function that appends the
 * network for a batch to a net. The batch's arrays say the shapes. To add one, see
 * doc/adding-a-network.md.
 */
#ifndef WORK_MODELS_MODEL_H
#define WORK_MODELS_MODEL_H

#include "data/data.h"
#include "nn/layers.h"
#include "nn/net.h"
#include "nn/optim.h"

enum size { SIZE_TINY, SIZE_SMALL, SIZE_BASE, SIZE_COUNT };
extern const char *const size_name[SIZE_COUNT + 1];

/* Hyper-parameters. A network uses those that it has. */
struct model_cfg {
	enum size size;
	struct data_info data;
	/* vision */
	int width; /* channels of the first stage */
	int image; /* pixels */
	/* language */
	int hidden, layers, heads, ff, seq, vocab;
	int positions; /* rows of the table of positions, at least seq; 0: seq */
	/* graphs */
	int filters, gaussians;
	double cutoff;
	float dropout;
	const char *task; /* NULL: the model's first */
};

struct model_size {
	int64_t batch; /* default batch per rank */
	double lr;
	struct model_cfg cfg;
};

struct model {
	const char *name, *domain, *task; /* "resnet18", "vision", "classification" */
	const char *other_task; /* a second one, chosen with --task; NULL */
	enum data_kind data;
	const char *metric; /* "accuracy", "mae" */
	bool metric_is_error; /* smaller is better */
	enum optim_kind optim;
	double weight_decay;
	struct model_size size[SIZE_COUNT];
	/* What to generate when there is no file. */
	void (*data_spec)(const struct model_cfg *c, struct data_spec *s);
	/* Inputs, layers and losses for this batch. Faults are left in the net. */
	void (*build)(struct net *n, const struct model_cfg *c, const struct batch *b);
};

extern const struct model *const models[]; /* NULL-terminated */
const struct model *model_find(const char *name);

/* Rows of the table of positions. */
static inline int model_positions(const struct model_cfg *c)
{
	return c->positions > c->seq ? c->positions : c->seq;
}

/* The input bound to that array of the batch; a fault in the net if there is none. */
struct tensor *model_input(struct net *n, const struct batch *b, const char *name);

#endif
