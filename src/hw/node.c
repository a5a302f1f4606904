/* node.c: sensors of a whole node, module or board rail.
 *
 * Cray pm_counters ("245 W 1600000000 us" at 10 Hz), ACPI power meters (Grace names its sockets in
 * power1_oem_info), ina3221 rails of Jetson boards (mV x mA). What contains other devices is a
 * DEV_NODE, which hw.c counts only when nothing else is; what is contained in another reading is
 * not counted. IPMI and DCMI are not read: one reading takes a command and about a second.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "hw/backends.h"
#include "hw/drm.h"
#include "hw/sysfs.h"

#define BIT(ch)     (UINT64_C(1) << (ch))
#define CRAY        "sys/cray/pm_counters"
#define HWMON       "sys/class/hwmon"
#define MAX_SENSORS 1024

enum sensor_kind { SENSOR_CRAY, SENSOR_POWER, SENSOR_RAIL };

struct sensor {
	enum sensor_kind kind;
	char dir[96];
	char file[24]; /* SENSOR_POWER: power1_average; SENSOR_RAIL: the number of the rail */
};

struct node {
	struct backend_env env;
	struct device *devs;
	struct sensor *sensors;
	size_t n, cap_devs, cap_sensors;
};

static struct device *add(struct node *nd, struct sensor **s)
{
	void *devs = nd->devs, *sensors = nd->sensors;
	struct device *d;

	if (!mem_grow(&devs, &nd->cap_devs, nd->n + 1, sizeof(*nd->devs), MAX_SENSORS))
		return NULL;
	nd->devs = devs;
	if (!mem_grow(&sensors, &nd->cap_sensors, nd->n + 1, sizeof(*nd->sensors), MAX_SENSORS))
		return NULL;
	nd->sensors = sensors;
	d = &nd->devs[nd->n];
	*s = &nd->sensors[nd->n];
	memset(d, 0, sizeof(*d));
	memset(*s, 0, sizeof(**s));
	d->parent = -1;
	d->index = (int)nd->n;
	return d;
}

/* "245 W 1600000000 us": the number, when the unit is the expected one. */
static enum status cray_value(
	struct node *nd, const char *file, const char *unit, int64_t scale, int64_t *out)
{
	char buf[128], u[8];
	long long v;
	enum status st = drm_text(nd->env.root_fd, CRAY, file, buf, sizeof(buf));

	if (st != ST_OK)
		return st;
	if (sscanf(buf, "%lld %7s", &v, u) != 2 || strcmp(u, unit) || v < 0 ||
		__builtin_mul_overflow((int64_t)v, scale, out))
		return ST_CORRUPT;
	return ST_OK;
}

static enum status rail_power(struct node *nd, const struct sensor *s, int64_t *out)
{
	char file[40];
	int64_t mv, ma;
	enum status st;

	snprintf(file, sizeof(file), "in%s_input", s->file);
	st = drm_i64(nd->env.root_fd, s->dir, file, &mv);
	if (st != ST_OK)
		return st;
	snprintf(file, sizeof(file), "curr%s_input", s->file);
	st = drm_i64(nd->env.root_fd, s->dir, file, &ma);
	if (st != ST_OK)
		return st;
	if (mv < 0 || ma < 0 || mv > 1000000 || ma > 10000000)
		return ST_CORRUPT;
	*out = mv * ma / 1000;
	return ST_OK;
}

static enum status read_power(struct node *nd, const struct sensor *s, int64_t *out)
{
	enum status st;

	switch (s->kind) {
	case SENSOR_CRAY:
		st = cray_value(nd, "power", "W", 1000, out);
		break;
	case SENSOR_RAIL:
		st = rail_power(nd, s, out);
		break;
	default:
		st = drm_i64(nd->env.root_fd, s->dir, s->file, out);
		*out /= 1000;
	}
	/* A rail can be off; a whole node cannot draw nothing. */
	if (st == ST_OK && (*out < 0 || (*out == 0 && s->kind != SENSOR_RAIL)))
		return ST_UNKNOWN;
	return st;
}

