/* meter.c: taking samples in. See meter.h for the rules, meter_energy.c for the answers. */
#include "measure/meter_int.h"

#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

#define MAX_GAP_PERIODS 5
#define MAX_GAP_FIRST   (5 * NS_PER_S) /* before any period is known */
#define ABSURD_MW       INT64_C(200000000) /* 200 kW: no single device */
#define POWER_SENTINEL  INT64_C(2147483647) /* mW: nothing draws 2 MW; also catches all blanks */
#define MARGIN          1.25 /* a short interval's power is known no better */
#define SLACK_NS        (100 * NS_PER_MS) /* age of a reading, for plausibility */
#define PIN_NS          (2 * NS_PER_S)
#define SPACING_MAX     ((int64_t)1 << 60)
#define PEND_CONFIRM    3 /* equal impossible readings that count as confirmation */

enum status meter_new(const struct meter_config *cfg, struct meter **out)
{
	struct meter *m = mem_calloc(1, sizeof(*m));

	*out = NULL;
	if (!m)
		return ST_NOMEM;
	m->cfg = *cfg;
	if (!m->cfg.gain_ppm)
		m->cfg.gain_ppm = 1000000;
	m->source = CH_COUNT;
	m->cc.period_ns = m->pc.period_ns = cfg->period_ns;
	/* The first points exist from the start, so that pushing never has nothing. */
	if (!mem_grow((void **)&m->c, &m->cap_c, 64, sizeof(*m->c), METER_MAX) ||
		!mem_grow((void **)&m->p, &m->cap_p, 64, sizeof(*m->p), METER_MAX)) {
		meter_free(m);
		return ST_NOMEM;
	}
	*out = m;
	return ST_OK;
}

void meter_free(struct meter *m)
{
	if (!m)
		return;
	mem_free(m->c);
	mem_free(m->p);
	mem_free(m);
}

void meter_pin(struct meter *m, int64_t t_ns)
{
	if (m->n_pin < METER_PINS)
		m->pin[m->n_pin++] = t_ns;
}

static bool pinned(const struct meter *m, int64_t t)
{
	for (size_t i = 0; i < m->n_pin; i++)
		if (llabs(t - m->pin[i]) <= PIN_NS)
			return true;
	return false;
}

static void event(struct meter *m, unsigned flag, int64_t t0, int64_t t1)
{
	/* Joined with an earlier one of its kind when it touches it, or when the list is full: a
	 * flag may then cover more than it should, never less. */
	for (size_t i = m->n_ev; i-- > 0;) {
		struct meter_event *e = &m->ev[i];

		if (e->flag != flag)
			continue;
		if (t0 <= e->t1 || m->n_ev == METER_EVENTS) {
			if (t1 > e->t1)
				e->t1 = t1;
			if (t0 < e->t0)
				e->t0 = t0;
			return;
		}
		break;
	}
	if (m->n_ev < METER_EVENTS)
		m->ev[m->n_ev++] = (struct meter_event){t0, t1, flag};
}

