/* The meter against simulated sensors whose truth is known. */
#include "base/clock.h"
#include "base/mem.h"
#include "measure/meter.h"
#include "random.h"
#include "tap.h"

#define MS NS_PER_MS
#define S  NS_PER_S

static uint64_t rng_state = 1;

static double rnd(void)
{
	return random_unit(&rng_state);
}

/* Truth: power that steps, mW and ns. */
struct truth {
	int64_t t[64];
	double mw[64];
	size_t n;
};

static double energy_until(const struct truth *p, double t)
{
	double sum = 0;

	for (size_t i = 0; i < p->n; i++) {
		double end = i + 1 < p->n ? (double)p->t[i + 1] : 1e30, from = (double)p->t[i];

		if (t <= from)
			break;
		sum += p->mw[i] * ((t < end ? t : end) - from) * 1e-6;
	}
	return sum; /* uJ */
}

struct sensor {
	int64_t refresh, phase;
	int64_t average; /* ns, 0 = instant */
	int64_t wrap, offset;
	bool counter, power;
	double gain;
};

static int64_t published_at(const struct sensor *s, int64_t t)
{
	int64_t k = (t - s->phase) / s->refresh;

	return k * s->refresh + s->phase;
}

static int64_t counter_at(const struct truth *p, const struct sensor *s, int64_t t)
{
	int64_t uj =
		(int64_t)(energy_until(p, (double)published_at(s, t)) * s->gain / 1000) * 1000 +
		s->offset;

	return s->wrap ? uj % s->wrap : uj;
}

static int64_t power_read(const struct truth *p, const struct sensor *s, int64_t t)
{
	double at = (double)published_at(s, t), w = s->average ? (double)s->average : 1e6;

	return (int64_t)((energy_until(p, at) - energy_until(p, at - w)) / w * 1e6 * s->gain);
}

static struct meter *run(const struct truth *p, const struct sensor *s,
	const struct meter_config *cfg, int64_t from, int64_t to, int64_t period, int64_t jitter)
{
	struct meter *m;

	if (meter_new(cfg, &m) != ST_OK)
		abort();
	for (int64_t k = 0; from + k * period < to; k++) {
		int64_t t = from + k * period + (int64_t)((rnd() - 0.5) * 2 * (double)jitter);
		struct sample smp = {.t_ns = t, .st = ST_OK};

		if (s->counter) {
			smp.value = counter_at(p, s, t);
			meter_push(m, CH_ENERGY, &smp);
		}
		if (s->power) {
			smp.value = power_read(p, s, t);
			meter_push(m, CH_POWER, &smp);
		}
	}
	return m;
}

/* idle, then steps between t0 and t1, then idle */
static void job(struct truth *p, int64_t t0, int64_t t1, double mw, bool stepping)
{
	*p = (struct truth){.t = {0, t0}, .mw = {25000, mw}, .n = 2};
	for (int64_t t = t0; stepping;) {
		t += (int64_t)((2.0 + 4 * rnd()) * 1e9);
		if (t > t1 - S || p->n == 60)
			break;
		p->t[p->n] = t;
		p->mw[p->n++] = mw * (0.5 + 0.5 * rnd());
	}
	p->t[p->n] = t1;
	p->mw[p->n++] = 30000;
}

static void accuracy(const char *what, bool counter, int64_t refresh, int64_t average,
	int64_t jitter, int64_t wrap, bool stepping, bool documented, double bound)
{
	double worst = 0, sum = 0;
	int wrong_method = 0, claimed = 0, disagree = 0, missed = 0;
	enum { RUNS = 60 };

	rng_state = 88172645463325252u;
	for (int i = 0; i < RUNS; i++) {
		struct truth p;
		int64_t t0 = 8 * S + (int64_t)(rnd() * 1e9),
			t1 = t0 + 20 * S + (int64_t)(rnd() * 2e10);
		struct sensor s = {.refresh = refresh,
			.phase = -(int64_t)(rnd() * (double)refresh),
			.average = average,
			.wrap = wrap,
			.offset = wrap ? (int64_t)(rnd() * (double)wrap) : 0,
			.counter = counter,
			.power = true,
			.gain = 1};
		struct meter_config cfg = {.energy_wrap = wrap,
			.max_power_mw = 400000,
			.refresh_ns = documented ? refresh : 0,
			.power_kind = average ? POWER_KIND_AVERAGE : POWER_KIND_INSTANT};
		struct meter_energy e;
		struct meter *m;
		double want, err;

		job(&p, t0, t1, 250000, stepping);
		m = run(&p, &s, &cfg, 3 * S, t1 + 2 * S, 100 * MS, jitter);
		meter_energy(m, t0, t1, &e);
		want = energy_until(&p, (double)t1) - energy_until(&p, (double)t0);
		err = ((double)e.energy_uj.v - want) / want;
		wrong_method += e.method != (counter ? ENERGY_COUNTER : ENERGY_INTEGRAL) ||
				e.energy_uj.st != ST_OK;
		claimed += fabs(err) * 1e6 > (double)e.resolution_ppm.v;
		disagree += !!(e.flags & METER_DISAGREE);
		missed += wrap && !(e.flags & METER_WRAPPED);
		sum += err / RUNS;
		worst = fmax(worst, fabs(err));
		meter_free(m);
	}
	ok(worst <= bound && !wrong_method, "%s: within %.1f %% (worst %.3f %%, mean %+.3f %%)",
		what, bound * 100, worst * 100, sum * 100);
	ok(!claimed && !disagree && !missed, "%s: stated resolution holds, cross-check agrees%s",
		what, wrap ? ", wraps flagged" : "");
}

