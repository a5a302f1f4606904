/* scenario.c: read a scenario file. Every mistake is answered with file:line:column. */
#include "sim/scenario.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ini.h"
#include "base/units.h"
#include "sim/profile.h"
#include "sim/scenario_int.h"

#define N_OF(a) (sizeof(a) / sizeof((a)[0]))

static const char *const call_names[CALL_COUNT] = {
#define X(name) [CALL_##name] = "nvml" #name,
	NVML_CALLS(X)
#undef X
};

static const struct {
	const char *name;
	int code;
} codes[] = {
	{"SUCCESS", 0},
	{"UNINITIALIZED", 1},
	{"INVALID_ARGUMENT", 2},
	{"NOT_SUPPORTED", 3},
	{"NO_PERMISSION", 4},
	{"NOT_FOUND", 6},
	{"INSUFFICIENT_SIZE", 7},
	{"INSUFFICIENT_POWER", 8},
	{"DRIVER_NOT_LOADED", 9},
	{"TIMEOUT", 10},
	{"IRQ_ISSUE", 11},
	{"LIBRARY_NOT_FOUND", 12},
	{"FUNCTION_NOT_FOUND", 13},
	{"CORRUPTED_INFOROM", 14},
	{"GPU_IS_LOST", 15},
	{"RESET_REQUIRED", 16},
	{"OPERATING_SYSTEM", 17},
	{"LIB_RM_VERSION_MISMATCH", 18},
	{"IN_USE", 19},
	{"MEMORY", 20},
	{"NO_DATA", 21},
	{"INSUFFICIENT_RESOURCES", 23},
	{"UNKNOWN", 999},
};

enum status scenario_bad(const struct at *a, const char *what, const char *value)
{
	return err_at(a->e, a->ini->file, a->line, a->col, what, value);
}

int scenario_call(const char *name)
{
	size_t n = strlen(name);

	/* nvmlInit_v2 is nvmlInit. */
	if (n > 3 && name[n - 3] == '_' && name[n - 2] == 'v' &&
		isdigit((unsigned char)name[n - 1]))
		n -= 3;
	for (int i = 0; i < CALL_COUNT; i++)
		if (strlen(call_names[i]) == n && !memcmp(call_names[i], name, n))
			return i;
	return -1;
}

const char *scenario_call_name(int call)
{
	return call >= 0 && call < CALL_COUNT ? call_names[call] : "?";
}

void scenario_init(struct scenario *s)
{
	memset(s, 0, sizeof(*s));
	strcpy(s->driver, "535.129.03");
	strcpy(s->nvml, "12.535.129.03");
	s->cuda = 12020;
	s->seed = 1;
}

static void device_defaults(struct scenario *s, int i, const struct gpu_profile *p)
{
	struct sim_gpu_cfg *g = &s->gpu[i];
	uint64_t h = (s->seed * 1000003 + (uint64_t)i) * UINT64_C(0x9e3779b97f4a7c15);

	memset(g, 0, sizeof(*g));
	g->prof = *p;
	g->bus = 0x18u + (uint32_t)i * 4;
	g->minor = (uint32_t)i;
	g->util = 1;
	g->mem_used = INT64_C(1) << 20;
	snprintf(g->uuid, sizeof(g->uuid), "GPU-%08x-%04x-%04x-%04x-%012llx", (unsigned)(h >> 32),
		(unsigned)(h >> 16) & 0xffff, (unsigned)h & 0xffff, (unsigned)i + 0xa000u,
		(unsigned long long)(h ^ (h >> 20)) & 0xffffffffffffULL);
}

enum status scenario_gpus(struct scenario *s, const char *spec, struct err *e)
{
	char name[64];
	const char *p = spec;

	while (*p) {
		size_t n = strcspn(p, ":,");
		struct gpu_profile prof;
		enum status st;
		long count = 1;

		if (n == 0 || n >= sizeof(name))
			return err_set(e, ST_INVALID,
				"'%s': write devices as NAME:COUNT[,NAME:COUNT]", spec);
		memcpy(name, p, n);
		name[n] = '\0';
		p += n;
		if (*p == ':') {
			char *end;

			count = strtol(p + 1, &end, 10);
			if (end == p + 1 || (*end && *end != ',') || count < 1 || count > SIM_GPUS)
				return err_set(e, ST_INVALID,
					"'%s': the count of '%s' must be 1 to %d", spec, name,
					SIM_GPUS);
			p = end;
		}
		st = profile_gpu(name, &prof, e);
		if (st)
			return st;
		if (s->n_gpus + count > SIM_GPUS)
			return err_set(e, ST_INVALID, "'%s': more than %d devices", spec, SIM_GPUS);
		for (; count > 0; count--, s->n_gpus++)
			device_defaults(s, s->n_gpus, &prof);
		if (*p == ',' && !*++p)
			return err_set(e, ST_INVALID, "'%s' ends with a comma", spec);
	}
	return s->n_gpus > 0 ? ST_OK : err_set(e, ST_INVALID, "no devices named");
}

