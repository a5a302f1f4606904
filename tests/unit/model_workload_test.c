/* model_workload_test.c: a whole workload: slices, scaling, the joint law, answers. */
#include "tap.h"

#include "base/mem.h"
#include "model/model.h"

#define MAX 128

static struct obs o[MAX];
static size_t n;

/* A device as joint.h describes it, written out here again so that the test does not test itself:
 * busy time over n, slowed by the tighter of cap and clock, against a host that needs 4 s. */
static double invented_time(double workers, double cap, double clock)
{
	double u = fmax(1, fmax(pow(180 / cap, 0.9), 1500 / clock));
	double dev = 12 * u / workers;

	return pow(pow(dev, 6) + pow(4, 6), 1.0 / 6);
}

static double invented_power(double workers, double cap, double clock)
{
	double u = fmax(1, fmax(pow(180 / cap, 0.9), 1500 / clock));
	double busy = 12 * u / workers / invented_time(workers, cap, clock);

	return workers * fmin(cap, 45 + 150 * busy / (u * u));
}

static void add(double workers, double cap, double clock)
{
	double t = invented_time(workers, cap, clock), p = invented_power(workers, cap, clock);

	o[n] = (struct obs){
		.x = {workers, cap, clock, NAN}, .y = {t, p, t * p}, .row = (long)n + 1};
	o[n].is_default = workers == 1 && cap == 250 && clock == 1500;
	n++;
}

static void one_factor(void)
{
	const double caps[7] = {100, 125, 150, 175, 200, 225, 250};
	struct model *m;
	struct answer a;
	struct err e = ERR_INIT;
	double x[FACTOR_COUNT] = {NAN, 140, NAN, NAN};

	n = 0;
	for (int i = 0; i < 7; i++)
		add(1, caps[i], 1500);
	if (!ok(model_fit_workload(o, n, NULL, &m, &e) == ST_OK, "a cap sweep is fitted (%s)",
		    e.msg))
		return;
	is_int(m->n_series, 3, "time, power and energy against the cap");
	ok(!m->has_joint, "one factor needs no joint law");
	is_near(m->base[FACTOR_POWER_LIMIT], 250, 1e-9, "the default is the marked row");
	ok(model_predict(m, x, &a, &e) == ST_OK, "a cap between the tested ones is answered (%s)",
		e.msg);
	is_near(a.y[QTY_TIME].value / invented_time(1, 140, 1500), 1, 0.04, "its time within 4 %");
	is_near(a.y[QTY_POWER].value / invented_power(1, 140, 1500), 1, 0.05,
		"its power within 5 %");
	is_near(a.ratio[QTY_TIME].value * m->base_y[QTY_TIME], a.y[QTY_TIME].value, 1e-9,
		"ratios are to the default");
	x[FACTOR_WORKERS] = 8;
	is_int(model_predict(m, x, &a, &e), ST_RANGE, "eight workers, never tried, are refused");
	has(a.reason, "workers", "and the reason says which factor no run moved");
	is_near(a.nearest[FACTOR_WORKERS], 1, 0, "the nearest answerable count is the tested one");
	model_release(m);
}

static void joint_grid(void)
{
	const double caps[5] = {100, 140, 180, 220, 250};
	struct model *m;
	struct answer a;
	struct err e = ERR_INIT;
	double x[FACTOR_COUNT] = {4, 120, NAN, NAN}, t, ratio;

	n = 0;
	for (int i = 0; i < 5; i++)
		add(1, caps[i], 1500);
	for (int w = 2; w <= 8; w *= 2) {
		add(w, 250, 1500);
		add(w, 100, 1500);
	}
	add(1, 250, 900);
	add(1, 250, 1200);
	add(1, 250, 1050);
	add(1, 140, 900);
	if (!ok(model_fit_workload(o, n, NULL, &m, &e) == ST_OK,
		    "a partial grid of three factors is fitted (%s)", e.msg))
		return;
	ok(m->has_joint, "and has a joint law (%s)", m->note);
	ok(m->joint.rms_time < 0.03, "that is near its points (%.3f)", m->joint.rms_time);
	ok(m->joint_loo_pct < 0.5 * m->product_loo_pct,
		"left-out settings: joint law %.1f %%, product %.1f %%", m->joint_loo_pct,
		m->product_loo_pct);
	model_predict(m, x, &a, &e);
	is_str(a.family, "joint", "two factors moved: the joint law answers");
	is_near(a.y[QTY_TIME].value / invented_time(4, 120, 1500), 1, 0.08,
		"a cap that waiting devices do not feel");
	x[FACTOR_WORKERS] = 1;
	x[FACTOR_POWER_LIMIT] = 200;
	x[FACTOR_CLOCK] = 900;
	joint_eval(&m->joint, x, &t, NULL);
	x[FACTOR_POWER_LIMIT] = 250;
	joint_eval(&m->joint, x, &ratio, NULL);
	is_near(t / ratio, 1, 0.03, "a low clock hides a cap");
	model_release(m);
}

static void scaling(void)
{
	struct model *m = NULL;
	struct model_opts mixed = {.scaling = SCALING_MIXED};
	struct err e = ERR_INIT;

	n = 0;
	for (int w = 1; w <= 8; w *= 2) {
		add(w, 250, 1500);
		o[n - 1].global_batch = 256;
	}
	ok(model_fit_workload(o, n, NULL, &m, &e) == ST_OK && m->scaling == SCALING_STRONG,
		"one global batch on every count is strong scaling");
	model_release(m);
	for (size_t i = 0; i < n; i++)
		o[i].global_batch = 32 * o[i].x[FACTOR_WORKERS];
	ok(model_fit_workload(o, n, NULL, &m, &e) == ST_OK && m->scaling == SCALING_WEAK,
		"one batch per worker on every count is weak scaling");
	model_release(m);
	o[3].global_batch = 64;
	is_int(model_fit_workload(o, n, NULL, &m, &e), ST_INVALID, "a mixture is refused");
	has(e.msg, "strong and weak scaling are mixed", "and named");
	ok(m == NULL, "nothing is returned");
	ok(model_fit_workload(o, n, &mixed, &m, &e) == ST_OK && m->scaling == SCALING_MIXED,
		"unless the caller says that an import is mixed");
	model_release(m);
}

