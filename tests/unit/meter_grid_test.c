/* The energy counter over a grid: refresh x sampling x phase x window, read as the sampler reads
 * (moved deadlines, faster around the edges) and as a plain loop does, against the truth. */
#include <math.h>
#include "base/clock.h"
#include "measure/meter.h"
#include "measure/sampler.h"
#include "random.h"
#include "tap.h"

#define MS NS_PER_MS
#define S  NS_PER_S

enum { STEPS = 96, PHASES = 6, N_REFRESH = 7, N_PERIOD = 3, N_WINDOW = 7 };

static const int64_t refreshes[N_REFRESH] = {20, 50, 95, 100, 101, 105, 200}; /* ms */
static const int64_t periods[N_PERIOD] = {50, 100, 200};
static const int64_t windows[N_WINDOW] = {500, 1000, 1500, 2000, 3000, 5000, 10000};

static uint64_t rng_state = 88172645463325252u;

static double rnd(void)
{
	return random_unit(&rng_state);
}

/* Power that steps: mw[i] from t[i] on; uj[i] drawn up to t[i]. */
struct truth {
	int64_t t[STEPS];
	double mw[STEPS], uj[STEPS];
	size_t n;
};

static void step(struct truth *p, int64_t t, double mw)
{
	size_t n = p->n++;

	p->t[n] = t;
	p->mw[n] = mw;
	p->uj[n] = n ? p->uj[n - 1] + p->mw[n - 1] * (double)(t - p->t[n - 1]) * 1e-6 : 0;
}

static double drawn(const struct truth *p, double t)
{
	size_t i = p->n - 1;

	while (i && (double)p->t[i] > t)
		i--;
	return p->uj[i] + p->mw[i] * (t - (double)p->t[i]) * 1e-6;
}

/* Idle, a job of 300 W or one that steps below that each 0.3 to 1.3 s, idle. Two steps within one
 * refresh cannot be told apart: none is within 0.45 s of start and end. */
static void job(struct truth *p, int64_t t0, int64_t t1, bool stepping)
{
	p->n = 0;
	step(p, 0, 25000);
	step(p, t0, 300000);
	for (int64_t t = t0 + 150 * MS; stepping;) {
		t += (int64_t)((0.3 + rnd()) * 1e9);
		if (t >= t1 - 450 * MS || p->n == STEPS - 1)
			break;
		step(p, t, 300000 * (0.4 + 0.6 * rnd()));
	}
	step(p, t1, 30000);
}

struct sensor {
	const struct truth *p;
	int64_t refresh, phase;
	struct meter *m;
};

static int64_t read_at(const struct sensor *s, int64_t t)
{
	int64_t at = (t - s->phase) / s->refresh * s->refresh + s->phase;

	/* The counter of NVML is in mJ. */
	int64_t uj = (int64_t)(drawn(s->p, (double)at) / 1000) * 1000;

	meter_push(s->m, CH_ENERGY, &(struct sample){.value = uj, .t_ns = t, .st = ST_OK});
	return uj;
}

/* Until `end`: ticks as the sampler makes them, each up to a millisecond late, kicked at t0 and t1.
 */
static void as_sampler(
	const struct sensor *s, int64_t from, int64_t t0, int64_t t1, int64_t end, int64_t period)
{
	const int64_t kick[] = {from, t0, t1, INT64_MAX};
	int64_t deadline = from, wake = from, edge = 0, edge_end = 0, uj, last = -1;
	uint64_t tick = 0;
	int k = 0, news = 0;

	for (;;) {
		int64_t t = edge < edge_end && edge < wake ? edge : wake;

		if (kick[k] <= t) {
			t = kick[k++];
			edge_end = t + SAMPLER_EDGE_NS;
			news = 0;
		}
		if (t >= end)
			break;
		uj = read_at(s, t + (int64_t)(rnd() * 1e6));
		news += uj != last;
		last = uj;
		if (news >= SAMPLER_EDGE_NEWS)
			edge_end = t;
		edge = t + SAMPLER_EDGE_STEP_NS;
		if (t >= wake) {
			deadline += period;
			wake = deadline + sampler_dither(++tick, period);
		}
	}
}

