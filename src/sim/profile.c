/* profile.c: read device and workload profiles. */
#include "sim/profile.h"

#include <stdio.h>
#include <string.h>

#include "sim/field.h"

extern const struct embed sim_gpu_files[];
extern const struct embed sim_workload_files[];

#define N_OF(a) (sizeof(a) / sizeof((a)[0]))

static enum status set_cc(
	const struct ini *ini, const struct ini_entry *en, void *profile, struct err *e)
{
	struct gpu_profile *p = profile;
	const char *v = en->value;

	if (strlen(v) != 3 || v[0] < '1' || v[0] > '9' || v[1] != '.' || v[2] < '0' || v[2] > '9')
		return err_at(e, ini->file, en->line, en->value_col,
			"'%s' is not a compute capability such as 7.0", v);
	p->cc_major = v[0] - '0';
	p->cc_minor = v[2] - '0';
	return ST_OK;
}

static enum status set_clocks(
	const struct ini *ini, const struct ini_entry *en, void *profile, struct err *e)
{
	struct gpu_profile *p = profile;
	struct ini_list l;
	enum status st = ini_list(ini, en, &l, e);

	if (st)
		return st;
	if (l.n > GPU_MEM_CLOCKS)
		st = err_at(e, ini->file, en->line, en->value_col, "more than %d memory clocks",
			GPU_MEM_CLOCKS);
	for (size_t i = 0; !st && i < l.n; i++) {
		struct err why = ERR_INIT;

		if (unit_parse(UNIT_FREQ, l.items[i], &p->mem_clock_khz[i], &why))
			st = err_at(e, ini->file, en->line, l.cols[i], "%s", why.msg);
		else if (p->mem_clock_khz[i] <= 0 ||
			 (i > 0 && p->mem_clock_khz[i] >= p->mem_clock_khz[i - 1]))
			st = err_at(e, ini->file, en->line, l.cols[i],
				"memory clocks must be positive and fall from left to right");
	}
	p->n_mem_clocks = st ? 0 : (int)l.n;
	ini_list_release(&l);
	return st;
}

static enum status set_power_kind(
	const struct ini *ini, const struct ini_entry *en, void *profile, struct err *e)
{
	struct gpu_profile *p = profile;

	if (strcmp(en->value, "instant") && strcmp(en->value, "average"))
		return err_at(e, ini->file, en->line, en->value_col,
			"'%s' must be instant or average", en->value);
	p->power_kind = strcmp(en->value, "average") ? GPU_POWER_INSTANT : GPU_POWER_AVERAGE;
	return ST_OK;
}

#define OWN(KEY, SET)                                                                              \
	{                                                                                          \
		.key = KEY, .kind = F_OWN, .required = true, .own = SET                            \
	}
#define G(key, kind, unit, member, req)                                                            \
	FIELD(struct gpu_profile, key, kind, unit, member, .required = req)

static const struct field gpu_fields[] = {
	G("model", F_TEXT, UNIT_NONE, model, true),
	OWN("compute_capability", set_cc),
	G("cores", F_INT, UNIT_NONE, cores, true),
	G("multiprocessors", F_INT, UNIT_NONE, sms, true),
	G("memory", F_I64, UNIT_BYTES, mem_bytes, true),
	G("clock_min", F_I64, UNIT_FREQ, clock_min_khz, true),
	G("clock_max", F_I64, UNIT_FREQ, clock_max_khz, true),
	G("clock_step", F_I64, UNIT_FREQ, clock_step_khz, true),
	OWN("memory_clocks", set_clocks),
	G("idle_power", D_UNIT, UNIT_POWER, idle_mw, true),
	G("wait_power", D_UNIT, UNIT_POWER, wait_mw, true),
	G("static_power", D_UNIT, UNIT_POWER, static_mw, true),
	G("memory_power", D_UNIT, UNIT_POWER, mem_mw, false),
	G("voltage_floor", D_UNIT, UNIT_RATIO, v_floor, true),
	G("voltage_knee", D_UNIT, UNIT_RATIO, x_knee, true),
	G("limit_min", F_I64, UNIT_POWER, limit_min_mw, true),
	G("limit_max", F_I64, UNIT_POWER, limit_max_mw, true),
	G("limit_default", F_I64, UNIT_POWER, limit_def_mw, true),
	G("cap_floor", D_UNIT, UNIT_RATIO, cap_floor, true),
	G("cap_lag", F_I64, UNIT_TIME, cap_lag_ns, true),
	G("ambient", D_UNIT, UNIT_TEMP, ambient_c, true),
	G("thermal_resistance", D_PLAIN, UNIT_NONE, r_c_per_w, true),
	G("thermal_time", F_I64, UNIT_TIME, thermal_ns, true),
	G("slowdown_temp", D_UNIT, UNIT_TEMP, slow_c, true),
	G("hw_slowdown_temp", D_UNIT, UNIT_TEMP, hw_slow_c, true),
	G("shutdown_temp", D_UNIT, UNIT_TEMP, shutdown_c, true),
	OWN("power_kind", set_power_kind),
	G("power_refresh", F_I64, UNIT_TIME, power_refresh_ns, true),
	G("power_window", F_I64, UNIT_TIME, power_window_ns, true),
	G("average_window", F_I64, UNIT_TIME, average_window_ns, false),
	G("counter_refresh", F_I64, UNIT_TIME, counter_refresh_ns, false),
	G("gain", D_UNIT, UNIT_RATIO, gain, false),
	G("noise", D_UNIT, UNIT_RATIO, noise, false),
	G("tflops", D_PLAIN, UNIT_NONE, tflops, true),
	G("bandwidth", D_PLAIN, UNIT_NONE, gbytes_s, true),
	G("mig", F_YES, UNIT_NONE, mig, false),
};

