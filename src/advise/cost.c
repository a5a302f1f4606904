/* cost.c: see cost.h. */
#include "advise/cost.h"

#include <math.h>

#define J_PER_KWH 3.6e6

static struct interval scaled(const struct interval *v, double k)
{
	return (struct interval){v->value * k, v->lo * k, v->hi * k, v->level};
}

/* Time and energy of one plan err together, so bounds add bound to bound. */
static struct interval sum(const struct interval *a, const struct interval *b)
{
	return (struct interval){a->value + b->value, a->lo + b->lo, a->hi + b->hi, a->level};
}

void cost_of(const struct cost_terms *t, double workers, const struct interval *time_s,
	const struct interval *energy_j, struct cost *out)
{
	double pue = t->pue > 0 ? t->pue : 1, hosts;

	out->gpu_hours = scaled(time_s, workers / 3600);
	out->energy_kwh = scaled(energy_j, pue / J_PER_KWH);
	out->has_host = t->host_w > 0;
	if (out->has_host) {
		struct interval host;

		hosts = t->workers_per_host > 0 ? ceil(workers / t->workers_per_host) : 1;
		host = scaled(time_s, hosts * t->host_w * pue / J_PER_KWH);
		out->energy_kwh = sum(&out->energy_kwh, &host);
	}
	out->co2_g = scaled(&out->energy_kwh, t->carbon_g_kwh);
	out->units = scaled(&out->gpu_hours, t->units_per_gpu_hour);
	out->energy_only = !(t->per_gpu_hour >= 0);
	out->money = scaled(&out->energy_kwh, t->per_kwh);
	if (!out->energy_only) {
		struct interval rent = scaled(&out->gpu_hours, t->per_gpu_hour);

		/* a rented hour mostly has its electricity in it; a price of both is of both */
		out->money = isnan(t->per_kwh) ? rent : sum(&out->money, &rent);
	}
}
