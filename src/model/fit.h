/* fit.h: one law on one series: cleaning, scaling, weights, robustness, errors.
 *
 * A series is y against one factor. Rows at the same x are repeats: they are merged to their mean
 * of ln y and weighted by how well that mean is known. Losses are on relative error.
 */
#ifndef WATTLAW_MODEL_FIT_H
#define WATTLAW_MODEL_FIT_H

#include "base/status.h"
#include "model/law.h"

/* Merged points of one series. Plain data, may be copied. */
struct series {
	enum factor factor;
	enum quantity quantity;
	unsigned n; /* distinct x */
	unsigned n_rows; /* rows used */
	double x[LAW_MAX_KNOTS], y[LAW_MAX_KNOTS];
	double lx[LAW_MAX_KNOTS], ly[LAW_MAX_KNOTS];
	double w[LAW_MAX_KNOTS]; /* mean 1 */
	double reps[LAW_MAX_KNOTS]; /* runs behind each point */
	double repeat_sd; /* pooled scatter of ln y among repeats; NAN without repeats */
	unsigned repeat_df; /* its degrees of freedom */
	double x_default; /* the x of the default setting, NAN when unknown */
	double x_nominal_min; /* lowest x as it was asked for */
	double floor_w; /* power limits: what the device drew under a limit it overshot, the
			 * largest such draw; NAN when every limit held */
};

/* Build a series from obs, ignoring rows where x or y is NAN. Rows whose board differs are centred
 * on their board's own mean where boards share settings. ST_INVALID names the rows that hold zero,
 * negative or infinite numbers; ST_RANGE when fewer than two distinct x remain (out is filled). */
enum status series_build(const struct obs *obs, size_t n, enum factor f, enum quantity q,
	struct series *out, struct err *e);
/* From plain arrays (all positive). w may be NULL. Same errors, rows counted from 1. */
enum status series_from_xy(const double *x, const double *y, const double *w, size_t n,
	enum factor f, enum quantity q, struct series *out, struct err *e);
/* Devices overshoot low limits (an A40 at 100 W drew up to 121 W), and such a limit acts as the
 * power drawn. Series keep that effective limit as x; this maps a limit that is asked for. Identity
 * for other factors. */
double series_effective(const struct series *s, double x);
/* s without the points whose index i has drop[i] set. */
void series_without(const struct series *s, const bool *drop, struct series *out);

struct fit {
	const struct law *law;
	struct shape sh; /* outside units */
	enum status st; /* ST_OK; ST_RANGE: no law (too few points, one x) */
	const char *note; /* why, or "no error estimate"; "" otherwise. Borrowed, constant */
	unsigned n; /* distinct x used */
	double x_min, x_max; /* range of evidence */
	double ci95[LAW_MAX_PARAMS][2]; /* NAN when there is no error estimate */
	double r2_log, mape_pct;
	double loo_pct; /* mean |error| of leave-one-out over interior points; NAN: too few */
	double loo_rms; /* root mean square of the same in ln y */
	double aicc; /* NAN when n <= n_params + 1 */
	double sigma; /* residual sd of ln y, n - n_params degrees of freedom; NAN if none */
	unsigned df;
	double cov[LAW_MAX_PARAMS][LAW_MAX_PARAMS]; /* of p; zeros without error estimate */
	bool has_cov;
};

/* Shape only (no errors): the fast path of leave-one-out and bootstrap. */
bool fit_shape(const struct law *l, const struct series *s, struct shape *sh);
/* Everything except leave-one-out. Never fails: f->st and f->note say what is missing. */
void fit_law(const struct law *l, const struct series *s, struct fit *f);
/* Fill loo_pct and loo_rms; err[i] (may be NULL) gets ln(predicted/measured) of each left-out
 * point, NAN where it was not left out. Ten interleaved folds above 20 points. */
void fit_loo(const struct law *l, const struct series *s, struct fit *f, double *err);
/* Which fold holds point i of n (0.. folds-1), or -1 when it is never left out (an end point of a
 * series that is only asked inside). */
int fit_fold(const struct series *s, unsigned i, unsigned *folds);

#endif
