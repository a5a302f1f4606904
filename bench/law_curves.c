/* law_curves.c: points and fitted curves of one series of a tidy file, for plots.
 *
 *   law_curves FILE X Y COLUMN=VALUE…
 *
 * X is n_gpus, n_accelerators, power_limit_w or sm_clock_mhz; Y is time_s, time, mean_power_w or
 * energy_j; the rest selects rows. Prints lines "points|FAMILY|combined|lo|hi <tab> x <tab> y".
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "model/combine.h"
#include "model/predict.h"
#include "tidy.h"

#define STEPS 60

static bool selected(const struct tidy *t, size_t row, int n, char **terms)
{
	for (int i = 0; i < n; i++) {
		const char *eq = strchr(terms[i], '=');
		char name[128];

		if (!eq)
			return false;
		snprintf(name, sizeof(name), "%.*s", (int)(eq - terms[i]), terms[i]);
		if (strcmp(tidy_text(t, row, name), eq + 1))
			return false;
	}
	return true;
}

static enum factor factor_of(const char *x)
{
	if (!strcmp(x, "power_limit_w"))
		return FACTOR_POWER_LIMIT;
	return !strcmp(x, "sm_clock_mhz") ? FACTOR_CLOCK : FACTOR_WORKERS;
}

static enum quantity quantity_of(const char *y)
{
	if (!strcmp(y, "mean_power_w"))
		return QTY_POWER;
	return !strcmp(y, "energy_j") ? QTY_ENERGY : QTY_TIME;
}

static void print_curves(const struct selection *s)
{
	const struct series *d = &s->series;

	for (unsigned i = 0; i < d->n; i++)
		printf("points\t%.6g\t%.6g\n", d->x[i], d->y[i]);
	for (int k = 0; k <= STEPS; k++) {
		double x = exp(d->lx[0] + (d->lx[d->n - 1] - d->lx[0]) * k / STEPS);
		struct prediction p;

		for (unsigned j = 0; j < s->n_fits; j++)
			if (s->fits[j].st == ST_OK)
				printf("%s\t%.6g\t%.6g\n", s->fits[j].law->name, x,
					law_eval(s->fits[j].law, &s->fits[j].sh, x));
		if (predict_at(s, x, 0.9, &p, NULL) == ST_OK)
			printf("combined\t%.6g\t%.6g\nlo\t%.6g\t%.6g\nhi\t%.6g\t%.6g\n", x,
				p.y.value, x, p.y.lo, x, p.y.hi);
	}
}

int main(int argc, char **argv)
{
	struct selection *s = mem_calloc(1, sizeof(*s));
	struct obs *o = NULL;
	struct series d;
	struct tidy t = {0};
	struct err e = ERR_INIT;
	char msg[256] = "usage: law_curves FILE X Y COLUMN=VALUE…";
	size_t n = 0;
	int rc = 1;

	if (argc < 4 || !s || tidy_read(argv[1], &t, msg, sizeof(msg)) < 0)
		goto out;
	o = mem_calloc(t.n_rows + 1, sizeof(*o));
	for (size_t row = 0; o && row < t.n_rows; row++) {
		if (!selected(&t, row, argc - 4, argv + 4))
			continue;
		for (int f = 0; f < FACTOR_COUNT; f++)
			o[n].x[f] = NAN;
		for (int q = 0; q < QTY_COUNT; q++)
			o[n].y[q] = NAN;
		o[n].x[FACTOR_WORKERS] = tidy_number(&t, row, "n_gpus");
		o[n].y[QTY_POWER] = tidy_number(&t, row, "mean_power_w");
		o[n].x[factor_of(argv[2])] = tidy_number(&t, row, argv[2]);
		o[n].y[quantity_of(argv[3])] = tidy_number(&t, row, argv[3]);
		n++;
	}
	if (!o || series_build(o, n, factor_of(argv[2]), quantity_of(argv[3]), &d, &e) != ST_OK ||
		select_laws(&d, s, &e) != ST_OK) {
		snprintf(msg, sizeof(msg), "%.200s", e.msg);
		goto out;
	}
	print_curves(s);
	rc = 0;
out:
	if (rc)
		fprintf(stderr, "law_curves: %s\n", msg);
	mem_free(s);
	mem_free(o);
	tidy_release(&t);
	return rc;
}
