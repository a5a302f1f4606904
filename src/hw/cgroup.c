/* cgroup.c: the CPU rate knob: every group of a rank is a device. */
#include "hw/cgroup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "hw/backends.h"
#include "hw/cgroup_name.h"
#include "hw/sysfs.h"

#define WHAT              "CPU rate"
#define MAX_GROUPS        4096
#define PPM               1000000
#define MIN_QUOTA_US      1000 /* the kernel takes no less */
#define DEFAULT_PERIOD_US 100000 /* the kernel's own */

struct group {
	char path[PATH_MAX];
	int n_cpus;
	bool gone;
};

struct cgroups {
	struct backend_env env;
	struct cgroup_place place;
	struct device *devs;
	struct group *groups;
	size_t n, cap_devs, cap_groups;
	bool no_memory;
};

static bool is_file(const struct cgroups *c, const struct group *g, const char *file)
{
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", g->path, file);
	return sysfs_exists(c->env.root_fd, path);
}

static void found(void *arg, const char *path, const char *run, int rank, int n_cpus)
{
	struct cgroups *c = arg;
	void *devs = c->devs, *groups = c->groups;
	struct device *d;
	struct group *g;
	char key[96];

	snprintf(key, sizeof(key), "cgroup:%s:%d", run, rank);
	for (size_t i = 0; i < c->n; i++) {
		if (!strcmp(c->groups[i].path, path)) {
			c->groups[i].gone = false;
			return;
		}
	}
	if (!mem_grow(&devs, &c->cap_devs, c->n + 1, sizeof(*c->devs), MAX_GROUPS)) {
		c->no_memory = true;
		return;
	}
	c->devs = devs;
	if (!mem_grow(&groups, &c->cap_groups, c->n + 1, sizeof(*c->groups), MAX_GROUPS)) {
		c->no_memory = true;
		return;
	}
	c->groups = groups;
	d = &c->devs[c->n];
	g = &c->groups[c->n];
	memset(d, 0, sizeof(*d));
	memset(g, 0, sizeof(*g));
	snprintf(g->path, sizeof(g->path), "%s", path);
	g->n_cpus = n_cpus;
	memcpy(d->key, key, sizeof(d->key));
	snprintf(d->where, sizeof(d->where), "%.255s", path);
	snprintf(d->name, sizeof(d->name), "rank %d on %d CPU%s", rank, n_cpus,
		n_cpus == 1 ? "" : "s");
	snprintf(d->model, sizeof(d->model), "CPU share");
	d->kind = DEV_CGROUP;
	d->parent = -1;
	d->index = rank;
	d->knobs = 1u << KNOB_CPU_RATE;
	if (is_file(c, g, c->place.version == 2 ? "cpu.stat" : "cpuacct.usage"))
		d->channels = UINT64_C(1) << CH_CPU_TIME;
	c->n++;
}

static enum status cg_rescan(void *self, struct err *e)
{
	struct cgroups *c = self;

	for (size_t i = 0; i < c->n; i++)
		c->groups[i].gone = true;
	c->no_memory = false;
	cgroup_each(c->env.root_fd, &c->place, c->env.run_id, found, c);
	return c->no_memory ? err_set(e, ST_NOMEM, "no memory for the CPU groups") : ST_OK;
}

enum status cgroup_adopt(void *self, const char *path)
{
	struct cgroups *c = self;
	const char *name = strrchr(path, '/');
	char run[48];
	int rank, n_cpus;

	if (!name || !cgroup_name_parse(name + 1, run, &rank, &n_cpus) ||
		!sysfs_exists(c->env.root_fd, path))
		return ST_NOT_FOUND;
	found(c, path, run, rank, n_cpus);
	return c->no_memory ? ST_NOMEM : ST_OK;
}

static void cg_close(void *self)
{
	struct cgroups *c = self;

	mem_free(c->devs);
	mem_free(c->groups);
	mem_free(c);
}

static enum status cg_open(const struct backend_env *env, void **self, struct err *e)
{
	struct cgroups *c = mem_calloc(1, sizeof(*c));
	struct err why = ERR_INIT;
	enum status st;

