/* export_metrics.c: Prometheus's textfile format and OpenMetrics: energy as *_joules_total, power
 * as
 * *_watts, with the labels that GPU exporters use (gpu, UUID, modelName, Hostname). What is unknown
 * has no line. All lines of one name stand together, as both formats ask. */
#include <math.h>

#include "store/export_format.h"

enum metric { M_RUN_JOULES, M_RUN_SECONDS, M_RUN_WATTS, M_DEV_JOULES, M_DEV_WATTS, M_COUNT };

static const struct {
	const char *name, *type, *help; /* a counter's name without _total */
} metrics[M_COUNT] = {
	[M_RUN_JOULES] = {"wattlaw_run_energy_joules", "counter",
		"Energy of the run's measured components."},
	[M_RUN_SECONDS] = {"wattlaw_run_duration_seconds", "gauge", "Wall time of the run."},
	[M_RUN_WATTS] = {"wattlaw_run_power_watts", "gauge",
		"Mean power of the run's measured components."},
	[M_DEV_JOULES] = {"wattlaw_device_energy_joules", "counter",
		"Energy of the device during the run."},
	[M_DEV_WATTS] = {"wattlaw_device_power_watts", "gauge",
		"Mean power of the device during the run."},
};

struct writer {
	struct str *out;
	enum metric metric;
	bool any, open_metrics;
};

static void label(struct str *out, const char *name, const char *value)
{
	str_addf(out, "%s=\"", name);
	for (; value && *value; value++) {
		if (*value == '\\' || *value == '"')
			str_addc(out, '\\');
		if (*value == '\n')
			str_add(out, "\\n");
		else
			str_addc(out, *value);
	}
	str_addc(out, '"');
}

static void line(struct writer *w, const struct run_rec *r, long dev, double value)
{
	bool counter = metrics[w->metric].type[0] == 'c';
	/* OpenMetrics names the family without _total, Prometheus with it. */
	const char *family = counter && !w->open_metrics ? "_total" : "";
	struct str *out = w->out;

	if (!isfinite(value))
		return;
	if (!w->any)
		str_addf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", metrics[w->metric].name, family,
			metrics[w->metric].help, metrics[w->metric].name, family,
			metrics[w->metric].type);
	w->any = true;
	str_addf(out, "%s%s{", metrics[w->metric].name, counter ? "_total" : "");
	label(out, "run_id", r->run_id);
	str_addc(out, ',');
	label(out, "campaign", r->campaign);
	str_addc(out, ',');
	label(out, "workload", r->workload);
	str_addc(out, ',');
	label(out, "origin", export_label(r));
	if (dev >= 0) {
		const struct dev_rec *d = &r->devs[dev];

		str_addf(out, ",gpu=\"%ld\",", dev);
		label(out, "UUID", d->key);
		str_addc(out, ',');
		label(out, "kind", dev_kind_name(d->kind));
		str_addc(out, ',');
		label(out, "modelName", d->name);
	}
	str_addc(out, ',');
	label(out, "Hostname", dev >= 0 && r->devs[dev].host ? r->devs[dev].host : r->host);
	str_add(out, "} ");
	export_number(out, value);
	str_addc(out, '\n');
}

static double outside(struct qty q, double per)
{
	return q.st == ST_OK ? (double)q.v / per : NAN;
}

static bool each_run(void *arg, const struct run_rec *r)
{
	struct writer *w = arg;

	if (w->metric == M_RUN_JOULES)
		line(w, r, -1, outside(r->energy_uj, 1e6));
	else if (w->metric == M_RUN_SECONDS)
		line(w, r, -1, outside(r->wall_ns, 1e9));
	else if (w->metric == M_RUN_WATTS)
		line(w, r, -1, outside(r->energy_uj, 1e6) / outside(r->wall_ns, 1e9));
	for (size_t i = 0; i < r->n_devs; i++) {
		if (w->metric == M_DEV_JOULES)
			line(w, r, (long)i, outside(r->devs[i].energy_uj, 1e6));
		else if (w->metric == M_DEV_WATTS)
			line(w, r, (long)i, outside(r->devs[i].mean_mw, 1e3));
	}
	return !w->out->failed;
}

static enum status write_metrics(
	struct store *s, int64_t campaign_id, bool open_metrics, struct str *out, struct err *e)
{
	enum status st = ST_OK;

	for (int m = 0; m < M_COUNT && !st; m++) {
		struct writer w = {out, (enum metric)m, false, open_metrics};

		st = store_each_run(s, campaign_id, each_run, &w, e);
	}
	if (open_metrics)
		str_add(out, "# EOF\n");
	return export_done(out, st, e);
}

static enum status write_prometheus(
	struct store *s, int64_t campaign_id, struct str *out, struct err *e)
{
	return write_metrics(s, campaign_id, false, out, e);
}

static enum status write_openmetrics(
	struct store *s, int64_t campaign_id, struct str *out, struct err *e)
{
	return write_metrics(s, campaign_id, true, out, e);
}

const struct export_format export_prometheus = {
	.name = "prometheus",
	.what = "Prometheus text for node_exporter's textfile collector",
	.write = write_prometheus,
};

const struct export_format export_openmetrics = {
	.name = "openmetrics",
	.what = "OpenMetrics text",
	.write = write_openmetrics,
};
