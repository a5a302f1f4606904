/* import_smi.c: tables of GPU readings over time, one row a GPU and moment: nvidia-smi --format=csv
 * in any column order, the GPU series of the MIT Supercloud data set, and Zeus's power logs. One
 * file is one run. Field names changed over the years ("power.draw", "power.draw.average"), so
 * columns are found by any of their names; a missing reading ("[N/A]") is left out, never 0. */
#include <stdio.h>
#include <string.h>

#include "store/import_series.h"

/* Names of one channel, best first, and the unit of a bare number. */
struct smi_channel {
	enum channel ch;
	const char *bare;
	const char *names[6];
};

static const struct smi_channel channels[] = {
	{CH_POWER, "W",
		{"power.draw", "power.draw.average", "power.draw.instant", "power_draw_W", "power",
			NULL}},
	{CH_ENERGY, "mJ", {"total_energy_consumption", "energy", NULL}},
	{CH_UTIL, "%", {"utilization.gpu", "utilization_gpu_pct", NULL}},
	{CH_MEM_UTIL, "%", {"utilization.memory", "utilization_memory_pct", NULL}},
	{CH_MEM_USED, "MiB", {"memory.used", "memory_used_MiB", NULL}},
	{CH_TEMP, "C", {"temperature.gpu", "temperature_gpu", NULL}},
	{CH_CLOCK, "MHz",
		{"clocks.current.sm", "clocks.sm", "clocks.current.graphics", "clocks.gr", NULL}},
	{CH_MEM_CLOCK, "MHz", {"clocks.current.memory", "clocks.mem", NULL}},
};
#define N_CHANNELS (sizeof(channels) / sizeof(channels[0]))

struct smi_file {
	struct csv csv;
	const struct import_opts *o;
	const char *power_unit; /* of a bare number */
	int time, key, name, limit;
	int col[N_CHANNELS];
};

static enum status find_columns(struct smi_file *f, struct err *e)
{
	static const char *const time[] = {"timestamp", "time", NULL};
	static const char *const key[] = {"uuid", "gpu_uuid", "pci.bus_id", "gpu_bus_id", "index",
		"gpu_index", "gpu_id", NULL};
	static const char *const name[] = {"name", "gpu_name", NULL};
	static const char *const limit[] = {"enforced.power.limit", "power.limit", NULL};

	f->time = import_column(&f->csv, f->o, time);
	f->key = import_column(&f->csv, f->o, key);
	f->name = import_column(&f->csv, f->o, name);
	f->limit = import_column(&f->csv, f->o, limit);
	for (size_t i = 0; i < N_CHANNELS; i++)
		f->col[i] = import_column(&f->csv, f->o, channels[i].names);
	if (f->time < 0)
		return csv_need(&f->csv, "timestamp", &f->time, e);
	if (f->col[0] < 0 && f->col[1] < 0)
		return csv_need(&f->csv, "power.draw", &f->col[0], e);
	return ST_OK;
}

static bool blank(int64_t v)
{
	/* What DCGM and NVML put where there is no value. */
	return v >= INT64_C(140737488355328);
}

static enum status read_channel(
	struct smi_file *f, struct run_rec *r, int dev, size_t i, int64_t t_ns, struct err *e)
{
	static const enum unit units[N_CHANNELS] = {UNIT_POWER, UNIT_ENERGY, UNIT_RATIO, UNIT_RATIO,
		UNIT_BYTES, UNIT_TEMP, UNIT_FREQ, UNIT_FREQ};
	const char *bare = channels[i].ch == CH_POWER ? f->power_unit : channels[i].bare;
	struct qty v;
	enum status st = import_qty(&f->csv, f->col[i], units[i], bare, &v, e);

	if (st || v.st || blank(v.v))
		return st;
	if (v.v < 0 && channels[i].ch != CH_TEMP)
		return csv_bad(&f->csv, f->col[i], e, "must not be negative");
	return import_sample(r, dev, channels[i].ch, t_ns, v.v) ? ST_OK : import_no_memory(e);
}

