/* data.h: where samples come from.
 *
 * A source answers for sample i, at any time and in any order, from (seed, i) or a file: it has no
 * position. Shuffling, sharding over ranks, prefetch and resume are the loader's and need only
 * the number of the step. Batches hold named arrays that a model's inputs bind to; their dims
 * decide which net of the model runs, so a ragged source (graphs) rounds its sizes up to buckets
 * and fills the rest with padding (index −1, label −1, weight 0).
 */
#ifndef WORK_DATA_DATA_H
#define WORK_DATA_DATA_H

#include <sched.h>
#include "ops/fault.h"
#include "ops/ops.h"

#define BATCH_ARRAYS 16

struct array {
	const char *name;
	enum dtype dt;
	int n_dims;
	int64_t dim[TENSOR_DIMS];
	void *data;
};

struct batch {
	int64_t n_samples;
	int64_t row0; /* place of the first sample in the global batch */
	int64_t n_global; /* samples of the global batch */
	int64_t step;
	int n;
	struct array a[BATCH_ARRAYS];
	size_t cap[BATCH_ARRAYS]; /* of a[i].data, kept from batch to batch */
};
/* A zeroed array; memory is the batch's and is reused by the next fill. NULL when out of memory. */
void *batch_array(struct batch *b, const char *name, enum dtype dt, int n_dims, const int64_t *dim);
struct data;
/* "image" (n,C,H,W) and "label" of n images, or of their pixels, as info and the kind say. */
int batch_images(struct batch *b, const struct data *d, int64_t n, float **image, int32_t **label,
	struct fault *f);
struct array *batch_find(struct batch *b, const char *name);
void batch_release(struct batch *b);

/* What a model must know about the data. 0 where it does not apply. */
struct data_info {
	int64_t n_train, n_eval;
	int channels, height, width, classes; /* images */
	int vocab, seq; /* text; ids below `special` are [PAD] [UNK] [CLS] [SEP] [MASK] */
	int special;
	int targets; /* regression: columns */
	double target_mean,
		target_std; /* values are given standardised; times std is the unit below */
	const char *unit; /* of targets; "" if the file does not say */
	int max_z; /* largest atomic number */
	bool generated; /* not from a file */
};

enum data_kind { DATA_IMAGE, DATA_SEGMENT, DATA_MLM, DATA_SEQCLASS, DATA_CLM, DATA_MOLECULE };

struct data_spec {
	enum data_kind kind;
	const char *path; /* NULL: generate */
	const char *vocab; /* file, "bytes" or "words" (of the text); NULL: the kind's usual */
	uint64_t seed;
	/* wishes for generated data, from the model's size; files decide for themselves */
	int channels, height, width, classes, seq, vocab_size, n_train;
	double cutoff; /* molecules: edges up to this distance, Angstrom */
	int gaussians; /* molecules: distance on so many Gaussians, 0: none */
	bool degrees; /* molecules: PNA's scalers */
	bool triplets; /* molecules: angles too (DimeNet), in these bases */
	int radial, spherical;
	const char *target; /* molecules: name of the property; CIFAR-100: "fine", "coarse" */
};

/* Files without a held-out part of their own: every tenth sample is held out. Position of sample id
 * in the file. */
static inline int64_t data_split(int64_t id, bool eval)
{
	return eval ? id * 10 : id / 9 * 10 + id % 9 + 1;
}
static inline void data_split_counts(int64_t n, struct data_info *info)
{
	info->n_eval = (n + 9) / 10;
	info->n_train = n - info->n_eval;
}

/* What path may name for that kind, in words. */
const char *data_formats(enum data_kind kind);

struct data_ops {
	const char *name;
	/* Fills b (arrays made by batch_array) with these samples. epoch varies augmentation and
	 * masking. eval: from the held-out set. Called from the prefetch thread: no globals. */
	int (*fill)(struct data *d, const int64_t *index, int64_t n, uint64_t epoch, bool eval,
		struct batch *b, struct fault *f);
	void (*close)(struct data *d);
};
struct data {
	const struct data_ops *ops;
	struct data_info info;
	struct data_spec spec;
	void *state;
};
int data_open(struct data *d, const struct data_spec *spec, struct fault *f);
void data_close(struct data *d);

/* Openers, one a file; data_open picks by kind and path. Each fills ops, info and state. */
int data_open_gen_image(struct data *d, struct fault *f);
int data_open_gen_segment(struct data *d, struct fault *f);
int data_open_cifar(struct data *d, struct fault *f);
int data_open_folder(struct data *d, struct fault *f);
int data_open_pairs(struct data *d, struct fault *f);
int data_open_text(struct data *d, struct fault *f);
/* The same of a text in memory; d->spec.path is for messages. */
int data_open_text_bytes(struct data *d, const char *bytes, size_t len, struct fault *f);
int data_open_molecule(struct data *d, struct fault *f);

/* Does this folder hold files of CIFAR? */
bool cifar_folder(const char *dir);
/* Whole records with labels in range? label_bytes: 1 CIFAR-10, 2 CIFAR-100. */
int cifar_check(
	const char *name, const uint8_t *bytes, size_t len, int label_bytes, struct fault *f);

/* ---- loader: the batches of one rank, in order, fetched ahead in a thread ---- */

struct loader;
struct loader_opt {
	int64_t batch; /* global batch: over all ranks */
	int rank, size;
	uint64_t seed;
	int64_t first_step; /* resume: the batch of this step is the first */
	bool eval; /* in order, once, last batch may be short */
	bool shuffle;
	const cpu_set_t *cpus; /* where the thread may run; NULL: as its creator */
	int ahead; /* batches prefetched; 0: no thread */
};
struct loader *loader_open(struct data *d, const struct loader_opt *o, struct fault *f);
/* The next batch, valid until the next call; NULL at the end (eval) or on a fault. */
struct batch *loader_next(struct loader *l, struct fault *f);
int64_t loader_steps_per_epoch(const struct loader *l);
void loader_close(struct loader *l);

#endif
