#include "cmd/site_laws.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/laws.h"
#include "model/predict.h"

/* Caps in whole steps of 5 W and more between the lowest and the highest that were measured, both
 * included: the laws know what lies between. Returns their number. */
static size_t caps_between(const struct law_series *s, double *cap)
{
	double lo = INFINITY, hi = 0, step;
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		double x = s->obs[i].x[FACTOR_POWER_LIMIT];

		if (!(x > 0))
			continue;
		lo = fmin(lo, x);
		hi = fmax(hi, x);
	}
	if (!(hi > 0))
		return 0;
	step = fmax(5, ceil((hi - lo) / (SITE_MAX_POINTS - 2)));
	for (double x = lo; x < hi - 0.5 * step; x += step)
		cap[n++] = x;
	cap[n++] = hi;
	return n;
}

static double workers_of(const struct law_series *s)
{
	double w = s->n ? s->obs[0].x[FACTOR_WORKERS] : NAN;

	return w >= 1 ? w : 1;
}

/* Of the series that describe this workload, the one with fewest workers: there a cap bites most,
 * so a bound on slowdown that holds there holds for larger jobs. */
static const struct law_series *find_series(
	const struct law_set *set, const char *name, enum quantity q)
{
	const struct law_series *best = NULL;

	for (size_t i = 0; i < set->n_series; i++) {
		const struct law_series *s = &set->series[i];

		if (strcmp(s->group->workload, name) || s->factor != FACTOR_POWER_LIMIT ||
			s->quantity != q || !s->sel)
			continue;
		if (!best || workers_of(s) < workers_of(best))
			best = s;
	}
	return best;
}

static enum status class_of(
	const struct law_set *set, const char *name, struct site_class *c, struct err *e)
{
	const struct law_series *time = find_series(set, name, QTY_TIME);
	const struct law_series *power = find_series(set, name, QTY_POWER);
	struct prediction p;
	double base = NAN;

	memset(c, 0, sizeof(*c));
	snprintf(c->name, sizeof(c->name), "%s", name);
	if (!time || !power)
		return err_set(e, ST_NOT_FOUND,
			"no law of %s against the power limit describes class '%s'; sweep "
			"power_limit for a "
			"job of that name, or give --classes",
			time ? "power" : "time", name);
	c->n = caps_between(time, c->cap_w);
	for (size_t i = c->n; i-- > 0;) {
		enum status st = predict_at(time->sel, c->cap_w[i], 0.9, &p, e);

		if (st)
			return st;
		if (isnan(base))
			base = p.y.value;
		c->time_ratio[i] = p.y.value / base;
		st = predict_at(power->sel, c->cap_w[i], 0.9, &p, e);
		if (st)
			return st;
		c->power_w[i] = p.y.value / workers_of(power);
	}
	return ST_OK;
}

enum status site_laws_read(const char *db, const char *campaign, const struct site_trace *trace,
	struct site_class *out, struct err *e)
{
	struct campaign_info info = {0};
	struct law_set set = {0};
	struct store *s = NULL;
	enum status st = store_open(store_default_path(db), false, &s, e);

	if (!st)
		st = store_campaign_find(s, campaign, &info, e);
	if (!st)
		st = law_set_read_gpus(s, info.id, &set, e); /* hosts have an option of their own */
	if (!st)
		st = law_set_fit(&set, 0, e);
	for (size_t i = 0; i < trace->n_classes && !st; i++)
		st = class_of(&set, trace->classes[i], &out[i], e);
	law_set_release(&set);
	campaign_info_release(&info);
	if (s)
		store_close(s);
	return st;
}
