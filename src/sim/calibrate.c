#include "sim/calibrate.h"

#include <math.h>
#include <string.h>

#define DIM        5
#define MAX_POINTS 4096

struct problem {
	const struct gpu_profile *p;
	const struct calib_point *pts;
	size_t n;
	double log_t0, scale_mw;
	double loader_s; /* a step takes at least this; 0 = no such bound */
};

static double logistic(double v)
{
	return 1 / (1 + exp(-v));
}

/* Free coordinates → a load whose every field is in range. */
static void load_of(const struct problem *pr, const double *v, struct gpu_load *l)
{
	memset(l, 0, sizeof(*l));
	l->kind = LOAD_WORK;
	l->step_s = exp(pr->log_t0 + v[0]);
	l->clock_share = logistic(v[1]);
	l->dyn_mw = pr->scale_mw * exp(v[2]);
	l->spread = 0.95 * logistic(v[3]);
	l->host_share = 0.98 * logistic(v[4]);
}

static void point_at(const struct problem *pr, const struct gpu_load *l,
	const struct calib_point *c, struct gpu_point *out)
{
	double limit = (double)(c->limit_mw > 0 ? c->limit_mw : pr->p->limit_def_mw);
	double x = 1;

	if (c->clock_khz > 0)
		x = (double)gpu_clock_grid(pr->p, c->clock_khz) / (double)pr->p->clock_max_khz;
	gpu_paced(pr->p, l, limit, x, c->mem_clock_khz, pr->loader_s, out, NULL);
}

static double cost(const struct problem *pr, const double *v, struct calib_fit *fit)
{
	struct gpu_load l;
	double sum = 0, st = 0, sp = 0;
	size_t n_p = 0;

	load_of(pr, v, &l);
	if (fit)
		memset(fit, 0, sizeof(*fit));
	for (size_t i = 0; i < pr->n; i++) {
		const struct calib_point *c = &pr->pts[i];
		struct gpu_point s;
		double dt, dp = 0;

		point_at(pr, &l, c, &s);
		dt = log(1 / s.rate / c->step_s);
		if (c->power_mw > 0) {
			dp = log(s.power_mw / c->power_mw);
			n_p++;
		}
		/* Power readings carry the sensor's gain error of several percent, times do not. */
		sum += 1e4 * (dt * dt + 0.1 * dp * dp);
		st += dt * dt;
		sp += dp * dp;
		if (fit) {
			fit->time_max = fmax(fit->time_max, fabs(dt));
			fit->power_max = fmax(fit->power_max, fabs(dp));
		}
	}
	if (fit) {
		fit->time_rms = sqrt(st / (double)pr->n);
		fit->power_rms = n_p ? sqrt(sp / (double)n_p) : 0;
	}
	/* Weak priors, of the size of one percent in one point: a spread of 0.3, no host share. */
	sum += (l.spread - 0.3) * (l.spread - 0.3) + l.host_share * l.host_share;
	/* Keep the free coordinates from running off where the functions are flat. */
	for (int i = 1; i < DIM; i++)
		sum += 1e-4 * v[i] * v[i];
	return sum;
}

static void centre(double s[DIM + 1][DIM], int worst, double *c)
{
	for (int j = 0; j < DIM; j++) {
		c[j] = 0;
		for (int i = 0; i <= DIM; i++)
			c[j] += i == worst ? 0 : s[i][j] / DIM;
	}
}

static double move(
	const struct problem *pr, const double *c, const double *w, double f, double *out)
{
	for (int j = 0; j < DIM; j++)
		out[j] = c[j] + f * (w[j] - c[j]);
	return cost(pr, out, NULL);
}

