/* model_fit_test.c: the power and offset laws against published figures and invented data. */
#include "tap.h"

#include "model/fit.h"

/* Zeus trace, V100, ResNet-50 on ImageNet, batch 256 (ml-energy/zeus, Apache-2.0): time and energy
 * relative to 250 W. */
static const double cap_w[7] = {100, 125, 150, 175, 200, 225, 250};
static const double time_ratio[7] = {1.929, 1.441, 1.180, 1.096, 1.053, 1.020, 1};

static struct series make(const double *x, const double *y, size_t n, enum factor f)
{
	struct series s;
	struct err e = ERR_INIT;

	ok(series_from_xy(x, y, NULL, n, f, QTY_TIME, &s, &e) == ST_OK,
		"series of %zu points is accepted", n);
	return s;
}

static void published_slope(void)
{
	struct series s = make(cap_w, time_ratio, 7, FACTOR_POWER_LIMIT);
	struct fit f;

	fit_law(law_find("power"), &s, &f);
	is_near(f.sh.p[1], -0.690, 0.005, "ResNet-50 on a V100: published exponent in the cap");
	is_near(f.r2_log, 0.894, 0.005, "ResNet-50 on a V100: published R2 in log space");
	ok(f.ci95[1][0] < f.sh.p[1] && f.ci95[1][1] > f.sh.p[1],
		"the exponent lies inside its interval");
	fit_loo(f.law, &s, &f, NULL);
	ok(f.loo_pct > 5, "the power law misses left-out caps by more than 5 %% (%.1f)", f.loo_pct);
	fit_law(law_find("offset"), &s, &f);
	fit_loo(f.law, &s, &f, NULL);
	ok(f.loo_pct < 3, "an offset brings that below 3 %% (%.1f)", f.loo_pct);
}

static void exact_recovery(void)
{
	double x[6] = {1, 2, 4, 8, 16, 32}, y[6];
	struct series s;
	struct fit f;

	for (int i = 0; i < 6; i++)
		y[i] = 3.5 * pow(x[i], -0.8);
	s = make(x, y, 6, FACTOR_WORKERS);
	fit_law(law_find("power"), &s, &f);
	is_near(f.sh.p[0], 3.5, 1e-9, "power: factor recovered from exact data");
	is_near(f.sh.p[1], -0.8, 1e-9, "power: exponent recovered from exact data");
	for (int i = 0; i < 6; i++)
		y[i] = 3.5 * pow(x[i], -0.8) + 0.2;
	s = make(x, y, 6, FACTOR_WORKERS);
	fit_law(law_find("offset"), &s, &f);
	is_near(f.sh.p[1], -0.8, 1e-3, "offset: exponent recovered from exact data");
	is_near(f.sh.p[2], 0.2, 1e-3, "offset: constant part recovered from exact data");
}

static void scale_invariance(void)
{
	double x[7], y[7];
	struct series s = make(cap_w, time_ratio, 7, FACTOR_POWER_LIMIT), t;
	const char *const names[] = {"power", "offset"};

	for (int i = 0; i < 7; i++) {
		x[i] = cap_w[i] * 1000;
		y[i] = time_ratio[i] * 3.6e6;
	}
	t = make(x, y, 7, FACTOR_POWER_LIMIT);
	for (int k = 0; k < 2; k++) {
		struct fit f, g;

		fit_law(law_find(names[k]), &s, &f);
		fit_law(law_find(names[k]), &t, &g);
		is_near(law_eval(g.law, &g.sh, 140e3) / 3.6e6, law_eval(f.law, &f.sh, 140), 1e-6,
			"watt or milliwatt, second or hour: the same prediction");
		is_near(g.sh.p[1], f.sh.p[1], 1e-6, "an exponent has no unit");
	}
}

static void bad_input(void)
{
	double x[3] = {100, 200, 300}, y[3] = {3, -1, 2}, one[3] = {7, 7, 7};
	struct series s;
	struct fit f;
	struct err e = ERR_INIT;

	ok(series_from_xy(x, y, NULL, 3, FACTOR_CLOCK, QTY_TIME, &s, &e) == ST_INVALID,
		"negative time is refused");
	has(e.msg, "row 2", "the message names the row");
	y[1] = 0;
	ok(series_from_xy(x, y, NULL, 3, FACTOR_CLOCK, QTY_TIME, &s, &e) == ST_INVALID,
		"zero time is refused");
	y[1] = NAN;
	ok(series_from_xy(x, y, NULL, 3, FACTOR_CLOCK, QTY_TIME, &s, &e) == ST_INVALID,
		"NaN is refused");
	y[1] = 2.5;
	ok(series_from_xy(one, y, NULL, 3, FACTOR_CLOCK, QTY_TIME, &s, &e) == ST_RANGE,
		"one distinct setting gives no law");
	is_int(s.n, 1, "its three rows are repeats of one point");
	y[0] = 3000, y[1] = 3;
	x[1] = 100;
	ok(series_from_xy(x, y, NULL, 3, FACTOR_CLOCK, QTY_TIME, &s, &e) == ST_INVALID,
		"repeats a thousandfold apart are mixed units");
	has(e.msg, "rows 2 and 1", "the message names both rows");
	y[0] = 3, y[1] = 2;
	s = make(x + 1, y + 1, 2, FACTOR_CLOCK);
	fit_law(law_find("power"), &s, &f);
	is_int(f.st, ST_OK, "two points give a power law");
	is_str(f.note, "no error estimate", "but say that it has no error estimate");
	ok(isnan(f.ci95[1][0]), "and its interval is unknown, not zero");
	fit_law(law_find("offset"), &s, &f);
	is_int(f.st, ST_RANGE, "two points do not give three parameters");
	is_str(f.note, "fewer points than parameters", "and the note says so");
}

static void boards_are_blocked(void)
{
	struct obs o[6];
	struct series s;
	struct fit f;

	/* board 2 is 10 % slower and saw only the low caps and the middle one */
	for (int i = 0; i < 6; i++) {
		int board = i < 3 ? 1 : 2, k = i < 3 ? i + 1 : i - 3;

		o[i] = (struct obs){.x = {NAN, 100 * (k + 1), NAN, NAN},
			.y = {NAN, NAN, NAN},
			.board = (uint32_t)board};
		o[i].y[QTY_TIME] = pow(k + 1, -0.5) * (board == 2 ? 1.1 : 1);
	}
	ok(series_build(o, 6, FACTOR_POWER_LIMIT, QTY_TIME, &s, NULL) == ST_OK,
		"rows of two boards make one series");
	fit_law(law_find("power"), &s, &f);
	is_near(f.sh.p[1], -0.5, 1e-3, "a slow board does not bend the law");
}

int main(void)
{
	published_slope();
	exact_recovery();
	scale_invariance();
	bad_input();
	boards_are_blocked();
	return tap_done();
}
