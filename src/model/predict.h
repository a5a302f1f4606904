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
/* What the interval at x is made of, all in ln y; NAN unknown. See learned.h. */
struct error_parts {
	double loo; /* root mean square leave-one-out error of the combination */
	double spread; /* standard deviation between the families at x */
	double gap; /* square of the ln distance to the nearest measured x: a short step tells
		     * of the next one, a long one hides what only sets in there */
	double boot; /* bootstrap standard deviation of the best smooth law at x */
	double sigma; /* residual standard deviation of the best smooth law */
	double grow; /* 1 inside the evidence, rising with the distance beyond it */
};

void predict_parts(const struct selection *s, double x, struct error_parts *out);
/* Their learnt sum: the scale of the error of ln y. */
double predict_scale(enum factor f, const struct error_parts *p);
/* The same with the curves of other workloads on the device (prior may be NULL, or too thin: then
 * this is predict_at). family says "prior" when they took part. */
enum status predict_with_prior(const struct selection *s, const struct prior *prior, double x,
	double level, struct prediction *out, struct err *e);
const char *evidence_name(enum evidence ev);

#endif
