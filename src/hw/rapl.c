/* rapl.c: energy and power limits of CPU packages and DRAM, through the kernel's powercap.
 *
 * Zones: package-N (and its dies), dram inside a package's directory but not inside its energy,
 * psys, which contains the packages. intel-rapl-mmio repeats zones of intel-rapl: a zone's name is
 * counted once. core and uncore are inside the package and not listed. Kernel documentation:
 * Documentation/power/powercap/powercap.rst, ABI sysfs-class-powercap.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "hw/backends.h"
#include "hw/sysfs.h"

#define CLASS        "sys/class/powercap"
#define WHAT         "CPU and DRAM energy"
#define MAX_ZONES    512
#define SPIKE_FACTOR 4 /* short-term limits reach several times the rated power */

struct zone {
	char dir[112]; /* below the root */
	int fd; /* of energy_uj, -1 when it cannot be opened */
	enum status st; /* why not */
	int constraint; /* number of the long-term limit, -1 none */
};

struct rapl {
	struct backend_env env;
	struct device *devs;
	struct zone *zones;
	size_t n, cap_devs, cap_zones;
};

static enum status zone_read(const struct zone *z, const char *file, int64_t *out, int root_fd)
{
	char path[192];

	snprintf(path, sizeof(path), "%s/%s", z->dir, file);
	return sysfs_read_i64(root_fd, path, out, NULL);
}

/* "package-0", "psys" or "dram" of a package; false for what is not counted. */
static bool classify(struct rapl *r, const char *entry, const char *name, struct device *d)
{
	char parent_path[160], parent[64];
	const char *last = strrchr(entry, ':');

	d->parent = -1;
	d->counted = true;
	if (str_starts(name, "package-")) {
		d->kind = DEV_CPU;
		snprintf(d->key, sizeof(d->key), "rapl:%s", name);
		snprintf(d->name, sizeof(d->name), "CPU %s", name);
		return true;
	}
	if (!strcmp(name, "psys")) {
		d->kind = DEV_NODE;
		snprintf(d->key, sizeof(d->key), "rapl:psys");
		snprintf(d->name, sizeof(d->name), "platform (psys)");
		return true;
	}
	if (strcmp(name, "dram"))
		return false;
	snprintf(parent_path, sizeof(parent_path), CLASS "/%.*s/name", (int)(last - entry), entry);
	if (sysfs_read(r->env.root_fd, parent_path, parent, sizeof(parent), NULL) != ST_OK)
		snprintf(parent, sizeof(parent), "%.*s", (int)(last - entry), entry);
	d->kind = DEV_DRAM;
	snprintf(d->key, sizeof(d->key), "rapl:%s:dram", parent);
	snprintf(d->name, sizeof(d->name), "DRAM of %s", parent);
	return true;
}

static bool known(const struct rapl *r, const char *key)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->devs[i].key, key))
			return true;
	return false;
}

/* A counter that stands at 0 while a CPU runs is the face of a hypervisor, not a reading. */
static bool stands_at_zero(int fd)
{
	struct timespec wait = {0, 20000000};
	int64_t v = 0;

	if (sysfs_fd_i64(fd, &v) != ST_OK || v != 0)
		return false;
	nanosleep(&wait, NULL);
	return sysfs_fd_i64(fd, &v) == ST_OK && v == 0;
}

