/* meter_energy.c: what a window cost. See meter.h. */
#include "measure/refresh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/mem.h"

#define UNROLL        8 /* averaging windows followed back from an edge */
#define FLAT_REL      0.01
#define FLAT_MW       500.0
#define FEW_REFRESHES 5
#define LEEWAY        1.5 /* periods that an end is held flat */

/* ---- power ---- */

/* Last point at or before t, SIZE_MAX when none is. */
static size_t power_find(const struct meter *m, int64_t t)
{
	size_t lo = 0, hi = m->n_p;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (m->p[mid].t_ns <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo - 1;
}

double cadence_leeway(const struct cadence *c)
{
	return LEEWAY * (double)(c->typical_ns ? c->typical_ns : 100 * NS_PER_MS);
}

void power_until(const struct meter *m, int64_t t, double *uj, double *covered_ns)
{
	const struct power_point *a, *b;
	double x, full, part;
	size_t i;

	*uj = *covered_ns = 0;
	if (!m->n_p)
		return;
	i = power_find(m, t);
	if (i == SIZE_MAX) { /* before the first reading: hold it backwards a little */
		x = fmin((double)(m->p[0].t_ns - t), cadence_leeway(&m->pc));
		*uj = -x * m->p[0].mw * 1e-6;
		*covered_ns = -x;
		return;
	}
	a = &m->p[i];
	*uj = a->uj;
	*covered_ns = (double)a->covered_ns;
	if (i + 1 == m->n_p) {
		x = m->lost_t ? 0 : fmin((double)(t - a->t_ns), cadence_leeway(&m->pc));
		*uj += x * a->mw * 1e-6;
		*covered_ns += x;
		return;
	}
	b = a + 1;
	if (b->covered_ns == a->covered_ns)
		return;
	/* Power runs straight from a to b; where points between them were thinned away the area is
	 * scaled to the sum that was kept. */
	x = (double)(t - a->t_ns) / (double)(b->t_ns - a->t_ns);
	full = 0.5 * ((double)a->mw + b->mw);
	part = x * (a->mw + 0.5 * x * ((double)b->mw - a->mw));
	*uj += full > 0 ? (b->uj - a->uj) * part / full : (b->uj - a->uj) * x;
	*covered_ns += (double)(b->covered_ns - a->covered_ns) * x;
}

double power_between(const struct meter *m, int64_t t0, int64_t t1, double *covered_ns)
{
	double a, b, ca, cb;

	power_until(m, t0, &a, &ca);
	power_until(m, t1, &b, &cb);
	if (covered_ns)
		*covered_ns = cb - ca;
	return b - a;
}

/* Reading at t, straight between neighbours; mW. */
static double power_at(const struct meter *m, int64_t t)
{
	size_t i = power_find(m, t);
	const struct power_point *a, *b;

	if (i == SIZE_MAX)
		return m->p[0].mw;
	a = &m->p[i];
	if (i + 1 == m->n_p)
		return a->mw;
	b = a + 1;
	return a->mw +
	       ((double)b->mw - a->mw) * (double)(t - a->t_ns) / (double)(b->t_ns - a->t_ns);
}

/* Energy drawn in (t-w, t] weighted by how much of it an average over w has not shown yet at t:
 * F(t) - mean of F over [t-w, t]. From A(t) = (F(t) - F(t-w)) / w follows
 * D(t) = D(t-w) + w A(t) - integral of A over [t-w, t], and D = P w / 2 where power is flat. uJ. */
static double unshown(const struct meter *m, int64_t t, int64_t w)
{
	double sum = 0;

	for (int depth = 0;; depth++) {
		double c1, c2;
		double e1 = power_between(m, t - w, t - w / 2, &c1),
		       e2 = power_between(m, t - w / 2, t, &c2);
		double p1 = c1 > 0 ? e1 / c1 * 1e6 : power_at(m, t),
		       p2 = c2 > 0 ? e2 / c2 * 1e6 : power_at(m, t);
		bool flat = fabs(p2 - p1) <= FLAT_REL * p2 + FLAT_MW;

		if (flat || depth == UNROLL || t - w < m->p[0].t_ns)
			return sum + 0.5 * (p1 + p2) * 0.5 * (double)w * 1e-6;
		sum += (double)w * power_at(m, t) * 1e-6 - e1 - e2;
		t -= w;
	}
}

struct integral {
	bool known;
	double uj, covered_ns, spacing_ns, error_uj;
	unsigned flags;
};

/* Distance between the readings on both sides of t. */
static double power_spacing(const struct meter *m, int64_t t)
{
	size_t i = power_find(m, t);

	if (i == SIZE_MAX)
		return (double)(m->p[0].t_ns - t);
	if (i + 1 == m->n_p)
		return (double)(t - m->p[i].t_ns);
	/* Inside a value that stood, its length says nothing: the next reading comes a period
	 * later. */
	if (m->p[i].mw == m->p[i + 1].mw && m->pc.typical_ns)
		return (double)m->pc.typical_ns;
	return (double)(m->p[i + 1].t_ns - m->p[i].t_ns);
}

/* Highest of the readings on both sides of t and next to them; mW. */
static double power_near(const struct meter *m, int64_t t)
{
	size_t i = power_find(m, t);
	double most = 0;

	for (size_t j = i == SIZE_MAX || i < 2 ? 0 : i - 1;
		j < m->n_p && (i == SIZE_MAX || j <= i + 2); j++) {
		most = fmax(most, m->p[j].mw);
		if (i == SIZE_MAX)
			break;
	}
	return most;
}

/* Instant power over a window by the readings that certainly belong to it. A reading is up to a
 * refresh old: those taken before t0 + R may show what was before t0, those up to t1 nothing that
 * came after. The first and the last of them are held to the edges: where power changes with the
 * start and end of a job, a line to the readings outside would take half of the change for its own,
 * and how much of it depends on where the refresh falls. False where readings are too far apart. */
static bool integrate_inside(
	const struct meter *m, int64_t t0, int64_t t1, int64_t refresh, double *uj, double *covered)
{
	size_t i = power_find(m, t0 + refresh), j = power_find(m, t1);
	int64_t first = t0 + refresh, last = t1;
	double before, after;

	if (i == SIZE_MAX || i + 1 >= m->n_p || j == SIZE_MAX)
		return false;
	if (m->p[i].mw != m->p[i + 1].mw)
		first = m->p[i + 1].t_ns;
	if (j + 1 >= m->n_p || m->p[j].mw != m->p[j + 1].mw)
		last = m->p[j].t_ns;
	before = (double)(first - t0) - 0.5 * (double)refresh;
	after = (double)(t1 - last) + 0.5 * (double)refresh;
	if (first > last || before > cadence_leeway(&m->pc) + (double)refresh ||
		after > cadence_leeway(&m->pc) + (double)refresh ||
		m->p[i].covered_ns == m->p[i + 1].covered_ns)
		return false;
	*uj = power_between(m, first, last, covered);
	*uj += (m->p[i + 1].mw * before + m->p[j].mw * after) * 1e-6;
	*covered += before + after;
	return true;
}

/* The device's default reading or another is of a short window, not of a second. */
static bool instant(const struct meter *m)
{
	return m->source == CH_POWER_INSTANT ||
	       (m->source == CH_POWER && m->cfg.power_kind == POWER_KIND_INSTANT);
}

static void integrate(const struct meter *m, int64_t t0, int64_t t1, struct integral *out)
{
	int64_t refresh = power_refresh(m), shift = refresh / 2 + m->cfg.lag_ns;
	double uj, covered, rise = (double)m->cfg.window_ns;
	bool inside;

	*out = (struct integral){0};
	if (!m->n_p)
		return;
	inside =
		instant(m) && rise <= 0 && !m->lost_t &&
		integrate_inside(m, t0 + m->cfg.lag_ns, t1 + m->cfg.lag_ns, refresh, &uj, &covered);
	t0 += shift;
	t1 += shift;
	if (!inside)
		uj = power_between(m, t0, t1, &covered);
	if (covered <= 0)
		return;
	if (m->cfg.power_kind == POWER_KIND_AVERAGE || m->source == CH_POWER_AVERAGE)
		uj += unshown(m, t1, METER_AVERAGE_NS) - unshown(m, t0, METER_AVERAGE_NS);
	if (rise > 0 && (double)(t1 - t0) > 4 * rise) {
		double kept, rest = power_between(m, t0 + m->cfg.window_ns, t1, &kept);

		if (kept > 0)
			uj = rest / kept * covered;
	}
	if (m->cfg.lag_ns || m->cfg.window_ns || m->cfg.gain_ppm != 1000000)
		out->flags |= METER_CORRECTED;
	out->known = true;
	out->uj = uj * 1e6 / (double)m->cfg.gain_ppm;
	out->covered_ns = covered;
	out->spacing_ns = fmax(fmax(power_spacing(m, t0), power_spacing(m, t1)), (double)refresh);
	out->error_uj = (power_near(m, t0) + power_near(m, t1)) * out->spacing_ns * 1e-6;
}

/* ---- statistics of power ---- */

struct weighted {
	double mw, w;
};

static int by_power(const void *a, const void *b)
{
	double x = ((const struct weighted *)a)->mw, y = ((const struct weighted *)b)->mw;

	return (x > y) - (x < y);
}

/* Value below which `share` of the weight lies. v is sorted here. */
static double weighted_quantile(struct weighted *v, size_t n, double share)
{
	double sum = 0, total = 0;

	qsort(v, n, sizeof(*v), by_power);
	for (size_t i = 0; i < n; i++)
		total += v[i].w;
	for (size_t i = 0; i < n; i++) {
		sum += v[i].w;
		if (sum >= share * total)
			return v[i].mw;
	}
	return n ? v[n - 1].mw : 0;
}

static struct qty power_qty(const struct meter *m, double mw)
{
	return QTY((int64_t)llround(mw * 1e6 / (double)m->cfg.gain_ppm));
}

static size_t from_readings(
	const struct meter *m, int64_t t0, int64_t t1, struct weighted *v, double *lo, double *hi)
{
	size_t n = 0;

	for (size_t i = power_find(m, t0) + 1; i < m->n_p && m->p[i].t_ns <= t1; i++) {
		const struct power_point *p = &m->p[i];
		int64_t before = i ? p->t_ns - p[-1].t_ns : 0,
			after = i + 1 < m->n_p ? p[1].t_ns - p->t_ns : 0;

		if (i && p->covered_ns == p[-1].covered_ns)
			before = 0;
		if (i + 1 < m->n_p && p[1].covered_ns == p->covered_ns)
			after = 0;
		v[n++] = (struct weighted){
			p->mw, 0.5 * (double)(overlap(p->t_ns - before, p->t_ns, t0, t1) +
					      overlap(p->t_ns, p->t_ns + after, t0, t1))};
		*lo = fmin(*lo, p->min_mw);
		*hi = fmax(*hi, p->max_mw);
	}
	return n;
}

static size_t from_counter(
	const struct meter *m, int64_t t0, int64_t t1, struct weighted *v, double *lo, double *hi)
{
	size_t n = 0;

	for (size_t i = 1; i < m->n_c; i++) {
		const struct counter_point *a = &m->c[i - 1], *b = &m->c[i];

		if (b->hole || a->seen < t0 || b->seen > t1 || b->seen <= a->seen)
			continue;
		v[n] = (struct weighted){
			(double)(b->uj - a->uj) / (double)(b->seen - a->seen) * 1e6,
			(double)(b->seen - a->seen)};
		*lo = fmin(*lo, v[n].mw);
		*hi = fmax(*hi, v[n].mw);
		n++;
	}
	return n;
}

static void statistics(const struct meter *m, int64_t t0, int64_t t1, struct meter_energy *out)
{
	int64_t shift = power_refresh(m) / 2 + m->cfg.lag_ns;
	size_t n, room = m->n_p > m->n_c ? m->n_p : m->n_c;
	double lo = INFINITY, hi = -INFINITY;
	struct weighted *v = room ? mem_alloc(room * sizeof(*v)) : NULL;

	if (!v) {
		if (room)
			out->p95_mw = out->max_mw = out->min_mw = QTY_NONE(ST_NOMEM);
		return;
	}
	n = m->n_p ? from_readings(m, t0 + shift, t1 + shift, v, &lo, &hi)
		   : from_counter(m, t0, t1, v, &lo, &hi);
	if (!n && m->n_p && power_find(m, t0 + shift) < m->n_p - 1) {
		/* No reading fell into the window, but it lies inside one that stood. */
		lo = hi = power_at(m, t0 + shift);
		v[n++] = (struct weighted){lo, 1};
	}
	if (n) {
		out->p95_mw = power_qty(m, weighted_quantile(v, n, 0.95));
		out->max_mw = power_qty(m, hi);
		out->min_mw = power_qty(m, lo);
	}
	mem_free(v);
}

/* ---- the answer ---- */

static struct qty ppm(double share)
{
	return QTY((int64_t)llround(fmin(fmax(share, 0), 1) * 1e6));
}

static struct qty energy_qty(double uj, double share)
{
	return (struct qty){
		(int64_t)llround(uj), share * 1e6 >= METER_GOOD_PPM ? ST_OK : ST_PARTIAL};
}

static unsigned flags_in(const struct meter *m, int64_t t0, int64_t t1)
{
	unsigned flags = 0;

	for (size_t i = 0; i < m->n_ev; i++)
		if (m->ev[i].flag != METER_STUCK && m->ev[i].t0 <= t1 && m->ev[i].t1 >= t0)
			flags |= m->ev[i].flag;
	if (m->lost_t && m->lost_t <= t1)
		flags |= METER_LOST;
	return flags;
}

/* The counter, when it accounts for at least as much of the window as the integral (less 1 %). */
static bool counter_wins(const struct counted *ct, const struct integral *in, double span)
{
	return ct->known && (!in->known || ct->covered_ns >= in->covered_ns - 0.01 * span);
}

struct qty meter_rough(const struct meter *m, int64_t t0, int64_t t1)
{
	double span = (double)t1 - (double)t0;
	struct integral in;
	struct counted ct;

	if (t1 <= t0)
		return QTY_NONE(ST_UNKNOWN);
	integrate(m, t0, t1, &in);
	counter_count(m, t0, t1, true, &ct);
	if (counter_wins(&ct, &in, span))
		return energy_qty(ct.uj, ct.covered_ns / span);
	return in.known ? energy_qty(in.uj, in.covered_ns / span) : QTY_NONE(ST_UNKNOWN);
}

enum status meter_energy(const struct meter *m, int64_t t0, int64_t t1, struct meter_energy *out)
{
	double span = (double)t1 - (double)t0, covered = 0, spacing = 0, error = 0, uj = 0;
	struct integral in;
	struct counted ct;

	*out = (struct meter_energy){.energy_uj = QTY_NONE(ST_UNKNOWN),
		.counter_uj = QTY_NONE(ST_UNKNOWN),
		.integral_uj = QTY_NONE(ST_UNKNOWN),
		.resolution_ppm = QTY_NONE(ST_UNKNOWN),
		.coverage_ppm = QTY(0),
		.mean_mw = QTY_NONE(ST_UNKNOWN),
		.p95_mw = QTY_NONE(ST_UNKNOWN),
		.max_mw = QTY_NONE(ST_UNKNOWN),
		.min_mw = QTY_NONE(ST_UNKNOWN),
		.refresh_ns = QTY_NONE(ST_UNKNOWN),
		.power_channel = m->source};
	if (t1 <= t0)
		return ST_RANGE;
	integrate(m, t0, t1, &in);
	counter_count(m, t0, t1, false, &ct);
	out->flags = flags_in(m, t0, t1) | in.flags;
	if (m->cfg.gain_ppm != 1000000)
		out->flags |= METER_CORRECTED;
	if (ct.stuck)
		out->flags |= METER_STUCK;
	if (in.known)
		out->integral_uj = energy_qty(in.uj, in.covered_ns / span);
	if (ct.known)
		out->counter_uj = energy_qty(ct.uj, ct.covered_ns / span);
	if (counter_wins(&ct, &in, span)) {
		out->method = ENERGY_COUNTER;
		uj = ct.uj;
		covered = ct.covered_ns;
		spacing = ct.spacing_ns;
		error = ct.error_uj;
	} else if (in.known) {
		out->method = ENERGY_INTEGRAL;
		uj = in.uj;
		covered = in.covered_ns;
		spacing = in.spacing_ns;
		error = in.error_uj;
	}
	if (ct.known && in.known &&
		fabs(ct.uj - in.uj) >
			METER_AGREE_PPM * 1e-6 * fmax(ct.uj, in.uj) + ct.error_uj + in.error_uj)
		out->flags |= METER_DISAGREE;
	if (m->n_c >= 2 || m->n_p) {
		int64_t refresh =
			out->method == ENERGY_COUNTER ? counter_refresh(m) : power_refresh(m);

		if (refresh)
			out->refresh_ns = QTY(refresh);
	}
	if (out->method != ENERGY_NONE) {
		if (covered > span)
			covered = span;
		out->energy_uj = energy_qty(uj, covered / span);
		out->coverage_ppm = ppm(covered / span);
		out->resolution_ppm = ppm(uj > 0 ? error / uj : 1);
		if (span < FEW_REFRESHES * spacing)
			out->flags |= METER_LOW_RESOLUTION;
		if (covered > 0)
			out->mean_mw = QTY((int64_t)llround(uj / covered * 1e6));
		statistics(m, t0, t1, out);
	}
	return ST_OK;
}
