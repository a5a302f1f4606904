/* export_codecarbon.c: the columns of CodeCarbon's emissions.csv, in its units: s, W, kWh. What
 * wattlaw does not know (emissions, place) stays empty. Simulated and imported runs say so in
 * tracking_mode. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "store/export_format.h"

#define UJ_PER_KWH 3.6e12

struct rows {
	struct str *out;
};

/* Energy and mean power of the counted devices of one kind; NAN when one is unknown or there is
 * none. */
static void sum_kind(const struct run_rec *r, enum dev_kind kind, double *kwh, double *watts)
{
	bool any = false;

	*kwh = *watts = 0;
	for (size_t i = 0; i < r->n_devs; i++) {
		const struct dev_rec *d = &r->devs[i];

		if (d->kind != kind || !d->counted)
			continue;
		any = true;
		*kwh += d->energy_uj.st == ST_OK ? (double)d->energy_uj.v / UJ_PER_KWH : NAN;
		*watts += d->mean_mw.st == ST_OK ? (double)d->mean_mw.v / 1e3 : NAN;
	}
	if (!any)
		*kwh = *watts = NAN;
}

static void text_cell(struct str *out, const char *text)
{
	str_add(out, ",\"");
	for (; text && *text; text++) {
		if (*text == '"')
			str_addc(out, '"');
		str_addc(out, *text);
	}
	str_addc(out, '"');
}

static void number_cell(struct str *out, double v)
{
	str_addc(out, ',');
	export_number(out, v);
}

static bool each_run(void *arg, const struct run_rec *r)
{
	static const enum dev_kind kinds[3] = {DEV_CPU, DEV_GPU, DEV_DRAM};
	struct str *out = ((struct rows *)arg)->out;
	double kwh[3], watts[3];
	const char *gpu = NULL;
	time_t t = (time_t)(r->start_realtime_ns / 1000000000);
	char stamp[32] = "";
	struct tm tm;
	int gpus = 0;

	if (r->start_realtime_ns > 0 && gmtime_r(&t, &tm))
		strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
	for (size_t i = 0; i < r->n_devs; i++) {
		if (r->devs[i].kind == DEV_GPU && r->devs[i].counted) {
			gpu = r->devs[i].name;
			gpus++;
		}
	}
	str_add(out, stamp);
	text_cell(out, r->workload);
	text_cell(out, r->run_id);
	number_cell(out, r->wall_ns.st == ST_OK ? (double)r->wall_ns.v / 1e9 : NAN);
	str_add(out, ",,"); /* emissions and their rate */
	for (int i = 0; i < 3; i++) {
		sum_kind(r, kinds[i], &kwh[i], &watts[i]);
		number_cell(out, watts[i]);
	}
	for (int i = 0; i < 3; i++)
		number_cell(out, kwh[i]);
	number_cell(out, r->energy_uj.st == ST_OK ? (double)r->energy_uj.v / UJ_PER_KWH : NAN);
	/* where, on what system, and CodeCarbon's version: country_name to cpu_model */
	str_add(out, ",,,,,,,,,,");
	if (gpus)
		number_cell(out, gpus);
	else
		str_addc(out, ',');
	text_cell(out, gpu);
	str_add(out, ",,,");
	text_cell(out, export_label(r));
	str_add(out, ",,\n");
	return !out->failed;
}

static enum status write_codecarbon(
	struct store *s, int64_t campaign_id, struct str *out, struct err *e)
{
	struct rows rows = {out};
	enum status st;

	str_add(out,
		"timestamp,project_name,run_id,duration,emissions,emissions_rate,cpu_power,gpu_"
		"power,"
		"ram_power,cpu_energy,gpu_energy,ram_energy,energy_consumed,country_name,"
		"country_iso_code,region,cloud_provider,cloud_region,os,python_version,"
		"codecarbon_version,cpu_count,cpu_model,gpu_count,gpu_model,longitude,latitude,"
		"ram_total_size,tracking_mode,on_cloud,pue\n");
	st = store_each_run(s, campaign_id, each_run, &rows, e);
	return export_done(out, st, e);
}

const struct export_format export_codecarbon = {
	.name = "codecarbon",
	.what = "the columns of CodeCarbon's emissions.csv (s, W, kWh)",
	.write = write_codecarbon,
};
