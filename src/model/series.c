/* series.c: rows into clean points: repeats merged, boards blocked, bad rows named. */
#include "model/fit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define SAME_X      1e-6 /* ln: two settings closer than this are the same one */
#define UNIT_FACTOR 50.0 /* repeats further apart than this are not in one unit */
#define MISFIT_SD   0.01 /* what a law is off anyway: keeps one exact point from ruling the fit */
#define MAX_ROWS    (1u << 24)
#define OVERSHOOT   1.01 /* drawn over limit: below this it is the meter's error */

struct raw {
	double lx, ly, w, drawn_w;
	uint32_t board;
	long row;
	unsigned point; /* index of its distinct x */
};

static int by_x(const void *a, const void *b)
{
	const struct raw *p = a, *q = b;

	if (p->lx != q->lx)
		return p->lx < q->lx ? -1 : 1;
	if (p->ly != q->ly) /* so that the order of the rows changes no bit of the result */
		return p->ly < q->ly ? -1 : 1;
	return (p->w > q->w) - (p->w < q->w);
}

static unsigned number_points(struct raw *r, size_t n)
{
	unsigned k = 0;

	for (size_t i = 0; i < n; i++) {
		if (i > 0 && r[i].lx - r[i - 1].lx > SAME_X)
			k++;
		r[i].point = k;
	}
	return n ? k + 1 : 0;
}

/* More distinct x than a shape has knots: neighbours in rank share a point. */
static unsigned thin_points(struct raw *r, size_t n, unsigned k)
{
	if (k <= LAW_MAX_KNOTS)
		return k;
	for (size_t i = 0; i < n; i++)
		r[i].point = (unsigned)((uint64_t)r[i].point * LAW_MAX_KNOTS / k);
	return LAW_MAX_KNOTS;
}

static enum status check_units(const struct raw *r, size_t n, const struct series *s, struct err *e)
{
	for (size_t i = 1, first = 0; i < n; i++) {
		if (r[i].lx - r[i - 1].lx > SAME_X) {
			first = i;
			continue;
		}
		if (r[i].ly - r[first].ly > log(UNIT_FACTOR))
			return err_set(e, ST_INVALID,
				"%s in rows %ld and %ld, both at %s %.6g, differs %.3g-fold: "
				"are they in the same unit?",
				quantity_name(s->quantity), r[first].row, r[i].row,
				factor_name(s->factor), exp(r[i].lx), exp(r[i].ly - r[first].ly));
	}
	return ST_OK;
}

/* Additive board effects in ln y by back-fitting, centred on 0. Boards that share no setting with
 * another keep 0: nothing can be said about them. */
static enum status block_boards(struct raw *r, size_t n, struct err *e)
{
	double mean[LAW_MAX_KNOTS], sw[LAW_MAX_KNOTS];
	struct board_sum {
		uint32_t id;
		double effect, sum, w;
	} *b = NULL;
	size_t nb = 0, cap = 0;
	enum status st = ST_OK;

	for (size_t i = 0; i < n; i++) {
		size_t j = 0;

		while (j < nb && b[j].id != r[i].board)
			j++;
		if (j < nb)
			continue;
		if (nb >= 1024)
			goto out; /* one board a run: no blocking is possible */
		if (!mem_grow((void **)&b, &cap, nb + 1, sizeof(*b), 1024)) {
			st = err_set(e, ST_NOMEM, "out of memory for %zu boards", nb + 1);
			goto out;
		}
		b[nb++] = (struct board_sum){.id = r[i].board};
	}
	if (nb < 2)
		goto out;
	for (int it = 0; it < 20; it++) {
		double total = 0, tw = 0;

		memset(mean, 0, sizeof(mean));
		memset(sw, 0, sizeof(sw));
		for (size_t j = 0; j < nb; j++)
			b[j].sum = b[j].w = 0;
		for (size_t i = 0; i < n; i++) {
			size_t j = 0;

			while (b[j].id != r[i].board)
				j++;
			mean[r[i].point] += r[i].w * (r[i].ly - b[j].effect);
			sw[r[i].point] += r[i].w;
		}
		for (size_t i = 0; i < n; i++) {
			size_t j = 0;

			while (b[j].id != r[i].board)
				j++;
			b[j].sum += r[i].w * (r[i].ly - mean[r[i].point] / sw[r[i].point]);
			b[j].w += r[i].w;
		}
		for (size_t j = 0; j < nb; j++) {
			total += b[j].sum;
			tw += b[j].w;
		}
		for (size_t j = 0; j < nb; j++)
			b[j].effect = b[j].sum / b[j].w - total / tw;
	}
	for (size_t i = 0; i < n; i++) {
		size_t j = 0;

		while (b[j].id != r[i].board)
			j++;
		r[i].ly -= b[j].effect;
	}
out:
	mem_free(b);
	return st;
}