static void probe_energy(struct rapl *r, struct zone *z, struct device *d)
{
	char path[160], why[192];
	int64_t v;

	snprintf(path, sizeof(path), "%s/energy_uj", z->dir);
	z->fd = sysfs_open(r->env.root_fd, path, &z->st);
	if (z->fd >= 0) {
		z->st = sysfs_fd_i64(z->fd, &v);
		if (z->st == ST_OK && stands_at_zero(z->fd))
			z->st = ST_UNSUPPORTED;
	}
	if (z->st == ST_OK) {
		d->channels = UINT64_C(1) << CH_ENERGY;
		return;
	}
	if (z->st == ST_NO_PERMISSION) {
		snprintf(d->why_not, sizeof(d->why_not),
			"energy_uj is readable by root only (Linux 5.10 and later)");
		snprintf(why, sizeof(why), "/%s: permission denied", path);
		hw_note(r->env.notes, WHAT, why,
			"as root: chmod a+r /sys/class/powercap/intel-rapl*/energy_uj "
			"/sys/class/powercap/intel-rapl*/*/energy_uj (again after each start: a "
			"udev or "
			"tmpfiles rule), or run wattlawd");
	} else if (z->st == ST_UNSUPPORTED) {
		snprintf(d->why_not, sizeof(d->why_not), "the counter stands at 0");
		snprintf(why, sizeof(why), "/%s stands at 0: not a reading", path);
		hw_note(r->env.notes, WHAT, why,
			"a virtual machine sees no CPU sensor: measure on the host");
	} else {
		snprintf(d->why_not, sizeof(d->why_not), "energy_uj cannot be read: %s",
			status_name(z->st));
		snprintf(why, sizeof(why), "/%s: %s", path, status_name(z->st));
		hw_note(r->env.notes, WHAT, why, "see the kernel log");
	}
	/* A failed first read may be a passing fault: keep asking. */
	if (z->st == ST_IO || z->st == ST_TIMEOUT)
		d->channels = UINT64_C(1) << CH_ENERGY;
}

static void probe_limit(struct rapl *r, struct zone *z, struct device *d)
{
	char path[192], name[32], file[48];
	int64_t v;

	z->constraint = -1;
	/* No socket, memory or board draws more; a counter that would need it was reset, not
	 * wrapped. */
	d->max_power_mw = d->kind == DEV_NODE ? 20000000 : 3000000;
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/constraint_%d_name", z->dir, i);
		if (sysfs_read(r->env.root_fd, path, name, sizeof(name), NULL) != ST_OK)
			break;
		if (strcmp(name, "long_term"))
			continue;
		z->constraint = i;
		snprintf(path, sizeof(path), "%s/constraint_%d_power_limit_uw", z->dir, i);
		if (d->kind == DEV_CPU && sysfs_exists(r->env.root_fd, path))
			d->knobs |= 1u << KNOB_POWER_LIMIT;
		snprintf(file, sizeof(file), "constraint_%d_max_power_uw", i);
		if (zone_read(z, file, &v, r->env.root_fd) == ST_OK && v > 0 &&
			v < INT64_MAX / SPIKE_FACTOR)
			d->max_power_mw = v / 1000 * SPIKE_FACTOR;
	}
}

static enum status add_zone(struct rapl *r, const char *entry)
{
	char path[160], name[64];
	void *devs = r->devs, *zones = r->zones;
	struct device *d;
	struct zone *z;
	int64_t v;

	if (!strchr(entry, ':'))
		return ST_OK; /* the control type itself */
	snprintf(path, sizeof(path), CLASS "/%s/name", entry);
	if (sysfs_read(r->env.root_fd, path, name, sizeof(name), NULL) != ST_OK)
		return ST_OK;
	if (!mem_grow(&devs, &r->cap_devs, r->n + 1, sizeof(*r->devs), MAX_ZONES))
		return ST_NOMEM;
	r->devs = devs;
	if (!mem_grow(&zones, &r->cap_zones, r->n + 1, sizeof(*r->zones), MAX_ZONES))
		return ST_NOMEM;
	r->zones = zones;
	d = &r->devs[r->n];
	z = &r->zones[r->n];
	memset(d, 0, sizeof(*d));
	memset(z, 0, sizeof(*z));
	if (!classify(r, entry, name, d) || known(r, d->key))
		return ST_OK;
	d->index = (int)r->n;
	d->refresh_ns = NS_PER_MS; /* Intel SDM vol. 3, 15.10: updated about each millisecond */
	snprintf(z->dir, sizeof(z->dir), CLASS "/%s", entry);
	snprintf(d->where, sizeof(d->where), "%s", z->dir);
	if (zone_read(z, "max_energy_range_uj", &v, r->env.root_fd) == ST_OK && v > 0)
		d->energy_wrap = v;
	probe_energy(r, z, d);
	probe_limit(r, z, d);
	r->n++;
	return ST_OK;
}

