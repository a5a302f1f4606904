/* select.c: fit every family, leave points out, rank, resample, judge sensitivity. */
#include "model/select.h"

#include <math.h>
#include <string.h>

#include "model/combine.h"
#include "model/numeric.h"

#define TIE         0.05 /* leave-one-out errors closer than this fraction are a tie */
#define INSENSITIVE 0.02
#define MAX_REPEATS 1000

/* Smaller leave-one-out error wins; within a tie the smaller AICc; then the fewer parameters. */
static bool better(const struct fit *a, const struct fit *b)
{
	double la = isfinite(a->loo_rms) ? a->loo_rms : INFINITY;
	double lb = isfinite(b->loo_rms) ? b->loo_rms : INFINITY;

	if (isinf(la) && isinf(lb))
		return a->law->n_params < b->law->n_params;
	if (fabs(la - lb) > TIE * fmin(la, lb))
		return la < lb;
	if (isfinite(a->aicc) && isfinite(b->aicc) && !a->sh.n_knots && !b->sh.n_knots)
		return a->aicc < b->aicc;
	return a->law->n_params < b->law->n_params;
}

static void rank(struct selection *s)
{
	s->best = s->power = s->best_smooth = -1;
	for (unsigned j = 0; j < s->n_fits; j++) {
		const struct fit *f = &s->fits[j];

		if (f->st != ST_OK)
			continue;
		if (!strcmp(f->law->name, "power"))
			s->power = (int)j;
		if (s->best < 0 || better(f, &s->fits[s->best]))
			s->best = (int)j;
		if (!f->sh.n_knots && (s->best_smooth < 0 || better(f, &s->fits[s->best_smooth])))
			s->best_smooth = (int)j;
	}
}

/* Residual bootstrap of the best smooth family: residuals, widened for the parameters spent, are
 * dealt anew to the fitted curve; each point also moves by what its repeats say of its mean. */
static void bootstrap(struct selection *s)
{
	const struct series *d = &s->series;
	const struct fit *f = s->best_smooth >= 0 ? &s->fits[s->best_smooth] : NULL;
	double r[LAW_MAX_KNOTS], fitted[LAW_MAX_KNOTS], widen, sd2;
	uint64_t seed = 0x77617474u;

	s->n_boot = 0;
	if (!f || d->n <= f->law->n_params)
		return;
	widen = sqrt(d->n / (double)(d->n - f->law->n_params));
	for (unsigned i = 0; i < d->n; i++) {
		fitted[i] = log(law_eval(f->law, &f->sh, d->x[i]));
		r[i] = widen * (d->ly[i] - fitted[i]);
	}
	sd2 = d->repeat_df ? d->repeat_sd * d->repeat_sd : 0;
	for (unsigned b = 0; b < SELECT_BOOT; b++) {
		struct series again = *d;
		struct shape sh;

		for (unsigned i = 0; i < d->n; i++) {
			double e = r[num_random(&seed) % d->n];
			/* uniform of the right variance: its tails do not matter for a mean */
			double u = num_uniform(&seed) - 0.5;

			again.ly[i] = fitted[i] + e + sqrt(12 * sd2 / d->reps[i]) * u;
			again.y[i] = exp(again.ly[i]);
		}
		if (!fit_shape(f->law, &again, &sh))
			continue;
		memcpy(s->boot[s->n_boot++], sh.p, sizeof(sh.p));
	}
}

double select_boot_sd(const struct selection *s, double x)
{
	double sum = 0, sq = 0, v[SELECT_BOOT];
	unsigned n = 0;

	for (unsigned b = 0; b < s->n_boot; b++) {
		struct shape sh = {.n_knots = 0};

		memcpy(sh.p, s->boot[b], sizeof(sh.p));
		v[n] = log(law_eval(s->fits[s->best_smooth].law, &sh, x));
		if (isfinite(v[n]))
			sum += v[n++];
	}
	if (n < 8)
		return NAN;
	for (unsigned b = 0; b < n; b++)
		sq += (v[b] - sum / n) * (v[b] - sum / n);
	return sqrt(sq / (n - 1));
}

/* Index of the default setting; without one, the highest limit or clock, the fewest workers. */
static unsigned default_point(const struct series *d)
{
	for (unsigned i = 0; i < d->n; i++)
		if (fabs(d->lx[i] - log(d->x_default)) < 1e-6)
			return i;
	return d->factor == FACTOR_WORKERS ? 0 : d->n - 1;
}

