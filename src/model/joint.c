/* joint.c: fit and evaluate the law of joint.h. */
#include "model/joint.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "model/nls.h"
#include "model/numeric.h"

#define KNEE        4.0 /* sharpness of the bend where a limit or lock begins to bite */
#define MAX_CELLS   NLS_MAX_ROWS
#define JOINT_FLOOR 0.02 /* what the shape itself is off */
#define OVERSHOOT   1.01 /* as in series.c: a limit that is overshot acts as the draw */

/* One setting: the mean of its rows. */
struct cell {
	double n, cap, clock; /* cap, clock: NAN = not limited; clock in MHz, or % of CPU rate */
	double asked; /* the limit before an overshoot replaced it */
	double lt, lp; /* ln time, ln power of all workers (NAN unknown) */
	double rows, power_rows;
	bool beside; /* power of more than the devices */
};

struct joint_ctx {
	struct cell *c;
	unsigned n;
	double clock_ref;
	enum factor
		pace; /* what `clock` is: the clock limit, or the CPU rate where only that is set */
	int index[JOINT_PARAMS]; /* position among the free parameters, -1 when fixed */
	double fixed[JOINT_PARAMS];
};

static double slowness(const double *p, double cap, double clock, double clock_ref)
{
	double sum = 1;

	if (p[JOINT_K] > 0 && cap > 0)
		sum += pow(p[JOINT_K] / cap, p[JOINT_B] * KNEE);
	if (!(clock > 0) || !(clock_ref > 0))
		return pow(sum, 1 / KNEE);
	/* a lock below full clock replaces the 1 of full clock rather than adding to it */
	return pow(sum - 1 + pow(clock_ref / clock, KNEE), 1 / KNEE);
}

static double busy_time(const double *p, double n, double u)
{
	return (p[JOINT_T0] + p[JOINT_T1] * u) / n + p[JOINT_T_COMM] * (n - 1) / n;
}

static double pace(const double *p, double dev)
{
	if (!(p[JOINT_T_HOST] > 0))
		return dev;
	return dev * pow(1 + pow(p[JOINT_T_HOST] / dev, p[JOINT_S]), 1 / p[JOINT_S]);
}

static void unpack(const struct joint_ctx *c, const double *q, double *p)
{
	for (int i = 0; i < JOINT_PARAMS; i++)
		p[i] = c->index[i] < 0 ? c->fixed[i] : exp(q[c->index[i]]);
}

static double residual(const struct joint_ctx *c, const double *q, unsigned i)
{
	const struct cell *d = &c->c[i];
	double p[JOINT_PARAMS];

	unpack(c, q, p);
	return sqrt(d->rows) *
	       (log(pace(p, busy_time(p, d->n, slowness(p, d->cap, d->clock, c->clock_ref)))) -
		       d->lt);
}

static void residuals(const double *q, unsigned m, unsigned n, double *r, double *jac, void *arg)
{
	const struct joint_ctx *c = arg;

	for (unsigned i = 0; i < m; i++)
		r[i] = residual(c, q, i);
	for (unsigned j = 0; jac && j < n; j++) {
		double up[JOINT_PARAMS], down[JOINT_PARAMS], h = 1e-6;

		memcpy(up, q, n * sizeof(*q));
		memcpy(down, q, n * sizeof(*q));
		up[j] += h;
		down[j] -= h;
		for (unsigned i = 0; i < m; i++)
			jac[i + j * m] = (residual(c, up, i) - residual(c, down, i)) / (2 * h);
	}
}

