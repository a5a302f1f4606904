/* law.c: the table of families and what holds for every row. */
#include "model/law.h"

#include <math.h>
#include <string.h>

#include "model/law_rows.h"

static const struct law *const rows[] = {
	&law_constant,
	&law_power,
	&law_offset,
	&law_broken,
	&law_hinge,
	&law_device_cap,
	&law_device_clock,
	&law_interp_falls,
	&law_interp_rises,
	&law_interp_free,
	&law_parabola,
	&law_amdahl,
	&law_usl,
	&law_ring,
	&law_tree,
	&law_pmnf,
	&law_waiting_energy,
	&law_waiting_power,
	&law_cube,
	&law_cube_mixed,
	&law_piecewise,
};

const struct law *const *law_table(unsigned *n)
{
	*n = sizeof(rows) / sizeof(rows[0]);
	return rows;
}

const struct law *law_find(const char *name)
{
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!strcmp(rows[i]->name, name))
			return rows[i];
	return NULL;
}

bool law_applies(const struct law *l, enum quantity q, enum factor f)
{
	return (l->quantities & QTY_BIT(q)) && (l->factors & FACTOR_BIT(f));
}

double law_eval(const struct law *l, const struct shape *sh, double x)
{
	return l->eval(l, sh, x);
}

void law_jacobian(const struct law *l, const struct shape *sh, double x, double *d)
{
	if (l->jacobian) {
		l->jacobian(l, sh, x, d);
		return;
	}
	for (unsigned i = 0; i < l->n_shown; i++) {
		struct shape up = *sh, down = *sh;
		double h = 1e-5 * fmax(fabs(sh->p[i]), 1e-8);

		up.p[i] += h;
		down.p[i] -= h;
		d[i] = (log(l->eval(l, &up, x)) - log(l->eval(l, &down, x))) / (2 * h);
		if (!isfinite(d[i]))
			d[i] = 0;
	}
}

int law_direction(const struct pts *p)
{
	double sw = 0, sx = 0, sy = 0, sxy = 0, sxx = 0;

	for (unsigned i = 0; i < p->n; i++) {
		sw += p->w[i];
		sx += p->w[i] * p->lx[i];
		sy += p->w[i] * p->ly[i];
	}
	for (unsigned i = 0; i < p->n; i++) {
		double dx = p->lx[i] - sx / sw;

		sxy += p->w[i] * dx * (p->ly[i] - sy / sw);
		sxx += p->w[i] * dx * dx;
	}
	if (fabs(sxy) <= 1e-12 * sxx)
		return 0;
	return sxy > 0 ? 1 : -1;
}

const char *factor_name(enum factor f)
{
	static const char *const names[FACTOR_COUNT] = {
		"workers", "power_limit_w", "clock_mhz", "cpu_rate_pct"};

	return (unsigned)f < FACTOR_COUNT ? names[f] : "unknown";
}

const char *quantity_name(enum quantity q)
{
	static const char *const names[QTY_COUNT] = {"time", "power", "energy"};

	return (unsigned)q < QTY_COUNT ? names[q] : "unknown";
}
