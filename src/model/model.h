/* model.h: a whole workload: which laws its runs support, and what they say about a setting.
 *
 * This is what commands call. The caller brings rows of one workload on one kind of device (from
 * the store or an import) and owns them; the result owns its memory until model_release.
 */
#ifndef WATTLAW_MODEL_MODEL_H
#define WATTLAW_MODEL_MODEL_H

#include "model/joint.h"
#include "model/predict.h"
#include "model/prior.h"

#define MODEL_MAX_SERIES (FACTOR_COUNT * QTY_COUNT)

struct model_opts {
	double level; /* of the intervals; 0 = 0.9 */
	const struct prior *prior; /* curves of other workloads on the same device; NULL = none */
	unsigned quantities; /* QTY_BIT mask; 0 = all that were measured */
	unsigned factors; /* FACTOR_BIT mask; 0 = all that vary */
	enum scaling scaling; /* what the caller knows; UNKNOWN: derived from the batches */
};

struct model {
	struct model_opts opts;
	unsigned n_series;
	struct selection *series[MODEL_MAX_SERIES]; /* one per factor that varies and quantity */
	double fixed[MODEL_MAX_SERIES]
		    [FACTOR_COUNT]; /* the other factors in that slice; NAN default */
	bool has_joint;
	struct joint joint;
	double joint_cv_pct, product_cv_pct; /* held-out error of the joint law and of the product
					      * of separate laws; NAN with one factor */
	double base[FACTOR_COUNT]; /* the default setting */
	double base_y[QTY_COUNT]; /* measured there; NAN unknown */
	enum scaling scaling;
	bool used_prior;
	unsigned n_obs;
	char note[256]; /* what was left out and why; "" when nothing */
};

/* Fit everything the rows support. ST_INVALID: bad rows (named) or strong and weak scaling mixed;
 * ST_RANGE: no factor takes two values. On failure nothing needs to be released. */
enum status model_fit_workload(const struct obs *obs, size_t n, const struct model_opts *opts,
	struct model **out, struct err *e);
void model_release(struct model *m); /* NULL is allowed */

struct answer {
	struct interval y[QTY_COUNT]; /* per unit of work; power is the mean; value NAN = unknown */
	struct interval ratio[QTY_COUNT]; /* to the default setting */
	enum evidence evidence;
	double distance;
	const char *family; /* borrowed */
	double nearest[FACTOR_COUNT]; /* when refused: the nearest setting that is answered */
	char reason[256];
};

/* x: NAN = that factor at its default. ST_RANGE when refused (out says why and what is nearest). */
enum status model_predict(
	const struct model *m, const double x[FACTOR_COUNT], struct answer *out, struct err *e);

const char *scaling_name(enum scaling s);

#endif
