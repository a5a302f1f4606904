/* refresh.c: when the counter was refreshed. See refresh.h. */
#include "measure/refresh.h"

#include <math.h>
#include <string.h>

#define BINS        128 /* places of the cycle that are told apart */
#define AROUND      24 /* points on each side that are looked at */
#define CANDIDATES  97 /* lengths tried in each look */
#define WIDEN       2 /* steps of the first look, on each side, that the second looks at too */
#define TOLERANCE   0.01 /* of a period, and twice its slack: how far a beat may be off */
#define POOL_LEAST  2
#define POOL_AGREE  0.6 /* share of the gaps that must allow the length */
#define CADENCE_REL 0.01 /* a mean of changes is known no better */
#define UNKNOWN_NS  100e6 /* no board is known to be slower */

/* Lengths that most of the gaps between two refreshes allow: in each, one refresh fell into either
 * end, so that lo < R <= hi. False when too few were narrow enough to tell. */
static bool from_gaps(const struct meter *m, double *lo, double *hi)
{
	size_t n = m->n_gap < METER_GAPS ? (size_t)m->n_gap : METER_GAPS, best = 0;

	*lo = *hi = 0;
	if (n < POOL_LEAST)
		return false;
	for (size_t i = 0; i < n; i++) {
		size_t votes = 0;
		int64_t end = INT64_MAX;

		for (size_t j = 0; j < n; j++) {
			if (m->gap[j].lo > m->gap[i].lo || m->gap[j].hi <= m->gap[i].lo)
				continue;
			votes++;
			end = m->gap[j].hi < end ? m->gap[j].hi : end;
		}
		if (votes > best) {
			best = votes;
			*lo = (double)m->gap[i].lo;
			*hi = (double)end;
		}
	}
	return (double)best >= POOL_AGREE * (double)n;
}

int64_t counter_refresh(const struct meter *m)
{
	int64_t seen = cadence_refresh(&m->cc), told = m->cfg.refresh_ns;
	double lo, hi;

	if (from_gaps(m, &lo, &hi)) {
		/* What else is known, where it fits; a document's figure is more precise than a
		 * bracket that contains it. */
		if ((double)seen > lo && (double)seen <= hi)
			return seen;
		if ((double)told > lo && (double)told <= hi)
			return told;
		return (int64_t)(0.5 * (lo + hi));
	}
	return seen ? seen : told;
}

/* Add `by` to the bins of the cycle in (from, to], times relative to the origin. */
static void arc(int *diff, double r, double from, double to, int by)
{
	double x = from / r - floor(from / r), y = x + (to - from) / r;
	/* Bin g stands for (g + 1/2) / BINS. */
	int a = (int)ceil(x * BINS - 0.5), b = (int)ceil(y * BINS - 0.5);

	if (b > 2 * BINS)
		b = 2 * BINS;
	if (a < b) {
		diff[a] += by;
		diff[b] -= by;
	}
}

struct place {
	int votes, run;
	double middle; /* of the longest stretch of bins with most votes, 0 to 1 */
};

/* How many of what points from..to say is true of a refresh each r, at the best place of the cycle.
 */
static struct place place_of(const struct meter *m, size_t from, size_t to, double origin, double r)
{
	int diff[2 * BINS + 2] = {0}, votes[BINS], sum = 0, most = -1, run = 0;
	struct place p = {0};

	for (size_t j = from; j <= to; j++) {
		const struct counter_point *c = &m->c[j];
		double before = (double)c->before - origin, seen = (double)c->seen - origin, quiet;

		/* One came between the last read of the old value and the first of the new. */
		if (j && !c->hole && seen - before < r)
			arc(diff, r, before, seen, 1);
		/* None came while the old value was read again and again. */
		quiet = j ? before - ((double)m->c[j - 1].seen - origin) : 0;
		if (quiet > 0 && quiet < r && !c->hole)
			arc(diff, r, before, before + r - quiet, 1);
	}
	for (int g = 0; g < 2 * BINS; g++) {
		sum += diff[g];
		if (g < BINS)
			votes[g] = sum;
		else
			votes[g - BINS] += sum;
	}
	for (int g = 0; g < BINS; g++)
		most = votes[g] > most ? votes[g] : most;
	/* Twice around: a stretch may go over the end. */
	for (int g = 0; g < 2 * BINS; g++) {
		run = votes[g % BINS] == most ? run + 1 : 0;
		if (run > p.run && run <= BINS) {
			p.run = run;
			p.middle = (g + 1 - 0.5 * run) / BINS;
		}
	}
	p.votes = most;
	return p;
}