static enum status read_limit(struct smi_file *f, struct dev_rec *d, struct err *e)
{
	struct knob_rec *k;
	struct qty v;
	enum status st = import_qty(&f->csv, f->limit, UNIT_POWER, "W", &v, e);

	if (st || v.st || d->n_knobs)
		return st;
	k = dev_rec_knob(d, "power_limit", UNIT_POWER);
	if (!k)
		return import_no_memory(e);
	k->enforced = v;
	return ST_OK;
}

static enum status read_row(struct smi_file *f, struct run_rec *r, struct err *e)
{
	const char *key = f->key >= 0 ? csv_text(&f->csv, f->key) : "";
	char named[96];
	enum status st = ST_OK;
	int64_t t_ns;
	int dev;

	if (!import_time(csv_text(&f->csv, f->time), &t_ns))
		return csv_bad(&f->csv, f->time, e,
			"'%s' is not a time; expected one like 2023/07/14 10:12:46.483",
			csv_text(&f->csv, f->time));
	/* An index means nothing outside its host and moment: say that it is one. */
	snprintf(named, sizeof(named), strlen(key) < 4 ? "index:%s" : "%s", *key ? key : "0");
	dev = import_device(r, named, f->name >= 0 ? csv_text(&f->csv, f->name) : NULL, DEV_GPU);
	if (dev < 0)
		return import_no_memory(e);
	for (size_t i = 0; i < N_CHANNELS && !st; i++) {
		if (f->col[i] >= 0)
			st = read_channel(f, r, dev, i, t_ns, e);
	}
	if (!st && f->limit >= 0)
		st = read_limit(f, &r->devs[dev], e);
	return st;
}

static enum status read_series(const char *source, const char *power_unit, const char *file,
	const char *text, size_t len, const struct import_opts *o, struct import_sink *sink,
	struct err *e)
{
	struct smi_file f = {.o = o, .power_unit = power_unit};
	struct run_rec r;
	enum status st = csv_open_text(&f.csv, file, text, len, 0, e);

	if (st)
		return st;
	st = find_columns(&f, e);
	if (!st)
		st = import_begin(&r, source, o, e);
	if (st)
		goto out;
	while (!(st = csv_next(&f.csv, e))) {
		st = read_row(&f, &r, e);
		if (st)
			break;
	}
	if (st == ST_NOT_FOUND)
		st = import_series_finish(&r, file, e);
	if (st)
		run_rec_release(&r);
	else
		st = import_end(&r, sink, e);
out:
	csv_release(&f.csv);
	return st;
}

static enum status read_smi(const char *file, const char *text, size_t len,
	const struct import_opts *o, struct import_sink *sink, struct err *e)
{
	return read_series("nvidia-smi", "W", file, text, len, o, sink, e);
}

static enum status read_supercloud(const char *file, const char *text, size_t len,
	const struct import_opts *o, struct import_sink *sink, struct err *e)
{
	return read_series("supercloud", "W", file, text, len, o, sink, e);
}

/* Zeus's monitor wrote "Time,Power" with milliwatts and no unit. */
static enum status read_zeus_power(const char *file, const char *text, size_t len,
	const struct import_opts *o, struct import_sink *sink, struct err *e)
{
	return read_series("zeus", "mW", file, text, len, o, sink, e);
}

const struct import_format import_smi = {
	.name = "nvidia-smi",
	.what = "nvidia-smi --query-gpu=timestamp,power.draw,… --format=csv",
	.read = read_smi,
};

const struct import_format import_supercloud = {
	.name = "supercloud",
	.what = "a GPU series of the MIT Supercloud data set",
	.read = read_supercloud,
};

const struct import_format import_zeus_power = {
	.name = "zeus-power",
	.what = "a power log of Zeus's monitor (Time,Power in mW)",
	.read = read_zeus_power,
};
