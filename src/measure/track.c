/* track.c: see track.h. */
#include "measure/track.h"

#include <math.h>
#include "base/clock.h"
#include "base/mem.h"

void track_release(struct track *k)
{
	mem_free(k->p);
	*k = (struct track){0};
}

static void thin(struct track *k)
{
	size_t from = k->n;

	if (!k->spacing_ns)
		k->spacing_ns = 2 * NS_PER_MS;
	for (;;) {
		size_t n = 1;

		for (size_t i = 1; i < k->n; i++) {
			if (k->p[i].t_ns - k->p[n - 1].t_ns >= k->spacing_ns || i + 1 == k->n)
				k->p[n++] = k->p[i];
			else if (k->p[i].max > k->p[n - 1].max)
				k->p[n - 1].max = k->p[i].max;
		}
		k->n = n;
		if (n <= from / 4 * 3 || k->spacing_ns > INT64_MAX / 4)
			return;
		k->spacing_ns *= 2;
	}
}

bool track_push(struct track *k, const int64_t t_ns, int64_t value)
{
	struct track_point pt = {t_ns, value, value};

	k->st = ST_OK;
	if (k->n && t_ns <= k->last_ns)
		return true;
	/* A value that stands is one point, unless it could be taken for one that went stale. */
	if (k->n && k->p[k->n - 1].value == value &&
		(!k->max_hold_ns || t_ns - k->p[k->n - 1].t_ns < k->max_hold_ns)) {
		k->last_ns = t_ns;
		return true;
	}
	if (!mem_grow((void **)&k->p, &k->cap, k->n + 1, sizeof(*k->p), TRACK_MAX)) {
		if (k->n < 2)
			return false;
		thin(k);
		if (k->n >= k->cap)
			return false;
	}
	k->p[k->n++] = pt;
	k->last_ns = t_ns;
	return true;
}

/* First point at or after t. */
static size_t find(const struct track *k, int64_t t)
{
	size_t lo = 0, hi = k->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->p[mid].t_ns < t)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Time in [t0, t1] for which point i holds. */
static int64_t holds(const struct track *k, size_t i, int64_t t0, int64_t t1)
{
	int64_t from = k->p[i].t_ns, to = i + 1 < k->n ? k->p[i + 1].t_ns : INT64_MAX;

	if (k->max_hold_ns) {
		int64_t stale = (i + 1 < k->n ? from : k->last_ns) + k->max_hold_ns;

		/* Thinning makes holes of its own, no wider than its spacing. */
		if (stale < from + 2 * k->spacing_ns + k->max_hold_ns)
			stale = from + 2 * k->spacing_ns + k->max_hold_ns;
		to = to < stale ? to : stale;
	}
	from = from > t0 ? from : t0;
	to = to < t1 ? to : t1;
	return to > from ? to - from : 0;
}

void track_stats(const struct track *k, int64_t t0, int64_t t1, struct track_stats *out)
{
	enum status none = k->n ? ST_UNKNOWN : k->st == ST_OK ? ST_UNKNOWN : k->st;
	size_t i = find(k, t0);
	double sum = 0;
	bool any = false;

	*out = (struct track_stats){.mean = QTY_NONE(none),
		.max = QTY_NONE(none),
		.start = QTY_NONE(none),
		.end = QTY_NONE(none)};
	for (i = i ? i - 1 : 0; i < k->n && k->p[i].t_ns <= t1; i++) {
		int64_t dt = holds(k, i, t0, t1);

		if (!dt && k->p[i].t_ns < t0)
			continue;
		sum += (double)k->p[i].value * (double)dt;
		out->known_ns += dt;
		if (!any)
			out->start = QTY(k->p[i].value);
		out->end = QTY(k->p[i].value);
		if (!any || k->p[i].max > out->max.v)
			out->max = QTY(k->p[i].max);
		any = true;
	}
	if (out->known_ns)
		out->mean = QTY((int64_t)llround(sum / (double)out->known_ns));
}

struct qty track_share(const struct track *k, int64_t t0, int64_t t1, int64_t bits)
{
	size_t i = find(k, t0);
	int64_t known = 0, in = 0;

	for (i = i ? i - 1 : 0; i < k->n && k->p[i].t_ns <= t1; i++) {
		int64_t dt = holds(k, i, t0, t1);

		known += dt;
		if (k->p[i].value & bits)
			in += dt;
	}
	return known ? QTY((int64_t)llround((double)in / (double)known * 1e6))
		     : QTY_NONE(k->n || k->st == ST_OK ? ST_UNKNOWN : k->st);
}

struct qty track_rate(const struct track *k, int64_t t0, int64_t t1)
{
	size_t i = find(k, t0);
	double grown = 0;
	int64_t from, to = 0;

	if (!k->n)
		return QTY_NONE(k->st == ST_OK ? ST_UNKNOWN : k->st);
	i = i && (i == k->n || k->p[i].t_ns > t0) ? i - 1 : i;
	from = k->p[i].t_ns > t0 ? k->p[i].t_ns : t0;
	for (; i + 1 < k->n && k->p[i].t_ns < t1; i++) {
		const struct track_point *a = &k->p[i], *b = a + 1;
		double d = (double)(b->value >= a->value ? b->value - a->value : b->value);
		int64_t x = a->t_ns > t0 ? a->t_ns : t0, y = b->t_ns < t1 ? b->t_ns : t1;

		if (y > x)
			grown += d * (double)(y - x) / (double)(b->t_ns - a->t_ns);
		to = y;
	}
	if (k->last_ns < t1 && k->last_ns > to)
		to = k->last_ns;
	else if (k->last_ns >= t1)
		to = t1;
	return to > from ? QTY((int64_t)llround(fmin(grown / (double)(to - from), 1) * 1e6))
			 : QTY_NONE(ST_UNKNOWN);
}