static void accuracies(void)
{
	accuracy("counter of 20 ms, steady", true, 20 * MS, 0, 0, 0, false, true, 0.005);
	accuracy("counter of 20 ms, stepping, jitter 20 ms", true, 20 * MS, 0, 20 * MS, 0, true,
		true, 0.005);
	accuracy("counter of 100 ms, steady", true, 100 * MS, 0, 0, 0, false, true, 0.005);
	accuracy("counter of 100 ms, stepping, jitter 20 ms", true, 100 * MS, 0, 20 * MS, 0, true,
		true, 0.005);
	accuracy("counter of 100 ms, refresh not told", true, 100 * MS, 0, 20 * MS, 0, true, false,
		0.005);
	accuracy("counter of 20 ms, refresh not told", true, 20 * MS, 0, 20 * MS, 0, true, false,
		0.005);
	accuracy("counter that wraps at 1 kJ", true, 20 * MS, 0, 20 * MS, INT64_C(1000000000), true,
		true, 0.005);
	accuracy("instant power of 20 ms", false, 20 * MS, 0, 20 * MS, 0, true, true, 0.005);
	accuracy("instant power of 100 ms, stepping", false, 100 * MS, 0, 20 * MS, 0, true, true,
		0.005);
	accuracy("instant power of 100 ms, steady", false, 100 * MS, 0, 0, 0, false, true, 0.005);
	accuracy("1 s average power, steady", false, 100 * MS, S, 20 * MS, 0, false, true, 0.005);
	accuracy("1 s average power, stepping", false, 100 * MS, S, 20 * MS, 0, true, true, 0.005);
	accuracy("1 s average power of 20 ms, stepping", false, 20 * MS, S, 20 * MS, 0, true, false,
		0.005);
	accuracy("counter beside 1 s average power", true, 100 * MS, S, 20 * MS, 0, true, true,
		0.005);
}

/* ---- faults: hand-made streams of a 100 ms counter and power, 200 W, window [1 s, 11 s] = 2000 J
 * ---- */

struct feed {
	struct meter *m;
	struct meter_config cfg;
	int64_t t, uj; /* last pushed */
};

static struct feed feed_new(struct meter_config cfg)
{
	struct feed f = {.cfg = cfg};

	if (meter_new(&cfg, &f.m) != ST_OK)
		abort();
	return f;
}

static void push(struct feed *f, enum channel ch, int64_t t, int64_t v, enum status st)
{
	meter_push(f->m, ch, &(struct sample){.value = v, .t_ns = t, .st = st});
}

/* true counter at t, for 200 W */
static int64_t at200(int64_t t)
{
	return t / 5; /* 200 W = 200 uJ a microsecond */
}

/* Push counter and/or power from t0 up to t1 (not included), 100 ms apart. */
static void steady(struct feed *f, bool counter, bool power, int64_t t0, int64_t t1, int64_t base)
{
	int64_t w = f->cfg.energy_wrap;

	for (int64_t t = t0; t < t1; t += 100 * MS) {
		if (counter)
			push(f, CH_ENERGY, t, w ? (at200(t) + base) % w : at200(t) + base, ST_OK);
		if (power)
			push(f, CH_POWER, t, 200000, ST_OK);
	}
}

static struct meter_energy ask(struct feed *f, int64_t t0, int64_t t1)
{
	struct meter_energy e;

