#include "sweep/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/ini.h"
#include "base/mem.h"
#include "base/units.h"

/* The axes wattlaw knows. Any other is the user's own and must be used by the command. */
static const struct known_axis {
	const char *name;
	enum unit unit;
	bool stepped;
	int64_t min, max; /* inclusive, base unit */
} known_axes[] = {
	{"workers", UNIT_NONE, false, 1, 1000000},
	{"nodes", UNIT_NONE, false, 1, 1000000},
	{"power_limit", UNIT_POWER, true, 1000, INT64_C(100000000)},
	{"clock_max", UNIT_FREQ, true, 1000, INT64_C(100000000)},
	{"memory_clock", UNIT_FREQ, true, 1000, INT64_C(100000000)},
	{"cpu_rate", UNIT_RATIO, true, 1000, 1000000},
};
#define N_KNOWN (sizeof(known_axes) / sizeof(known_axes[0]))

static const char *const sweep_keys[] = {"name", "repeats", "order", "seed", "point_time", "warmup",
	"settle", "timeout", "relaunch", "interval", "max_gpu_hours", "workers", "nodes",
	"power_limit", "clock_max", "memory_clock", "cpu_rate", "axis.NAME", "knob.NAME"};
static const char *const job_keys[] = {"domain", "task", "launch", "command", "progress"};

void plan_init(struct plan *p)
{
	memset(p, 0, sizeof(*p));
	p->repeats = 3;
	p->point_time_ns = 10 * NS_PER_S;
	p->warmup_ns = 3 * NS_PER_S;
	p->settle_ns = NS_PER_S / 2;
	p->timeout_ns = 3600 * NS_PER_S;
}

static void axis_release(struct plan_axis *a)
{
	for (size_t i = 0; i < a->n; i++)
		mem_free(a->values[i].text);
	mem_free(a->values);
	mem_free(a->name);
	memset(a, 0, sizeof(*a));
}

void plan_release(struct plan *p)
{
	for (size_t i = 0; i < p->n_axes; i++)
		axis_release(&p->axes[i]);
	for (size_t i = 0; i < p->n_jobs; i++) {
		struct plan_job *j = &p->jobs[i];

		mem_free(j->name);
		mem_free(j->domain);
		mem_free(j->task);
		mem_free(j->launch);
		mem_free(j->command);
		mem_free(j->progress);
	}
	for (size_t i = 0; i < p->n_knobs; i++) {
		mem_free(p->knobs[i].name);
		mem_free(p->knobs[i].command);
	}
	mem_free(p->jobs);
	mem_free(p->knobs);
	mem_free(p->points);
	mem_free(p->file);
	mem_free(p->text);
	mem_free(p->name);
	memset(p, 0, sizeof(*p));
}

static const struct known_axis *find_known(const char *name)
{
	for (size_t i = 0; i < N_KNOWN; i++)
		if (!strcmp(known_axes[i].name, name))
			return &known_axes[i];
	return NULL;
}

static bool name_is_valid(const char *name)
{
	size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

	return n > 0 && n < 48 && !name[n] && (name[0] < '0' || name[0] > '9');
}

/* Where an error points to; line 0 = the command line. */
struct place {
	const char *file;
	int line, col;
};

static enum status bad(const struct place *at, struct err *e, const char *text, const char *why)
{
	return err_at(e, at->file, at->line, at->col, "'%.80s': %s", text, why);
}

static enum status parse_value(const struct plan_axis *a, const char *text, const struct place *at,
	struct plan_value *v, struct err *e)
{
	const struct known_axis *k = find_known(a->name);
	struct err why = ERR_INIT;
	char buf[48];
	long long n;
	double d;

