/* probe.c: `wattlaw probe`: what this machine can measure and set, and for each thing missing, the
 * fix. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/commands.h"
#include "cmd/rows.h"
#include "hw/cgroup.h"
#include "hw/hw.h"
#include "hw/sysfs.h"
#include "record/record_json.h"

struct probe_opts {
	bool json;
	const char *only, *nvml, *root;
};

static const struct opt table[] = {
	{.type = OPT_FLAG,
		.name = "json",
		.offset = offsetof(struct probe_opts, json),
		.help = "print a JSON document",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_TEXT,
		.name = "only",
		.offset = offsetof(struct probe_opts, only),
		.arg = "BACKENDS",
		.help = "ask only these, comma-separated",
		.flags = OPT_NO_CONFIG},
	ROW_NVML(offsetof(struct probe_opts, nvml)),
	{.type = OPT_TEXT,
		.name = "root",
		.offset = offsetof(struct probe_opts, root),
		.arg = "DIR",
		.help = "look at the files of a recorded machine instead of this one",
		.flags = OPT_NO_CONFIG},
	{.type = OPT_END},
};

static const struct opt_help help = {
	.usage = "wattlaw probe [--json] [--only BACKENDS] [--nvml FILE] [--root DIR]",
	.summary = "Say what this machine can measure and set; for each missing thing, the fix.",
	.more = "Nothing is changed. A driver that does not answer is given up after 5 s and "
		"named.\n"
		"Exit codes: 0 done, 2 wrong usage.",
};

/* One knob of one device, as far as it can be known without setting it. */
struct knob_view {
	enum knob knob;
	struct knob_range range;
	struct knob_val now;
	enum status range_st, now_st, check_st;
	char why[256], fix[256];
};

static void look_at_knob(struct hw *hw, size_t id, enum knob k, struct knob_view *v)
{
	struct err e = ERR_INIT;

	memset(v, 0, sizeof(*v));
	v->knob = k;
	v->range_st = hw_knob_range(hw, id, k, &v->range, &e);
	v->now_st = hw_knob_get(hw, id, k, &v->now, NULL);
	v->check_st = hw_knob_check(hw, id, k, &e, v->fix, sizeof(v->fix));
	if (v->check_st != ST_OK)
		snprintf(v->why, sizeof(v->why), "%.255s", e.msg);
}

/* The CPU groups of ranks exist only while a job runs: can they be made? */
static bool look_at_groups(struct hw *hw, struct device *d, struct knob_view *v)
{
	int root = hw_env(hw)->root_fd;
	struct cgroup_place place;

	if (cgroup_find(root, &place, NULL) != ST_OK)
		return false;
	memset(d, 0, sizeof(*d));
	memset(v, 0, sizeof(*v));
	snprintf(d->key, sizeof(d->key), "cgroup");
	snprintf(d->name, sizeof(d->name), "CPU share of each rank (cgroup v%d)", place.version);
	d->kind = DEV_CGROUP;
	v->knob = KNOB_CPU_RATE;
	v->range = (struct knob_range){.min = 10000, .max = 1000000, .step = 1000};
	v->now = (struct knob_val){0, -1, 0, KV_READ};
	if (!sysfs_writable(root, place.base)) {
		v->check_st = ST_NO_PERMISSION;
		snprintf(v->why, sizeof(v->why), "/%.200s is not writable", place.base);
		snprintf(v->fix, sizeof(v->fix), "%s",
			place.version == 2 ? "run as root, or under `systemd-run --user --scope -p "
					     "Delegate=yes`"
					   : "run as root, or ask for a cpu cgroup of your own");
	}
	return true;
}

static bool measures_energy(const struct device *d)
{
	return d->channels & (UINT64_C(1) << CH_ENERGY | UINT64_C(1) << CH_POWER);
}

/* The job's own device says nothing before there is a job. */
static bool shown(const struct hw *hw, size_t id)
{
	return hw_device(hw, id)->kind != DEV_OTHER;
}

/* -- JSON -- */

static json_t *value_in(enum unit u, int64_t v, bool known)
{
	return known ? json_number(unit_to_outside(u, v)) : json_null();
}