	meter_energy(f->m, t0, t1, &e);
	return e;
}

static void faults_of_counters(void)
{
	const struct meter_config known = {.max_power_mw = 300000, .refresh_ns = 20 * MS};
	struct feed f;
	struct meter_energy e;

	f = feed_new(known);
	steady(&f, true, true, 0, 12 * S, 5);
	e = ask(&f, S, 11 * S);
	is_near((double)e.energy_uj.v, 2e9, 2e5, "steady 200 W for 10 s is 2000 J by counter");
	is_near((double)e.integral_uj.v, 2e9, 1, "and by integral");
	is_int(e.flags, 0, "without any flag");
	is_int(e.coverage_ppm.v, 1000000, "wholly covered");
	is_int(e.mean_mw.v / 100, 2000, "at a mean of 200 W");
	is_int(e.p95_mw.v, 200000, "p95");
	ok(e.method == ENERGY_COUNTER && e.power_channel == CH_POWER,
		"the counter wins, and the source of power is named");
	e = ask(&f, 2 * S, 2 * S + 20 * MS);
	ok(e.flags & METER_LOW_RESOLUTION, "a window of 20 ms has low resolution (R4)");
	is_near((double)e.energy_uj.v, 4e6, 4e6, "but an estimate, not 0 J");
	ok(e.resolution_ppm.v == 1000000, "and its stated error is total");
	is_int(meter_energy(f.m, S, S, &e), ST_RANGE, "an empty window is refused");
	ok(e.energy_uj.st != ST_OK, "with nothing known");
	meter_free(f.m);

	/* reset: driver reload at 5 s */
	f = feed_new(known);
	steady(&f, true, true, 0, 5 * S, INT64_C(900000000000));
	steady(&f, true, true, 5 * S, 12 * S, -at200(5 * S) + 1000);
	e = ask(&f, S, 11 * S);
	ok(e.flags & METER_RESET, "a counter that restarts is flagged");
	is_near((double)e.energy_uj.v, 2e9, 1e7,
		"what was drawn across the reset comes from power: within 0.5 %");
	is_int(e.coverage_ppm.v / 1000, 1000, "so nothing is missing");
	e = ask(&f, 6 * S, 11 * S);
	ok(!(e.flags & METER_RESET), "a window after the reset is clean");
	meter_free(f.m);
	f = feed_new(known);
	steady(&f, true, false, 0, 5 * S, INT64_C(900000000000));
	steady(&f, true, false, 5 * S, 12 * S, -at200(5 * S) + 1000);
	e = ask(&f, S, 11 * S);
	ok(e.flags & METER_RESET, "without power a reset is flagged too");
	ok(e.coverage_ppm.v < 1000000 && e.coverage_ppm.v > 980000,
		"and its interval is missing coverage");
	is_near((double)e.mean_mw.v, 2e5, 2e3, "the mean is over what was covered");
	meter_free(f.m);

	/* one failed read = 0 (R42), one enormous */
	f = feed_new(known);
	steady(&f, true, false, 0, 5 * S, 7000);
	push(&f, CH_ENERGY, 5 * S, 0, ST_OK);
	steady(&f, true, false, 5 * S + 100 * MS, 8 * S, 7000);
	push(&f, CH_ENERGY, 8 * S, INT64_C(1) << 50, ST_OK);
	steady(&f, true, false, 8 * S + 100 * MS, 12 * S, 7000);
	e = ask(&f, S, 11 * S);
	is_near((double)e.energy_uj.v, 2e9, 2e6,
		"a single read of 0 and a single enormous one change nothing");
	ok((e.flags & METER_SPIKE) && !(e.flags & METER_RESET),
		"they are flagged as spikes, not as a reset");
	meter_free(f.m);
	f = feed_new((struct meter_config){
		.energy_wrap = INT64_C(262143328850), .max_power_mw = 300000});
	steady(&f, true, false, 0, 5 * S, 7000);
	push(&f, CH_ENERGY, 5 * S, 0, ST_OK);
	steady(&f, true, false, 5 * S + 100 * MS, 12 * S, 7000);
	e = ask(&f, S, 11 * S);
	is_near((double)e.energy_uj.v, 2e9, 2e6, "a read of 0 is no wrap of 262 kJ");
	meter_free(f.m);

	/* sentinels */
	f = feed_new(known);
	steady(&f, true, true, 0, 5 * S, 0);
	push(&f, CH_ENERGY, 5 * S, INT64_C(140737488355328), ST_OK);
	push(&f, CH_ENERGY, 5 * S, INT64_C(9223372036854775794), ST_OK);
	push(&f, CH_POWER, 5 * S, INT64_C(4294967295), ST_OK);
	push(&f, CH_POWER, 5 * S, INT64_C(9223372036854775792), ST_OK);
	steady(&f, true, true, 5 * S + 100 * MS, 12 * S, 0);
	e = ask(&f, S, 11 * S);
	is_near((double)e.energy_uj.v, 2e9, 2e5, "blank values are not data");
	ok(e.flags & METER_SENTINEL, "and are flagged");
	is_int(e.max_mw.v, 200000, "nor are they a maximum");
	meter_free(f.m);
}

