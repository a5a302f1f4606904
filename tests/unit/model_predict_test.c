/* model_predict_test.c: choice, intervals that hold as often as they say, verdicts, refusals. */
#include "tap.h"

#include "model/combine.h"
#include "model/numeric.h"
#include "model/predict.h"

static uint64_t state = 42;

/* Standard normal from a fixed generator: the same on every machine. */
static double normal(void)
{
	double u;

	state = state * 6364136223846793005u + 1442695040888963407u;
	u = ((double)(state >> 11) + 0.5) * 0x1p-53;
	return stat_normal_quantile(u);
}

static struct selection sel;

static enum status choose(const double *x, const double *y, size_t n, enum factor f)
{
	struct series s;
	struct err e = ERR_INIT;
	enum status st = series_from_xy(x, y, NULL, n, f, QTY_TIME, &s, &e);

	return st == ST_OK ? select_laws(&s, &sel, &e) : st;
}

static void parameter_intervals_cover(void)
{
	const double x[8] = {1, 2, 4, 8, 16, 32, 64, 128};
	unsigned hits = 0, n = 1000;

	for (unsigned k = 0; k < n; k++) {
		double y[8];
		struct series s;
		struct fit f;

		for (int i = 0; i < 8; i++)
			y[i] = 50 * pow(x[i], -0.8) * exp(0.05 * normal());
		series_from_xy(x, y, NULL, 8, FACTOR_WORKERS, QTY_TIME, &s, NULL);
		fit_law(law_find("power"), &s, &f);
		hits += f.ci95[1][0] <= -0.8 && -0.8 <= f.ci95[1][1];
	}
	ok(hits > 930 && hits < 970,
		"95 %% intervals of an exponent hold in 95 of 100 invented series (%.1f)",
		hits / 10.0);
}

static void predictions_cover(void)
{
	const double x[7] = {100, 125, 150, 175, 200, 225, 250};
	const double ask[3] = {112, 160, 215};
	unsigned hits = 0, n = 0;

	for (int k = 0; k < 200; k++) {
		double y[7], knee = 120 + k % 80, b = 0.5 + 0.01 * (k % 50),
			     sd = 0.005 + 0.0002 * (k % 100);

		for (int i = 0; i < 7; i++)
			y[i] = pow(1 + pow(knee / x[i], 4 * b), 0.25) * exp(sd * normal());
		if (choose(x, y, 7, FACTOR_POWER_LIMIT) != ST_OK)
			continue;
		for (int i = 0; i < 3; i++) {
			double truth =
				pow(1 + pow(knee / ask[i], 4 * b), 0.25) * exp(sd * normal());
			struct prediction p;

			if (predict_at(&sel, ask[i], 0.9, &p, NULL) != ST_OK)
				continue;
			hits += p.y.lo <= truth && truth <= p.y.hi;
			n++;
		}
	}
	is_int(n, 600, "every question inside the range is answered");
	ok(hits >= 0.86 * n,
		"90 %% intervals hold for at least 86 of 100 new runs of invented devices (%.1f)",
		100.0 * hits / n);
}

static void sensitivity(void)
{
	const double x[7] = {100, 125, 150, 175, 200, 225, 250};
	double y[7], steep[3] = {2, 1.2, 1.0}, x3[3] = {100, 175, 250}, noisy[7];

	for (int i = 0; i < 7; i++)
		y[i] = 5 * (1 + 0.001 * (i % 3));
	choose(x, y, 7, FACTOR_POWER_LIMIT);
	is_str(verdict_name(sel.verdict), "insensitive",
		"times equal to 0.2 % are insensitive to the cap");
	for (int i = 0; i < 7; i++)
		noisy[i] = 5 * (1 + 0.05 * sin(5.0 * i));
	choose(x, noisy, 7, FACTOR_POWER_LIMIT);
	is_str(verdict_name(sel.verdict), "undetermined",
		"times that scatter by 5 % prove nothing");
	ok(sel.repeats_needed >= 2, "and the repeats that would settle it are named (%u)",
		sel.repeats_needed);
	choose(x3, steep, 3, FACTOR_POWER_LIMIT);
	ok(sel.verdict != VERDICT_INSENSITIVE,
		"a twofold slowdown on three points is not insensitive");
	for (int i = 0; i < 7; i++)
		y[i] = pow(1 + pow(160 / x[i], 4), 0.25);
	choose(x, y, 7, FACTOR_POWER_LIMIT);
	is_str(verdict_name(sel.verdict), "sensitive", "a clean knee is sensitive");
}

static void refusals(void)
{
	const double n5[5] = {1, 2, 4, 8, 16};
	double y[5];
	struct prediction p;
	struct err e = ERR_INIT;

	for (int i = 0; i < 5; i++)
		y[i] = 100 * pow(n5[i], -0.9);
	choose(n5, y, 5, FACTOR_WORKERS);
	is_int(predict_at(&sel, 64, 0.9, &p, &e), ST_OK,
		"four times the largest count is answered");
	is_int(p.evidence, EVIDENCE_EXTRAPOLATED, "and marked as extrapolated");
	ok(p.y.lo < p.y.value && p.y.value < p.y.hi, "its interval holds its value");
	is_int(predict_at(&sel, 100000, 0.9, &p, &e), ST_RANGE, "ten thousand times is refused");
	has(p.reason, "100000", "the reason names what was asked");
	ok(p.nearest == 128, "the nearest answerable count is given (%g)", p.nearest);
	is_int(predict_at(&sel, p.nearest, 0.9, &p, &e), ST_OK, "and is answered");
	is_int(predict_at(&sel, -4, 0.9, &p, &e), ST_INVALID, "a negative count is an error");
	is_int(predict_at(&sel, 8, 1.5, &p, &e), ST_INVALID, "so is a level above one");
}