	memset(v, 0, sizeof(*v));
	v->is_default = !strcmp(text, "default");
	if (v->is_default) {
		if (!a->stepped)
			return bad(at, e, text,
				"only a knob (power_limit, clock_max, memory_clock, cpu_rate) "
				"can be left at its default");
		v->value = QTY_NONE(ST_UNKNOWN);
		v->text = mem_strdup(text);
		return v->text ? ST_OK : err_set(e, ST_NOMEM, "out of memory");
	}
	if (k && k->unit == UNIT_NONE) {
		if (!str_to_i64(text, &n))
			return bad(at, e, text, "expected a whole number");
		v->value = QTY(n);
	} else if (k) {
		if (unit_parse(k->unit, text, &v->value.v, &why))
			return err_at(e, at->file, at->line, at->col, "%s", why.msg);
	} else if (str_to_i64(text, &n)) {
		v->value = QTY(n);
	} else {
		/* A number that is not whole still orders the points; the store keeps its text. */
		v->value = QTY_NONE(str_to_double(text, &d) ? ST_RANGE : ST_UNSUPPORTED);
	}
	if (k && (v->value.v < k->min || v->value.v > k->max)) {
		char lo[32], hi[32], msg[128];

		snprintf(msg, sizeof(msg), "outside %s to %s",
			unit_format(k->unit, k->min, lo, sizeof(lo)),
			unit_format(k->unit, k->max, hi, sizeof(hi)));
		return bad(at, e, text, msg);
	}
	v->text = mem_strdup(k ? unit_format(k->unit, v->value.v, buf, sizeof(buf)) : text);
	return v->text ? ST_OK : err_set(e, ST_NOMEM, "out of memory");
}

/* The axis of that name, emptied if it exists already. */
static enum status new_axis(struct plan *p, const char *name, const struct place *at,
	struct plan_axis **out, struct err *e)
{
	const struct known_axis *k = find_known(name);
	struct plan_axis *a = NULL;

	if (!name_is_valid(name))
		return bad(at, e, name, "not a name for an axis; expected letters, digits and '_'");
	for (size_t i = 0; i < p->n_axes; i++)
		if (!strcmp(p->axes[i].name, name))
			a = &p->axes[i];
	/* The command line overrides the file, not itself. */
	if (a && !at->line && !a->line)
		return bad(at, e, name, "an axis that is given twice");
	if (a) {
		axis_release(a);
	} else {
		if (p->n_axes == PLAN_MAX_AXES)
			return err_at(
				e, at->file, at->line, at->col, "more than %d axes", PLAN_MAX_AXES);
		a = &p->axes[p->n_axes++];
	}
	a->name = mem_strdup(name);
	a->unit = k ? k->unit : UNIT_NONE;
	a->known = k != NULL;
	a->stepped = k && k->stepped;
	a->line = at->line;
	*out = a;
	return a->name ? ST_OK : err_set(e, ST_NOMEM, "out of memory");
}

static enum status add_value(
	struct plan_axis *a, const char *text, const struct place *at, struct err *e)
{
	struct plan_value v;
	enum status st;

	if (a->n == PLAN_MAX_VALUES)
		return err_at(e, at->file, at->line, at->col, "axis '%s' has more than %d values",
			a->name, PLAN_MAX_VALUES);
	st = parse_value(a, text, at, &v, e);
	if (st)
		return st;
	for (size_t i = 0; i < a->n; i++) {
		if (strcmp(a->values[i].text, v.text))
			continue;
		mem_free(v.text);
		return bad(at, e, text, "given twice in this axis");
	}
	if (!mem_grow(
		    (void **)&a->values, &a->cap, a->n + 1, sizeof(*a->values), PLAN_MAX_VALUES)) {
		mem_free(v.text);
		return err_set(e, ST_NOMEM, "out of memory");
	}
	a->values[a->n++] = v;
	return ST_OK;
}

static enum status read_axis(
	struct plan *p, struct ini *ini, struct ini_entry *entry, const char *name, struct err *e)
{
	struct place at = {ini->file, entry->line, entry->key_col};
	struct plan_axis *a;
	struct ini_list list;
	enum status st = new_axis(p, name, &at, &a, e);

	if (st)
		return st;
	st = ini_list(ini, entry, &list, e);
	if (st)
		return st;
	for (size_t i = 0; i < list.n && !st; i++) {
		at.col = list.cols[i];
		st = add_value(a, list.items[i], &at, e);
	}
	ini_list_release(&list);
	return st;
}