static const char *outside_unit(enum unit u)
{
	static const char *const names[UNIT_COUNT] = {
		[UNIT_NONE] = "",
		[UNIT_POWER] = "W",
		[UNIT_ENERGY] = "J",
		[UNIT_FREQ] = "MHz",
		[UNIT_TIME] = "s",
		[UNIT_RATIO] = "%",
		[UNIT_BYTES] = "B",
		[UNIT_TEMP] = "degC",
	};

	return (unsigned)u < UNIT_COUNT && names[u] ? names[u] : "";
}

static json_t *knob_json(const struct knob_view *v)
{
	enum unit u = knob_info(v->knob)->unit;
	bool range = v->range_st == ST_OK, ok = v->check_st == ST_OK;
	json_t *j = json_object(), *grid;

	json_object_set_new(j, "name", json_text(knob_info(v->knob)->name));
	json_object_set_new(j, "unit", json_text(outside_unit(u)));
	json_object_set_new(j, "min", value_in(u, v->range.min, range && v->range.min > 0));
	json_object_set_new(j, "max", value_in(u, v->range.max, range && v->range.max > 0));
	json_object_set_new(j, "step", value_in(u, v->range.step, range && v->range.step > 0));
	json_object_set_new(j, "default", value_in(u, v->range.def, range && v->range.def > 0));
	json_object_set_new(
		j, "current", value_in(u, v->now.hi, v->now_st == ST_OK && v->now.hi >= 0));
	json_object_set_new(j, "enforced",
		value_in(u, v->now.in_force, v->now_st == ST_OK && v->now.in_force > 0));
	json_object_set_new(j, "readable", json_boolean(v->now_st == ST_OK));
	if (range && v->range.n_grid) {
		grid = json_array();
		for (size_t i = 0; i < v->range.n_grid; i++)
			json_array_append_new(grid, value_in(u, v->range.grid[i], true));
		json_object_set_new(j, "values", grid);
	}
	json_object_set_new(j, "settable", json_boolean(ok));
	json_object_set_new(j, "why_not", ok ? json_null() : json_text(v->why));
	json_object_set_new(j, "fix", ok || !v->fix[0] ? json_null() : json_text(v->fix));
	return j;
}

static const char *power_kind_name(enum power_kind k)
{
	return k == POWER_KIND_AVERAGE ? "average" : k == POWER_KIND_INSTANT ? "instant" : NULL;
}

static json_t *device_json(struct hw *hw, size_t id)
{
	const struct device *d = hw_device(hw, id);
	struct sample s[CH_COUNT];
	json_t *j = json_object(), *channels = json_array(), *knobs = json_array(), *c;

	json_object_set_new(j, "id", json_text(d->key));
	json_object_set_new(j, "kind", json_text(dev_kind_name(d->kind)));
	json_object_set_new(j, "name", json_text(d->name));
	json_object_set_new(j, "model", json_text(d->model));
	json_object_set_new(j, "pci", d->pci[0] ? json_text(d->pci) : json_null());
	json_object_set_new(j, "backend", json_text(hw_backend(hw, id)->name));
	json_object_set_new(j, "counted", json_boolean(d->counted));
	json_object_set_new(j, "simulated", json_boolean(d->simulated));
	json_object_set_new(j, "power_kind", json_text(power_kind_name(d->power_kind)));
	json_object_set_new(j, "note", d->why_not[0] ? json_text(d->why_not) : json_null());
	hw_read_guarded(hw, id, d->channels, s);
	for (int ch = 0; ch < CH_COUNT; ch++) {
		const struct channel_info *info = channel_info((enum channel)ch);

		if (!(d->channels >> ch & 1))
			continue;
		c = json_object();
		json_object_set_new(c, "name", json_text(info->name));
		json_object_set_new(c, "unit", json_text(outside_unit(info->unit)));
		json_object_set_new(
			c, "value", value_in(info->unit, s[ch].value, s[ch].st == ST_OK));
		json_object_set_new(c, "status", json_text(status_name(s[ch].st)));
		json_array_append_new(channels, c);
	}
	json_object_set_new(j, "channels", channels);
	for (int k = 0; k < KNOB_COUNT; k++) {
		struct knob_view v;

		if (!(d->knobs >> k & 1))
			continue;
		look_at_knob(hw, id, (enum knob)k, &v);
		json_array_append_new(knobs, knob_json(&v));
	}
	json_object_set_new(j, "knobs", knobs);
	return j;
}