enum status scenario_unit(const struct at *a, enum unit u, const char *text, int64_t *out)
{
	struct err why = ERR_INIT;

	if (unit_parse(u, text, out, &why))
		return scenario_bad(a, "%s", why.msg);
	if (*out < 0)
		return scenario_bad(a, "'%s' must not be negative", text);
	if (*out > field_bound(u))
		return scenario_bad(a, "'%s' is too large", text);
	return ST_OK;
}

/* "GPU_IS_LOST", "hang", "slow 50ms", "value 17" */
static enum status parse_result(const struct at *a, const char *v, struct sim_fault *f)
{
	const char *names[N_OF(codes) + 3];
	const char *near;

	if (!strcmp(v, "hang")) {
		f->kind = FAULT_HANG;
		return ST_OK;
	}
	if (!strncmp(v, "slow ", 5)) {
		f->kind = FAULT_SLOW;
		return scenario_unit(a, UNIT_TIME, v + 5, &f->value);
	}
	if (!strncmp(v, "value ", 6)) {
		char *end;

		/* Sentinels such as 9223372036854775792 and 18446744073709551615 must pass. */
		f->kind = FAULT_VALUE;
		f->value = (int64_t)strtoull(v + 6, &end, 0);
		return *end || !isdigit((unsigned char)v[6])
			       ? scenario_bad(a, "'%s' is not 'value' and a whole number", v)
			       : ST_OK;
	}
	if (!strncmp(v, "NVML_ERROR_", 11))
		v += 11;
	for (size_t i = 0; i < N_OF(codes); i++) {
		names[i] = codes[i].name;
		if (!strcmp(codes[i].name, v)) {
			f->kind = FAULT_CODE;
			f->code = codes[i].code;
			return ST_OK;
		}
	}
	names[N_OF(codes)] = "hang";
	names[N_OF(codes) + 1] = "slow";
	names[N_OF(codes) + 2] = "value";
	near = str_nearest(v, names, N_OF(names));
	err_at(a->e, a->ini->file, a->line, a->col,
		"'%s' is no NVML result; use an error name such as GPU_IS_LOST, 'hang', 'slow "
		"50ms' or "
		"'value N'%s%s%s",
		v, near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	return ST_INVALID;
}

enum status scenario_find_call(const struct at *a, const char *name, struct sim_fault *f)
{
	char *end;
	const char *near;

	f->call = -1;
	if (!strncmp(name, "field ", 6)) {
		f->field = (int32_t)strtol(name + 6, &end, 10);
		return *end || end == name + 6 || f->field < 1 || f->field > 4096
			       ? scenario_bad(a, "'%s' is not 'field' and a field number", name)
			       : ST_OK;
	}
	f->call = scenario_call(name);
	if (f->call >= 0)
		return ST_OK;
	near = str_nearest(name, call_names, CALL_COUNT);
	err_at(a->e, a->ini->file, a->line, a->col, "no simulated function '%s'%s%s%s", name,
		near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
	return ST_INVALID;
}

enum status scenario_add_fault(struct scenario *s, const struct at *key, const struct at *val,
	uint64_t gpus, const char *name, const char *result, struct sim_fault f)
{
	enum status st = scenario_find_call(key, name, &f);

	if (!st)
		st = parse_result(val, result, &f);
	if (!st && f.call < 0 && f.kind != FAULT_CODE && f.kind != FAULT_VALUE)
		st = scenario_bad(
			val, "a field can have an error name or a value, not '%s'", result);
	for (int i = -1; !st && i < SIM_GPUS; i++) {
		/* The host section stands for everything: one fault with gpu = -1. */
		if (gpus == 0 ? i >= 0 : (i < 0 || !(gpus >> i & 1)))
			continue;
		if (s->n_faults == SIM_FAULTS)
			return scenario_bad(key, "too many faults at '%s'", name);
		f.gpu = i;
		s->fault[s->n_faults++] = f;
	}
	return st;
}

static enum status add_event(
	struct scenario *s, const struct at *a, uint64_t gpus, struct sim_event ev)
{
	for (int i = 0; i < SIM_GPUS; i++) {
		if (!(gpus >> i & 1))
			continue;
		if (s->n_events == SIM_EVENTS)
			return scenario_bad(a, "too many timed events%s", "");
		ev.gpu = i;
		s->event[s->n_events++] = ev;
	}
	return ST_OK;
}

static enum status parse_clocks(const struct at *a, const char *v, struct sim_event *ev)
{
	char lo[64];
	const char *dash = strchr(v, '-');
	enum status st;