static void set_weights(struct series *s)
{
	double sum = 0, var = s->repeat_df ? s->repeat_sd * s->repeat_sd : 0;

	for (unsigned i = 0; i < s->n; i++) {
		s->w[i] = 1 / (MISFIT_SD * MISFIT_SD + var / s->reps[i]);
		sum += s->w[i];
	}
	for (unsigned i = 0; i < s->n; i++)
		s->w[i] *= s->n / sum;
}

static void swap_points(struct series *s, unsigned i, unsigned j)
{
	double *const col[] = {s->x, s->y, s->lx, s->ly, s->w, s->reps};

	for (unsigned c = 0; c < sizeof(col) / sizeof(col[0]); c++) {
		double t = col[c][i];

		col[c][i] = col[c][j];
		col[c][j] = t;
	}
}

/* Move limits that were overshot to the power that was drawn. drawn[i]: mean over the point's rows,
 * NAN unknown. Keeps the points in order of x. */
static void overshoot(struct series *s, const double *drawn)
{
	for (unsigned i = 0; i < s->n; i++) {
		/* more than half above the limit is another scope (a node), not an overshoot */
		if (!(drawn[i] > s->x[i] * OVERSHOOT) || drawn[i] > 1.5 * s->x[i])
			continue;
		s->floor_w = isnan(s->floor_w) ? drawn[i] : fmax(s->floor_w, drawn[i]);
		s->x[i] = drawn[i];
		s->lx[i] = log(drawn[i]);
	}
	for (unsigned i = 1; i < s->n; i++)
		for (unsigned j = i; j > 0 && s->lx[j] < s->lx[j - 1]; j--)
			swap_points(s, j, j - 1);
	for (unsigned i = 1; i < s->n; i++) { /* two limits may act as the same one */
		if (s->lx[i] - s->lx[i - 1] <= SAME_X) {
			s->lx[i] = s->lx[i - 1] + 2 * SAME_X;
			s->x[i] = exp(s->lx[i]);
		}
	}
}

static void merge(const struct raw *r, size_t n, unsigned k, struct series *s)
{
	double ss = 0, mean_x[LAW_MAX_KNOTS] = {0}, drawn[LAW_MAX_KNOTS] = {0};
	unsigned count[LAW_MAX_KNOTS] = {0};

	s->n = k;
	s->n_rows = (unsigned)n;
	s->repeat_df = 0;
	for (unsigned i = 0; i < k; i++)
		s->ly[i] = s->reps[i] = 0;
	for (size_t i = 0; i < n; i++) {
		unsigned p = r[i].point;

		mean_x[p] += r[i].w * r[i].lx;
		s->ly[p] += r[i].w * r[i].ly;
		s->reps[p] += r[i].w;
		drawn[p] += r[i].w * r[i].drawn_w;
		count[p]++;
	}
	for (unsigned i = 0; i < k; i++) {
		s->lx[i] = mean_x[i] / s->reps[i];
		s->ly[i] /= s->reps[i];
		drawn[i] /= s->reps[i];
		s->x[i] = exp(s->lx[i]);
		s->y[i] = exp(s->ly[i]);
		s->repeat_df += count[i] - 1;
	}
	for (size_t i = 0; i < n; i++) {
		double d = r[i].ly - s->ly[r[i].point];

		ss += r[i].w * d * d;
	}
	s->repeat_sd = s->repeat_df ? sqrt(ss / s->repeat_df) : NAN;
	set_weights(s);
	/* power itself against its own limit stays as it was asked for */
	if (s->factor == FACTOR_POWER_LIMIT && s->quantity != QTY_POWER)
		overshoot(s, drawn);
}

static enum status build(struct raw *r, size_t n, struct series *s, struct err *e)
{
	enum status st;
	unsigned k;

	qsort(r, n, sizeof(*r), by_x);
	st = check_units(r, n, s, e);
	if (st != ST_OK)
		return st;
	k = thin_points(r, n, number_points(r, n));
	st = block_boards(r, n, e);
	if (st != ST_OK)
		return st;
	merge(r, n, k, s);
	if (k < 2)
		return err_set(e, ST_RANGE, "%s against %s: %s", quantity_name(s->quantity),
			factor_name(s->factor),
			k ? "all rows have the same setting, a law needs at least two"
			  : "no row has both");
	return ST_OK;
}

static bool usable(double v)
{
	return isfinite(v) && v > 0;
}

/* Up to eight row numbers, for a message. */
static void name_row(char *buf, size_t size, long row, unsigned *named)
{
	size_t len = strlen(buf);

	if (*named < 8)
		snprintf(buf + len, size - len, "%s%ld", *named ? ", " : "", row);
	else if (*named == 8)
		snprintf(buf + len, size - len, " and more");
	(*named)++;
}

