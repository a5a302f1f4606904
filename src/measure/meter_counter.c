/* meter_counter.c: what the counter says of a window. See meter.h and refresh.h. */
#include "measure/refresh.h"

#include <math.h>

struct edge {
	bool known;
	double uj; /* counter at that time */
	double spacing_ns; /* between the refreshes it is interpolated from */
	double error_uj; /* what is drawn in that time, at the highest power around */
};

/* Power between point i - 1 and i, uJ/ns; negative when there is none. */
static double slope(const struct meter *m, size_t i, const struct beat *b)
{
	double dt;

	if (i == 0 || i >= m->n_c || m->c[i].hole)
		return -1;
	dt = refreshed_at(m, i, b) - refreshed_at(m, i - 1, b);
	return dt > 0 ? (double)(m->c[i].uj - m->c[i - 1].uj) / dt : -1;
}

/* Counter at t, between refreshes i at ti and i + 1 at tj. Where power before and after differ and
 * the energy between allows it, power is taken to step once from the one to the other, which places
 * the step exactly; else straight. Where one side is not known, because reading began or ended
 * there, the power inside the window (after its start, before its end) is taken to reach to its
 * edge. */
static double between(const struct meter *m, size_t i, double ti, double tj, double t, bool start,
	const struct beat *b)
{
	double x = (double)m->c[i].uj, y = (double)m->c[i + 1].uj, mid = (y - x) / (tj - ti);
	double before = slope(m, i, b), after = slope(m, i + 2, b), from, to;

	if (start && before < 0 && after >= 0)
		return fmax(x, y - after * (tj - t));
	if (!start && after < 0 && before >= 0)
		return fmin(y, x + before * (t - ti));
	if (before < 0 || after < 0 || (mid - before) * (mid - after) >= 0)
		return x + mid * (t - ti);
	from = x + before * (t - ti);
	to = y - after * (tj - t);
	return before < after ? fmax(from, to) : fmin(from, to);
}

static struct edge counter_edge(
	const struct meter *m, int64_t t, bool start, int64_t refresh, bool rough)
{
	size_t lo = 0, hi = m->n_c, i, j;
	double ti, tj, at = (double)t, room = cadence_leeway(&m->cc) + (double)refresh, most;
	struct edge e = {0};
	struct beat beat;
	const struct beat *b = &beat;

	if (m->n_c < 2)
		return e;
	while (lo < hi) { /* first point seen after t */
		size_t mid = lo + (hi - lo) / 2;

		if (m->c[mid].seen <= t)
			lo = mid + 1;
		else
			hi = mid;
	}
	beat = rough ? (struct beat){0} : counter_beat(m, lo < m->n_c ? lo : m->n_c - 1);
	/* Its refresh may still have been before t. */
	while (lo < m->n_c && refreshed_at(m, lo, b) <= at)
		lo++;
	while (lo > 0 && refreshed_at(m, lo - 1, b) > at)
		lo--;
	i = lo == 0 ? 0 : lo == m->n_c ? m->n_c - 2 : lo - 1;
	j = i + 1;
	ti = refreshed_at(m, i, b);
	tj = refreshed_at(m, j, b);
	if (tj <= ti)
		tj = ti + 1;
	/* Beyond either end the slope of the last interval is followed for a refresh and a half. */
	if ((lo == 0 && ti - at > room) || (lo == m->n_c && at - tj > room))
		return e;
	if (lo == m->n_c && m->lost_t)
		at = tj;
	e.known = true;
	e.spacing_ns = fmax(tj - ti, lo == 0 ? ti - at : lo == m->n_c ? at - tj : 0);
	if (m->c[j].hole) { /* no slope across a hole */
		e.uj = (double)m->c[lo == m->n_c ? j : i].uj;
		return e;
	}
	if (lo == 0 || lo == m->n_c)
		e.uj = (double)m->c[i].uj +
		       (double)(m->c[j].uj - m->c[i].uj) * (at - ti) / (tj - ti);
	else
		e.uj = between(m, i, ti, tj, at, start, b);
	most = fmax(slope(m, j, b), fmax(slope(m, i, b), slope(m, j + 1, b)));
	e.error_uj = fmax(most, 0) * fmax(e.spacing_ns, (double)refresh);
	return e;
}

/* Did the counter stand still for half the window or more, and long enough to mean it? */
static bool counter_stuck(const struct meter *m, int64_t t0, int64_t t1)
{
	int64_t limit = METER_STUCK_NS, still = 0, refresh = counter_refresh(m);

	if (!m->n_c)
		return false;
	if (10 * refresh > limit)
		limit = 10 * refresh;
	if ((t1 - t0) / 2 > limit)
		limit = (t1 - t0) / 2;
	for (size_t i = 0; i < m->n_ev; i++)
		if (m->ev[i].flag == METER_STUCK)
			still += overlap(m->ev[i].t0, m->ev[i].t1, t0, t1);
	still += overlap(m->c[m->n_c - 1].seen, m->cc.last_read, t0, t1);
	return still >= limit;
}

void counter_count(const struct meter *m, int64_t t0, int64_t t1, bool rough, struct counted *out)
{
	int64_t refresh = counter_refresh(m), first, last;
	struct edge a, b;

	*out = (struct counted){.stuck = counter_stuck(m, t0, t1)};
	if (m->n_c < 2 || out->stuck)
		return;
	/* Outside what was read the counter says nothing: the window shrinks and coverage with it.
	 */
	first = m->c[0].seen;
	last = m->cc.last_read;
	a = counter_edge(m, t0, true, refresh, rough);
	if (!a.known && t0 < first && t1 > first) {
		a = counter_edge(m, first, true, refresh, rough);
		t0 = first;
	}
	b = counter_edge(m, t1, false, refresh, rough);
	if (!b.known && t1 > last && t0 < last) {
		t1 = m->c[m->n_c - 1].seen;
		b = counter_edge(m, t1, false, refresh, rough);
	}
	if (!a.known || !b.known || t1 <= t0)
		return;
	out->known = true;
	out->uj = b.uj - a.uj;
	out->covered_ns = (double)(t1 - t0);
	out->spacing_ns = fmax(fmax(a.spacing_ns, b.spacing_ns), (double)refresh);
	out->error_uj = a.error_uj + b.error_uj;
	if (m->lost_t)
		out->covered_ns -= (double)overlap(m->lost_t, INT64_MAX, t0, t1);
	for (size_t i = 1; i < m->n_c; i++) {
		int64_t h0 = m->c[i - 1].seen, h1 = m->c[i].seen;
		double covered = 0, uj;

		if (!m->c[i].hole || !overlap(h0, h1, t0, t1))
			continue;
		if (h0 < t0)
			h0 = t0;
		if (h1 > t1)
			h1 = t1;
		uj = power_between(m, h0, h1, &covered);
		out->uj += uj;
		out->covered_ns += covered - (double)(h1 - h0);
	}
	out->uj *= 1e6 / (double)m->cfg.gain_ppm;
}
