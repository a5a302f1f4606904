/* model_laws_test.c: what holds for every family of the table, and each on data it made itself. */
#include "tap.h"

#include "model/fit.h"

static const double caps[9] = {100, 125, 150, 175, 200, 225, 250, 275, 300};
static const double counts[8] = {1, 2, 4, 8, 16, 32, 64, 128};

static struct series series_of(
	const double *x, const double *y, size_t n, enum factor f, enum quantity q)
{
	struct series s;
	struct err e = ERR_INIT;

	if (series_from_xy(x, y, NULL, n, f, q, &s, &e) != ST_OK)
		printf("# %s\n", e.msg);
	return s;
}

struct invented {
	const char *law;
	enum factor f;
	enum quantity q;
	double p[LAW_MAX_PARAMS];
};

/* Numbers such as these devices have; the fit must find the curve again, not only the points. */
static const struct invented made[] = {
	{"constant", FACTOR_CLOCK, QTY_TIME, {3.3}},
	{"power", FACTOR_WORKERS, QTY_TIME, {120, -0.85}},
	{"offset", FACTOR_WORKERS, QTY_TIME, {100, -0.95, 1.5}},
	{"broken", FACTOR_POWER_LIMIT, QTY_TIME, {10, 160, -1.1}},
	{"broken", FACTOR_POWER_LIMIT, QTY_POWER, {210, 205, 0.95}},
	{"hinge", FACTOR_POWER_LIMIT, QTY_TIME, {10, 190, -0.8}},
	{"device-cap", FACTOR_POWER_LIMIT, QTY_TIME, {3, 7, 40, 230}},
	{"device-clock", FACTOR_CLOCK, QTY_TIME, {4, 900}},
	{"amdahl", FACTOR_WORKERS, QTY_TIME, {0.7, 80}},
	{"usl", FACTOR_WORKERS, QTY_TIME, {80, 0.9, 0.002}},
	{"step-ring", FACTOR_WORKERS, QTY_TIME, {80, 12, 0.01}},
	{"step-tree", FACTOR_WORKERS, QTY_TIME, {80, 12, 3}},
	{"pmnf", FACTOR_WORKERS, QTY_TIME, {2, 70, -0.75, 0}},
	{"waiting-power", FACTOR_WORKERS, QTY_POWER, {60, 240, 0.04}},
	{"waiting-energy", FACTOR_WORKERS, QTY_ENERGY, {5000, 140}},
	{"power-cube", FACTOR_CLOCK, QTY_POWER, {60, 9e-6}},
	{"power-mixed", FACTOR_CLOCK, QTY_POWER, {50, 0.1, 8e-6}},
	{"power-piecewise", FACTOR_CLOCK, QTY_POWER, {50, 0.3, 0.002, 190}},
	{"parabola", FACTOR_POWER_LIMIT, QTY_ENERGY, {30, -9, 0.85}},
};

static void finds_its_own_curve(void)
{
	for (size_t k = 0; k < sizeof(made) / sizeof(made[0]); k++) {
		const struct law *l = law_find(made[k].law);
		const double *x = made[k].f == FACTOR_WORKERS ? counts : caps;
		size_t n = made[k].f == FACTOR_WORKERS ? 8 : 9;
		struct shape truth = {.n_knots = 0};
		double y[9], worst = 0;
		struct series s;
		struct fit f;

		memcpy(truth.p, made[k].p, sizeof(truth.p));
		for (size_t i = 0; i < n; i++)
			y[i] = law_eval(l, &truth, x[i]);
		s = series_of(x, y, n, made[k].f, made[k].q);
		fit_law(l, &s, &f);
		for (size_t i = 0; i + 1 < n; i++) {
			double mid = sqrt(x[i] * x[i + 1]);

			worst = fmax(worst,
				fabs(law_eval(l, &f.sh, mid) / law_eval(l, &truth, mid) - 1));
		}
		ok(f.st == ST_OK && worst < 2e-3,
			"%s against %s finds its own curve between the points (%.1e off)", l->name,
			factor_name(made[k].f), worst);
	}
}