static json_t *groups_json(const struct device *d, const struct knob_view *v)
{
	json_t *j = json_object(), *knobs = json_array();

	json_object_set_new(j, "id", json_text(d->key));
	json_object_set_new(j, "kind", json_text(dev_kind_name(d->kind)));
	json_object_set_new(j, "name", json_text(d->name));
	json_object_set_new(j, "channels", json_array());
	json_array_append_new(knobs, knob_json(v));
	json_object_set_new(j, "knobs", knobs);
	return j;
}

static int print_json(struct hw *hw)
{
	json_t *doc = json_object(), *devices = json_array(), *missing = json_array();
	struct str out = STR_INIT;
	struct knob_view v;
	struct device d;
	int code = CMD_DONE;

	for (size_t i = 0; i < hw_n_devices(hw); i++)
		if (shown(hw, i))
			json_array_append_new(devices, device_json(hw, i));
	if (look_at_groups(hw, &d, &v))
		json_array_append_new(devices, groups_json(&d, &v));
	for (size_t i = 0; i < hw_n_missing(hw); i++) {
		const struct hw_missing *m = hw_missing_at(hw, i);
		json_t *j = json_object();

		json_object_set_new(j, "what", json_text(m->what));
		json_object_set_new(j, "why", json_text(m->why));
		json_object_set_new(j, "fix", json_text(m->fix));
		json_array_append_new(missing, j);
	}
	json_object_set_new(doc, "schema", json_text("wattlaw.probe/1"));
	json_object_set_new(doc, "devices", devices);
	json_object_set_new(doc, "missing", missing);
	if (json_line(doc, &out)) {
		fputs(str_cstr(&out), stdout);
	} else {
		cmd_error("out of memory");
		code = CMD_FAILED;
	}
	str_release(&out);
	return code;
}

/* -- for people -- */

static void print_reads(struct hw *hw, size_t id)
{
	const struct device *d = hw_device(hw, id);
	struct sample s[CH_COUNT];
	struct str line = STR_INIT;
	const char *sep = "";
	char buf[40];

	hw_read_guarded(hw, id, d->channels, s);
	for (int ch = 0; ch < CH_COUNT; ch++) {
		const struct channel_info *info = channel_info((enum channel)ch);

		if (!(d->channels >> ch & 1))
			continue;
		str_addf(&line, "%s%s", sep, info->name);
		sep = ", ";
		if (s[ch].st != ST_OK)
			str_addf(&line, " (%s)", status_name(s[ch].st));
		else if (!info->counter && ch != CH_THROTTLE)
			str_addf(&line, " %s",
				unit_format_short(
					info->unit, (double)s[ch].value, 4, buf, sizeof(buf)));
		if (ch == CH_POWER && power_kind_name(d->power_kind))
			str_addf(&line, " (%s)", power_kind_name(d->power_kind));
	}
	printf("    reads  %s\n", line.len ? str_cstr(&line) : "nothing");
	str_release(&line);
}

static void print_knob(const struct knob_view *v)
{
	enum unit u = knob_info(v->knob)->unit;
	char a[40], b[40];

	printf("    sets   %s", knob_info(v->knob)->name);
	if (v->range_st != ST_OK)
		printf(", range %s", status_name(v->range_st));
	else if (v->range.min > 0 && v->range.min == v->range.max)
		printf(" to nothing but %s", unit_format(u, v->range.min, a, sizeof(a)));
	else
		printf(" from %s to %s",
			v->range.min > 0 ? unit_format(u, v->range.min, a, sizeof(a)) : "?",
			v->range.max > 0 ? unit_format(u, v->range.max, b, sizeof(b)) : "?");
	if (v->range.n_grid > 1)
		printf(" in %zu steps", v->range.n_grid);
	if (v->now_st == ST_OK && v->now.hi < 0)
		printf("; no limit now");
	else if (v->now_st == ST_OK)
		printf("; now %s", unit_format(u, v->now.hi, a, sizeof(a)));
	else if (v->now_st == ST_UNSUPPORTED)
		printf("; cannot be read back");
	else
		printf("; now %s", status_name(v->now_st));
	if (v->now.in_force > 0 && v->now.in_force < v->now.hi)
		printf(" (%s in force)", unit_format(u, v->now.in_force, a, sizeof(a)));
	printf("\n");
	if (v->check_st != ST_OK)
		printf("           not settable: %s\n", v->why);
	if (v->check_st != ST_OK && v->fix[0])
		printf("           fix: %s\n", v->fix);
}