#define W(key, kind, unit, member, req)                                                            \
	FIELD(struct workload, key, kind, unit, member, .required = req)

static const struct field workload_fields[] = {
	W("domain", F_TEXT, UNIT_NONE, domain, true),
	W("task", F_TEXT, UNIT_NONE, task, true),
	W("source", F_TEXT, UNIT_NONE, source, true),
	W("estimated", F_YES, UNIT_NONE, estimated, false),
	W("batch", F_I64, UNIT_NONE, batch, true),
	W("gradient_bytes", F_I64, UNIT_BYTES, gradient_bytes, true),
	W("loader_time", D_UNIT, UNIT_TIME, loader_s, false),
	W("noise", D_UNIT, UNIT_RATIO, noise, false),
};

#define L(key, kind, unit, member, req)                                                            \
	FIELD(struct gpu_load, key, kind, unit, member, .required = req)

static const struct field load_fields[] = {
	L("step_time", D_UNIT, UNIT_TIME, step_s, true),
	L("host_share", D_UNIT, UNIT_RATIO, host_share, false),
	L("clock_share", D_UNIT, UNIT_RATIO, clock_share, true),
	L("memory_share", D_UNIT, UNIT_RATIO, mem_share, false),
	L("dynamic_power", D_UNIT, UNIT_POWER, dyn_mw, true),
	L("spread", D_UNIT, UNIT_RATIO, spread, false),
};

static enum status reject_unused(const struct ini *ini, struct err *e)
{
	const char *known[N_OF(gpu_fields) + N_OF(workload_fields) + N_OF(load_fields)];
	size_t n = 0;

	for (size_t i = 0; i < N_OF(gpu_fields); i++)
		known[n++] = gpu_fields[i].key;
	for (size_t i = 0; i < N_OF(workload_fields); i++)
		known[n++] = workload_fields[i].key;
	for (size_t i = 0; i < N_OF(load_fields); i++)
		known[n++] = load_fields[i].key;
	return ini_reject_unused(ini, known, n, e);
}

static enum status check_gpu(const struct ini *ini, const struct ini_section *s,
	const struct gpu_profile *p, struct err *e)
{
	const char *what = NULL;

	if (p->clock_min_khz <= 0 || p->clock_step_khz < 1000 ||
		p->clock_max_khz <= p->clock_min_khz || p->clock_max_khz > 100000000)
		what = "clock_min, clock_max, clock_step are no grid (at most 100GHz)";
	else if (p->limit_min_mw > p->limit_def_mw || p->limit_def_mw > p->limit_max_mw)
		what = "limit_min, limit_default, limit_max must rise";
	else if (p->v_floor > 1 || p->x_knee > 1 || p->v_floor < 0.01 || p->x_knee < 0.01)
		what = "voltage_floor and voltage_knee must lie between 1% and 100%";
	else if (p->cap_floor > 1 || p->cap_floor < 0.001)
		what = "cap_floor must lie between 0.1% and 100%";
	else if (p->cap_lag_ns < 1000000 || p->power_refresh_ns < 1000000 ||
		 p->power_window_ns < 100000)
		what = "cap_lag and power_refresh must be at least 1ms, power_window 100us";
	else if (p->counter_refresh_ns > 0 && p->counter_refresh_ns < 1000000)
		what = "counter_refresh must be 0 or at least 1ms";
	else if (p->static_mw < p->mem_mw)
		what = "memory_power is part of static_power and cannot exceed it";
	else if (p->tflops <= 0 || p->gbytes_s <= 0)
		what = "tflops and bandwidth must be positive";
	else if (p->power_kind == GPU_POWER_AVERAGE && p->average_window_ns == 0)
		what = "power_kind = average needs average_window";
	return what ? err_at(e, ini->file, s->line, 1, "%s", what) : ST_OK;
}