/* Runs per setting at which the interval of a difference of two means is half as wide as margin. */
static unsigned repeats_for(double sigma, double margin)
{
	double z = stat_normal_quantile(0.95), n = 2 * z * sigma / margin * (z * sigma / margin);

	return n > MAX_REPEATS ? MAX_REPEATS : (unsigned)ceil(fmax(n, 2));
}

static void judge(struct selection *s)
{
	const struct series *d = &s->series;
	const struct fit *smooth = s->best_smooth >= 0 ? &s->fits[s->best_smooth] : NULL;
	const struct fit *power = s->power >= 0 ? &s->fits[s->power] : NULL;
	unsigned def = default_point(d), far = def, df;
	double base = combine_log(s, d->x[def], NULL), effect = 0, sigma, half, trend;

	s->verdict = VERDICT_UNDETERMINED;
	s->repeats_needed = 0;
	s->effect_lo = s->effect_hi = NAN;
	for (unsigned i = 0; i < d->n; i++) {
		double e = combine_log(s, d->x[i], NULL) - base;

		if (fabs(e) > fabs(effect)) {
			effect = e;
			far = i;
		}
	}
	if (far == def)
		far = def ? 0 : d->n - 1;
	sigma = d->repeat_df ? d->repeat_sd : smooth ? smooth->sigma : NAN;
	df = d->repeat_df ? d->repeat_df : smooth ? smooth->df : 0;
	if (!(sigma >= 0) || df == 0)
		return;
	half = stat_t_quantile(0.95, df) * sigma * sqrt(1 / d->reps[far] + 1 / d->reps[def]);
	if (!d->repeat_df)
		half = stat_t_quantile(0.95, df) * sigma * M_SQRT2;
	s->effect_lo = expm1(effect - half);
	s->effect_hi = expm1(effect + half);
	if ((s->effect_lo > 0 || s->effect_hi < 0) && fabs(effect) > INSENSITIVE) {
		s->verdict = VERDICT_SENSITIVE;
		return;
	}
	if (s->effect_lo > -INSENSITIVE && s->effect_hi < INSENSITIVE) {
		s->verdict = VERDICT_INSENSITIVE;
		return;
	}
	/* many points pin a trend down better than any two of them pin a difference */
	if (power && power->has_cov && fabs(effect) < INSENSITIVE) {
		double span = d->lx[d->n - 1] - d->lx[0];

		trend = stat_t_quantile(0.95, power->df) * sqrt(power->cov[1][1]) * span;
		if (fabs(power->sh.p[1] * span) + trend < INSENSITIVE) {
			s->effect_lo = expm1(-fabs(power->sh.p[1] * span) - trend);
			s->effect_hi = expm1(fabs(power->sh.p[1] * span) + trend);
			s->verdict = VERDICT_INSENSITIVE;
			return;
		}
	}
	s->repeats_needed = repeats_for(sigma, fmax(fabs(INSENSITIVE - fabs(effect)), 0.005));
}

enum status select_laws(const struct series *d, struct selection *s, struct err *e)
{
	unsigned n;
	const struct law *const *rows = law_table(&n);

	s->series = *d;
	s->n_fits = 0;
	for (unsigned i = 0; i < n && s->n_fits < SELECT_MAX; i++) {
		struct fit *f = &s->fits[s->n_fits];

		if (!law_applies(rows[i], d->quantity, d->factor))
			continue;
		fit_law(rows[i], d, f);
		if (f->st == ST_OK) {
			fit_loo(rows[i], d, f, s->loo_err[s->n_fits]);
		} else {
			for (unsigned k = 0; k < LAW_MAX_KNOTS; k++)
				s->loo_err[s->n_fits][k] = NAN;
		}
		s->n_fits++;
	}
	rank(s);
	if (s->best < 0)
		return err_set(e, ST_RANGE, "%s against %s: no law can be fitted to %u setting%s",
			quantity_name(d->quantity), factor_name(d->factor), d->n,
			d->n == 1 ? "" : "s");
	combine_weights(s);
	bootstrap(s);
	judge(s);
	return ST_OK;
}

const char *verdict_name(enum verdict v)
{
	static const char *const names[] = {"sensitive", "insensitive", "undetermined"};

	return (unsigned)v < 3 ? names[v] : "unknown";
}
