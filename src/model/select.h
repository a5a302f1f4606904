/* select.h: every family on one series, the best by leave-one-out, and what the data say about
 * sensitivity. The plain power law is always among the rows: it is the published form.
 */
#ifndef WATTLAW_MODEL_SELECT_H
#define WATTLAW_MODEL_SELECT_H

#include "model/fit.h"

#define SELECT_MAX  16
#define SELECT_BOOT 64

enum verdict {
	VERDICT_SENSITIVE,
	VERDICT_INSENSITIVE, /* the 90 % interval of y(x)/y(default) lies within +-2 % over the
				range */
	VERDICT_UNDETERMINED, /* neither is proved; repeats_needed would settle it */
};

struct selection {
	struct series series;
	unsigned n_fits;
	struct fit fits[SELECT_MAX];
	double loo_err[SELECT_MAX][LAW_MAX_KNOTS]; /* ln(predicted/measured), NAN not left out */
	double weight[SELECT_MAX]; /* in the combined prediction; sum 1 */
	int best; /* smallest leave-one-out error, AICc within a tie; -1 none */
	int best_smooth; /* the same among laws with parameters; -1 none */
	int power; /* the plain power law; -1 when it could not be fitted */
	double combined_loo_pct; /* leave-one-out of the combination; NAN too few */
	double combined_loo_rms;
	unsigned n_boot; /* bootstrap shapes of best_smooth */
	double boot[SELECT_BOOT][LAW_MAX_PARAMS];
	enum verdict verdict;
	unsigned repeats_needed; /* more runs per setting, 0 when settled or not known */
	double effect_lo, effect_hi; /* 90 % interval of the largest y(x)/y(default) in the range */
};

/* Fit all families that apply. ST_RANGE when none can be. out may be large: keep it on the heap. */
enum status select_laws(const struct series *s, struct selection *out, struct err *e);
/* Bootstrap standard deviation of ln y of the best smooth law at x; NAN without. */
double select_boot_sd(const struct selection *s, double x);
/* "sensitive", "insensitive", "undetermined" */
const char *verdict_name(enum verdict v);

#endif