static void print_device(struct hw *hw, size_t id)
{
	const struct device *d = hw_device(hw, id);

	printf("%-5s %s  %s%s%s\n", dev_kind_name(d->kind), d->key, d->name,
		d->simulated ? "  [simulated]" : "",
		measures_energy(d) && !d->counted
			? "  [not counted: contained in others or contains them]"
			: "");
	print_reads(hw, id);
	if (d->why_not[0])
		printf("    note   %s\n", d->why_not);
	for (int k = 0; k < KNOB_COUNT; k++) {
		struct knob_view v;

		if (!(d->knobs >> k & 1))
			continue;
		look_at_knob(hw, id, (enum knob)k, &v);
		print_knob(&v);
	}
}

static void print_summary(struct hw *hw)
{
	size_t n[DEV_KIND_COUNT] = {0}, all = 0;
	const char *sep = "";

	for (size_t i = 0; i < hw_n_devices(hw); i++) {
		const struct device *d = hw_device(hw, i);

		if (d->counted && measures_energy(d)) {
			n[d->kind]++;
			all++;
		}
	}
	if (!all) {
		printf("Energy cannot be measured here: it is unknown, while time is measured and "
		       "its "
		       "laws are fitted.\n");
		return;
	}
	printf("Energy is measured of ");
	for (int k = 0; k < DEV_KIND_COUNT; k++) {
		if (!n[k])
			continue;
		printf("%s%zu x %s", sep, n[k], dev_kind_name((enum dev_kind)k));
		sep = " + ";
	}
	printf(".\n");
}

static void print_table(struct hw *hw)
{
	struct knob_view v;
	struct device d;

	for (size_t i = 0; i < hw_n_devices(hw); i++)
		if (shown(hw, i))
			print_device(hw, i);
	if (look_at_groups(hw, &d, &v)) {
		printf("%-5s %s  %s\n", dev_kind_name(d.kind), d.key, d.name);
		print_knob(&v);
	}
	print_summary(hw);
	if (hw_n_missing(hw))
		printf("\nMissing:\n");
	for (size_t i = 0; i < hw_n_missing(hw); i++) {
		const struct hw_missing *m = hw_missing_at(hw, i);

		printf("  %s: %s\n", m->what, m->why);
		if (m->fix[0])
			printf("      fix: %s\n", m->fix);
	}
}

int cmd_probe(int argc, char **argv)
{
	struct opt_set *set = opt_set_new();
	struct probe_opts o = {0};
	struct backend_env env;
	struct err e = ERR_INIT;
	struct hw *hw = NULL;
	int operand, code = CMD_DONE;

	if (!cmd_parse(set, &help, table, &o, argc, argv, &operand, &code))
		goto out;
	if (operand < argc) {
		code = cmd_usage("unexpected argument '%s'", argv[operand]);
		goto out;
	}
	if (hw_env_default(&env, &e) != ST_OK) {
		code = cmd_fail(&e);
		goto out;
	}
	if (o.nvml)
		env.nvml_path = o.nvml;
	if (o.root) {
		close(env.root_fd);
		env.root_fd = open(o.root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (env.root_fd < 0) {
			err_errno(&e, errno, "cannot open '%s'", o.root);
			code = cmd_fail(&e);
			goto out;
		}
	}
	if (hw_open(&env, o.only, &hw, &e) != ST_OK) {
		code = cmd_fail(&e);
		goto out;
	}
	if (o.json)
		code = print_json(hw);
	else
		print_table(hw);
out:
	hw_close(hw);
	opt_set_free(set);
	return code;
}