static bool same(double a, double b)
{
	return (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-6 * fabs(b);
}

static enum status add_row(
	struct joint_ctx *c, const struct obs *o, const double *base, long row, struct err *e)
{
	struct cell d = {
		.n = o->x[FACTOR_WORKERS], .cap = o->x[FACTOR_POWER_LIMIT], .clock = o->x[c->pace]};
	double w = o->weight > 0 ? o->weight : 1, t = o->y[QTY_TIME], pw = o->y[QTY_POWER];
	/* what sets no pace here; rows that move it are not of this grid */
	enum factor other = c->pace == FACTOR_CLOCK ? FACTOR_CPU_RATE : FACTOR_CLOCK;
	unsigned i = 0;

	if (isnan(t) || (!isnan(o->x[other]) && !same(o->x[other], base[other])))
		return ST_OK;
	if (isnan(d.n))
		d.n = isfinite(base[FACTOR_WORKERS]) ? base[FACTOR_WORKERS] : 1;
	if (isnan(d.cap))
		d.cap = base[FACTOR_POWER_LIMIT];
	if (isnan(d.clock))
		d.clock = base[c->pace];
	if (!(t > 0) || !isfinite(t) || !(d.n >= 1) || d.cap <= 0 || d.clock <= 0 || pw <= 0)
		return err_set(e, ST_INVALID,
			"time, power, workers and limits must be positive: row %ld", row);
	while (i < c->n &&
		!(same(c->c[i].n, d.n) && same(c->c[i].cap, d.cap) && same(c->c[i].clock, d.clock)))
		i++;
	if (i == MAX_CELLS)
		return err_set(e, ST_RANGE, "more than %d settings in one joint law", MAX_CELLS);
	if (i == c->n)
		c->c[c->n++] = d;
	c->c[i].lt += w * log(t);
	c->c[i].rows += w;
	if (isfinite(pw)) {
		c->c[i].lp += w * log(pw);
		c->c[i].power_rows += w;
		c->c[i].beside |= o->beside;
	}
	return ST_OK;
}

/* Means per cell; limits that were overshot become the draw; range of evidence. */
static void finish_cells(struct joint_ctx *c, struct joint *j)
{
	for (int f = 0; f < FACTOR_COUNT; f++)
		j->lo[f] = j->hi[f] = NAN;
	for (unsigned i = 0; i < c->n; i++) {
		struct cell *d = &c->c[i];
		double x[FACTOR_COUNT] = {d->n, d->cap, NAN, NAN}, each;

		x[c->pace] = d->clock;

		for (int f = 0; f < FACTOR_COUNT; f++) {
			j->lo[f] = fmin(j->lo[f], x[f]); /* fmin ignores NAN */
			j->hi[f] = fmax(j->hi[f], x[f]);
		}
		d->asked = d->cap;
		d->lt /= d->rows;
		d->lp = d->power_rows > 0 ? d->lp / d->power_rows : NAN;
		each = exp(d->lp) / d->n;
		if (!d->beside && each > OVERSHOOT * d->cap && each < 1.5 * d->cap)
			d->cap = each;
		d->rows =
			fmin(d->rows, 16); /* a setting run often is not more important than that */
	}
	c->clock_ref = j->clock_ref = j->hi[c->pace];
}

static bool varies(const struct joint *j, enum factor f)
{
	return j->hi[f] > j->lo[f] * (1 + 1e-6);
}

/* Which parameters this grid can tell, and where to start. Returns their number. */
static unsigned choose_free(struct joint_ctx *c, struct joint *j, double *q, double *lo, double *hi)
{
	double fast = INFINITY, slow = -INFINITY, span;
	unsigned k = 0;

	for (unsigned i = 0; i < c->n; i++) {
		fast = fmin(fast, c->c[i].lt);
		slow = fmax(slow, c->c[i].lt + log(c->c[i].n));
	}
	span = slow - fast + 1;
	for (int i = 0; i < JOINT_PARAMS; i++) {
		c->index[i] = -1;
		c->fixed[i] = 0;
		j->free[i] = false;
	}
#define FREE(P, START, LO, HI)                                                                     \
	do {                                                                                       \
		c->index[P] = (int)k;                                                              \
		j->free[P] = true;                                                                 \
		q[k] = (START);                                                                    \
		lo[k] = (LO);                                                                      \
		hi[k++] = (HI);                                                                    \
	} while (0)
	FREE(JOINT_T1, slow - 0.3, fast - 5, slow + span);
	if (varies(j, c->pace))
		FREE(JOINT_T0, slow - 2, fast - 9, slow + span);
	if (varies(j, FACTOR_POWER_LIMIT)) {
		double a = log(j->lo[FACTOR_POWER_LIMIT]), b = log(j->hi[FACTOR_POWER_LIMIT]);

		FREE(JOINT_K, 0.6 * a + 0.4 * b, a - 0.5 * (b - a) - 0.1, b + 0.3);
		FREE(JOINT_B, 0, log(0.1), log(4));
	}
	if (varies(j, FACTOR_WORKERS)) {
		FREE(JOINT_T_HOST, fast - 0.5, fast - 5, slow + 1);
		FREE(JOINT_T_COMM, fast - 3, fast - 9, slow + 1);
	}
#undef FREE
	return k;
}

/* Level at n workers: between measured counts in proportion to ln n, beyond them that of the end.
 */
static double level_at(const struct joint *j, const double *level, double n)
{
	int below = -1, above = -1;
	double a, b;

	for (int k = 0; k < (int)j->n_levels; k++) {
		if (j->level_n[k] <= n && (below < 0 || j->level_n[k] > j->level_n[below]))
			below = k;
		if (j->level_n[k] >= n && (above < 0 || j->level_n[k] < j->level_n[above]))
			above = k;
	}
	if (below < 0 && above < 0)
		return 0;
	if (below < 0 || above < 0 || below == above)
		return level[below < 0 ? above : below];
	a = log(n / j->level_n[below]);
	b = log(j->level_n[above] / n);
	return (b * level[below] + a * level[above]) / (a + b);
}

/* Draw of one worker by the shape alone. */
static double shape_draw(const struct joint *j, double n, double u)
{
	double dev = busy_time(j->p, n, u);

	return j->p[JOINT_P0] + j->p[JOINT_P_DYN] * dev / pace(j->p, dev) * pow(u, -j->p[JOINT_M]);
}

/* Draw with the level of its worker count. */
static double leveled(const struct joint *j, double draw, double level)
{
	return j->adds ? fmax(draw + level, 0.1 * draw) : draw * exp(level);
}

/* As fit_levels, for power. What was measured beside the devices (a host for one of them, or for
 * eight) adds to their draw, so that a count's level is then in W a worker; otherwise boards differ
 * in gain, and it is a logarithm. Sets rms_power to what is left. */
static void fit_power_levels(const struct joint_ctx *c, struct joint *j)
{
	double weight[JOINT_LEVELS] = {0}, rows[JOINT_LEVELS] = {0}, sse = 0, m = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i < c->n; i++) {
			const struct cell *d = &c->c[i];
			double u = slowness(j->p, d->cap, d->clock, c->clock_ref);
			double each = exp(d->lp) / d->n, draw = shape_draw(j, d->n, u);
			/* relative errors count, whatever the level is in */
			double w = j->adds ? 1 / (each * each) : 1;
			unsigned k = 0;

			while (k < j->n_levels && j->level_n[k] != d->n)
				k++;
			if (!isfinite(each))
				continue;
			if (pass == 1) {
				double r = log(
					each /
					leveled(j, draw, k < j->n_levels ? j->level_power[k] : 0));

				sse += r * r;
				m++;
			} else if (k < j->n_levels) {
				j->level_power[k] += w * (j->adds ? each - draw : log(each / draw));
				weight[k] += w;
				rows[k]++;
			}
		}
		for (unsigned k = 0; pass == 0 && k < j->n_levels; k++)
			j->level_power[k] /=
				rows[k] > 0 ? weight[k] * (j->adds ? 1 : 1 + 1 / rows[k]) : 1;
	}
	j->rms_power = m > 0 ? sqrt(sse / m) : NAN;
}

