/* cpufreq.c: CPU clocks and their limit (scaling_max_freq).
 *
 * One device per package and core type (policies of one package with the same hardware range): its
 * limit is one value for all of its policies. Where they were found different there is no one value
 * to put back, so the knob is refused. Kernel documentation: admin-guide/pm/cpufreq.rst.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "hw/backends.h"
#include "hw/drm.h"
#include "hw/sysfs.h"

#define DIR         "sys/devices/system/cpu/cpufreq"
#define MAX_POLICY  8192
#define MAX_SAMPLED 8 /* reading a clock can wake a core: a few of them stand for all */

struct policy {
	char dir[96];
	int64_t package, min, max;
	size_t dev;
};

struct cpufreq {
	struct backend_env env;
	struct device *devs;
	struct policy *policies;
	size_t n, n_policies, cap_devs, cap_policies;
};

static enum status add_policy(struct cpufreq *f, const char *name)
{
	void *v = f->policies;
	struct policy *p;
	char path[128];

	if (!mem_grow(&v, &f->cap_policies, f->n_policies + 1, sizeof(*p), MAX_POLICY))
		return ST_NOMEM;
	f->policies = v;
	p = &f->policies[f->n_policies];
	memset(p, 0, sizeof(*p));
	snprintf(p->dir, sizeof(p->dir), DIR "/%.50s", name);
	if (drm_i64(f->env.root_fd, p->dir, "cpuinfo_max_freq", &p->max) != ST_OK || p->max <= 0 ||
		!drm_has(f->env.root_fd, p->dir, "scaling_max_freq"))
		return ST_OK;
	drm_i64(f->env.root_fd, p->dir, "cpuinfo_min_freq", &p->min);
	snprintf(path, sizeof(path), "sys/devices/system/cpu/cpu%.20s/topology",
		name + strlen("policy"));
	if (drm_i64(f->env.root_fd, path, "physical_package_id", &p->package) != ST_OK ||
		p->package < 0)
		p->package = 0;
	f->n_policies++;
	return ST_OK;
}

/* A new device, or the one this policy belongs to. */
static enum status add_device(struct cpufreq *f, struct policy *p)
{
	void *v = f->devs;
	struct device *d;
	int64_t khz;

	for (struct policy *q = f->policies; q < p; q++) {
		if (q->package == p->package && q->max == p->max && q->min == p->min) {
			p->dev = q->dev;
			return ST_OK;
		}
	}
	if (!mem_grow(&v, &f->cap_devs, f->n + 1, sizeof(*d), MAX_POLICY))
		return ST_NOMEM;
	f->devs = v;
	p->dev = f->n;
	d = &f->devs[f->n++];
	memset(d, 0, sizeof(*d));
	snprintf(d->key, sizeof(d->key), "cpufreq:package-%lld:%lld", (long long)p->package,
		(long long)p->max);
	snprintf(d->name, sizeof(d->name), "clock of CPU package-%lld", (long long)p->package);
	snprintf(d->model, sizeof(d->model), "CPU clock");
	d->kind = DEV_CPU;
	d->parent = -1;
	d->index = (int)p->package;
	d->knobs = 1u << KNOB_CLOCK_MAX;
	if (drm_i64(f->env.root_fd, p->dir, "scaling_cur_freq", &khz) == ST_OK)
		d->channels = UINT64_C(1) << CH_CLOCK;
	return ST_OK;
}

static void cf_close(void *self)
{
	struct cpufreq *f = self;

	mem_free(f->devs);
	mem_free(f->policies);
	mem_free(f);
}

static enum status cf_open(const struct backend_env *env, void **self, struct err *e)
{
	struct cpufreq *f = mem_calloc(1, sizeof(*f));
	struct sysfs_list l = {NULL, 0, 0};
	enum status st = ST_OK;

	if (!f)
		return err_set(e, ST_NOMEM, "no memory for the cpufreq back end");
	f->env = *env;
	if (sysfs_list(env->root_fd, DIR, "policy", &l) == ST_OK)
		for (size_t i = 0; i < l.n && st == ST_OK; i++)
			st = add_policy(f, l.v[i]);
	sysfs_list_release(&l);
	for (size_t i = 0; i < f->n_policies && st == ST_OK; i++)
		st = add_device(f, &f->policies[i]);
	if (st != ST_OK || f->n == 0) {
		cf_close(f);
		if (st != ST_OK)
			return err_set(e, st, "no memory for the CPU clocks");
		hw_note_knob(env->notes, "CPU clocks",
			"there is no /sys/devices/system/cpu/cpufreq/policy*",
			"a virtual machine does not see them; on real hardware enable a cpufreq "
			"driver "
			"(intel_pstate, amd-pstate, acpi-cpufreq)");
		return ST_UNSUPPORTED;
	}
	*self = f;
	return ST_OK;
}

static const struct device *cf_devices(void *self, size_t *n)
{
	struct cpufreq *f = self;

	*n = f->n;
	return f->devs;
}