static void wraps(void)
{
	struct feed f;
	struct meter_energy e;
	const int64_t wrap = INT64_C(65532610987); /* EPYC: 65.5 kJ */

	/* read each 100 ms, wrap in the middle, maximum unknown */
	f = feed_new((struct meter_config){.energy_wrap = wrap, .refresh_ns = MS});
	steady(&f, true, false, 0, 12 * S, wrap - at200(5 * S));
	e = ask(&f, S, 11 * S);
	is_near((double)e.energy_uj.v, 2e9, 2e6, "a wrap inside the window costs nothing");
	ok(e.flags & METER_WRAPPED && !(e.flags & METER_RESET), "and is flagged as one");
	meter_free(f.m);
	/* nobody read for 10 minutes at 200 W: 120 kJ, 1.83 times around */
	f = feed_new((struct meter_config){
		.energy_wrap = wrap, .max_power_mw = 300000, .refresh_ns = MS});
	steady(&f, true, false, 0, 10 * S, 0);
	steady(&f, true, false, 610 * S, 620 * S, 0);
	e = ask(&f, S, 619 * S);
	is_near((double)e.counter_uj.v, 618 * 2e8, 1e7,
		"several wraps between two reads are told apart by the power before");
	ok((e.flags & METER_WRAPPED) && (e.flags & METER_GAP), "flagged as wrap and gap");
	meter_free(f.m);
	/* 3 hours: the slope before is not good enough to tell */
	f = feed_new((struct meter_config){
		.energy_wrap = wrap, .max_power_mw = 300000, .refresh_ns = MS});
	steady(&f, true, false, 0, 10 * S, 0);
	steady(&f, true, false, 10800 * S, 10820 * S, 0);
	e = ask(&f, S, 10819 * S);
	ok(e.energy_uj.st == ST_PARTIAL && e.coverage_ppm.v < 10000,
		"when they cannot be told apart the gap is missing, not guessed");
	meter_free(f.m);
}