/* Mean draw of one device = p0 + p_dyn busy u^-m: linear, for each m of 1, 2, 3. */
static void fit_power(struct joint_ctx *c, struct joint *j)
{
	static const double exponents[] = {1, 2, 3};
	double best = INFINITY, v[2][MAX_CELLS], b[MAX_CELLS];
	const double *const col[2] = {v[0], v[1]};
	unsigned m = 0;

	j->rms_power = NAN;
	j->beside_w = 0;
	for (unsigned i = 0; i < c->n; i++) {
		double each = exp(c->c[i].lp) / c->c[i].n;

		j->adds |= c->c[i].beside;
		if (isfinite(each) && c->c[i].cap > 0)
			j->beside_w = fmax(j->beside_w, each - OVERSHOOT * c->c[i].cap);
	}
	for (int e = 0; e < 3; e++) {
		double coef[2], sse;

		m = 0;
		for (unsigned i = 0; i < c->n; i++) {
			const struct cell *d = &c->c[i];
			double u, dev, each = exp(d->lp) / d->n;

			if (!isfinite(each))
				continue;
			u = slowness(j->p, d->cap, d->clock, c->clock_ref);
			dev = busy_time(j->p, d->n, u);
			v[0][m] = 1 / each;
			v[1][m] = dev / pace(j->p, dev) * pow(u, -exponents[e]) / each;
			b[m++] = 1;
		}
		if (m < 2)
			return;
		sse = la_nnls(m, 2, col, b, coef);
		if (!(sse < best))
			continue;
		best = sse;
		j->p[JOINT_P0] = coef[0];
		j->p[JOINT_P_DYN] = coef[1];
		j->p[JOINT_M] = exponents[e];
	}
	j->free[JOINT_P0] = j->free[JOINT_P_DYN] = j->free[JOINT_M] = true;
	fit_power_levels(c, j);
}