	if (!strcmp(v, "reset"))
		return ST_OK;
	if (!dash || (size_t)(dash - v) >= sizeof(lo))
		return scenario_bad(a, "'%s' is not 'LOW-HIGH' (135MHz-900MHz) or 'reset'", v);
	memcpy(lo, v, (size_t)(dash - v));
	lo[dash - v] = '\0';
	st = scenario_unit(a, UNIT_FREQ, lo, &ev->a);
	if (!st)
		st = scenario_unit(a, UNIT_FREQ, dash + 1, &ev->b);
	return !st && (ev->a > ev->b || ev->b == 0) ? scenario_bad(a, "'%s' runs backwards", v)
						    : st;
}

static enum status parse_word(
	const struct at *a, const char *v, const char *no, const char *yes, int64_t *out)
{
	if (!strcmp(v, yes))
		*out = 1;
	else if (!strcmp(v, no))
		*out = 0;
	else
		return err_at(a->e, a->ini->file, a->line, a->col, "'%s' must be '%s' or '%s'", v,
			no, yes);
	return ST_OK;
}

static const struct {
	const char *key;
	enum sim_event_kind kind;
	enum unit unit;
	const char *no, *yes; /* words instead of a quantity */
} event_keys[] = {
	{"power", EV_POWER, UNIT_POWER, NULL, NULL},
	{"load", EV_LOAD, UNIT_POWER, NULL, NULL},
	{"power_limit", EV_LIMIT, UNIT_POWER, NULL, NULL},
	{"limit_clamp", EV_CLAMP, UNIT_POWER, NULL, NULL},
	{"clocks", EV_CLOCKS, UNIT_FREQ, NULL, NULL},
	{"ambient", EV_AMBIENT, UNIT_TEMP, NULL, NULL},
	{"gain", EV_GAIN, UNIT_RATIO, NULL, NULL},
	{"counter", EV_COUNTER, UNIT_NONE, "keep", "reset"},
	{"driver", EV_RELOAD, UNIT_NONE, "keep", "reload"},
	{"brake", EV_BRAKE, UNIT_NONE, "off", "on"},
	{"state", EV_LOST, UNIT_NONE, "back", "lost"},
};

/* What follows "at 3s": an event of the device or the beginning of a fault. */
static enum status timed_entry(struct scenario *s, const struct at *key, const struct at *val,
	uint64_t gpus, const char *what, const char *v, int64_t from, int64_t to)
{
	const char *names[N_OF(event_keys)];
	struct sim_event ev = {.at_ns = from};
	enum status st;

	if (!strncmp(what, "nvml", 4) || !strncmp(what, "field ", 6))
		return scenario_add_fault(s, key, val, gpus, what, v,
			(struct sim_fault){.from_ns = from, .to_ns = to});
	for (size_t i = 0; i < N_OF(event_keys); i++) {
		names[i] = event_keys[i].key;
		if (strcmp(event_keys[i].key, what))
			continue;
		if (gpus == 0)
			return scenario_bad(key, "'%s' belongs in a [gpu N] section", what);
		ev.kind = (int32_t)event_keys[i].kind;
		if (event_keys[i].yes)
			st = parse_word(val, v, event_keys[i].no, event_keys[i].yes, &ev.a);
		else if (ev.kind == EV_CLOCKS)
			st = parse_clocks(val, v, &ev);
		else
			st = scenario_unit(val, event_keys[i].unit, v, &ev.a);
		if (!st)
			st = add_event(s, key, gpus, ev);
		if (!st && to != SIM_FOREVER) {
			if (ev.kind != EV_POWER && ev.kind != EV_LOAD && ev.kind != EV_CLAMP &&
				ev.kind != EV_BRAKE && ev.kind != EV_LOST)
				return scenario_bad(key, "'%s' has no end; use 'at'", what);
			ev.at_ns = to;
			ev.a = 0;
			st = add_event(s, key, gpus, ev);
		}
		return st;
	}
	what = str_nearest(what, names, N_OF(names)) ?: what;
	return scenario_bad(key,
		"nothing timed is called so; use an nvml function, 'field N' or an event such "
		"as '%s'",
		what);
}

/* "at 3s WHAT", "from 1s to 2s WHAT", "call 3 WHAT": cut in place. */
static enum status prefixed_entry(struct scenario *s, struct at *key, const struct at *val,
	uint64_t gpus, char *k, const char *v, bool *done)
{
	char *word[6], *rest = k, *save = NULL;
	size_t n = 0, used;
	int64_t from = 0, to = SIM_FOREVER;
	enum status st;
	char copy[512];

	*done = false;
	if (strncmp(k, "at ", 3) && strncmp(k, "from ", 5) && strncmp(k, "call ", 5))
		return ST_OK;
	*done = true;
	if (strlen(k) >= sizeof(copy))
		return scenario_bad(key, "the key is too long%s", "");
	strcpy(copy, k);
	used = copy[0] == 'f' ? 4 : 2;
	for (char *w = strtok_r(copy, " \t", &save); w && n < used;
		w = strtok_r(NULL, " \t", &save))
		word[n++] = w;
	if (n < used)
		return scenario_bad(key, "'%s' lacks its time or what happens", k);
	for (size_t i = 0; i < used; i++) {
		rest += strcspn(rest, " \t");
		rest += strspn(rest, " \t");
	}
	if (!*rest)
		return scenario_bad(key, "'%s' does not say what happens", k);
	if (copy[0] == 'c') {
		char *end;
		long nth = strtol(word[1], &end, 10);

		key->col += (int)(rest - k);
		if (*end || nth < 1 || nth > 1000000)
			return scenario_bad(key, "'%s' is no number of a call", word[1]);
		return scenario_add_fault(s, key, val, gpus, rest, v,
			(struct sim_fault){.nth = (uint32_t)nth, .to_ns = SIM_FOREVER});
	}
	st = scenario_unit(key, UNIT_TIME, word[1], &from);
	if (!st && used == 4) {
		if (strcmp(word[2], "to"))
			return scenario_bad(key, "'%s' is not 'from T1 to T2 WHAT'", k);
		st = scenario_unit(key, UNIT_TIME, word[3], &to);
		if (!st && to <= from)
			return scenario_bad(key, "'%s' ends before it begins", k);
	}
	key->col += (int)(rest - k);
	return st ? st : timed_entry(s, key, val, gpus, rest, v, from, to);
}

/* "0", "0-3", "1,4", "*" → bits. */
static enum status parse_gpus(
	const struct scenario *s, const struct at *a, const char *arg, uint64_t *out)
{
	const char *p = arg;

	*out = 0;
	if (!strcmp(arg, "*") || !strcmp(arg, "all")) {
		for (int i = 0; i < s->n_gpus; i++)
			*out |= UINT64_C(1) << i;
		return *out ? ST_OK : scenario_bad(a, "[gpu %s] before any device is known", arg);
	}
	do {
		char *end;
		long lo = strtol(p, &end, 10), hi = lo;

		if (end == p || !isdigit((unsigned char)*p))
			return scenario_bad(
				a, "[gpu %s]: write a number, a range 0-3, a list 0,2 or *", arg);
		if (*end == '-') {
			p = end + 1;
			hi = strtol(p, &end, 10);
			if (end == p)
				return scenario_bad(a, "[gpu %s]: a range needs an end", arg);
		}
		if (lo < 0 || hi >= SIM_GPUS || hi < lo)
			return scenario_bad(a, "[gpu %s]: devices go from 0 to 31", arg);
		for (long i = lo; i <= hi; i++)
			*out |= UINT64_C(1) << i;
		p = end + (*end == ',');
		if (*end && *end != ',')
			return scenario_bad(
				a, "[gpu %s]: write a number, a range 0-3, a list 0,2 or *", arg);
	} while (*p);
	return ST_OK;
}

/* A section may bring devices into being by naming their profile. */
static enum status make_devices(struct scenario *s, const struct ini *ini, struct ini_section *sec,
	uint64_t gpus, struct err *e)
{
	struct ini_entry *en = ini_get(sec, "profile");
	struct gpu_profile prof;

	if (en) {
		struct err why = ERR_INIT;

		if (profile_gpu(en->value, &prof, &why))
			return err_at(e, ini->file, en->line, en->value_col, "%s", why.msg);
	}
	for (int i = 0; i < SIM_GPUS; i++) {
		if (!(gpus >> i & 1))
			continue;
		if (i > s->n_gpus || (i == s->n_gpus && !en))
			return err_at(e, ini->file, sec->line, 1,
				"[gpu %s]: device %d has no profile; there are %d devices",
				sec->arg, i, s->n_gpus);
		if (en)
			device_defaults(s, i, &prof);
		if (i == s->n_gpus)
			s->n_gpus++;
	}
	return ST_OK;
}

static enum status read_section(
	struct scenario *s, const struct ini *ini, struct ini_section *sec, struct err *e)
{
	bool host = !strcmp(sec->name, "host");
	uint64_t gpus = 0;
	struct at where = {ini, sec->line, 1, e};
	enum status st = ST_OK;

