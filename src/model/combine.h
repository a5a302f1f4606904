/* combine.h: one number out of many families: a weighted geometric mean.
 *
 * Weights come from each family's leave-one-out error and from how far families of its kind have
 * been right on other series (learned.h). Outside the measured range only families that may
 * extrapolate take part.
 */
#ifndef WATTLAW_MODEL_COMBINE_H
#define WATTLAW_MODEL_COMBINE_H

#include "model/select.h"

/* Fill s->weight, combined_loo_pct, combined_loo_rms from the fits and their left-out errors. */
void combine_weights(struct selection *s);
/* Combined ln y at x; *spread (may be NULL) gets the weighted standard deviation of ln y between
 * the families. NAN when no family can answer. */
double combine_log(const struct selection *s, double x, double *spread);

#endif