static enum status copy_name(
	const struct ini *ini, const struct ini_section *s, char *dst, size_t size, struct err *e)
{
	if (!s->arg[0] || strlen(s->arg) >= size)
		return err_at(e, ini->file, s->line, 1,
			"[%s NAME] needs a name of 1 to %zu characters", s->name, size - 1);
	memcpy(dst, s->arg, strlen(s->arg) + 1);
	return ST_OK;
}

static enum status gpu_from_ini(struct ini *ini, struct gpu_profile *out, struct err *e)
{
	struct ini_section *s = ini_section(ini, "gpu", 0);
	enum status st;

	memset(out, 0, sizeof(*out));
	out->gain = 1;
	if (!s)
		return err_at(e, ini->file, 1, 1, "no [gpu NAME] section: not a device profile");
	st = copy_name(ini, s, out->name, sizeof(out->name), e);
	if (!st)
		st = fields_set(ini, s, gpu_fields, N_OF(gpu_fields), out, e);
	if (!st)
		st = check_gpu(ini, s, out, e);
	return st ? st : reject_unused(ini, e);
}

static enum status workload_from_ini(struct ini *ini, struct workload *w, struct err *e)
{
	struct ini_section *s = ini_section(ini, "workload", 0), *on;
	enum status st;

	memset(w, 0, sizeof(*w));
	if (!s)
		return err_at(
			e, ini->file, 1, 1, "no [workload NAME] section: not a workload profile");
	st = copy_name(ini, s, w->name, sizeof(w->name), e);
	if (!st)
		st = fields_set(ini, s, workload_fields, N_OF(workload_fields), w, e);
	for (size_t i = 0; !st && (on = ini_section(ini, "on", i)); i++) {
		struct gpu_load *l;

		if (w->n_loads == WORKLOAD_LOADS)
			return err_at(e, ini->file, on->line, 1,
				"more than %d [on DEVICE] sections", WORKLOAD_LOADS);
		st = copy_name(ini, on, w->loads[w->n_loads].device, 32, e);
		l = &w->loads[w->n_loads++].load;
		l->kind = LOAD_WORK;
		if (!st)
			st = fields_set(ini, on, load_fields, N_OF(load_fields), l, e);
		if (!st && (l->step_s <= 0 || l->clock_share + l->mem_share > 1.000001 ||
				   l->host_share > 1 || l->spread > 1))
			st = err_at(e, ini->file, on->line, 1,
				"step_time must be positive, shares and spread at most 100%% "
				"(clock_share and memory_share together)");
	}
	if (!st && w->n_loads == 0)
		st = err_at(e, ini->file, s->line, 1, "no [on DEVICE] section");
	return st ? st : reject_unused(ini, e);
}

enum status profile_gpu_text(
	const char *file, const char *text, size_t len, struct gpu_profile *out, struct err *e)
{
	struct ini ini;
	enum status st = ini_read_text(&ini, file, text, len, e);

	if (st)
		return st;
	st = gpu_from_ini(&ini, out, e);
	ini_release(&ini);
	return st;
}

enum status profile_workload_text(
	const char *file, const char *text, size_t len, struct workload *out, struct err *e)
{
	struct ini ini;
	enum status st = ini_read_text(&ini, file, text, len, e);

	if (st)
		return st;
	st = workload_from_ini(&ini, out, e);
	ini_release(&ini);
	return st;
}

/* The built-in of that name, or the only one whose first words it is: "v100" for
 * "v100-pcie-32gb", but not "v1". */
static const struct embed *find_embed(const struct embed *table, const char *name)
{
	const struct embed *found = NULL;
	size_t n = strlen(name), hits = 0;

	for (const struct embed *f = table; f->name; f++) {
		if (strncmp(f->name, name, n))
			continue;
		if (!strcmp(f->name + n, ".ini"))
			return f;
		if (f->name[n] != '-')
			continue;
		found = f;
		hits++;
	}
	return n > 0 && hits == 1 ? found : NULL;
}

static enum status unknown_name(
	const struct embed *table, const char *what, const char *name, struct err *e)
{
	struct str list = STR_INIT;
	char names[32][48];
	const char *ptr[32], *near;
	size_t n = 0;

	for (const struct embed *f = table; f->name && n < 32; f++, n++) {
		snprintf(names[n], sizeof(names[n]), "%.*s", (int)strlen(f->name) - 4, f->name);
		ptr[n] = names[n];
		str_addf(&list, "%s%s", n ? ", " : "", names[n]);
	}
	near = str_nearest(name, ptr, n);
	if (near)
		err_set(e, ST_NOT_FOUND, "unknown %s '%s'; did you mean '%s'? Known: %s", what,
			name, near, str_cstr(&list));
	else
		err_set(e, ST_NOT_FOUND, "unknown %s '%s'; known: %s, or the path of an .ini file",
			what, name, str_cstr(&list));
	str_release(&list);
	return ST_NOT_FOUND;
}