static size_t count(const struct cpufreq *f, size_t dev)
{
	size_t n = 0;

	for (size_t i = 0; i < f->n_policies; i++)
		n += f->policies[i].dev == dev;
	return n;
}

/* The mean over up to MAX_SAMPLED policies, spread evenly. */
static enum status mean_clock(struct cpufreq *f, size_t dev, int64_t *out)
{
	size_t all = count(f, dev), step = (all + MAX_SAMPLED - 1) / MAX_SAMPLED, k = 0, n = 0;
	enum status bad = ST_UNKNOWN;
	int64_t sum = 0, khz;

	for (size_t i = 0; i < f->n_policies; i++) {
		enum status st;

		if (f->policies[i].dev != dev || k++ % step)
			continue;
		st = drm_i64(f->env.root_fd, f->policies[i].dir, "scaling_cur_freq", &khz);
		if (st == ST_OK && khz > 0 && khz < 100000000) {
			sum += khz;
			n++;
		} else if (st != ST_OK) {
			bad = st;
		}
	}
	if (n == 0)
		return bad;
	*out = sum / (int64_t)n;
	return ST_OK;
}

static enum status cf_read(void *self, size_t dev, uint64_t channels, struct sample *out)
{
	struct cpufreq *f = self;
	int64_t t0 = f->env.clock->now(f->env.clock), t1;

	samples_init(out, channels, t0, ST_UNSUPPORTED);
	if (channels & f->devs[dev].channels & UINT64_C(1) << CH_CLOCK) {
		out[CH_CLOCK].st = mean_clock(f, dev, &out[CH_CLOCK].value);
		t1 = f->env.clock->now(f->env.clock);
		out[CH_CLOCK].t_ns = t0 + (t1 - t0) / 2;
	}
	return samples_worst(out, channels);
}

static enum status cf_range(
	void *self, size_t dev, enum knob k, struct knob_range *out, struct err *e)
{
	struct cpufreq *f = self;

	(void)k;
	(void)e;
	memset(out, 0, sizeof(*out));
	out->step = 1000;
	for (size_t i = 0; i < f->n_policies; i++) {
		if (f->policies[i].dev != dev)
			continue;
		out->min = f->policies[i].min;
		out->max = out->def = f->policies[i].max;
	}
	return ST_OK;
}

static enum status cf_get(void *self, size_t dev, enum knob k, struct knob_val *out, struct err *e)
{
	struct cpufreq *f = self;
	int64_t khz, common = 0;

	(void)k;
	*out = (struct knob_val){0, 0, 0, KV_UNKNOWN};
	for (size_t i = 0; i < f->n_policies; i++) {
		struct policy *p = &f->policies[i];
		enum status st;

		if (p->dev != dev)
			continue;
		st = drm_i64(f->env.root_fd, p->dir, "scaling_max_freq", &khz);
		if (st != ST_OK)
			return err_set(e, st == ST_NOT_FOUND ? ST_LOST : st,
				"cannot read /%s/scaling_max_freq", p->dir);
		if (common && khz != common)
			return err_set(e, ST_INVALID,
				"the CPUs of %s have different limits (%lld and %lld kHz)",
				f->devs[dev].key, (long long)common, (long long)khz);
		common = khz;
	}
	*out = (struct knob_val){0, common, 0, KV_READ};
	return ST_OK;
}

/* All policies, going on after a failure: half-set is worse than set where possible. */
static enum status cf_set(
	void *self, size_t dev, enum knob k, const struct knob_val *v, struct err *e)
{
	struct cpufreq *f = self;
	enum status worst = ST_OK;

	(void)k;
	for (size_t i = 0; i < f->n_policies; i++) {
		struct policy *p = &f->policies[i];
		int64_t khz = v->from == KV_RESET ? p->max : v->hi;
		enum status st;

		if (p->dev != dev)
			continue;
		if (khz <= 0)
			return err_set(
				e, ST_RANGE, "clock %lld kHz is out of range", (long long)khz);
		st = drm_write_i64(f->env.root_fd, p->dir, "scaling_max_freq", khz, e);
		if (st != ST_OK)
			worst = st;
	}
	return worst;
}

static enum status cf_check(
	void *self, size_t dev, enum knob k, struct err *e, char *fix, size_t size)
{
	struct cpufreq *f = self;

	(void)k;
	for (size_t i = 0; i < f->n_policies; i++) {
		if (f->policies[i].dev != dev ||
			drm_writable(f->env.root_fd, f->policies[i].dir, "scaling_max_freq"))
			continue;
		snprintf(fix, size, "run as root, or ask the site to run wattlawd for its users");
		return err_set(e, ST_NO_PERMISSION, "/%s/scaling_max_freq is not writable",
			f->policies[i].dir);
	}
	return ST_OK;
}

const struct backend backend_cpufreq = {
	.name = "cpufreq",
	.open = cf_open,
	.devices = cf_devices,
	.read = cf_read,
	.knob_range = cf_range,
	.knob_get = cf_get,
	.knob_check = cf_check,
	.knob_set = cf_set,
	.close = cf_close,
};