/* Nelder-Mead (1965) with the usual coefficients. */
static double simplex(const struct problem *pr, double *best)
{
	double s[DIM + 1][DIM], f[DIM + 1];
	int lo = 0;

	for (int i = 0; i <= DIM; i++) {
		memcpy(s[i], best, sizeof(s[i]));
		if (i > 0)
			s[i][i - 1] += i == 1 ? 0.05 : 0.7;
		f[i] = cost(pr, s[i], NULL);
	}
	for (int iter = 0; iter < 900; iter++) {
		double c[DIM], a[DIM], b[DIM], fa, fb;
		int hi = 0, second = -1;

		lo = 0;
		for (int i = 1; i <= DIM; i++) {
			lo = f[i] < f[lo] ? i : lo;
			hi = f[i] > f[hi] ? i : hi;
		}
		for (int i = 0; i <= DIM; i++)
			if (i != hi && (second < 0 || f[i] > f[second]))
				second = i;
		if (f[hi] - f[lo] < 1e-9 * (1 + f[lo]))
			break;
		centre(s, hi, c);
		fa = move(pr, c, s[hi], -1, a);
		if (fa < f[lo]) {
			fb = move(pr, c, s[hi], -2, b);
			memcpy(s[hi], fb < fa ? b : a, sizeof(a));
			f[hi] = fmin(fa, fb);
		} else if (fa < f[second]) {
			memcpy(s[hi], a, sizeof(a));
			f[hi] = fa;
		} else {
			fb = move(pr, c, s[hi], fa < f[hi] ? -0.5 : 0.5, b);
			if (fb < fmin(fa, f[hi])) {
				memcpy(s[hi], b, sizeof(b));
				f[hi] = fb;
				continue;
			}
			for (int i = 0; i <= DIM; i++) {
				if (i == lo)
					continue;
				for (int j = 0; j < DIM; j++)
					s[i][j] = (s[i][j] + s[lo][j]) / 2;
				f[i] = cost(pr, s[i], NULL);
			}
		}
	}
	memcpy(best, s[lo], sizeof(s[lo]));
	return f[lo];
}

static double search(const struct problem *pr, double *best)
{
	double f_best = INFINITY;

	for (int start = 0; start < 8; start++) {
		double v[DIM] = {
			0, start & 1 ? 2 : 0, start & 2 ? 0.1 : 0.5, start & 4 ? 1 : -1, -3};
		double fv = simplex(pr, v);

		fv = fmin(fv, simplex(pr, v)); /* again from where it stopped */
		if (fv < f_best) {
			f_best = fv;
			memcpy(best, v, DIM * sizeof(*best));
		}
	}
	return f_best;
}

/* Mean of the times within 8 % of the shortest, when there are at least three of them. */
static double flat_time(const struct calib_point *pts, size_t n)
{
	double t_min = INFINITY, sum = 0;
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		t_min = fmin(t_min, pts[i].step_s);
	for (size_t i = 0; i < n; i++) {
		if (pts[i].step_s > 1.08 * t_min)
			continue;
		sum += pts[i].step_s;
		k++;
	}
	return k >= 3 ? sum / (double)k : 0;
}

enum status calibrate(const struct gpu_profile *p, const struct calib_point *pts, size_t n,
	struct gpu_load *out, double *loader_s, struct calib_fit *fit, struct err *e)
{
	struct problem pr = {.p = p, .pts = pts, .n = n};
	double t_min = INFINITY, t_max = 0, p_max = 0, best[DIM], f_best;

	if (n < 2 || n > MAX_POINTS)
		return err_set(
			e, ST_INVALID, "%zu settings: calibration needs 2 to %d", n, MAX_POINTS);
	for (size_t i = 0; i < n; i++) {
		if (!(pts[i].step_s > 0) || !isfinite(pts[i].step_s) || !(pts[i].power_mw >= 0))
			return err_set(e, ST_INVALID, "setting %zu has no positive time", i + 1);
		t_min = fmin(t_min, pts[i].step_s);
		t_max = fmax(t_max, pts[i].step_s);
		p_max = fmax(p_max, pts[i].power_mw);
	}
	if (p_max <= 0 && t_max / t_min > 1.05)
		return err_set(e, ST_INVALID,
			"no setting has a mean power; the time alone cannot say "
			"what the cap acts on");
	pr.log_t0 = log(t_min);
	pr.scale_mw = fmax(p_max - p->static_mw, 0.05 * (double)p->limit_max_mw);
	f_best = search(&pr, best);
	/* Times that do not move with the cap although the power does are paced by something else.
	 */
	pr.loader_s = loader_s ? flat_time(pts, n) : 0;
	if (loader_s)
		*loader_s = 0;
	if (pr.loader_s > 0) {
		double paced[DIM], f = search(&pr, paced);

		if (f < 0.5 * f_best) {
			memcpy(best, paced, sizeof(best));
			*loader_s = pr.loader_s;
		}
		pr.loader_s = *loader_s;
	}
	load_of(&pr, best, out);
	if (fit)
		cost(&pr, best, fit);
	return ST_OK;
}