double series_effective(const struct series *s, double x)
{
	return s->factor == FACTOR_POWER_LIMIT && x < s->floor_w ? s->floor_w : x;
}

/* Mean draw of one device in a row, NAN when unknown or when more than devices was measured. */
static double drawn_w(const struct obs *o)
{
	double w = o->y[QTY_POWER], n = o->x[FACTOR_WORKERS];

	if (o->beside)
		return NAN;
	return isfinite(n) && n > 0 ? w / n : w;
}

enum status series_build(const struct obs *obs, size_t n, enum factor f, enum quantity q,
	struct series *s, struct err *e)
{
	struct raw *r = NULL;
	char bad[160] = "";
	unsigned n_bad = 0;
	size_t k = 0;
	enum status st;

	memset(s, 0, sizeof(*s));
	s->factor = f;
	s->quantity = q;
	s->x_default = s->repeat_sd = s->floor_w = s->x_nominal_min = NAN;
	if (n > MAX_ROWS)
		return err_set(e, ST_RANGE, "%zu rows are more than a series may have", n);
	r = mem_calloc(n ? n : 1, sizeof(*r));
	if (!r)
		return err_set(e, ST_NOMEM, "out of memory for %zu rows", n);
	for (size_t i = 0; i < n; i++) {
		double x = obs[i].x[f], y = obs[i].y[q], w = obs[i].weight;
		long row = obs[i].row ? obs[i].row : (long)i + 1;

		if (isnan(x) || isnan(y))
			continue;
		if (!usable(x) || !usable(y) || !(w >= 0) || !isfinite(w)) {
			name_row(bad, sizeof(bad), row, &n_bad);
			continue;
		}
		if (obs[i].is_default)
			s->x_default = x;
		s->x_nominal_min = isnan(s->x_nominal_min) ? x : fmin(x, s->x_nominal_min);
		r[k++] = (struct raw){
			log(x), log(y), w > 0 ? w : 1, drawn_w(&obs[i]), obs[i].board, row, 0};
	}
	if (n_bad)
		st = err_set(e, ST_INVALID, "%s and %s must be positive and finite: row%s %s",
			quantity_name(q), factor_name(f), n_bad > 1 ? "s" : "", bad);
	else
		st = build(r, k, s, e);
	mem_free(r);
	return st;
}

enum status series_from_xy(const double *x, const double *y, const double *w, size_t n,
	enum factor f, enum quantity q, struct series *out, struct err *e)
{
	struct obs *obs = mem_calloc(n ? n : 1, sizeof(*obs));
	char bad[160] = "";
	unsigned n_bad = 0;
	enum status st;

	if (!obs)
		return err_set(e, ST_NOMEM, "out of memory for %zu rows", n);
	for (size_t i = 0; i < n; i++) {
		for (int j = 0; j < FACTOR_COUNT; j++)
			obs[i].x[j] = NAN;
		for (int j = 0; j < QTY_COUNT; j++)
			obs[i].y[j] = NAN;
		obs[i].x[f] = x[i];
		obs[i].y[q] = y[i];
		obs[i].weight = w ? w[i] : 1;
		obs[i].row = (long)i + 1;
		/* a hole in plain arrays is a mistake of the caller, not a setting not measured */
		if (isnan(x[i]) || isnan(y[i]))
			name_row(bad, sizeof(bad), (long)i + 1, &n_bad);
	}
	if (n_bad) {
		memset(out, 0, sizeof(*out));
		st = err_set(e, ST_INVALID, "not a number in row%s %s", n_bad > 1 ? "s" : "", bad);
	} else {
		st = series_build(obs, n, f, q, out, e);
	}
	mem_free(obs);
	return st;
}

void series_without(const struct series *s, const bool *drop, struct series *out)
{
	unsigned k = 0;
	double sum = 0;

	out->factor = s->factor;
	out->quantity = s->quantity;
	out->n_rows = s->n_rows;
	out->repeat_sd = s->repeat_sd;
	out->repeat_df = s->repeat_df;
	out->x_default = s->x_default;
	out->x_nominal_min = s->x_nominal_min;
	out->floor_w = s->floor_w;
	for (unsigned i = 0; i < s->n; i++) {
		if (drop[i])
			continue;
		out->x[k] = s->x[i];
		out->y[k] = s->y[i];
		out->lx[k] = s->lx[i];
		out->ly[k] = s->ly[i];
		out->reps[k] = s->reps[i];
		out->w[k] = s->w[i];
		sum += s->w[i];
		k++;
	}
	for (unsigned i = 0; i < k; i++)
		out->w[i] *= k / sum;
	out->n = k;
}