/* Boards differ, and all settings of one worker count run on the same boards: each count keeps the
 * mean of its residuals, shrunk as if one more setting had none. */
static void fit_levels(const struct joint_ctx *c, const double *q, struct joint *j)
{
	double rows[JOINT_LEVELS] = {0};

	j->n_levels = 0;
	for (unsigned i = 0; i < c->n; i++) {
		unsigned k = 0;

		while (k < j->n_levels && j->level_n[k] != c->c[i].n)
			k++;
		if (k == JOINT_LEVELS) /* too many to be told apart: none is */
			goto none;
		if (k == j->n_levels) {
			j->level_n[j->n_levels] = c->c[i].n;
			j->level[j->n_levels++] = 0;
		}
		j->level[k] -= residual(c, q, i) / sqrt(c->c[i].rows);
		rows[k]++;
	}
	for (unsigned k = 0; k < j->n_levels; k++)
		j->level[k] /= rows[k] + 1;
	if (j->n_levels > 1)
		return;
none:
	j->n_levels = 0;
}

/* The host either sets the pace or it does not, the limit bites early or late: a start on either
 * side; then the other sharpnesses, from the best of them. Returns the sum of squares. */
static double from_afar(struct joint_ctx *c, const struct nls_problem *pr, const double *start,
	double *q, double *sharp)
{
	static const double sharpness[] = {4, 8, 3, 6};
	const double *hi = pr->hi;
	double best = INFINITY;

	for (int t = 0; t < 7; t++) {
		double sse, trial[JOINT_PARAMS];

		if (c->index[JOINT_T_HOST] < 0 && t >= 4)
			break;
		c->fixed[JOINT_S] = sharpness[t < 4 ? 0 : t - 3];
		memcpy(trial, t < 4 || !isfinite(best) ? start : q, JOINT_PARAMS * sizeof(*trial));
		if (c->index[JOINT_T_HOST] >= 0 && t < 4 && (t & 1))
			trial[c->index[JOINT_T_HOST]] -= 2.5;
		if (c->index[JOINT_K] >= 0 && t < 4 && (t & 2))
			trial[c->index[JOINT_K]] +=
				0.3 * (hi[c->index[JOINT_K]] - trial[c->index[JOINT_K]]);
		sse = nls_min(pr, trial);
		if (sse < best * (1 - 1e-9)) {
			best = sse;
			*sharp = c->fixed[JOINT_S];
			memcpy(q, trial, JOINT_PARAMS * sizeof(*q));
		}
	}
	return best;
}

/* near: where to start from; NULL = nothing is known. */
static enum status fit_time(
	struct joint_ctx *c, struct joint *j, const struct joint *near, struct err *e)
{
	double lo[JOINT_PARAMS], hi[JOINT_PARAMS], q[JOINT_PARAMS], start[JOINT_PARAMS];
	double best, sharp = 4;
	unsigned k = choose_free(c, j, start, lo, hi);
	struct nls_problem pr = {residuals, c, c->n, k, lo, hi, 200};