/* The CPU's name, so that packages of one model are comparable. */
static void add_model(struct rapl *r)
{
	char buf[8192], model[64] = "CPU";
	char *p = NULL, *end;

	if (sysfs_read(r->env.root_fd, "proc/cpuinfo", buf, sizeof(buf), NULL) == ST_OK)
		p = strstr(buf, "model name");
	if (p)
		p = strchr(p, ':');
	if (p) {
		end = strchr(p, '\n');
		if (end)
			*end = '\0';
		snprintf(model, sizeof(model), "%.63s", str_trim(p + 1));
	}
	for (size_t i = 0; i < r->n; i++)
		snprintf(r->devs[i].model, sizeof(r->devs[i].model), "%s%.40s",
			r->devs[i].kind == DEV_DRAM ? "DRAM of " : "", model);
}

static void rapl_close(void *self)
{
	struct rapl *r = self;

	for (size_t i = 0; i < r->n; i++)
		if (r->zones[i].fd >= 0)
			close(r->zones[i].fd);
	mem_free(r->devs);
	mem_free(r->zones);
	mem_free(r);
}

static enum status rapl_open(const struct backend_env *env, void **self, struct err *e)
{
	/* The MSR interface first: its mmio twins are then recognised as repeats. */
	static const char *const types[] = {"intel-rapl:", "intel-rapl-mmio:", "intel-rapl-tpmi:"};
	struct rapl *r = mem_calloc(1, sizeof(*r));
	enum status st = ST_OK;

	if (!r)
		return err_set(e, ST_NOMEM, "no memory for the RAPL back end");
	r->env = *env;
	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]) && st == ST_OK; t++) {
		struct sysfs_list l;

		if (sysfs_list(env->root_fd, CLASS, types[t], &l) != ST_OK)
			continue;
		for (size_t i = 0; i < l.n && st == ST_OK; i++)
			st = add_zone(r, l.v[i]);
		sysfs_list_release(&l);
	}
	if (st != ST_OK || r->n == 0) {
		if (st == ST_OK)
			hw_note(env->notes, WHAT, "there is no /sys/class/powercap/intel-rapl:*",
				"on real hardware: modprobe intel_rapl_msr; a virtual machine sees "
				"no "
				"CPU sensor");
		rapl_close(r);
		return st == ST_OK ? ST_UNSUPPORTED
				   : err_set(e, st, "no memory for the RAPL back end");
	}
	add_model(r);
	*self = r;
	return ST_OK;
}

static const struct device *rapl_devices(void *self, size_t *n)
{
	struct rapl *r = self;

	*n = r->n;
	return r->devs;
}

static enum status rapl_read(void *self, size_t dev, uint64_t channels, struct sample *out)
{
	struct rapl *r = self;
	struct zone *z = &r->zones[dev];
	struct sample *s = &out[CH_ENERGY];
	int64_t t0, t1;

	t0 = r->env.clock->now(r->env.clock);
	samples_init(out, channels, t0, ST_UNSUPPORTED);
	if (!(channels >> CH_ENERGY & 1))
		return samples_worst(out, channels);
	if (!(r->devs[dev].channels >> CH_ENERGY & 1)) {
		s->st = z->st;
		return z->st;
	}
	if (z->fd < 0) {
		char path[160];

		snprintf(path, sizeof(path), "%s/energy_uj", z->dir);
		z->fd = sysfs_open(r->env.root_fd, path, &s->st);
	}
	if (z->fd >= 0)
		s->st = sysfs_fd_i64(z->fd, &s->value);
	if (s->st == ST_OK && s->value < 0)
		s->st = ST_CORRUPT;
	t1 = r->env.clock->now(r->env.clock);
	s->t_ns = t0 + (t1 - t0) / 2;
	return samples_worst(out, channels);
}