/* One number, word or quantity of [sweep] into the plan. ST_NOT_FOUND: not such a key. */
static enum status read_scalar(
	struct plan *p, const struct ini *ini, const struct ini_entry *entry, struct err *e)
{
	static const struct {
		const char *key;
		size_t offset;
		int64_t min;
	} times[] = {
		{"point_time", offsetof(struct plan, point_time_ns), NS_PER_MS},
		{"warmup", offsetof(struct plan, warmup_ns), 0},
		{"settle", offsetof(struct plan, settle_ns), 0},
		{"timeout", offsetof(struct plan, timeout_ns), NS_PER_MS},
	};
	struct place at = {ini->file, entry->line, entry->value_col};
	struct err why = ERR_INIT;
	const char *v = entry->value;
	long long n = 0;
	int64_t q = 0;

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		if (strcmp(entry->key, times[i].key))
			continue;
		if (unit_parse(UNIT_TIME, v, &q, &why))
			return err_at(e, at.file, at.line, at.col, "%s", why.msg);
		if (q < times[i].min)
			return bad(&at, e, v, "too short");
		memcpy((char *)p + times[i].offset, &q, sizeof(q));
		return ST_OK;
	}
	if (!strcmp(entry->key, "name")) {
		if (!*v || strchr(v, '/') || strlen(v) > 100)
			return bad(&at, e, v, "expected a name without '/' of at most 100 bytes");
		mem_free(p->name);
		p->name = mem_strdup(v);
		return p->name ? ST_OK : err_set(e, ST_NOMEM, "out of memory");
	}
	if (!strcmp(entry->key, "repeats")) {
		if (!str_to_i64(v, &n) || n < 1 || n > 10000)
			return bad(&at, e, v, "expected a whole number from 1 to 10000");
		p->repeats = (int)n;
	} else if (!strcmp(entry->key, "seed")) {
		if (!str_to_i64(v, &n))
			return bad(&at, e, v, "expected a whole number");
		p->seed = n;
		p->have_seed = true;
	} else if (!strcmp(entry->key, "order")) {
		if (strcmp(v, "random") && strcmp(v, "given"))
			return bad(&at, e, v, "expected random or given");
		p->order = strcmp(v, "given") ? PLAN_RANDOM : PLAN_GIVEN;
	} else if (!strcmp(entry->key, "relaunch")) {
		if (strcmp(v, "yes") && strcmp(v, "no"))
			return bad(&at, e, v, "expected yes or no");
		p->relaunch = !strcmp(v, "yes");
	} else if (!strcmp(entry->key, "interval")) {
		if (unit_parse(UNIT_RATIO, v, &q, &why) || q < 0 || q > 1000000)
			return bad(&at, e, v, "expected a share of the step time, as 1%");
		p->interval = (double)q / 1e6;
	} else if (!strcmp(entry->key, "max_gpu_hours")) {
		if (!str_to_double(v, &p->max_gpu_hours) || p->max_gpu_hours < 0)
			return bad(&at, e, v, "expected a number of GPU-hours");
	} else {
		return ST_NOT_FOUND;
	}
	return ST_OK;
}

static enum status add_knob(
	struct plan *p, const struct ini *ini, const struct ini_entry *entry, struct err *e)
{
	const char *name = entry->key + 5;
	const struct known_axis *k = find_known(name);
	struct plan_knob knob;

	/* A CPU rate is that of a group of our own: nobody else can set it, or it be read back. */
	if (!k || !k->stepped || !strcmp(name, "cpu_rate"))
		return err_at(e, ini->file, entry->line, entry->key_col,
			"'%s' is not a knob that a command can set; expected power_limit, "
			"clock_max "
			"or memory_clock",
			name);
	for (size_t i = 0; i < p->n_knobs; i++)
		if (!strcmp(p->knobs[i].name, name))
			return err_at(e, ini->file, entry->line, entry->key_col,
				"knob.%s is given twice", name);
	if (!strstr(entry->value, "{value}"))
		return err_at(e, ini->file, entry->line, entry->value_col,
			"the command of a knob must use {value}");
	knob = (struct plan_knob){
		mem_strdup(name), mem_strdup(entry->value), entry->line, entry->key_col};
	if (!knob.name || !knob.command ||
		!mem_grow(
			(void **)&p->knobs, &p->cap_knobs, p->n_knobs + 1, sizeof(knob), N_KNOWN)) {
		mem_free(knob.name);
		mem_free(knob.command);
		return err_set(e, ST_NOMEM, "out of memory");
	}
	p->knobs[p->n_knobs++] = knob;
	return ST_OK;
}

static enum status read_sweep(struct plan *p, struct ini *ini, struct ini_section *s, struct err *e)
{
	for (size_t i = 0; i < s->n; i++) {
		struct ini_entry *entry = &s->entries[i];
		enum status st = read_scalar(p, ini, entry, e);

		if (st == ST_NOT_FOUND) {
			if (str_starts(entry->key, "axis."))
				st = read_axis(p, ini, entry, entry->key + 5, e);
			else if (str_starts(entry->key, "knob."))
				st = add_knob(p, ini, entry, e);
			else if (find_known(entry->key))
				st = read_axis(p, ini, entry, entry->key, e);
			else
				continue; /* ini_reject_unused names it */
		}
		if (st)
			return st;
		entry->used = true;
	}
	return ST_OK;
}