static void bad_rows(void)
{
	struct model *m = NULL;
	struct err e = ERR_INIT;

	n = 0;
	add(1, 250, 1500);
	add(1, 250, 1500);
	is_int(model_fit_workload(o, n, NULL, &m, &e), ST_RANGE, "runs of one setting give no law");
	has(e.msg, "one setting", "and the message says so");
	is_int(model_fit_workload(o, 0, NULL, &m, &e), ST_RANGE, "no runs give no law");
	add(1, 200, 1500);
	o[2].y[QTY_TIME] = 0;
	is_int(model_fit_workload(o, n, NULL, &m, &e), ST_INVALID, "a time of zero is an error");
	has(e.msg, "row 3", "that names the row");
}

/* Every allocation fails once: an error each time, nothing lost, and success at last. */
static void out_of_memory(void)
{
	const double caps[4] = {100, 150, 200, 250};
	unsigned nth = 1, wrong = 0;

	n = 0;
	for (int w = 1; w <= 2; w++)
		for (int i = 0; i < 4; i++)
			add(w, caps[i], 1500);
	for (; nth < 1000; nth++) {
		struct model *m = NULL;
		struct err e = ERR_INIT;
		enum status st;

		fault_arm("alloc", nth);
		st = model_fit_workload(o, n, NULL, &m, &e);
		if (!fault_fired()) {
			ok(st == ST_OK && m, "with memory it succeeds (after %u allocations)",
				nth - 1);
			model_release(m);
			break;
		}
		/* a comparison that finds no memory is left out; anything else is an error */
		wrong += st == ST_OK ? !m : st != ST_NOMEM || m != NULL;
		model_release(m);
	}
	fault_arm("alloc", 0);
	ok(nth > 5 && nth < 1000, "allocations were counted down (%u)", nth);
	is_int(wrong, 0, "each failed allocation is an error or a part left out");
}

/* A setting measured three times is one point, nearer to the truth. */
static void repeats(void)
{
	struct model *m = NULL;
	struct err e = ERR_INIT;
	const struct model_series *s;

	n = 0;
	for (int k = -1; k <= 1; k++) {
		for (double cap = 100; cap <= 250; cap += 50) {
			add(1, cap, 1500);
			o[n - 1].y[QTY_TIME] *= 1 + 0.01 * k;
		}
	}
	if (!ok(model_fit_workload(o, n, NULL, &m, &e) == ST_OK, "repeats are fitted (%s)", e.msg))
		return;
	s = model_series_of(m, FACTOR_POWER_LIMIT, QTY_TIME);
	is_int(s->sel.series.n, 4, "twelve rows at four limits are four points");
	is_near(s->sel.series.reps[2], 3, 0, "each stands for three runs");
	is_int(s->sel.series.repeat_df, 8, "their scatter has eight degrees of freedom");
	is_near(s->sel.series.repeat_sd, 0.01, 0.001, "and is the one that was put in");
	model_release(m);
}

/* Clock and CPU rate both swept: the joint law has one pace, the clock; the rate is not its to
 * tell. */
static void two_paces(void)
{
	struct model *m;
	struct answer a;
	struct err e = ERR_INIT;
	double x[FACTOR_COUNT] = {1, NAN, 1500, 50}, t;

	n = 0;
	for (int w = 1; w <= 8; w *= 2)
		for (double clock = 600; clock <= 1500; clock += 150)
			for (double rate = 40; rate <= 100; rate += 20) {
				add(w, 250, clock);
				o[n - 1].x[FACTOR_POWER_LIMIT] = NAN;
				o[n - 1].x[FACTOR_CPU_RATE] = rate;
				o[n - 1].y[QTY_TIME] *= 100 / rate;
				o[n - 1].y[QTY_ENERGY] *= 100 / rate;
				o[n - 1].is_default = w == 1 && clock == 1500 && rate == 100;
			}
	if (!ok(model_fit_workload(o, n, NULL, &m, &e) == ST_OK,
		    "a grid of workers, clocks and CPU rates is fitted (%s)", e.msg))
		return;
	is_int(model_predict(m, x, &a, &e), ST_OK, "half the CPU rate is answered");
	is_near(a.y[QTY_TIME].value / invented_time(1, 250, 1500), 2, 0.05, "with twice the time");
	x[FACTOR_WORKERS] = 4;
	is_int(model_predict(m, x, &a, &e), ST_OK, "half the rate on four workers, too");
	is_str(a.family, "product", "not by the joint law");
	ok(a.y[QTY_TIME].value > 1.7 * invented_time(4, 250, 1500), "and the rate counts");
	if (ok(m->has_joint, "the joint law is that of workers and clocks at the full rate")) {
		x[FACTOR_CPU_RATE] = 100;
		joint_eval(&m->joint, x, &t, NULL);
		is_near(t / invented_time(4, 250, 1500), 1, 0.05, "and near it");
	}
	model_release(m);
}

int main(void)
{
	one_factor();
	joint_grid();
	two_paces();
	scaling();
	bad_rows();
	repeats();
	out_of_memory();
	return tap_done();
}
