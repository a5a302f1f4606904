/* model.h: a whole workload: which laws its runs support, and what they say about a setting.
 *
 * This is what commands call. The caller brings rows of one workload on one kind of device (from
 * the store or an import) and owns them; the result owns its memory until model_release. Times are
 * per unit of work (per sample: never per step when workers vary), power is the mean over all
 * workers of the run, energy is per unit of work over all workers.
 */
#ifndef WATTLAW_MODEL_MODEL_H
#define WATTLAW_MODEL_MODEL_H

#include "model/joint.h"
#include "model/predict.h"

#define MODEL_MAX_SERIES (FACTOR_COUNT * QTY_COUNT)

struct model_opts {
	double level; /* of the intervals; 0 = 0.9 */
	/* curves of other workloads on the same device, by quantity; NULL = none. Kept: they must
	 * outlive the model */
	const struct prior *prior[QTY_COUNT];
	unsigned quantities; /* QTY_BIT mask; 0 = all that were measured */
	unsigned factors; /* FACTOR_BIT mask; 0 = all that vary */
	enum scaling scaling; /* what the caller knows; UNKNOWN: derived from the batches.
			       * MIXED: such rows are let in (an import whose batch changes with
			       * the count) and labelled */
};

/* One factor against one quantity, the other factors held. */
struct model_series {
	struct selection sel;
	double fixed[FACTOR_COUNT]; /* the other factors in this slice; NAN = default */
};

struct model {
	struct model_opts opts;
	unsigned n_series;
	struct model_series *series[MODEL_MAX_SERIES];
	bool has_joint;
	struct joint joint;
	/* Mean |error| on settings left out, where two factors vary; NAN otherwise. */
	double joint_loo_pct, product_loo_pct;
	double base[FACTOR_COUNT]; /* the default setting; NAN = as the device comes */
	double base_y[QTY_COUNT]; /* measured there; NAN unknown */
	enum scaling scaling;
	unsigned n_obs;
	char note[256]; /* what was left out and why; "" when nothing */
};

/* Fit everything the rows support. ST_INVALID: bad rows (named), or strong and weak scaling mixed;
 * ST_RANGE: no factor takes two values. On failure *out is NULL. */
enum status model_fit_workload(const struct obs *obs, size_t n, const struct model_opts *opts,
	struct model **out, struct err *e);
void model_release(struct model *m); /* NULL is allowed */
/* Borrowed; NULL when that pair was not fitted. */
const struct model_series *model_series_of(const struct model *m, enum factor f, enum quantity q);

struct answer {
	struct interval y[QTY_COUNT]; /* value NAN = unknown */
	struct interval ratio[QTY_COUNT]; /* to the default setting */
	enum evidence evidence;
	double distance; /* ln distance beyond the evidence */
	const char *family; /* "combined", "prior", "joint", "product"; borrowed */
	unsigned from_prior; /* QTY_BIT mask: the curves of other workloads took part */
	double nearest[FACTOR_COUNT]; /* when refused: the nearest setting that is answered */
	char reason[256];
};

/* x: NAN = that factor at its default. ST_RANGE when refused (out says why and what is nearest). */
enum status model_predict(
	const struct model *m, const double x[FACTOR_COUNT], struct answer *out, struct err *e);

/* How the batches of these rows go with the workers. Strong scaling keeps the global batch, weak
 * the batch per worker; rows that do neither are of two kinds of run that no law describes both:
 * ST_INVALID names three of them, and *out is SCALING_MIXED. */
enum status scaling_of(const struct obs *o, size_t n, enum scaling *out, struct err *e);
const char *scaling_name(enum scaling s);

#endif