static int by_time(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t median(const int64_t *v, uint64_t n)
{
	int64_t copy[METER_RECENT];
	size_t k = n < METER_RECENT ? (size_t)n : METER_RECENT;

	if (!k)
		return 0;
	memcpy(copy, v, k * sizeof(*v));
	qsort(copy, k, sizeof(*copy), by_time);
	return copy[k / 2];
}

/* A read at t, of a new value or the old one. */
static void cadence_read(struct cadence *c, int64_t t, bool changed)
{
	if (c->last_read && t > c->last_read) {
		c->dt[c->n_dt++ % METER_RECENT] = t - c->last_read;
		if (c->n_dt < METER_RECENT || c->n_dt % 8 == 0)
			c->typical_ns = median(c->dt, c->n_dt);
		if (c->typical_ns < c->period_ns)
			c->typical_ns = c->period_ns;
	}
	if (changed) {
		if (c->last_change)
			c->change[c->n_change++ % METER_RECENT] = t - c->last_change;
		c->last_change = t;
	}
	c->last_read = t;
}

int64_t cadence_refresh(const struct cadence *c)
{
	int64_t mid = median(c->change, c->n_change), sum = 0, n = 0, odd = 0;
	size_t k = c->n_change < METER_RECENT ? (size_t)c->n_change : METER_RECENT;

	if (k < METER_RECENT / 2 || !c->typical_ns || mid > REFRESH_MAX)
		return 0;
	for (size_t i = 0; i < k; i++) {
		if (c->change[i] * 2 > mid * 3 || c->change[i] * 2 < mid) {
			odd++; /* a pause, a repeated value, a late read */
			continue;
		}
		sum += c->change[i];
		n++;
	}
	/* Values that change when the load does are irregular; a sensor that refreshes is not. */
	return odd * 4 <= (int64_t)k && n && sum / n * 2 >= c->typical_ns * 3 ? sum / n : 0;
}

int64_t power_refresh(const struct meter *m)
{
	int64_t seen = cadence_refresh(&m->pc);

	return seen ? seen : m->cfg.refresh_ns;
}

/* Thin c[] so that points are at least `spacing` apart. */
static void counter_thin(struct meter *m)
{
	size_t from = m->n_c;

	if (!m->spacing_c)
		m->spacing_c = 2 * (m->cc.typical_ns ? m->cc.typical_ns : NS_PER_MS);
	/* First what came since the last time, then all of it coarser. */
	for (;;) {
		size_t n = 1;

		for (size_t i = 1; i < m->n_c; i++) {
			bool last = i + 1 == m->n_c;
			bool keep = last || m->c[i].hole || m->c[i + 1].hole ||
				    pinned(m, m->c[i].seen) ||
				    m->c[i].seen - m->c[n - 1].seen >= m->spacing_c;

			if (keep)
				m->c[n++] = m->c[i];
		}
		m->n_c = n;
		if (n <= from / 4 * 3 || m->spacing_c > SPACING_MAX)
			return;
		m->spacing_c *= 2;
	}
}

static void counter_add(struct meter *m, const struct counter_point *pt)
{
	if (!mem_grow((void **)&m->c, &m->cap_c, m->n_c + 1, sizeof(*m->c), METER_MAX)) {
		counter_thin(m);
		if (m->n_c >= m->cap_c)
			return; /* all pinned or holes: the sums of the next point hold this one's
				   energy */
	}
	m->c[m->n_c++] = *pt;
}

/* Energy expected between two times: from power, else from the slope of the counter before. *tol is
 * its relative error. Negative when unknown. */
static double expected_uj(const struct meter *m, int64_t t0, int64_t t1, double *tol)
{
	double a, b, ca, cb;

	if (m->n_p) {
		power_until(m, t0, &a, &ca);
		power_until(m, t1, &b, &cb);
		if (cb - ca >= 0.5 * (double)(t1 - t0)) {
			*tol = 0.06;
			return (b - a) / (cb - ca) * (double)(t1 - t0);
		}
	}
	if (m->n_c >= 2) {
		size_t i = m->n_c > 16 ? m->n_c - 16 : 0;
		const struct counter_point *x = &m->c[i], *y = &m->c[m->n_c - 1];

		if (y->seen > x->seen) {
			*tol = 0.2;
			return (double)(y->uj - x->uj) / (double)(y->seen - x->seen) *
			       (double)(t1 - t0);
		}
	}
	return -1;
}

/* Is it possible that the counter went from `from` (last changed at the newest point) to `to` at t?
 * *d is the energy, *hole that it is not known. */
static bool step_possible(
	struct meter *m, int64_t from, int64_t to, int64_t since, int64_t t, int64_t *d, bool *hole)
{
	int64_t wrap = m->cfg.energy_wrap;
	double dt_s = (double)(t - since + SLACK_NS) / 1e9, tol = 0, want;
	double limit =
		m->cfg.max_power_mw ? (double)m->cfg.max_power_mw * MARGIN : (double)ABSURD_MW;
	double most = limit * dt_s * 1e3; /* uJ */
	int64_t k;

	*hole = false;
	*d = to - from;
	if (*d < 0) {
		if (!wrap)
			return false;
		*d += wrap;
		/* Without a known maximum a wrap must look like the power before it. */
		if (!m->cfg.max_power_mw) {
			want = expected_uj(m, since, t, &tol);
			if (want >= 0 && most > 10 * want + 1e3 * 1e3 * dt_s * 1e3)
				most = 10 * want + 1e9 * dt_s;
		}
	}
	if ((double)*d > most)
		return false;
	if (!wrap || most < (double)wrap)
		return true;
	/* Long enough to have gone round more than once. */
	want = expected_uj(m, since, t, &tol);
	if (want < 0)
		return true;
	k = (int64_t)((want - (double)*d) / (double)wrap + 0.5);
	if (k > 0 && !__builtin_mul_overflow(k, wrap, &k) && !__builtin_add_overflow(*d, k, d))
		event(m, METER_WRAPPED, since, t);
	*hole = want * tol > (double)wrap / 2;
	return true;
}

/* From the refresh that brought the last point to the one seen at t is one period: a bound of its
 * length. Where both were seen so closely that no other can have been between the two reads, it is
 * one more of a chain, and the bound is that of the whole chain, divided. */
static void gap_note(struct meter *m, int64_t t)
{
	const struct counter_point *last = &m->c[m->n_c - 1];
	int64_t lo = m->cc.last_read - last->seen, hi = t - last->before;
	bool close = last->seen - last->before < lo && t - m->cc.last_read < lo;

	if (last->hole || m->n_c < 2 || last->seen != m->cc.last_change || hi > REFRESH_MAX ||
		(double)(hi - lo) > METER_GAP_REL * (double)hi) {
		m->chain_n = 0;
		return;
	}
	if (!close || !m->chain_n || m->chain_n == METER_CHAIN) {
		m->chain = *last;
		m->chain_n = 0;
	}
	m->chain_n++;
	m->gap[m->n_gap % METER_GAPS].lo = (m->cc.last_read - m->chain.seen) / m->chain_n;
	m->gap[m->n_gap++ % METER_GAPS].hi = (t - m->chain.before) / m->chain_n;
	if (!close)
		m->chain_n = 0;
}

static void counter_step(struct meter *m, int64_t raw, int64_t t, int64_t d, bool hole)
{
	const struct counter_point *last = &m->c[m->n_c - 1];
	struct counter_point pt = {
		.before = m->cc.last_read, .seen = t, .uj = last->uj, .hole = hole};

	/* Kept as an event, as thinning takes the points that show it. */
	if (m->cc.last_read - last->seen >= METER_STUCK_NS)
		event(m, METER_STUCK, last->seen, m->cc.last_read);
	if (hole)
		event(m, METER_GAP, last->seen, t);
	else if (__builtin_add_overflow(pt.uj, d, &pt.uj)) {
		pt.uj = last->uj;
		pt.hole = true;
	}
	if (raw < m->raw)
		event(m, hole ? METER_WRAPPED | METER_GAP : METER_WRAPPED, last->seen, t);
	if (!hole)
		gap_note(m, t);
	counter_add(m, &pt);
	m->raw = raw;
	cadence_read(&m->cc, t, true);
}

/* A reading that cannot follow the last good one. One alone is a glitch; confirmed by the next it
 * is a reset. */
static void counter_doubt(struct meter *m, int64_t raw, int64_t t)
{
	int64_t d;
	bool hole;

	if (m->pending && raw == m->pend_raw && ++m->pend_same < PEND_CONFIRM)
		return;
	if (m->pending &&
		(m->pend_same >= PEND_CONFIRM ||
			(raw != m->pend_raw &&
				step_possible(m, m->pend_raw, raw, m->pend_t, t, &d, &hole) &&
				raw > m->pend_raw))) {
		const struct counter_point *last = &m->c[m->n_c - 1];
		struct counter_point at = {
			.before = m->cc.last_read, .seen = m->pend_t, .uj = last->uj, .hole = true};

		event(m, METER_RESET, last->seen, m->pend_t);
		counter_add(m, &at);
		m->raw = m->pend_raw;
		m->cc.last_read = m->pend_t;
		m->cc.last_change = 0;
		m->pending = false;
		if (raw != m->raw)
			counter_step(m, raw, t, raw - m->raw, false);
		return;
	}
	if (m->pending)
		event(m, METER_SPIKE, m->pend_t, m->pend_t);
	m->pending = true;
	m->pend_raw = raw;
	m->pend_t = t;
	m->pend_same = 1;
}

static bool counter_sentinel(const struct meter *m, int64_t v)
{
	const int64_t blank = INT64_C(140737488355328); /* DCGM's blank double, also as mJ */

	return v < 0 || v >= (int64_t)1 << 62 || (v >= blank && v <= blank + 15) ||
	       v / 1000 == blank || (m->cfg.energy_wrap && v > m->cfg.energy_wrap);
}

static void push_counter(struct meter *m, const struct sample *s)
{
	int64_t d, t = s->t_ns;
	bool hole;

	if (counter_sentinel(m, s->value)) {
		event(m, METER_SENTINEL, t, t);
		return;
	}
	if (!m->n_c) {
		m->c[m->n_c++] = (struct counter_point){.before = t, .seen = t};
		m->raw = s->value;
		cadence_read(&m->cc, t, false);
		return;
	}
	if (t <= m->cc.last_read)
		return;
	if (m->cc.typical_ns &&
		t - m->cc.last_read > (m->cfg.max_gap_ns ? m->cfg.max_gap_ns
							 : MAX_GAP_PERIODS * m->cc.typical_ns))
		event(m, METER_GAP, m->cc.last_read, t);
	if (s->value == m->raw) {
		if (m->pending)
			event(m, METER_SPIKE, m->pend_t, m->pend_t);
		m->pending = false;
		cadence_read(&m->cc, t, false);
		return;
	}
	if (!step_possible(m, m->raw, s->value, m->c[m->n_c - 1].seen, t, &d, &hole)) {
		counter_doubt(m, s->value, t);
		return;
	}
	if (m->pending)
		event(m, METER_SPIKE, m->pend_t, m->pend_t);
	m->pending = false;
	counter_step(m, s->value, t, d, hole);
}

static void power_thin(struct meter *m)
{
	size_t from = m->n_p;

	if (!m->spacing_p)
		m->spacing_p = 2 * (m->pc.typical_ns ? m->pc.typical_ns : NS_PER_MS);
	/* First what came since the last time, then all of it coarser. */
	for (;;) {
		int32_t lo = INT32_MAX, hi = INT32_MIN;
		size_t n = 1;

		for (size_t i = 1; i < m->n_p; i++) {
			struct power_point *q = &m->p[i];
			bool last = i + 1 == m->n_p;
			/* The two points that hold an uncovered hole between them stay. */
			bool edge = !last && m->p[i + 1].covered_ns == q->covered_ns;
			bool keep = last || edge || q->covered_ns == m->p[i - 1].covered_ns ||
				    pinned(m, q->t_ns) ||
				    q->t_ns - m->p[n - 1].t_ns >= m->spacing_p;

			lo = q->min_mw < lo ? q->min_mw : lo;
			hi = q->max_mw > hi ? q->max_mw : hi;
			if (!keep)
				continue;
			m->p[n] = *q;
			m->p[n].min_mw = lo;
			m->p[n++].max_mw = hi;
			lo = INT32_MAX;
			hi = INT32_MIN;
		}
		m->n_p = n;
		if (n <= from / 4 * 3 || m->spacing_p > SPACING_MAX)
			return;
		m->spacing_p *= 2;
	}
}

static void power_add(struct meter *m, const struct power_point *pt)
{
	if (!mem_grow((void **)&m->p, &m->cap_p, m->n_p + 1, sizeof(*m->p), METER_MAX)) {
		power_thin(m);
		if (m->n_p >= m->cap_p) {
			m->p[m->n_p - 1] = *pt;
			return;
		}
	}
	m->p[m->n_p++] = *pt;
}

/* CH_POWER is what the device itself offers; the others stand in for it. */
static int power_rank(enum channel ch)
{
	return ch == CH_POWER ? 3 : ch == CH_POWER_INSTANT ? 2 : ch == CH_POWER_AVERAGE ? 1 : 0;
}

static void push_power(struct meter *m, enum channel ch, const struct sample *s)
{
	int64_t t = s->t_ns, dt, max_gap;
	struct power_point *last, pt;
	bool gap, same;

	if (m->source != CH_COUNT && power_rank(ch) < power_rank(m->source))
		return;
	/* A device that is on draws something: 0 is how some drivers say that they do not know. */
	if (s->value <= 0 || s->value >= POWER_SENTINEL) {
		event(m, METER_SENTINEL, t, t);
		return;
	}
	if ((m->cfg.max_power_mw && s->value > m->cfg.max_power_mw) || s->value > ABSURD_MW) {
		event(m, METER_SPIKE, t, t);
		return;
	}
	m->source = ch;
	pt = (struct power_point){.t_ns = t,
		.mw = (int32_t)s->value,
		.min_mw = (int32_t)s->value,
		.max_mw = (int32_t)s->value};
	if (!m->n_p) {
		power_add(m, &pt);
		cadence_read(&m->pc, t, true);
		return;
	}
	last = &m->p[m->n_p - 1];
	dt = t - last->t_ns;
	if (dt <= 0)
		return;
	max_gap = m->cfg.max_gap_ns  ? m->cfg.max_gap_ns
		  : m->pc.typical_ns ? MAX_GAP_PERIODS * m->pc.typical_ns
				     : MAX_GAP_FIRST;
	gap = m->broken || dt > max_gap;
	same = last->mw == pt.mw;
	pt.uj = last->uj;
	pt.covered_ns = last->covered_ns;
	if (gap) {
		event(m, METER_GAP, last->t_ns, t);
	} else {
		pt.uj += 0.5 * ((double)last->mw + (double)pt.mw) * (double)dt * 1e-6;
		pt.covered_ns += dt;
	}
	m->broken = false;
	cadence_read(&m->pc, t, !same);
	if (same && !gap && m->n_p >= 2 && m->p[m->n_p - 2].mw == pt.mw && last->min_mw == pt.mw &&
		last->max_mw == pt.mw && last->covered_ns != m->p[m->n_p - 2].covered_ns) {
		*last = pt; /* the value still stands: move the end of its pair */
		return;
	}
	power_add(m, &pt);
}

void meter_push(struct meter *m, enum channel ch, const struct sample *s)
{
	bool power = power_rank(ch) > 0;

	if (ch != CH_ENERGY && !power)
		return;
	if (s->st == ST_LOST) {
		if (!m->lost_t)
			m->lost_t = s->t_ns ? s->t_ns : 1;
		m->broken = true;
		return;
	}
	if (s->st != ST_OK)
		return;
	if (m->lost_t) {
		event(m, METER_LOST, m->lost_t, s->t_ns);
		m->lost_t = 0;
	}
	if (power)
		push_power(m, ch, s);
	else
		push_counter(m, s);
}
