/* scenario_gpu.c: the keys of a [gpu N] section. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ini.h"
#include "base/units.h"
#include "sim/profile.h"
#include "sim/scenario_int.h"

#define N_OF(a) (sizeof(a) / sizeof((a)[0]))

static enum status set_obeyed(
	const struct ini *ini, const struct ini_entry *en, void *at, struct err *e)
{
	if (strcmp(en->value, "normal") && strcmp(en->value, "ignored"))
		return err_at(e, ini->file, en->line, en->value_col,
			"'%s' must be normal or ignored", en->value);
	*(int32_t *)at = strcmp(en->value, "normal") ? SET_IGNORED : SET_NORMAL;
	return ST_OK;
}

#define C(key, kind, unit, member)                                                                 \
	FIELD(struct sim_gpu_cfg, key, kind, unit, member, .required = false)
#define SET(key, member) FIELD(struct sim_gpu_cfg, key, F_OWN, UNIT_NONE, member, .own = set_obeyed)

static const struct field keys[] = {
	C("name", F_TEXT, UNIT_NONE, prof.model),
	C("uuid", F_TEXT, UNIT_NONE, uuid),
	C("limit_min", F_I64, UNIT_POWER, prof.limit_min_mw),
	C("limit_max", F_I64, UNIT_POWER, prof.limit_max_mw),
	C("limit_default", F_I64, UNIT_POWER, prof.limit_def_mw),
	C("power_limit", F_I64, UNIT_POWER, limit_mw),
	C("limit_clamp", F_I64, UNIT_POWER, clamp_mw),
	C("clock_clamp", F_I64, UNIT_FREQ, clock_clamp_khz),
	SET("limit_set", limit_set),
	SET("clock_set", clock_set),
	C("counter_refresh", F_I64, UNIT_TIME, prof.counter_refresh_ns),
	C("counter_start", F_I64, UNIT_ENERGY, counter_start_uj),
	C("counter_wrap", F_I64, UNIT_ENERGY, counter_wrap_uj),
	C("power_refresh", F_I64, UNIT_TIME, prof.power_refresh_ns),
	C("power_window", F_I64, UNIT_TIME, prof.power_window_ns),
	C("average_window", F_I64, UNIT_TIME, prof.average_window_ns),
	C("cap_lag", F_I64, UNIT_TIME, prof.cap_lag_ns),
	C("idle_power", D_UNIT, UNIT_POWER, prof.idle_mw),
	C("ambient", D_UNIT, UNIT_TEMP, prof.ambient_c),
	C("gain", D_UNIT, UNIT_RATIO, prof.gain),
	C("noise", D_UNIT, UNIT_RATIO, prof.noise),
	C("util", D_UNIT, UNIT_RATIO, util),
	C("memory_used", F_I64, UNIT_BYTES, mem_used),
};

static enum status parse_pci(
	struct sim_gpu_cfg *g, const struct ini *ini, const struct ini_entry *en, struct err *e)
{
	unsigned domain, bus, dev;
	int n = 0;

	if (sscanf(en->value, "%x:%x:%x.0%n", &domain, &bus, &dev, &n) != 3 || en->value[n] ||
		bus > 255 || dev > 31)
		return err_at(e, ini->file, en->line, en->value_col,
			"'%s' is no PCI address such as 0000:3b:00.0", en->value);
	g->domain = domain;
	g->bus = bus;
	g->device = dev;
	return ST_OK;
}

/* "3g.20gb, 3g.20gb": slices and memory of each instance. */
static enum status parse_mig(
	struct sim_gpu_cfg *g, const struct ini *ini, const struct ini_entry *en, struct err *e)
{
	struct ini_list l;
	enum status st = ini_list(ini, en, &l, e);
	int slices = 0;

	if (st)
		return st;
	g->n_mig = 0;
	for (size_t i = 0; !st && i < l.n; i++) {
		int s, gb, n = 0;

		if (sscanf(l.items[i], "%dg.%dgb%n", &s, &gb, &n) != 2 || l.items[i][n] || s < 1 ||
			s > 7 || gb < 1 || gb > 1000 || strlen(l.items[i]) >= 16)
			st = err_at(e, ini->file, en->line, l.cols[i],
				"'%s' is no MIG instance such as 3g.20gb", l.items[i]);
		else if (g->n_mig == SIM_MIG || (slices += s) > 7)
			st = err_at(e, ini->file, en->line, l.cols[i],
				"the instances need more than the 7 slices of a device");
		if (st)
			break;
		strcpy(g->mig[g->n_mig].name, l.items[i]);
		g->mig[g->n_mig].slices = s;
		g->mig[g->n_mig++].mem_bytes = (int64_t)gb << 30;
	}
	if (!st && !g->prof.mig)
		st = err_at(e, ini->file, en->line, en->value_col, "a %s has no MIG", g->prof.name);
	ini_list_release(&l);
	return st;
}