static enum status set_text(char **to, struct ini_section *s, const char *key, struct err *e)
{
	struct ini_entry *entry = ini_get(s, key);

	if (!entry)
		return ST_OK;
	*to = mem_strdup(entry->value);
	return *to ? ST_OK : err_set(e, ST_NOMEM, "out of memory");
}

static enum status read_job(
	struct plan *p, const struct ini *ini, struct ini_section *s, struct err *e)
{
	struct plan_job *j;
	enum status st;

	if (!*s->arg)
		return err_at(e, ini->file, s->line, 0, "a job needs a name: [job NAME]");
	for (size_t i = 0; i < p->n_jobs; i++)
		if (!strcmp(p->jobs[i].name, s->arg))
			return err_at(e, ini->file, s->line, 0,
				"a second [job %s]; the first is in line %d", s->arg,
				p->jobs[i].line);
	if (!mem_grow((void **)&p->jobs, &p->cap_jobs, p->n_jobs + 1, sizeof(*p->jobs), 10000))
		return err_set(e, ST_NOMEM, "out of memory");
	j = &p->jobs[p->n_jobs++];
	memset(j, 0, sizeof(*j));
	j->line = s->line;
	j->name = mem_strdup(s->arg);
	st = j->name ? ST_OK : err_set(e, ST_NOMEM, "out of memory");
	if (!st)
		st = set_text(&j->domain, s, "domain", e);
	if (!st)
		st = set_text(&j->task, s, "task", e);
	if (!st)
		st = set_text(&j->launch, s, "launch", e);
	if (!st)
		st = set_text(&j->command, s, "command", e);
	if (!st)
		st = set_text(&j->progress, s, "progress", e);
	if (!st && (!j->command || !*j->command))
		st = err_at(e, ini->file, s->line, 0, "[job %s] has no command", s->arg);
	return st;
}

/* Keys are rejected section by section, so that the nearest name comes from the right list. */
static enum status reject_unused(struct ini *ini, const char *section, const char *const *known,
	size_t n_known, struct err *e)
{
	struct ini_section *s;

	for (size_t k = 0; (s = ini_section(ini, section, k)); k++) {
		for (size_t i = 0; i < s->n; i++) {
			const char *near;

			if (s->entries[i].used)
				continue;
			near = str_nearest(s->entries[i].key, known, n_known);
			if (near)
				return err_at(e, ini->file, s->entries[i].line,
					s->entries[i].key_col,
					"unknown key '%s' in [%s]; did you mean '%s'?",
					s->entries[i].key, section, near);
			return err_at(e, ini->file, s->entries[i].line, s->entries[i].key_col,
				"unknown key '%s' in [%s]; an axis of your own is written axis.%s "
				"= …",
				s->entries[i].key, section, s->entries[i].key);
		}
	}
	return ST_OK;
}

static enum status read_ini(struct plan *p, struct ini *ini, struct err *e)
{
	static const char *const sections[] = {"sweep", "job"};
	struct ini_section *s;
	enum status st = ini_reject_sections(ini, sections, 2, e);

	for (size_t k = 0; !st && (s = ini_section(ini, "sweep", k)); k++)
		st = read_sweep(p, ini, s, e);
	for (size_t k = 0; !st && (s = ini_section(ini, "job", k)); k++)
		st = read_job(p, ini, s, e);
	if (!st)
		st = reject_unused(
			ini, "sweep", sweep_keys, sizeof(sweep_keys) / sizeof(sweep_keys[0]), e);
	if (!st)
		st = reject_unused(ini, "job", job_keys, sizeof(job_keys) / sizeof(job_keys[0]), e);
	if (!st)
		st = ini_reject_unused(ini, NULL, 0, e);
	if (!st && !p->n_jobs)
		st = err_at(e, ini->file, 0, 0, "no [job NAME] section: there is nothing to run");
	return st;
}

enum status plan_read_text(
	struct plan *p, const char *file, const char *text, size_t len, struct err *e)
{
	struct ini ini;
	enum status st = ini_read_text(&ini, file, text, len, e);

	if (st)
		return st;
	rec_set(&p->file, file);
	p->text = mem_alloc(len + 1);
	if (p->text && p->file) {
		memcpy(p->text, text, len);
		p->text[len] = '\0';
		st = read_ini(p, &ini, e);
	} else {
		st = err_set(e, ST_NOMEM, "out of memory");
	}
	ini_release(&ini);
	return st;
}

