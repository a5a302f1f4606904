/* prior.h: curves of other workloads on the same device, so that two or three probes are enough.
 *
 * A prior holds whole curves (ln y against ln x, relative to the curve's own level) of one device
 * and factor. The caller sees to it that they are of the same device type and do not contain the
 * workload that is asked about. Owns its memory.
 */
#ifndef WATTLAW_MODEL_PRIOR_H
#define WATTLAW_MODEL_PRIOR_H

#include "model/fit.h"

#define PRIOR_GRID       24
#define PRIOR_MAX_CURVES 256

struct prior {
	enum factor factor;
	enum quantity quantity;
	char device[64]; /* for the report */
	unsigned n_curves;
	double gx_lo, gx_hi; /* ln x of the grid's ends */
	double curve[PRIOR_MAX_CURVES][PRIOR_GRID]; /* ln y at the grid, mean over the grid 0; NAN
						     * outside the curve's own range */
};

void prior_init(struct prior *p, enum factor f, enum quantity q, const char *device, double x_lo,
	double x_hi);
/* Add one measured curve. False when it has fewer than 4 points or the prior is full. */
bool prior_add(struct prior *p, const struct series *s);
/* ln y at x from the probes in s and the curves; *sd (may be NULL) its standard deviation. NAN when
 * the prior has fewer than 3 curves, s more than 4 points, or x is outside the grid. */
double prior_log(const struct prior *p, const struct series *s, double x, double *sd);

#endif