static void jacobians_agree(void)
{
	for (size_t k = 0; k < sizeof(made) / sizeof(made[0]); k++) {
		const struct law *l = law_find(made[k].law);
		struct law numeric = *l;
		struct shape sh = {.n_knots = 0};
		double a[LAW_MAX_PARAMS], b[LAW_MAX_PARAMS],
			worst = 0, x = made[k].f == FACTOR_WORKERS ? 6 : 140;

		if (!l->jacobian || !strcmp(l->name, "pmnf"))
			continue;
		numeric.jacobian = NULL;
		memcpy(sh.p, made[k].p, sizeof(sh.p));
		law_jacobian(l, &sh, x, a);
		law_jacobian(&numeric, &sh, x, b);
		for (unsigned i = 0; i < l->n_shown; i++)
			worst = fmax(worst, fabs(a[i] - b[i]) / fmax(fabs(a[i]), 1e-3));
		ok(worst < 1e-4, "%s: derivatives agree with finite differences (%.1e)", l->name,
			worst);
	}
}

/* A cap sweep with a knee and 2 % of fixed disturbance. */
static void sweep(double *y)
{
	static const double wobble[9] = {
		0.01, -0.015, 0.02, -0.005, 0.012, -0.02, 0.004, 0.009, -0.011};

	for (int i = 0; i < 9; i++)
		y[i] = 10 * pow(1 + pow(170 / caps[i], 4.4), 0.25) * (1 + wobble[i]);
}

static void units_do_not_matter(void)
{
	unsigned n;
	const struct law *const *rows = law_table(&n);
	double y[9], x2[9], y2[9];

	sweep(y);
	for (int i = 0; i < 9; i++) {
		x2[i] = 1000 * caps[i];
		y2[i] = y[i] / 3600;
	}
	for (unsigned k = 0; k < n; k++) {
		struct series s, t;
		struct fit f, g;
		double worst = 0;

		if (!law_applies(rows[k], QTY_TIME, FACTOR_POWER_LIMIT))
			continue;
		s = series_of(caps, y, 9, FACTOR_POWER_LIMIT, QTY_TIME);
		t = series_of(x2, y2, 9, FACTOR_POWER_LIMIT, QTY_TIME);
		fit_law(rows[k], &s, &f);
		fit_law(rows[k], &t, &g);
		for (double x = 105; x < 300; x += 13)
			worst = fmax(worst, fabs(3600 * law_eval(rows[k], &g.sh, 1000 * x) /
							    law_eval(rows[k], &f.sh, x) -
						    1));
		ok(f.st == g.st && worst < 1e-6,
			"%s: mW for W and h for s change no prediction (%.1e)", rows[k]->name,
			worst);
		fit_loo(rows[k], &s, &f, NULL);
		fit_loo(rows[k], &t, &g, NULL);
		ok(fabs(f.loo_pct - g.loo_pct) < 1e-4, "%s: nor the leave-one-out error",
			rows[k]->name);
	}
}

static void monotone_families_are(void)
{
	unsigned n;
	const struct law *const *rows = law_table(&n);
	double y[9];

	/* times that do not fall: noise around a constant, the hard case for a curve through points
	 */
	for (int i = 0; i < 9; i++)
		y[i] = 5 + 0.2 * sin(7.0 * i);
	for (unsigned k = 0; k < n; k++) {
		struct series s = series_of(caps, y, 9, FACTOR_POWER_LIMIT, QTY_TIME);
		struct fit f;
		bool falls = true, rises = true;

		if (!law_applies(rows[k], QTY_TIME, FACTOR_POWER_LIMIT) ||
			rows[k]->monotone == LAW_FREE)
			continue;
		fit_law(rows[k], &s, &f);
		for (double x = 90; x < 320; x += 1) {
			double d = law_eval(rows[k], &f.sh, x + 1) - law_eval(rows[k], &f.sh, x);

			falls = falls && d <= 1e-9;
			rises = rises && d >= -1e-9;
		}
		ok(f.st == ST_OK && (falls || (rises && rows[k]->monotone != LAW_FALLS)),
			"%s stays monotone on times that do not fall", rows[k]->name);
	}
}