static void limit_path(const struct zone *z, const char *what, char *path, size_t size)
{
	snprintf(path, size, "%s/constraint_%d_%s", z->dir, z->constraint, what);
}

static enum status rapl_knob_range(
	void *self, size_t dev, enum knob k, struct knob_range *out, struct err *e)
{
	struct rapl *r = self;
	struct zone *z = &r->zones[dev];
	char file[64];
	int64_t v;

	(void)k;
	(void)e;
	memset(out, 0, sizeof(*out));
	out->step = 1;
	snprintf(file, sizeof(file), "constraint_%d_max_power_uw", z->constraint);
	if (zone_read(z, file, &v, r->env.root_fd) == ST_OK && v > 0)
		out->max = out->def = v / 1000;
	snprintf(file, sizeof(file), "constraint_%d_min_power_uw", z->constraint);
	if (zone_read(z, file, &v, r->env.root_fd) == ST_OK && v > 0)
		out->min = v / 1000;
	return ST_OK;
}

static enum status rapl_knob_get(
	void *self, size_t dev, enum knob k, struct knob_val *out, struct err *e)
{
	struct rapl *r = self;
	char path[192];
	int64_t uw;
	enum status st;

	(void)k;
	*out = (struct knob_val){0, 0, 0, KV_UNKNOWN};
	limit_path(&r->zones[dev], "power_limit_uw", path, sizeof(path));
	st = sysfs_read_i64(r->env.root_fd, path, &uw, e);
	if (st != ST_OK)
		return st;
	/* lo keeps what is below a milliwatt, so that what is put back is exactly what was found.
	 */
	*out = (struct knob_val){uw % 1000, uw / 1000, 0, KV_READ};
	return ST_OK;
}

static enum status rapl_knob_set(
	void *self, size_t dev, enum knob k, const struct knob_val *v, struct err *e)
{
	struct rapl *r = self;
	struct knob_range range;
	char path[192];
	int64_t mw = v->hi, uw;

	if (v->from == KV_RESET) {
		rapl_knob_range(self, dev, k, &range, e);
		mw = range.def;
	}
	if (mw <= 0 || __builtin_mul_overflow(mw, INT64_C(1000), &uw))
		return err_set(e, ST_RANGE, "power limit %lld mW is out of range", (long long)mw);
	if (v->from != KV_RESET && v->lo > 0 && v->lo < 1000)
		uw += v->lo;
	limit_path(&r->zones[dev], "power_limit_uw", path, sizeof(path));
	return sysfs_write_i64(r->env.root_fd, path, uw, e);
}

static enum status rapl_knob_check(
	void *self, size_t dev, enum knob k, struct err *e, char *fix, size_t size)
{
	struct rapl *r = self;
	struct zone *z = &r->zones[dev];
	char path[192];
	int64_t enabled = 1;

	(void)k;
	limit_path(z, "power_limit_uw", path, sizeof(path));
	if (!sysfs_writable(r->env.root_fd, path)) {
		snprintf(fix, size, "run as root, or ask the site to run wattlawd for its users");
		return err_set(e, ST_NO_PERMISSION, "/%s is not writable", path);
	}
	if (zone_read(z, "enabled", &enabled, r->env.root_fd) == ST_OK && enabled == 0) {
		snprintf(fix, size, "echo 1 > /%s/enabled, if the site agrees", z->dir);
		return err_set(e, ST_UNSUPPORTED,
			"the zone's limits are switched off (/%s/enabled)", z->dir);
	}
	return ST_OK;
}

const struct backend backend_rapl = {
	.name = "rapl",
	.open = rapl_open,
	.devices = rapl_devices,
	.read = rapl_read,
	.knob_range = rapl_knob_range,
	.knob_get = rapl_knob_get,
	.knob_check = rapl_knob_check,
	.knob_set = rapl_knob_set,
	.close = rapl_close,
};
