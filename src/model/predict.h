/* predict.h: y at a setting, with an interval that is meant to hold as often as it says, or a
 * refusal with its reason and the nearest question that can be answered.
 */
#ifndef WATTLAW_MODEL_PREDICT_H
#define WATTLAW_MODEL_PREDICT_H

#include "model/prior.h"
#include "model/select.h"

struct interval {
	double value, lo, hi; /* NAN = unknown */
	double level; /* 0.9 */
};

enum evidence { EVIDENCE_INTERPOLATED, EVIDENCE_EXTRAPOLATED, EVIDENCE_REFUSED };

struct prediction {
	struct interval y;
	struct interval power_law; /* what the published form says, beside it */
	enum evidence evidence;
	double distance; /* ln distance outside the range of evidence; 0 inside */
	const char *family; /* the best family, or "combined"; borrowed */
	double nearest; /* when refused: the nearest x that is answered */
	char reason[200]; /* when refused; "" otherwise */
};

/* ST_RANGE (out filled, evidence REFUSED) beyond what is validated; ST_INVALID for x <= 0 or level
 * outside (0.5, 0.999). */
enum status predict_at(
	const struct selection *s, double x, double level, struct prediction *out, struct err *e);
/* The learnt scale of the error of ln y at x (learned.h), given the spread between the families and
 * the bootstrap sd (NAN unknown) there. */
double predict_scale(const struct selection *s, double x, double spread, double boot);
/* The same with the curves of other workloads on the device (prior may be NULL, or too thin: then
 * this is predict_at). family says "prior" when they took part. */
enum status predict_with_prior(const struct selection *s, const struct prior *prior, double x,
	double level, struct prediction *out, struct err *e);
const char *evidence_name(enum evidence ev);

#endif