	if (!host && strcmp(sec->name, "gpu"))
		return scenario_bad(&where,
			"unknown section [%s]; a scenario has [host] and [gpu N]", sec->name);
	if (!host) {
		st = parse_gpus(s, &where, sec->arg, &gpus);
		if (!st)
			st = make_devices(s, ini, sec, gpus, e);
	}
	for (size_t i = 0; !st && i < sec->n; i++) {
		struct ini_entry *en = &sec->entries[i];
		struct at key = {ini, en->line, en->key_col, e};
		struct at val = {ini, en->line, en->value_col, e};
		bool done = false;

		en->used = true;
		st = prefixed_entry(s, &key, &val, gpus, en->key, en->value, &done);
		if (st || done)
			continue;
		if (host && !strcmp(en->key, "missing"))
			st = scenario_host_missing(s, ini, en, e);
		else if (host)
			st = scenario_host_entry(s, &key, &val, en->key, en->value);
		else if (!strncmp(en->key, "nvml", 4) || !strncmp(en->key, "field ", 6))
			st = scenario_add_fault(s, &key, &val, gpus, en->key, en->value,
				(struct sim_fault){.to_ns = SIM_FOREVER});
		else if (!strcmp(en->key, "power") || !strcmp(en->key, "load"))
			st = timed_entry(s, &key, &val, gpus, en->key, en->value, 0, SIM_FOREVER);
		else
			for (int g = 0; !st && g < SIM_GPUS; g++)
				if (gpus >> g & 1)
					st = scenario_gpu_entry(&s->gpu[g], ini, en, e);
	}
	return st;
}

static enum status read_ini(struct scenario *s, struct ini *ini, struct err *e)
{
	enum status st = ST_OK;