static bool is_path(const char *name)
{
	return strchr(name, '/') || str_ends(name, ".ini");
}

enum status profile_gpu(const char *name, struct gpu_profile *out, struct err *e)
{
	const struct embed *f;

	if (is_path(name)) {
		struct ini ini;
		enum status st = ini_read_file(&ini, name, e);

		if (st)
			return st;
		st = gpu_from_ini(&ini, out, e);
		ini_release(&ini);
		return st;
	}
	f = find_embed(sim_gpu_files, name);
	return f ? profile_gpu_text(f->name, f->text, f->size, out, e)
		 : unknown_name(sim_gpu_files, "device", name, e);
}

enum status profile_workload(const char *name, struct workload *out, struct err *e)
{
	const struct embed *f;

	if (is_path(name)) {
		struct ini ini;
		enum status st = ini_read_file(&ini, name, e);

		if (st)
			return st;
		st = workload_from_ini(&ini, out, e);
		ini_release(&ini);
		return st;
	}
	f = find_embed(sim_workload_files, name);
	return f ? profile_workload_text(f->name, f->text, f->size, out, e)
		 : unknown_name(sim_workload_files, "workload", name, e);
}

void profile_list(struct str *out, bool workloads)
{
	for (const struct embed *f = workloads ? sim_workload_files : sim_gpu_files; f->name; f++)
		str_addf(out, "%.*s\n", (int)strlen(f->name) - 4, f->name);
}

void workload_load(const struct workload *w, const struct gpu_profile *p, struct gpu_load *out,
	bool *estimated)
{
	struct gpu_profile from;
	double speed, bytes, t_clock, t_fixed, t_mem, host, kernel;

	if (estimated)
		*estimated = w->estimated;
	for (int i = 0; i < w->n_loads; i++) {
		if (!strcmp(w->loads[i].device, p->name)) {
			*out = w->loads[i].load;
			return;
		}
	}
	*out = w->loads[0].load;
	if (estimated)
		*estimated = true;
	if (profile_gpu(w->loads[0].device, &from, NULL) != ST_OK)
		return;
	/* Half of the gain in dense throughput reaches real networks, on a logarithmic scale: a
	 * round figure; the memory part follows the bandwidth; the host does not change. */
	speed = __builtin_sqrt(p->tflops / from.tflops);
	bytes = p->gbytes_s / from.gbytes_s;
	host = out->host_share * out->step_s;
	kernel = out->step_s - host;
	t_clock = kernel * out->clock_share / speed;
	t_mem = kernel * out->mem_share / bytes;
	t_fixed = kernel * (1 - out->clock_share - out->mem_share) / bytes;
	out->step_s = host + t_clock + t_mem + t_fixed;
	out->host_share = host / out->step_s;
	out->clock_share = t_clock / (t_clock + t_mem + t_fixed);
	out->mem_share = t_mem / (t_clock + t_mem + t_fixed);
	out->dyn_mw *= ((double)p->limit_max_mw - p->static_mw) /
		       ((double)from.limit_max_mw - from.static_mw);
}

static void format_ratio(struct str *out, const char *key, double v)
{
	str_addf(out, "%s = %.4f%%\n", key, v * 100);
}

void workload_format(struct str *out, const struct workload *w)
{
	str_addf(out, "[workload %s]\ndomain = %s\ntask = %s\nsource = %s\nestimated = %s\n",
		w->name, w->domain, w->task, w->source, w->estimated ? "yes" : "no");
	str_addf(out, "batch = %lld\ngradient_bytes = %lld\n", (long long)w->batch,
		(long long)w->gradient_bytes);
	if (w->loader_s > 0)
		str_addf(out, "loader_time = %.0fns\n", w->loader_s * 1e9);
	if (w->noise > 0)
		format_ratio(out, "noise", w->noise);
	for (int i = 0; i < w->n_loads; i++) {
		const struct gpu_load *l = &w->loads[i].load;

		str_addf(out, "\n[on %s]\nstep_time = %.0fns\n", w->loads[i].device,
			l->step_s * 1e9);
		format_ratio(out, "host_share", l->host_share);
		format_ratio(out, "clock_share", l->clock_share);
		format_ratio(out, "memory_share", l->mem_share);
		str_addf(out, "dynamic_power = %.0fmW\n", l->dyn_mw);
		format_ratio(out, "spread", l->spread);
	}
}