	if (!c)
		return err_set(e, ST_NOMEM, "no memory for the CPU rate back end");
	c->env = *env;
	st = cgroup_find(env->root_fd, &c->place, &why);
	if (st == ST_OK && !sysfs_writable(env->root_fd, c->place.base)) {
		char text[192];

		snprintf(text, sizeof(text), "/%.150s is not writable", c->place.base);
		hw_note_knob(env->notes, WHAT, text,
			c->place.version == 2 ? "run as root, or under `systemd-run --user --scope "
						"-p Delegate=yes`"
					      : "run as root, or ask for a cpu cgroup of your own");
	} else if (st != ST_OK) {
		hw_note_knob(env->notes, WHAT, why.msg,
			"run as root, or under `systemd-run --user --scope -p Delegate=yes`");
	}
	if (st == ST_OK)
		st = cg_rescan(c, e);
	if (st != ST_OK) {
		cg_close(c);
		return st == ST_NOMEM ? st : ST_UNSUPPORTED;
	}
	*self = c;
	return ST_OK;
}

static const struct device *cg_devices(void *self, size_t *n)
{
	struct cgroups *c = self;

	*n = c->n;
	return c->devs;
}

/* v2: the line "usage_usec N" of cpu.stat. */
static enum status read_cpu_time(struct cgroups *c, struct group *g, int64_t *out)
{
	char path[PATH_MAX + 64], buf[2048], *p;
	enum status st;
	long long v;

	if (c->place.version == 1) {
		snprintf(path, sizeof(path), "%s/cpuacct.usage", g->path);
		return sysfs_read_i64(c->env.root_fd, path, out, NULL);
	}
	snprintf(path, sizeof(path), "%s/cpu.stat", g->path);
	st = sysfs_read(c->env.root_fd, path, buf, sizeof(buf), NULL);
	if (st != ST_OK)
		return st;
	p = strstr(buf, "usage_usec ");
	if (!p)
		return ST_CORRUPT;
	p += strlen("usage_usec ");
	p[strcspn(p, "\n")] = '\0';
	if (!str_to_i64(p, &v) || v < 0 || __builtin_mul_overflow(v, INT64_C(1000), out))
		return ST_CORRUPT;
	return ST_OK;
}

static enum status cg_read(void *self, size_t dev, uint64_t channels, struct sample *out)
{
	struct cgroups *c = self;
	struct sample *s = &out[CH_CPU_TIME];

	samples_init(out, channels, c->env.clock->now(c->env.clock), ST_UNSUPPORTED);
	if (dev >= c->n)
		return ST_NOT_FOUND;
	if (channels & c->devs[dev].channels & UINT64_C(1) << CH_CPU_TIME) {
		s->st = read_cpu_time(c, &c->groups[dev], &s->value);
		if (s->st == ST_NOT_FOUND)
			s->st = ST_LOST; /* the rank has ended */
	}
	return samples_worst(out, channels);
}

static enum status cg_range(
	void *self, size_t dev, enum knob k, struct knob_range *out, struct err *e)
{
	(void)self;
	(void)dev;
	(void)k;
	(void)e;
	/* At the default period the smallest quota is 1 % of one CPU. */
	*out = (struct knob_range){.min = PPM / 100, .max = PPM, .step = PPM / 1000};
	return ST_OK;
}

/* Quota and period in us; quota -1 = none. */
static enum status get_us(
	struct cgroups *c, const struct group *g, int64_t *quota, int64_t *period, struct err *e)
{
	char path[PATH_MAX + 64], buf[64], first[32];
	long long p, q;
	enum status st;

	if (c->place.version == 1) {
		snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", g->path);
		st = sysfs_read_i64(c->env.root_fd, path, quota, e);
		if (st != ST_OK)
			return st;
		snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", g->path);
		return sysfs_read_i64(c->env.root_fd, path, period, e);
	}
	snprintf(path, sizeof(path), "%s/cpu.max", g->path);
	st = sysfs_read(c->env.root_fd, path, buf, sizeof(buf), e);
	if (st != ST_OK)
		return st;
	if (sscanf(buf, "%31s %lld", first, &p) != 2 || p <= 0)
		return err_set(e, ST_CORRUPT, "/%s holds '%s'", path, buf);
	*period = p;
	*quota = -1;
	if (strcmp(first, "max")) {
		if (!str_to_i64(first, &q) || q <= 0)
			return err_set(e, ST_CORRUPT, "/%s holds '%s'", path, buf);
		*quota = q;
	}
	return ST_OK;
}