static void faults_of_power(void)
{
	const struct meter_config known = {.max_power_mw = 300000, .refresh_ns = 20 * MS};
	struct feed f;
	struct meter_energy e;

	/* counter unsupported (R1), then both (R3) */
	f = feed_new(known);
	for (int64_t t = 0; t < 12 * S; t += 100 * MS)
		push(&f, CH_ENERGY, t, 0, ST_UNSUPPORTED);
	e = ask(&f, S, 11 * S);
	ok(e.method == ENERGY_NONE && e.energy_uj.st != ST_OK,
		"neither counter nor power: unknown, not 0");
	is_int(e.coverage_ppm.v, 0, "nothing covered");
	steady(&f, false, true, 0, 12 * S, 0);
	e = ask(&f, S, 11 * S);
	is_near((double)e.energy_uj.v, 2e9, 1, "without a counter power is integrated");
	is_int(e.method, ENERGY_INTEGRAL, "and that is said");
	meter_free(f.m);

	/* zero is how a missing sensor looks (second die, psys) */
	f = feed_new(known);
	for (int64_t t = 0; t < 12 * S; t += 100 * MS) {
		push(&f, CH_ENERGY, t, 0, ST_OK);
		push(&f, CH_POWER, t, 0, ST_OK);
	}
	e = ask(&f, S, 11 * S);
	ok(e.method == ENERGY_NONE && e.energy_uj.st != ST_OK,
		"a sensor that always says 0 is no sensor");
	ok(e.flags & METER_STUCK, "a counter that never moves is called stuck");
	meter_free(f.m);

	/* stuck counter, live power */
	f = feed_new(known);
	steady(&f, true, true, 0, 2 * S, 0);
	for (int64_t t = 2 * S; t < 12 * S; t += 100 * MS) {
		push(&f, CH_ENERGY, t, at200(2 * S), ST_OK);
		push(&f, CH_POWER, t, 200000, ST_OK);
	}
	e = ask(&f, S, 11 * S);
	ok(e.method == ENERGY_INTEGRAL && (e.flags & METER_STUCK),
		"a counter that stops is not believed: the integral wins");
	is_near((double)e.energy_uj.v, 2e9, 2e6, "with the right energy");
	meter_free(f.m);

	/* spikes and gaps */
	f = feed_new(known);
	steady(&f, false, true, 0, 5 * S, 0);
	push(&f, CH_POWER, 5 * S, 320000000, ST_OK);
	steady(&f, false, true, 5 * S + 100 * MS, 12 * S, 0);
	e = ask(&f, S, 11 * S);
	is_near((double)e.energy_uj.v, 2e9, 1, "a power beyond the hardware is dropped");
	ok(e.flags & METER_SPIKE, "and flagged");
	is_int(e.max_mw.v, 200000, "it is no maximum");
	meter_free(f.m);
	f = feed_new(known);
	steady(&f, false, true, 0, 4 * S, 0);
	steady(&f, false, true, 6 * S, 12 * S, 0);
	e = ask(&f, S, 11 * S);
	is_near((double)e.coverage_ppm.v, 790000, 11000,
		"two seconds without reading are missing coverage");
	ok(e.energy_uj.st == ST_PARTIAL && (e.flags & METER_GAP),
		"the energy is partial and says so");
	is_near((double)e.mean_mw.v, 2e5, 1e3, "its mean is not diluted");
	meter_free(f.m);

	/* two reads close together at the start (the edge of a run) do not make the period look
	 * short */
	f = feed_new((struct meter_config){
		.max_power_mw = 300000, .refresh_ns = 20 * MS, .period_ns = 100 * MS});
	for (int64_t t = 0; t < 5 * MS; t += MS)
		push(&f, CH_POWER, t, 200000, ST_OK);
	steady(&f, false, true, 100 * MS, 12 * S, 0);
	e = ask(&f, 50 * MS, 11 * S);
	ok(!(e.flags & METER_GAP) && e.energy_uj.st == ST_OK,
		"extra reads make no gap of the regular ones");
	meter_free(f.m);

	/* falls off the bus at 6 s (R33) */
	f = feed_new(known);
	steady(&f, true, true, 0, 6 * S, 0);
	for (int64_t t = 6 * S; t < 12 * S; t += 100 * MS) {
		push(&f, CH_ENERGY, t, 0, ST_LOST);
		push(&f, CH_POWER, t, 0, ST_LOST);
	}
	e = ask(&f, S, 11 * S);
	ok((e.flags & METER_LOST) && e.energy_uj.st == ST_PARTIAL, "a lost device is flagged");
	is_near((double)e.energy_uj.v, 1e9, 4e7, "its energy up to then is kept");
	is_near((double)e.coverage_ppm.v, 500000, 20000, "as half the window");
	meter_free(f.m);

	/* counter and power disagree */
	f = feed_new(known);
	steady(&f, true, false, 0, S, 0);
	for (int64_t t = S; t < 12 * S; t += 100 * MS) {
		push(&f, CH_ENERGY, t, at200(t), ST_OK);
		push(&f, CH_POWER, t, 120000, ST_OK);
	}
	e = ask(&f, S, 11 * S);
	ok(e.flags & METER_DISAGREE, "counter and integral that disagree are flagged");
	is_int(e.method, ENERGY_COUNTER, "both are kept, the counter wins");
	meter_free(f.m);

	/* several power channels */
	f = feed_new(known);
	for (int64_t t = 0; t < 12 * S; t += 100 * MS) {
		push(&f, CH_POWER_MODULE, t, 290000, ST_OK);
		push(&f, CH_POWER_AVERAGE, t, 150000, ST_OK);
		push(&f, CH_POWER_INSTANT, t, 200000, ST_OK);
		push(&f, CH_POWER, t, 0, ST_UNSUPPORTED);
		push(&f, CH_TEMP, t, 50000, ST_OK);
	}
	e = ask(&f, S, 11 * S);
	is_int(e.power_channel, CH_POWER_INSTANT,
		"the instant reading stands in for the default one, module power never");
	is_near((double)e.energy_uj.v, 2e9, 4e6, "and only one of them is integrated");
	meter_free(f.m);
}