enum status plan_read_file(struct plan *p, const char *path, struct err *e)
{
	struct str text = STR_INIT;
	enum status st = file_read(path, 16, "a sweep file", &text, e);

	if (!st)
		st = plan_read_text(p, path, str_cstr(&text), text.len, e);
	str_release(&text);
	return st;
}

enum status plan_add_axis(struct plan *p, const char *name_eq_list, struct err *e)
{
	const char *eq = strchr(name_eq_list, '='), *item;
	char name[64], given[160];
	struct place at = {given, 1, 1};
	const struct place whole = {"command line", 0, 0};
	struct plan_axis *a;
	enum status st;

	snprintf(given, sizeof(given), "-L %s", name_eq_list);
	if (!eq || eq == name_eq_list || !eq[1])
		return bad(&at, e, name_eq_list,
			"expected NAME=VALUE,VALUE,…, as power_limit=250W,200W");
	snprintf(name, sizeof(name), "%.*s", (int)(eq - name_eq_list), name_eq_list);
	st = new_axis(p, name, &whole, &a, e);
	for (item = eq + 1; item && !st;) {
		const char *comma = strchr(item, ',');
		size_t n = comma ? (size_t)(comma - item) : strlen(item);
		char text[1024];

		if (n >= sizeof(text))
			return bad(&at, e, item, "longer than 1023 bytes");
		memcpy(text, item, n);
		text[n] = '\0';
		at.col = (int)(item - name_eq_list) + 1;
		if (!*str_trim(text))
			return bad(&at, e, name_eq_list, "an empty value");
		st = add_value(a, str_trim(text), &at, e);
		item = comma ? comma + 1 : NULL;
	}
	return st;
}

enum status plan_add_range(struct plan *p, const char *name, const char *min, const char *max,
	const char *step, struct err *e)
{
	struct place at = {"command line", 0, 0};
	struct plan_value lo, hi;
	struct plan_axis *a;
	int64_t by = 1;
	long long n;
	enum status st = new_axis(p, name, &at, &a, e);

	if (st)
		return st;
	st = parse_value(a, min, &at, &lo, e);
	if (st)
		return st;
	mem_free(lo.text);
	st = parse_value(a, max, &at, &hi, e);
	if (st)
		return st;
	mem_free(hi.text);
	if (lo.value.st || hi.value.st)
		return bad(&at, e, lo.value.st ? min : max, "a range needs whole numbers");
	if (!step)
		return err_set(e, ST_INVALID, "axis '%s': a range needs a step, as -D %s", name,
			a->unit == UNIT_POWER ? "25W" : "1");
	if (a->unit != UNIT_NONE)
		st = unit_parse(a->unit, step, &by, e);
	else if (str_to_i64(step, &n))
		by = n;
	else
		st = bad(&at, e, step, "expected a whole number");
	if (st)
		return st;
	if (by <= 0 || hi.value.v < lo.value.v)
		return err_set(
			e, ST_INVALID, "axis '%s': expected min <= max and a step above 0", name);
	for (int64_t v = lo.value.v; v <= hi.value.v && !st; v += by) {
		char text[48];

		st = add_value(a, unit_format(a->unit, v, text, sizeof(text)), &at, e);
	}
	return st;
}

enum status plan_add_command(struct plan *p, const char *const *argv, struct err *e)
{
	struct str command = STR_INIT;
	struct plan_job *j;
	const char *base;

	for (size_t i = 0; argv[i]; i++) {
		if (i)
			str_addc(&command, ' ');
		str_add_quoted(&command, argv[i]);
	}
	if (!command.len)
		return err_set(e, ST_INVALID, "no command after '--'");
	if (command.failed || !mem_grow((void **)&p->jobs, &p->cap_jobs, p->n_jobs + 1,
				      sizeof(*p->jobs), 10000)) {
		str_release(&command);
		return err_set(e, ST_NOMEM, "out of memory");
	}
	base = strrchr(argv[0], '/');
	j = &p->jobs[p->n_jobs++];
	*j = (struct plan_job){.name = mem_strdup(base && base[1] ? base + 1 : argv[0]),
		.command = str_take(&command)};
	if (!p->file)
		p->file = mem_strdup("command line");
	return j->name && j->command && p->file ? ST_OK : err_set(e, ST_NOMEM, "out of memory");
}