static void intervals_widen(void)
{
	const double n6[6] = {1, 2, 4, 8, 16, 32};
	double y[6], last = 0;
	bool widens = true;

	for (int i = 0; i < 6; i++)
		y[i] = 100 * pow(n6[i], -0.9) + 1 + 0.2 * (i % 2);
	choose(n6, y, 6, FACTOR_WORKERS);
	for (double n = 32; n <= 256; n *= 2) {
		struct prediction p;

		if (predict_at(&sel, n, 0.9, &p, NULL) != ST_OK)
			break;
		widens = widens && log(p.y.hi / p.y.lo) > last;
		last = log(p.y.hi / p.y.lo);
	}
	ok(widens, "intervals widen with the distance beyond the evidence");
}

static void repeatable(void)
{
	const double x[7] = {100, 125, 150, 175, 200, 225, 250};
	const double y[7] = {1.93, 1.44, 1.18, 1.10, 1.05, 1.02, 1};
	const double rx[7] = {250, 100, 225, 125, 200, 150, 175};
	const double ry[7] = {1, 1.93, 1.02, 1.44, 1.05, 1.18, 1.10};
	struct prediction a, b;

	choose(x, y, 7, FACTOR_POWER_LIMIT);
	predict_at(&sel, 140, 0.9, &a, NULL);
	choose(rx, ry, 7, FACTOR_POWER_LIMIT);
	predict_at(&sel, 140, 0.9, &b, NULL);
	ok(!memcmp(&a.y, &b.y, sizeof(a.y)), "the order of the rows changes not one bit");
}

static void power_law_beside(void)
{
	const double x[7] = {100, 125, 150, 175, 200, 225, 250};
	const double y[7] = {1.929, 1.441, 1.180, 1.096, 1.053, 1.020, 1};
	struct prediction p;
	double w = 0;

	choose(x, y, 7, FACTOR_POWER_LIMIT);
	ok(sel.power >= 0 && !strcmp(sel.fits[sel.power].law->name, "power"),
		"the plain power law is always a row");
	ok(sel.best >= 0 && sel.best != sel.power, "but is not the best on a knee");
	for (unsigned i = 0; i < sel.n_fits; i++)
		w += sel.weight[i];
	is_near(w, 1, 1e-12, "weights of the combination sum to one");
	predict_at(&sel, 140, 0.9, &p, NULL);
	ok(log(p.y.hi / p.y.lo) < log(p.power_law.hi / p.power_law.lo),
		"the combined interval is narrower than its own");
	ok(sel.combined_loo_pct < sel.fits[sel.power].loo_pct,
		"and leave-one-out error smaller (%.1f against %.1f %%)", sel.combined_loo_pct,
		sel.fits[sel.power].loo_pct);
}

/* Time on an invented device whose caps bite in two places, more or less by workload: a shape that
 * three probes cannot show. */
static double staircase(double cap, double amount)
{
	double low = pow(1 + pow(115 / cap, 16), 0.25), high = pow(1 + pow(190 / cap, 20), 0.05);

	return exp(amount * (log(low) + log(high)));
}

static void prior_helps_three_probes(void)
{
	static struct prior p;
	const double x[7] = {100, 125, 150, 175, 200, 225, 250};
	const double px[3] = {100, 175, 250};
	double err_alone = 0, err_prior = 0;
	unsigned added = 0;

	prior_init(&p, FACTOR_POWER_LIMIT, QTY_TIME, "invented", 100, 250);
	for (int k = 0; k < 20; k++) {
		double y[7];
		struct series s;

		for (int i = 0; i < 7; i++)
			y[i] = (2 + k) * staircase(x[i], 0.3 + 0.06 * k);
		series_from_xy(x, y, NULL, 7, FACTOR_POWER_LIMIT, QTY_TIME, &s, NULL);
		added += prior_add(&p, &s);
	}
	is_int(added, 20, "whole curves of other workloads are added");
	for (int k = 0; k < 10; k++) {
		double y[3], truth = staircase(125, 0.35 + 0.1 * k);
		struct prediction a, b;

		for (int i = 0; i < 3; i++)
			y[i] = staircase(px[i], 0.35 + 0.1 * k);
		choose(px, y, 3, FACTOR_POWER_LIMIT);
		predict_at(&sel, 125, 0.9, &a, NULL);
		predict_with_prior(&sel, &p, 125, 0.9, &b, NULL);
		err_alone += fabs(a.y.value / truth - 1);
		err_prior += fabs(b.y.value / truth - 1);
		if (k == 0)
			is_str(b.family, "prior", "the report says that the prior took part");
		if (k == 0)
			is_str(a.family, "combined", "and that it did not without one");
	}
	ok(err_prior < 0.7 * err_alone,
		"curves of other workloads cut the error of three probes (%.2f against %.2f %%)",
		10 * err_prior, 10 * err_alone);
}

int main(void)
{
	parameter_intervals_cover();
	predictions_cover();
	sensitivity();
	refusals();
	intervals_widen();
	repeatable();
	power_law_beside();
	prior_helps_three_probes();
	return tap_done();
}