static void correction(void)
{
	struct truth p;
	struct sensor s = {.refresh = 100 * MS, .power = true, .gain = 1.04};
	struct meter_config cfg = {.refresh_ns = 100 * MS,
		.lag_ns = 60 * MS,
		.window_ns = 300 * MS,
		.gain_ppm = 1040000};
	struct meter_energy e;
	struct meter *m;

	job(&p, 5 * S, 25 * S, 200000, false);
	m = run(&p, &s, &cfg, S, 27 * S, 100 * MS, 0);
	meter_energy(m, 5 * S, 25 * S, &e);
	ok(e.flags & METER_CORRECTED, "a correction labels what it touches");
	is_near((double)e.energy_uj.v, 4e9, 2e7, "gain, lag and rise undone: within 0.5 %");
	meter_free(m);
	cfg = (struct meter_config){.refresh_ns = 100 * MS};
	m = run(&p, &s, &cfg, S, 27 * S, 100 * MS, 0);
	meter_energy(m, 5 * S, 25 * S, &e);
	ok(!(e.flags & METER_CORRECTED) && (double)e.energy_uj.v > 4.1e9,
		"without it the gain error stays and nothing is labelled");
	meter_free(m);
}

static void a_day(void)
{
	struct meter_config cfg = {.max_power_mw = 400000, .refresh_ns = 20 * MS};
	struct feed f = feed_new(cfg);
	const int64_t day = 86400 * S;
	double truth = 0, truth_hour = 0;
	int64_t uj = 0, last_t = 0;
	struct meter_energy e;
	double mw = 200000;

	meter_pin(f.m, 10 * S);
	meter_pin(f.m, 20 * S);
	for (int64_t t = 100 * MS; t <= day + S; t += 100 * MS) {
		double dj = mw * (double)(t - last_t) * 1e-6;

		uj += (int64_t)dj;
		truth += t > 10 * S && t <= day ? (double)(int64_t)dj : 0;
		truth_hour += t > day - 3600 * S && t <= day ? (double)(int64_t)dj : 0;
		push(&f, CH_ENERGY, t, uj, ST_OK);
		push(&f, CH_POWER, t, (int64_t)mw, ST_OK);
		last_t = t;
		mw = 150000 + 100000 * rnd();
	}
	e = ask(&f, 10 * S, day);
	is_near((double)e.energy_uj.v / truth, 1, 1e-5,
		"24 h at 10 Hz in bounded memory: energy to 1e-5");
	is_near((double)e.integral_uj.v / truth, 1, 1e-3, "the integral too");
	is_near((double)e.p95_mw.v, 245000, 1500, "p95 of a day from thinned readings");
	ok(e.max_mw.v >= 249990 && e.min_mw.v <= 150010, "extremes survive thinning");
	e = ask(&f, day - 3600 * S, day);
	is_near((double)e.energy_uj.v / truth_hour, 1, 1e-4, "the last hour by itself");
	e = ask(&f, 10 * S, 20 * S);
	ok(e.resolution_ppm.v < 50000 && !(e.flags & METER_LOW_RESOLUTION),
		"around a pinned time full resolution is kept");
	e = ask(&f, 40000 * S, 40010 * S);
	is_near((double)e.mean_mw.v, 2e5, 4e4, "an old window still has an answer");
	ok(!(e.flags & (METER_STUCK | METER_GAP)), "thinning is neither a gap nor a stuck counter");
	ok(!e.flags || e.flags == METER_LOW_RESOLUTION, "at most its resolution is low");
	meter_free(f.m);
}

static void memory(void)
{
	struct meter_config cfg = {0};
	struct meter *m;
	unsigned n;

	for (n = 1; n < 20; n++) {
		fault_arm("alloc", n);
		if (meter_new(&cfg, &m) == ST_OK) {
			struct meter_energy e;

			for (int64_t t = 1; t < 1000; t++) {
				meter_push(m, CH_ENERGY,
					&(struct sample){t * 20000, t * 100 * MS, ST_OK});
				meter_push(m, CH_POWER,
					&(struct sample){200000 + t, t * 100 * MS, ST_OK});
			}
			meter_energy(m, 2 * S, 90 * S, &e);
			if (fabs((double)e.energy_uj.v - 17.6e6) > 0.05 * 17.6e6)
				ok(false, "allocation %u failing: energy is still right", n);
			meter_free(m);
		}
		if (!fault_fired())
			break;
	}
	fault_arm("alloc", 0);
	ok(n > 4 && n < 20, "a failed allocation anywhere leaves the energy right");
}

int main(void)
{
	accuracies();
	faults_of_counters();
	wraps();
	faults_of_power();
	correction();
	a_day();
	memory();
	return tap_done();
}