static enum status node_read(void *self, size_t dev, uint64_t channels, struct sample *out)
{
	struct node *nd = self;
	const struct sensor *s = &nd->sensors[dev];
	uint64_t todo = channels & nd->devs[dev].channels;
	int64_t t0 = nd->env.clock->now(nd->env.clock), t1;

	samples_init(out, channels, t0, ST_UNSUPPORTED);
	if (todo & BIT(CH_ENERGY)) {
		out[CH_ENERGY].st = cray_value(nd, "energy", "J", 1000000, &out[CH_ENERGY].value);
		t1 = nd->env.clock->now(nd->env.clock);
		out[CH_ENERGY].t_ns = t0 + (t1 - t0) / 2;
		t0 = t1;
	}
	if (todo & BIT(CH_POWER)) {
		out[CH_POWER].st = read_power(nd, s, &out[CH_POWER].value);
		t1 = nd->env.clock->now(nd->env.clock);
		out[CH_POWER].t_ns = t0 + (t1 - t0) / 2;
	}
	for (int ch = 0; ch < CH_COUNT; ch++)
		if (todo >> ch & 1 && out[ch].st == ST_NOT_FOUND)
			out[ch].st = ST_LOST;
	return samples_worst(out, channels);
}

static enum status add_cray(struct node *nd)
{
	struct sensor *s;
	struct device *d;
	int64_t v;

	if (!drm_has(nd->env.root_fd, CRAY, "power"))
		return ST_OK;
	d = add(nd, &s);
	if (!d)
		return ST_NOMEM;
	s->kind = SENSOR_CRAY;
	snprintf(s->dir, sizeof(s->dir), CRAY);
	snprintf(d->key, sizeof(d->key), "node:pm_counters");
	snprintf(d->name, sizeof(d->name), "whole node (Cray pm_counters)");
	snprintf(d->model, sizeof(d->model), "Cray node");
	d->kind = DEV_NODE;
	d->counted = true;
	d->refresh_ns = 100 * NS_PER_MS;
	if (cray_value(nd, "energy", "J", 1000000, &v) == ST_OK)
		d->channels |= BIT(CH_ENERGY);
	if (cray_value(nd, "power", "W", 1000, &v) == ST_OK)
		d->channels |= BIT(CH_POWER);
	nd->n++;
	return ST_OK;
}

/* What a power meter or rail measures, by the name its maker gave it. */
static void classify(struct device *d, const char *label)
{
	static const struct {
		const char *part;
		enum dev_kind kind;
		bool counted;
	} names[] = {
		{"Module Power", DEV_NODE, true}, /* Grace Hopper: CPU, GPU and memory */
		{"Grace Power", DEV_CPU, true}, /* Grace with its memory */
		{"CPU Power", DEV_CPU, false}, /* a part of Grace Power */
		{"SysIO Power", DEV_OTHER, false}, /* likewise */
		{"VDD_IN", DEV_NODE, true}, /* Jetson: everything */
		{"VDD_GPU", DEV_GPU, true},
		{"VDD_CPU", DEV_CPU, true},
		{"VDD_SOC", DEV_OTHER, false},
		{"VIN_SYS", DEV_OTHER, false},
	};

	d->kind = DEV_NODE; /* a meter without a name measures the node */
	d->counted = true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strstr(label, names[i].part))
			continue;
		d->kind = names[i].kind;
		d->counted = names[i].counted;
		return;
	}
}