/* Best of the lengths *lo to *hi over the points around i; leaves those that are as good. */
static struct beat look(const struct meter *m, size_t i, double *lo, double *hi)
{
	size_t from = i > AROUND ? i - AROUND : 0,
	       to = i + AROUND < m->n_c ? i + AROUND : m->n_c - 1;
	double origin = (double)m->c[i].seen, first = 0, last = 0;
	struct place best = {.votes = -1};
	int tries = *hi > *lo ? CANDIDATES : 1;
	double width = (*hi - *lo) / tries;
	struct beat b = {0};

	for (int k = 0; k < tries; k++) {
		double r = *lo + width * (k + 0.5);
		struct place p = place_of(m, from, to, origin, r);

		if (p.votes > best.votes || (p.votes == best.votes && p.run > best.run)) {
			if (p.votes > best.votes)
				first = r;
			best = p;
			b.r = r;
			b.at = origin + p.middle * r;
			b.slack = 0.5 * p.run / BINS * r;
		}
		if (p.votes == best.votes)
			last = r;
	}
	*lo = first - 0.5 * width;
	*hi = last + 0.5 * width;
	return b;
}

struct beat counter_beat(const struct meter *m, size_t i)
{
	double lo, hi, least, most, seen = (double)cadence_refresh(&m->cc);
	struct beat b;

	if (from_gaps(m, &lo, &hi)) {
		;
	} else if (seen > 0) {
		lo = seen * (1 - CADENCE_REL);
		hi = seen * (1 + CADENCE_REL);
	} else if (m->cfg.refresh_ns) {
		lo = hi = (double)m->cfg.refresh_ns;
	} else {
		return (struct beat){0};
	}
	least = lo;
	most = hi;
	b = look(m, i, &least, &most);
	if (hi > lo) {
		double more = WIDEN * (hi - lo) / CANDIDATES;

		least = fmax(lo, least - more);
		most = fmin(hi, most + more);
		b = look(m, i, &least, &most);
	}
	return b;
}

/* Last refresh up to the first read of the new value. */
static double last_before(const struct meter *m, size_t j, const struct beat *b)
{
	double hi = (double)m->c[j].seen, lo = (double)m->c[j].before;
	double t = b->at + floor((hi - b->at) / b->r) * b->r, next = t + b->r, quiet;

	/* The first reading's has been before it, and a whole period before the next. */
	if (!j)
		return m->n_c > 1 && next > (double)m->c[1].seen ? t - b->r : t;
	/* Not in step: the nearest time that is possible. */
	if (t <= lo)
		return lo - t < next - hi ? lo : hi;
	/* The next would fall where none was: it was just before. */
	quiet = j + 1 < m->n_c ? (double)m->c[j + 1].before : (double)m->cc.last_read;
	if (next <= quiet && next - hi < quiet - next && next - hi < 0.25 * b->r)
		return hi;
	return t;
}

/* Power between points j - 1 and j, were they brought at t0 and t1; uJ/ns. */
static double power_of(const struct meter *m, size_t j, double t0, double t1)
{
	return ((double)(m->c[j].uj - m->c[j - 1].uj) + 1) / fmax(t1 - t0, 1);
}

/* How uneven power would be around point j, were it brought at t. The root of each change counts,
 * not its size: few steps are likelier than many that add up to as much. */
static double uneven(const struct meter *m, size_t j, double t, const struct beat *b)
{
	double a = last_before(m, j - 1, b), c = last_before(m, j + 1, b);
	double left = power_of(m, j, a, t), right = power_of(m, j + 1, t, c);
	double before = left, after = right;

	if (t <= a || t >= c)
		return INFINITY;
	if (j >= 2 && !m->c[j - 1].hole)
		before = power_of(m, j - 1, last_before(m, j - 2, b), a);
	if (j + 2 < m->n_c && !m->c[j + 2].hole)
		after = power_of(m, j + 2, c, last_before(m, j + 2, b));
	return sqrt(fabs(log(left / before))) + sqrt(fabs(log(right / left))) +
	       sqrt(fabs(log(after / right)));
}

double refreshed_at(const struct meter *m, size_t j, const struct beat *b)
{
	double hi = (double)m->c[j].seen, lo = (double)m->c[j].before, t, other, off;

	if (b->r <= 0) { /* unknown: of the usual length, or as often as it is read */
		lo = fmax(lo, hi - UNKNOWN_NS);
		return 0.5 * (lo + hi);
	}
	t = last_before(m, j, b);
	if (j == 0 || j + 1 >= m->n_c || m->c[j].hole || m->c[j + 1].hole)
		return t;
	/* A read within the error of the beat may have come before a refresh or after it. The
	 * energy tells: a whole period more or less changes the power on both sides. */
	off = TOLERANCE * b->r + 2 * b->slack;
	if (t + b->r - hi <= off)
		other = hi;
	else if (hi - t <= off && t - b->r > lo)
		other = t - b->r;
	else
		return t;
	return uneven(m, j, other, b) < uneven(m, j, t, b) ? other : t;
}