static void few_points_are_said(void)
{
	unsigned n;
	const struct law *const *rows = law_table(&n);
	double y[9];

	sweep(y);
	for (unsigned k = 0; k < n; k++) {
		struct series s;
		struct fit f;

		if (!law_applies(rows[k], QTY_TIME, FACTOR_POWER_LIMIT) || rows[k]->n_params < 2)
			continue;
		s = series_of(caps, y, rows[k]->n_params, FACTOR_POWER_LIMIT, QTY_TIME);
		fit_law(rows[k], &s, &f);
		ok(isnan(f.sigma) && isnan(f.ci95[0][0]) && f.note[0],
			"%s: as many points as parameters give no error estimate (%s)",
			rows[k]->name, f.note);
	}
}

static void an_outlier_does_not_rule(void)
{
	double y[9];
	struct series s;
	struct fit clean, hit;
	const struct law *l = law_find("broken");

	sweep(y);
	s = series_of(caps, y, 9, FACTOR_POWER_LIMIT, QTY_TIME);
	fit_law(l, &s, &clean);
	y[4] *= 1.6;
	s = series_of(caps, y, 9, FACTOR_POWER_LIMIT, QTY_TIME);
	fit_law(l, &s, &hit);
	ok(fabs(law_eval(l, &hit.sh, 120) / law_eval(l, &clean.sh, 120) - 1) < 0.05,
		"one run 60 %% too slow moves the law elsewhere by less than 5 %%");
}

static void overshot_limits_act_as_the_draw(void)
{
	struct obs o[9];
	struct series s;

	for (int i = 0; i < 9; i++) {
		double c = fmax(caps[i], 121);

		o[i] = (struct obs){.x = {1, caps[i], NAN, NAN},
			.y = {10 * pow(1 + pow(170 / c, 4.4), 0.25), fmin(c, 230), NAN}};
	}
	ok(series_build(o, 9, FACTOR_POWER_LIMIT, QTY_TIME, &s, NULL) == ST_OK,
		"a sweep whose lowest limit was overshot is read");
	is_near(s.x[0], 121, 1e-9, "100 W that drew 121 W counts as 121 W");
	is_near(series_effective(&s, 110), 121, 1e-9, "a limit below that draw is taken for it");
	is_near(series_effective(&s, 150), 150, 1e-9, "a limit that holds is itself");
	o[0].y[QTY_POWER] = 400;
	series_build(o, 9, FACTOR_POWER_LIMIT, QTY_TIME, &s, NULL);
	is_near(s.x[0], 100, 1e-9,
		"a draw far above the limit is of a wider scope, not an overshoot");
}

static void many_settings_are_merged(void)
{
	double x[500], y[500];
	struct series s;
	struct fit f;

	for (int i = 0; i < 500; i++) {
		x[i] = 500 + i;
		y[i] = 1e6 / x[i];
	}
	s = series_of(x, y, 500, FACTOR_CLOCK, QTY_TIME);
	is_int(s.n, LAW_MAX_KNOTS, "500 clocks become as many points as a shape holds");
	fit_law(law_find("power"), &s, &f);
	is_near(f.sh.p[1], -1, 1e-3, "and the law is the same");
}

int main(void)
{
	finds_its_own_curve();
	jacobians_agree();
	units_do_not_matter();
	monotone_families_are();
	few_points_are_said();
	an_outlier_does_not_rule();
	overshot_limits_act_as_the_draw();
	many_settings_are_merged();
	return tap_done();
}