static void as_loop(const struct sensor *s, int64_t from, int64_t end, int64_t period)
{
	for (int64_t t = from; t < end; t += period)
		read_at(s, t + (int64_t)(rnd() * 1e5));
}

struct worst {
	double error[N_WINDOW]; /* relative */
	int beyond, partial, odd_refresh, n;
};

static void one(struct worst *w, int64_t refresh, int64_t period, int phase, int window,
	bool stepping, bool plain, int64_t documented)
{
	int64_t t0 = 20 * S + (int64_t)(rnd() * 1e9), t1 = t0 + windows[window] * MS;
	int64_t from = t0 - (int64_t)(rnd() * 0.3e9), end = t1 + 2 * period;
	struct meter_config cfg = {
		.max_power_mw = 500000, .refresh_ns = documented, .period_ns = period};
	struct truth p;
	struct sensor s = {.p = &p, .refresh = refresh, .phase = refresh * phase / PHASES};
	struct meter_energy e;
	double want, err;

	if (end < t1 + 250 * MS) /* as long as the keeper stays */
		end = t1 + 250 * MS;
	if (meter_new(&cfg, &s.m) != ST_OK)
		abort();
	job(&p, t0, t1, stepping);
	if (plain)
		as_loop(&s, from, end, period);
	else
		as_sampler(&s, from, t0, t1, end, period);
	meter_energy(s.m, t0, t1, &e);
	want = drawn(&p, (double)t1) - drawn(&p, (double)t0);
	err = fabs((double)e.energy_uj.v - want) / want;
	w->n++;
	w->partial += e.energy_uj.st != ST_OK || e.method != ENERGY_COUNTER;
	w->beyond += err * 1e6 > (double)e.resolution_ppm.v;
	w->odd_refresh +=
		e.refresh_ns.st != ST_OK || llabs(e.refresh_ns.v - refresh) * 10 > refresh;
	w->error[window] = fmax(w->error[window], err);
	meter_free(s.m);
}

static void sweep(struct worst *w, bool stepping, bool plain, int64_t documented)
{
	*w = (struct worst){.n = 0};
	for (int r = 0; r < N_REFRESH; r++)
		for (int s = 0; s < N_PERIOD; s++)
			for (int f = 0; f < PHASES; f++)
				for (int i = 0; i < N_WINDOW; i++)
					one(w, refreshes[r] * MS, periods[s] * MS, f, i, stepping,
						plain, documented);
	printf("# worst error by window:");
	for (int i = 0; i < N_WINDOW; i++)
		printf(" %.1f s %.2f %%,", (double)windows[i] / 1e3, w->error[i] * 100);
	printf(" of %d\n", w->n);
}

static double from_window(const struct worst *w, int64_t ms)
{
	double worst = 0;

	for (int i = 0; i < N_WINDOW; i++)
		if (windows[i] >= ms)
			worst = fmax(worst, w->error[i]);
	return worst;
}

int main(void)
{
	static const struct {
		const char *what;
		bool stepping;
		int64_t documented, ms;
	} c[] = {
		{"steady", false, 0, 2000},
		{"stepping", true, 0, 2000},
		{"steady, documented as 100 ms", false, 100 * MS, 2000},
		{"stepping, documented as 20 ms", true, 20 * MS, 2000},
	};
	struct worst w;

	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		sweep(&w, c[i].stepping, false, c[i].documented);
		ok(from_window(&w, c[i].ms) <= 0.005,
			"%s: from %.0f s on within 0.5 %% (%.3f %%) at any refresh, period and "
			"phase",
			c[i].what, (double)c[i].ms / 1e3, from_window(&w, c[i].ms) * 100);
		ok(!w.beyond, "%s: never beyond the stated resolution", c[i].what);
		ok(!w.partial, "%s: always whole, by the counter", c[i].what);
		ok(!w.odd_refresh, "%s: the refresh is found within a tenth", c[i].what);
		sweep(&w, c[i].stepping, true, c[i].documented);
		ok(!w.beyond, "%s: nor where a plain loop reads, which beats with the refresh",
			c[i].what);
	}
	return tap_done();
}
