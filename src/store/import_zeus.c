/* import_zeus.c: the log of a ZeusMonitor: a measurement window a row, with its length in s and the
 * energy of each GPU in J ("gpu0_energy"). A window is one run. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "store/import_format.h"

struct zeus {
	struct csv csv;
	int window, elapsed;
};

/* "gpu12_energy" → 5, the digits' length in *n; 0 when it is not one. */
static bool is_gpu_column(const char *head, size_t *n)
{
	if (!str_starts(head, "gpu") || !isdigit((unsigned char)head[3]))
		return false;
	*n = strspn(head + 3, "0123456789");
	return !strcmp(head + 3 + *n, "_energy") && *n < 8;
}

static enum status read_row(struct zeus *z, struct run_rec *r, struct err *e)
{
	enum status st = import_qty(&z->csv, z->elapsed, UNIT_TIME, "s", &r->wall_ns, e);
	size_t n, gpus = 0;
	char key[32];

	if (!st && (r->wall_ns.st || r->wall_ns.v <= 0))
		return csv_bad(&z->csv, z->elapsed, e, "expected seconds, more than 0");
	for (size_t i = 0; i < z->csv.n_head && !st; i++) {
		struct dev_rec *d;

		if (!is_gpu_column(z->csv.head[i], &n))
			continue;
		d = run_rec_dev(r);
		if (!d)
			return import_no_memory(e);
		snprintf(key, sizeof(key), "index:%.*s", (int)n, z->csv.head[i] + 3);
		if (!rec_set(&d->key, key))
			return import_no_memory(e);
		d->kind = DEV_GPU;
		d->counted = true;
		gpus++;
		st = import_qty(&z->csv, (int)i, UNIT_ENERGY, "J", &d->energy_uj, e);
		if (!st && d->energy_uj.st == ST_OK)
			d->method = ENERGY_IMPORTED;
		if (!st && d->energy_uj.st == ST_OK && d->energy_uj.v < 0)
			return csv_bad(&z->csv, (int)i, e, "must not be negative");
	}
	if (st)
		return st;
	if (gpus && !run_rec_axis_find(r, "workers")) {
		char text[24];

		if (!run_rec_axis(r, "workers",
			    unit_format(UNIT_NONE, (int64_t)gpus, text, sizeof(text)), UNIT_NONE,
			    QTY((int64_t)gpus)))
			return import_no_memory(e);
	}
	if (z->window >= 0 && !csv_missing(&z->csv, z->window) &&
		!rec_set(&r->task, csv_text(&z->csv, z->window)))
		return import_no_memory(e);
	return run_rec_total(r) ? ST_OK : import_no_memory(e);
}

static enum status read_zeus(const char *file, const char *text, size_t len,
	const struct import_opts *o, struct import_sink *sink, struct err *e)
{
	struct zeus z = {.window = -1};
	struct run_rec r;
	size_t n;
	bool any = false;
	enum status st = csv_open_text(&z.csv, file, text, len, 0, e);

	if (st)
		return st;
	z.window = csv_column(&z.csv, "window_name");
	st = csv_need(&z.csv, "elapsed_time", &z.elapsed, e);
	for (size_t i = 0; i < z.csv.n_head; i++)
		any |= is_gpu_column(z.csv.head[i], &n);
	if (!st && !any)
		st = err_at(e, file, 1, 0,
			"expected columns like 'gpu0_energy' (for a power log: zeus-power)");
	while (!st && !(st = csv_next(&z.csv, e))) {
		st = import_begin(&r, "zeus", o, e);
		if (st)
			break;
		st = read_row(&z, &r, e);
		if (st)
			run_rec_release(&r);
		else
			st = import_end(&r, sink, e);
	}
	csv_release(&z.csv);
	return st == ST_NOT_FOUND ? ST_OK : st;
}

const struct import_format import_zeus = {
	.name = "zeus",
	.what = "the log of a ZeusMonitor (window_name, elapsed_time, gpu0_energy, …)",
	.read = read_zeus,
};