static enum status cg_get(void *self, size_t dev, enum knob k, struct knob_val *out, struct err *e)
{
	struct cgroups *c = self;
	struct group *g = &c->groups[dev];
	int64_t quota, period;
	enum status st = get_us(c, g, &quota, &period, e);

	(void)k;
	*out = (struct knob_val){0, 0, 0, KV_UNKNOWN};
	if (st != ST_OK)
		return st;
	if (period <= 0 || quota > INT64_MAX / PPM)
		return err_set(e, ST_CORRUPT, "/%s: quota %" PRId64 " us of %" PRId64 " us",
			g->path, quota, period);
	out->from = KV_READ;
	out->lo = period * 1000;
	out->hi = quota < 0 ? -1 : (quota * PPM + period * g->n_cpus / 2) / (period * g->n_cpus);
	return ST_OK;
}

static enum status set_v1(struct cgroups *c, struct group *g, int64_t quota, int64_t period,
	int64_t old_period, struct err *e)
{
	char path[PATH_MAX + 64];
	enum status st = ST_OK;

	/* A period shorter than the standing quota allows is refused: lift the quota first. */
	if (period != old_period) {
		snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", g->path);
		st = sysfs_write_i64(c->env.root_fd, path, -1, e);
		snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", g->path);
		if (st == ST_OK)
			st = sysfs_write_i64(c->env.root_fd, path, period, e);
	}
	snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", g->path);
	if (st == ST_OK)
		st = sysfs_write_i64(c->env.root_fd, path, quota, e);
	return st;
}

static enum status cg_set(
	void *self, size_t dev, enum knob k, const struct knob_val *v, struct err *e)
{
	struct cgroups *c = self;
	struct group *g = &c->groups[dev];
	int64_t quota, period, old_period;
	char path[PATH_MAX + 64], text[64];
	enum status st = get_us(c, g, &quota, &old_period, e);

	(void)k;
	if (st != ST_OK)
		return st;
	period = v->lo > 0 ? v->lo / 1000 : old_period > 0 ? old_period : DEFAULT_PERIOD_US;
	quota = -1;
	if (v->from != KV_RESET && v->hi >= 0) {
		if (v->hi == 0 || v->hi > INT64_MAX / PPM / 1000)
			return err_set(e, ST_RANGE, "a CPU rate of %" PRId64 " ppm is out of range",
				v->hi);
		quota = (v->hi * (period * g->n_cpus) + PPM / 2) / PPM;
		if (quota < MIN_QUOTA_US)
			return err_set(e, ST_RANGE,
				"a CPU rate of %" PRId64 " ppm is below %d us in %" PRId64 " us",
				v->hi, MIN_QUOTA_US, period);
	}
	if (c->place.version == 1)
		return set_v1(c, g, quota, period, old_period, e);
	snprintf(path, sizeof(path), "%s/cpu.max", g->path);
	if (quota < 0)
		snprintf(text, sizeof(text), "max %" PRId64, period);
	else
		snprintf(text, sizeof(text), "%" PRId64 " %" PRId64, quota, period);
	return sysfs_write(c->env.root_fd, path, text, e);
}

static enum status cg_check(
	void *self, size_t dev, enum knob k, struct err *e, char *fix, size_t size)
{
	struct cgroups *c = self;
	char path[PATH_MAX + 64];

	(void)k;
	snprintf(path, sizeof(path), "%s/%s", c->groups[dev].path,
		c->place.version == 1 ? "cpu.cfs_quota_us" : "cpu.max");
	if (sysfs_writable(c->env.root_fd, path))
		return ST_OK;
	snprintf(fix, size, "run as root, or under `systemd-run --user --scope -p Delegate=yes`");
	return err_set(e, ST_NO_PERMISSION, "/%s is not writable", path);
}

const struct backend backend_cgroup = {
	.name = "cgroup",
	.open = cg_open,
	.devices = cg_devices,
	.rescan = cg_rescan,
	.read = cg_read,
	.knob_range = cg_range,
	.knob_get = cg_get,
	.knob_check = cg_check,
	.knob_set = cg_set,
	.close = cg_close,
};