	if (ini->n > 0 && ini->sections[0].n > 0)
		return err_at(e, ini->file, ini->sections[0].entries[0].line, 1,
			"'%s' stands before any section", ini->sections[0].entries[0].key);
	for (size_t i = 1; !st && i < ini->n; i++)
		st = read_section(s, ini, &ini->sections[i], e);
	return st;
}

enum status scenario_file(struct scenario *s, const char *path, struct err *e)
{
	struct ini ini;
	enum status st = ini_read_file(&ini, path, e);

	if (st)
		return st;
	st = read_ini(s, &ini, e);
	ini_release(&ini);
	return st;
}

enum status scenario_text(
	struct scenario *s, const char *file, const char *text, size_t len, struct err *e)
{
	struct ini ini;
	enum status st = ini_read_text(&ini, file, text, len, e);

	if (st)
		return st;
	st = read_ini(s, &ini, e);
	ini_release(&ini);
	return st;
}

enum status scenario_finish(struct scenario *s, struct err *e)
{
	if (s->n_gpus == 0 && !s->no_library && !s->library_is_directory)
		return err_set(e, ST_INVALID,
			"no simulated devices: use --gpus or [gpu N] with a "
			"profile");
	for (int i = 1; i < s->n_events; i++) { /* stable: same time keeps file order */
		struct sim_event ev = s->event[i];
		int j = i;

		for (; j > 0 && s->event[j - 1].at_ns > ev.at_ns; j--)
			s->event[j] = s->event[j - 1];
		s->event[j] = ev;
	}
	for (int i = 0; i < s->n_gpus; i++)
		for (int j = 0; j < i; j++)
			if (!strcmp(s->gpu[i].uuid, s->gpu[j].uuid) ||
				(s->gpu[i].domain == s->gpu[j].domain &&
					s->gpu[i].bus == s->gpu[j].bus &&
					s->gpu[i].device == s->gpu[j].device))
				return err_set(e, ST_INVALID,
					"devices %d and %d have the same UUID or PCI address", j,
					i);
	return ST_OK;
}