/* "300W 60W period 200ms duty 50%" */
static enum status parse_square(
	struct sim_gpu_cfg *g, const struct ini *ini, const struct ini_entry *en, struct err *e)
{
	char buf[128], *w[7] = {NULL}, *save = NULL;
	struct err why = ERR_INIT;
	size_t n = 0;
	int64_t duty;

	if (strlen(en->value) < sizeof(buf)) {
		strcpy(buf, en->value);
		for (char *p = strtok_r(buf, " \t", &save); p && n < 7;
			p = strtok_r(NULL, " \t", &save))
			w[n++] = p;
	}
	if (n != 6 || strcmp(w[2], "period") || strcmp(w[4], "duty"))
		return err_at(e, ini->file, en->line, en->value_col,
			"write a square wave as '300W 60W period 200ms duty 50%%'");
	if (unit_parse(UNIT_POWER, w[0], &g->sq_hi_mw, &why) ||
		unit_parse(UNIT_POWER, w[1], &g->sq_lo_mw, &why) ||
		unit_parse(UNIT_TIME, w[3], &g->sq_period_ns, &why) ||
		unit_parse(UNIT_RATIO, w[5], &duty, &why))
		return err_at(e, ini->file, en->line, en->value_col, "%s", why.msg);
	if (g->sq_period_ns < 1000000 || g->sq_period_ns > INT64_C(1000000000000) || duty < 0 ||
		duty > 1000000 || g->sq_hi_mw < 0 || g->sq_lo_mw < 0 ||
		g->sq_hi_mw > field_bound(UNIT_POWER) || g->sq_lo_mw > field_bound(UNIT_POWER))
		return err_at(e, ini->file, en->line, en->value_col,
			"the period must lie between 1ms and 1000s, the duty between 0%% and "
			"100%%");
	g->sq_high_ns = g->sq_period_ns / 1000000 * duty;
	return ST_OK;
}

static enum status check_gpu(const struct sim_gpu_cfg *g, const struct ini *ini,
	const struct ini_entry *en, struct err *e)
{
	const struct gpu_profile *p = &g->prof;
	const char *what = NULL;

	if (p->power_refresh_ns < 1000000 || p->power_window_ns < 100000 || p->cap_lag_ns < 1000000)
		what = "refresh and lag must be at least 1ms, the window 100us";
	else if (p->counter_refresh_ns != 0 && p->counter_refresh_ns < 1000000)
		what = "counter_refresh must be 0 (no counter) or at least 1ms";
	else if (p->limit_min_mw > p->limit_max_mw || p->limit_min_mw <= 0)
		what = "limit_min must be positive and not above limit_max";
	else if (p->noise > 0.5 || p->gain > 2)
		what = "noise must be at most 50%, gain at most 200%";
	else if (p->power_kind == GPU_POWER_AVERAGE && p->average_window_ns == 0)
		what = "this device's default reading is its average; it needs a window";
	else if (!g->uuid[0])
		what = "a device needs a UUID";
	return what ? err_at(e, ini->file, en->line, en->value_col, "%s", what) : ST_OK;
}

enum status scenario_gpu_entry(
	struct sim_gpu_cfg *g, const struct ini *ini, const struct ini_entry *en, struct err *e)
{
	const char *names[N_OF(keys) + 7];
	const char *near;
	enum status st;

	if (!strcmp(en->key, "profile"))
		return ST_OK; /* read when the device was made */
	if (!strcmp(en->key, "pci"))
		return parse_pci(g, ini, en, e);
	if (!strcmp(en->key, "mig"))
		return parse_mig(g, ini, en, e);
	if (!strcmp(en->key, "square"))
		return parse_square(g, ini, en, e);
	if (!strcmp(en->key, "minor")) {
		int64_t v;

		if (unit_parse(UNIT_NONE, en->value, &v, NULL) || v < 0 || v > 255)
			return err_at(e, ini->file, en->line, en->value_col,
				"'%s' is no minor number from 0 to 255", en->value);
		g->minor = (uint32_t)v;
		return ST_OK;
	}
	for (size_t k = 0; k < N_OF(keys); k++) {
		names[k] = keys[k].key;
		if (strcmp(keys[k].key, en->key))
			continue;
		st = field_set(ini, en, &keys[k], g, e);
		return st ? st : check_gpu(g, ini, en, e);
	}
	names[N_OF(keys)] = "profile";
	names[N_OF(keys) + 1] = "pci";
	names[N_OF(keys) + 2] = "mig";
	names[N_OF(keys) + 3] = "square";
	names[N_OF(keys) + 4] = "minor";
	names[N_OF(keys) + 5] = "power";
	names[N_OF(keys) + 6] = "load";
	near = str_nearest(en->key, names, N_OF(names));
	return err_at(e, ini->file, en->line, en->key_col, "unknown key '%s' in [gpu]%s%s%s",
		en->key, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}