	j->n_free = k;
	if (k < 2)
		return err_set(e, ST_RANGE, "a joint law needs a factor that varies");
	if (c->n < k)
		return err_set(e, ST_RANGE,
			"%u settings do not determine the %u parameters of the joint law", c->n, k);
	if (near && near->n_free == k) {
		for (int i = 0; i < JOINT_PARAMS; i++)
			if (c->index[i] >= 0)
				q[c->index[i]] = log(near->p[i]);
		c->fixed[JOINT_S] = sharp = near->p[JOINT_S];
		best = nls_min(&pr, q);
	} else {
		best = from_afar(c, &pr, start, q, &sharp);
	}
	c->fixed[JOINT_S] = sharp;
	if (!isfinite(best))
		return err_set(e, ST_RANGE, "the joint law does not converge on these settings");
	unpack(c, q, j->p);
	fit_levels(c, q, j);
	best = 0;
	for (unsigned i = 0; i < c->n; i++) {
		double r =
			residual(c, q, i) / sqrt(c->c[i].rows) + level_at(j, j->level, c->c[i].n);

		best += r * r;
	}
	j->rms_time = sqrt(best / c->n);
	return ST_OK;
}

/* The shape: time without its levels, which the surface has itself, power with them. */
static void shape_eval(const struct joint *j, const double *v, double *time_s, double *power_w)
{
	double u = slowness(j->p, v[FACTOR_POWER_LIMIT], v[j->pace], j->clock_ref), draw;

	*time_s = pace(j->p, busy_time(j->p, v[FACTOR_WORKERS], u));
	draw = leveled(j, shape_draw(j, v[FACTOR_WORKERS], u),
		level_at(j, j->level_power, v[FACTOR_WORKERS]));
	if (v[FACTOR_POWER_LIMIT] > 0)
		draw = fmin(draw, OVERSHOOT * v[FACTOR_POWER_LIMIT] + j->beside_w);
	*power_w = isnan(j->rms_power) ? NAN : draw * v[FACTOR_WORKERS];
}

/* Where a setting lies on the surfaces; a factor that was never set has one place. */
static void surface_at(const struct joint *j, const double *v, double out[REST_DIMS])
{
	const double of[REST_DIMS] = {v[FACTOR_WORKERS], v[FACTOR_POWER_LIMIT], v[j->pace]};

	for (int d = 0; d < REST_DIMS; d++)
		out[d] = of[d] > 0 ? log(of[d]) : 0;
}

/* What the shape leaves over, as a surface: of time, and of power without `near`. */
static void fit_rest(const struct joint_ctx *c, struct joint *j, const struct joint *near)
{
	double *work = mem_calloc((size_t)c->n * c->n + 5 * (size_t)c->n, sizeof(*work));
	double(*x)[REST_DIMS] = (void *)(work + (size_t)c->n * c->n);
	double *r = work + (size_t)c->n * (c->n + 3), *runs = r + c->n;

	for (int q = 0; work && q < (near ? 1 : 2); q++) {
		unsigned n = 0;

		for (unsigned i = 0; i < c->n; i++) {
			const struct cell *d = &c->c[i];
			double at[FACTOR_COUNT] = {d->n, d->asked, NAN, NAN}, t, p;

			at[c->pace] = d->clock;
			shape_eval(j, at, &t, &p);
			r[n] = q ? d->lp - log(p) : d->lt - log(t);
			if (!isfinite(r[n]))
				continue;
			runs[n] = q ? d->power_rows : d->rows;
			surface_at(j, at, x[n++]);
		}
		rest_fit(n, (const double(*)[REST_DIMS])x, r, runs, q ? j->rms_power : j->rms_time,
			near ? &near->rest_time : NULL, work, q ? &j->rest_power : &j->rest_time);
	}
	mem_free(work);
}

/* A job is slowed by its clock limit or by its CPU rate; the clock where both were moved. */
static enum factor pace_factor(const struct obs *obs, size_t n, const double *base)
{
	bool rate = false;