static enum status add_meter(struct node *nd, const char *dir, enum sensor_kind kind,
	const char *file, const char *label)
{
	struct sensor *s;
	struct device *d = add(nd, &s);
	int64_t v;

	if (!d)
		return ST_NOMEM;
	s->kind = kind;
	snprintf(s->dir, sizeof(s->dir), "%.90s", dir);
	snprintf(s->file, sizeof(s->file), "%.20s", file);
	classify(d, label);
	if (kind == SENSOR_RAIL && d->kind == DEV_NODE && !strstr(label, "VDD_IN"))
		return ST_OK; /* a rail nobody told us about */
	snprintf(d->key, sizeof(d->key), "hwmon:%.60s", label[0] ? label : dir + strlen(HWMON) + 1);
	for (char *p = d->key; *p; p++)
		if (isspace((unsigned char)*p))
			*p = '-';
	snprintf(d->name, sizeof(d->name), "%.80s", label[0] ? label : "power meter");
	snprintf(d->model, sizeof(d->model), "%.60s", d->name);
	snprintf(d->where, sizeof(d->where), "%s", dir);
	if (read_power(nd, s, &v) == ST_OK)
		d->channels = BIT(CH_POWER);
	d->power_kind = kind == SENSOR_POWER ? POWER_KIND_AVERAGE : POWER_KIND_INSTANT;
	nd->n++;
	return ST_OK;
}

static enum status add_hwmon(struct node *nd, const char *entry)
{
	char dir[96], name[32], label[64], file[32];
	enum status st = ST_OK;

	snprintf(dir, sizeof(dir), HWMON "/%.40s", entry);
	if (drm_text(nd->env.root_fd, dir, "name", name, sizeof(name)) != ST_OK)
		return ST_OK;
	if (!strcmp(name, "power_meter") || !strcmp(name, "acpi_power_meter")) {
		/* The driver's files are in the ACPI device on older kernels. */
		if (!drm_has(nd->env.root_fd, dir, "power1_average"))
			snprintf(dir, sizeof(dir), HWMON "/%.40s/device", entry);
		if (!drm_has(nd->env.root_fd, dir, "power1_average"))
			return ST_OK;
		label[0] = '\0';
		drm_text(nd->env.root_fd, dir, "power1_oem_info", label, sizeof(label));
		return add_meter(nd, dir, SENSOR_POWER, "power1_average", label);
	}
	if (strcmp(name, "ina3221"))
		return ST_OK;
	for (int i = 1; i <= 3 && st == ST_OK; i++) {
		char number[4];

		snprintf(file, sizeof(file), "in%d_label", i);
		if (drm_text(nd->env.root_fd, dir, file, label, sizeof(label)) != ST_OK)
			continue;
		snprintf(number, sizeof(number), "%d", i);
		st = add_meter(nd, dir, SENSOR_RAIL, number, label);
	}
	return st;
}

static void node_close(void *self)
{
	struct node *nd = self;

	mem_free(nd->devs);
	mem_free(nd->sensors);
	mem_free(nd);
}

static enum status node_open(const struct backend_env *env, void **self, struct err *e)
{
	struct node *nd = mem_calloc(1, sizeof(*nd));
	struct sysfs_list l = {NULL, 0, 0};
	enum status st;

	if (!nd)
		return err_set(e, ST_NOMEM, "no memory for the node sensors");
	nd->env = *env;
	st = add_cray(nd);
	if (st == ST_OK && sysfs_list(env->root_fd, HWMON, "hwmon", &l) == ST_OK)
		for (size_t i = 0; i < l.n && st == ST_OK; i++)
			st = add_hwmon(nd, l.v[i]);
	sysfs_list_release(&l);
	if (st != ST_OK || nd->n == 0) {
		node_close(nd);
		if (st != ST_OK)
			return err_set(e, st, "no memory for the node sensors");
		if (sysfs_exists(env->root_fd, "dev/ipmi0"))
			hw_note(env->notes, "whole-node power",
				"the board controller (IPMI) is not read: a reading takes about a "
				"second",
				"import its log, or use the site's own node sensor");
		return ST_UNSUPPORTED;
	}
	*self = nd;
	return ST_OK;
}

static const struct device *node_devices(void *self, size_t *n)
{
	struct node *nd = self;

	*n = nd->n;
	return nd->devs;
}

const struct backend backend_node = {
	.name = "node",
	.open = node_open,
	.devices = node_devices,
	.read = node_read,
	.close = node_close,
};
