/* import_codecarbon.c: emissions.csv of CodeCarbon, one run a row; energies are kWh, power W,
 * duration s. Layouts differ by version, so columns are found by name and most may be missing.
 * CodeCarbon writes 0 where it could not measure: a 0 is unknown here. Its memory figure is a
 * model, not a sensor. */
#include <string.h>

#include "store/import_series.h"

struct carbon {
	struct csv csv;
	int time, project, id, duration, total, gpu_count, gpu_model, cpu_model, tracking;
	int energy[3], power[3];
};

static const struct {
	const char *energy, *power, *key, *note;
	enum dev_kind kind;
} parts[3] = {
	{"gpu_energy", "gpu_power", "gpu", NULL, DEV_GPU},
	{"cpu_energy", "cpu_power", "cpu",
		"CodeCarbon's figure: measured or estimated from the CPU's rating", DEV_CPU},
	{"ram_energy", "ram_power", "dram", "estimated by CodeCarbon, not measured", DEV_DRAM},
};

static enum status find_columns(struct carbon *c, const struct import_opts *o, struct err *e)
{
	enum status st = csv_need(&c->csv, "duration", &c->duration, e);

	if (!st)
		st = csv_need(&c->csv, "energy_consumed", &c->total, e);
	if (st)
		return st;
	c->project = import_column(&c->csv, o, (const char *const[]){"project_name", NULL});
	c->time = csv_column(&c->csv, "timestamp");
	c->id = csv_column(&c->csv, "run_id");
	c->tracking = csv_column(&c->csv, "tracking_mode");
	c->gpu_count = csv_column(&c->csv, "gpu_count");
	c->gpu_model = csv_column(&c->csv, "gpu_model");
	c->cpu_model = csv_column(&c->csv, "cpu_model");
	for (int i = 0; i < 3; i++) {
		c->energy[i] = csv_column(&c->csv, parts[i].energy);
		c->power[i] = csv_column(&c->csv, parts[i].power);
	}
	return ST_OK;
}

/* 0 and less are unknown. */
static enum status positive(
	struct carbon *c, int col, enum unit unit, const char *bare, struct qty *q, struct err *e)
{
	enum status st = import_qty(&c->csv, col, unit, bare, q, e);

	if (!st && q->st == ST_OK && q->v <= 0)
		*q = QTY_NONE(ST_UNKNOWN);
	return st;
}

static enum status read_part(struct carbon *c, struct run_rec *r, int i, struct err *e)
{
	struct dev_rec *d;
	struct qty energy, power;
	int model = i == 0 ? c->gpu_model : i == 1 ? c->cpu_model : -1;
	enum status st = positive(c, c->energy[i], UNIT_ENERGY, "kWh", &energy, e);

	if (!st)
		st = positive(c, c->power[i], UNIT_POWER, "W", &power, e);
	if (st || (energy.st && power.st && (i != 0 || csv_missing(&c->csv, c->gpu_count))))
		return st;
	d = run_rec_dev(r);
	if (!d || !rec_set(&d->key, parts[i].key) || !rec_set(&d->note, parts[i].note) ||
		!rec_set(&d->name, model >= 0 && !csv_missing(&c->csv, model)
					   ? csv_text(&c->csv, model)
					   : NULL))
		return import_no_memory(e);
	d->kind = parts[i].kind;
	d->counted = true;
	d->energy_uj = energy;
	d->mean_mw = power;
	d->method = energy.st == ST_OK ? ENERGY_IMPORTED : ENERGY_NONE;
	if (energy.st && !rec_set(&d->note, "CodeCarbon wrote 0: not measured"))
		return import_no_memory(e);
	return ST_OK;
}

static enum status read_row(struct carbon *c, struct run_rec *r, struct err *e)
{
	struct qty total, count;
	enum status st = import_qty(&c->csv, c->duration, UNIT_TIME, "s", &r->wall_ns, e);

	if (!st && r->wall_ns.st == ST_OK && r->wall_ns.v <= 0)
		return csv_bad(&c->csv, c->duration, e, "must be more than 0");
	if (!st)
		st = positive(c, c->total, UNIT_ENERGY, "kWh", &total, e);
	for (int i = 0; i < 3 && !st; i++)
		st = read_part(c, r, i, e);
	if (!st && c->gpu_count >= 0)
		st = import_qty(&c->csv, c->gpu_count, UNIT_NONE, NULL, &count, e);
	else
		count = QTY_NONE(ST_UNKNOWN);
	if (st)
		return st;
	if (!run_rec_total(r))
		return import_no_memory(e);
	/* The total of the file, which may include its own factor for the data centre. */
	r->energy_uj = total;
	r->net_uj = QTY_NONE(ST_UNKNOWN);
	r->method = total.st == ST_OK ? ENERGY_IMPORTED : ENERGY_NONE;
	if (count.st == ST_OK && count.v > 0 && count.v < 1000000 &&
		!run_rec_axis_find(r, "workers") &&
		!run_rec_axis(r, "workers", csv_text(&c->csv, c->gpu_count), UNIT_NONE, count))
		return import_no_memory(e);
	/* as our own export says it */
	r->simulated = c->tracking >= 0 && !strcmp(csv_text(&c->csv, c->tracking), "simulated");
	if (c->time >= 0)
		import_time(csv_text(&c->csv, c->time), &r->start_realtime_ns);
	if (c->project >= 0 && !csv_missing(&c->csv, c->project) &&
		!rec_set(&r->workload, csv_text(&c->csv, c->project)))
		return import_no_memory(e);
	return ST_OK;
}

static enum status read_codecarbon(const char *file, const char *text, size_t len,
	const struct import_opts *o, struct import_sink *sink, struct err *e)
{
	struct carbon c = {.time = -1};
	struct run_rec r;
	enum status st = csv_open_text(&c.csv, file, text, len, 0, e);

	if (st)
		return st;
	st = find_columns(&c, o, e);
	while (!st && !(st = csv_next(&c.csv, e))) {
		st = import_begin(&r, "codecarbon", o, e);
		if (st)
			break;
		st = read_row(&c, &r, e);
		if (st)
			run_rec_release(&r);
		else
			st = import_end(&r, sink, e);
	}
	csv_release(&c.csv);
	return st == ST_NOT_FOUND ? ST_OK : st;
}

const struct import_format import_codecarbon = {
	.name = "codecarbon",
	.what = "emissions.csv of CodeCarbon",
	.read = read_codecarbon,
};