	for (size_t i = 0; i < n; i++) {
		double clock = obs[i].x[FACTOR_CLOCK];

		if (isfinite(clock) && !same(clock, base[FACTOR_CLOCK]))
			return FACTOR_CLOCK;
		rate = rate || isfinite(obs[i].x[FACTOR_CPU_RATE]);
	}
	return rate ? FACTOR_CPU_RATE : FACTOR_CLOCK;
}

enum status joint_fit_near(const struct obs *obs, size_t n, const double base[FACTOR_COUNT],
	const struct joint *near, struct joint *out, struct err *e)
{
	struct joint_ctx c = {0};
	enum status st = ST_OK;

	memset(out, 0, sizeof(*out));
	memcpy(out->base, base, sizeof(out->base));
	c.pace = out->pace = pace_factor(obs, n, base);
	c.c = mem_calloc(MAX_CELLS, sizeof(*c.c));
	if (!c.c)
		return err_set(e, ST_NOMEM, "out of memory for a joint law");
	for (size_t i = 0; i < n && st == ST_OK; i++)
		st = add_row(&c, &obs[i], base, obs[i].row ? obs[i].row : (long)i + 1, e);
	if (st != ST_OK)
		goto out;
	finish_cells(&c, out);
	out->n = c.n;
	st = fit_time(&c, out, near, e);
	out->rms_power = NAN;
	if (st == ST_OK && !near)
		fit_power(&c, out);
	if (st == ST_OK)
		fit_rest(&c, out, near);
out:
	mem_free(c.c);
	return st;
}

enum status joint_fit(const struct obs *obs, size_t n, const double base[FACTOR_COUNT],
	struct joint *out, struct err *e)
{
	return joint_fit_near(obs, n, base, NULL, out, e);
}

bool joint_covers(const struct joint *j, const double x[FACTOR_COUNT])
{
	for (int f = 0; f < FACTOR_COUNT; f++)
		if (isnan(j->lo[f]) && !isnan(x[f]) && !same(x[f], j->base[f]))
			return false;
	return true;
}

void joint_eval(
	const struct joint *j, const double x[FACTOR_COUNT], double *time_s, double *power_w)
{
	double at[REST_DIMS], v[FACTOR_COUNT], t, p;

	for (int f = 0; f < FACTOR_COUNT; f++)
		v[f] = isnan(x[f]) ? j->base[f] : x[f];
	if (isnan(v[FACTOR_WORKERS]))
		v[FACTOR_WORKERS] = 1;
	shape_eval(j, v, &t, &p);
	surface_at(j, v, at);
	if (time_s)
		*time_s = t * exp(j->rest_time.n ? rest_at(&j->rest_time, at)
						 : level_at(j, j->level, v[FACTOR_WORKERS]));
	if (power_w)
		*power_w = p * exp(rest_at(&j->rest_power, at));
}

double joint_half_width(
	const struct joint *j, enum quantity q, const double x[FACTOR_COUNT], double level)
{
	double spare = j->n > j->n_free ? sqrt(j->n / (double)(j->n - j->n_free)) : 2, outside = 0;
	double z = stat_normal_quantile(0.5 + 0.5 * level), sd;
	const struct rest *rest = q == QTY_POWER ? &j->rest_power : &j->rest_time;

	for (int f = 0; f < FACTOR_COUNT; f++) {
		if (x[f] > j->hi[f])
			outside += log(x[f] / j->hi[f]);
		if (x[f] < j->lo[f])
			outside += log(j->lo[f] / x[f]);
	}
	sd = sqrt(JOINT_FLOOR * JOINT_FLOOR + spare * spare * j->rms_time * j->rms_time);
	if (q == QTY_POWER)
		sd = fmax(sd, j->rms_power);
	if (rest->loo_rms > 0 && outside <= 0)
		sd = rest->run_rms;
	return z * (1 + outside) * sd;
}

const char *joint_param_name(enum joint_param p)
{
	static const char *const names[JOINT_PARAMS] = {
		"t1", "t0", "k", "b", "t_host", "t_comm", "p0", "p_dyn", "m", "s"};

	return (unsigned)p < JOINT_PARAMS ? names[p] : "unknown";
}
