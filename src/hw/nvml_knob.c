/* nvml_knob.c: power limit, clock lock and memory clock lock of NVIDIA GPUs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "hw/nvml.h"
#include "hw/sysfs.h"

#define MAX_CLOCKS        1024
#define CAP_SYS_ADMIN_BIT 21

/* A board may overshoot its limit for a moment; more than twice its highest limit is no reading. */
#define SPIKE_FACTOR 2

static void add_why(struct device *d, const char *text)
{
	size_t n = strlen(d->why_not);

	snprintf(d->why_not + n, sizeof(d->why_not) - n, "%s%s", n ? "; " : "", text);
}

void nvml_knob_probe(struct nvml *nv, size_t dev)
{
	struct device *d = &nv->devs[dev];
	nvml_device h = nv->gpus[dev].h;
	uint32_t lo = 0, hi = 0, v = 0;

	if (NVML_CALL(&nv->api, limit_range, h, &lo, &hi) == NVML_SUCCESS && hi > 0 &&
		value_status(hi, false) == ST_OK) {
		d->max_power_mw = (int64_t)hi * SPIKE_FACTOR;
		if (nv->api.set_limit && NVML_CALL(&nv->api, limit, h, &v) == NVML_SUCCESS)
			d->knobs |= 1u << KNOB_POWER_LIMIT;
	}
	if (!(d->knobs >> KNOB_POWER_LIMIT & 1))
		add_why(d, "the board does not let its power limit be set");
	/* Whether the board takes a lock is known only when one is set; the list of supported
	 * clocks is not asked for here, because on some drivers that call takes very long. */
	if (nv->api.lock_clocks && nv->api.reset_clocks && d->channels >> CH_CLOCK & 1)
		d->knobs |= 1u << KNOB_CLOCK_MAX;
	if (nv->api.lock_memory && nv->api.reset_memory && d->channels >> CH_MEM_CLOCK & 1)
		d->knobs |= 1u << KNOB_MEM_CLOCK;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* MHz as the library lists them → ascending kHz without repeats. */
static enum status make_grid(const uint32_t *mhz, size_t n, int64_t **out, size_t *n_out)
{
	int64_t *g = mem_calloc(n, sizeof(*g));
	size_t k = 0;

	if (!g)
		return ST_NOMEM;
	for (size_t i = 0; i < n; i++)
		g[i] = (int64_t)mhz[i] * 1000;
	qsort(g, n, sizeof(*g), by_value);
	for (size_t i = 0; i < n; i++)
		if (k == 0 || g[i] != g[k - 1])
			g[k++] = g[i];
	*out = g;
	*n_out = k;
	return ST_OK;
}

static enum status mem_grid(struct nvml *nv, struct nvml_gpu *g)
{
	uint32_t mhz[MAX_CLOCKS], n = MAX_CLOCKS;
	int ret;

	if (g->mem_grid)
		return ST_OK;
	ret = NVML_CALL(&nv->api, memory_clocks, g->h, &n, mhz);
	if (ret != NVML_SUCCESS)
		return nvml_status(ret);
	if (n == 0 || n > MAX_CLOCKS)
		return ST_UNSUPPORTED;
	return make_grid(mhz, n, &g->mem_grid, &g->n_mem_grid);
}

/* The graphics clocks at the highest memory clock, where training runs. */
static enum status clock_grid(struct nvml *nv, struct nvml_gpu *g)
{
	uint32_t mhz[MAX_CLOCKS], n = MAX_CLOCKS;
	enum status st;
	int ret;

	if (g->clock_grid)
		return ST_OK;
	st = mem_grid(nv, g);
	if (st != ST_OK)
		return st;
	ret = NVML_CALL(&nv->api, graphics_clocks, g->h,
		(uint32_t)(g->mem_grid[g->n_mem_grid - 1] / 1000), &n, mhz);
	if (ret != NVML_SUCCESS)
		return nvml_status(ret);
	if (n == 0 || n > MAX_CLOCKS)
		return ST_UNSUPPORTED;
	return make_grid(mhz, n, &g->clock_grid, &g->n_clock_grid);
}

static enum status limit_range(
	struct nvml *nv, nvml_device h, struct knob_range *out, struct err *e)
{
	uint32_t lo = 0, hi = 0, def = 0;
	int ret = NVML_CALL(&nv->api, limit_range, h, &lo, &hi);

	if (ret != NVML_SUCCESS)
		return err_set(e, nvml_status(ret), "range of the power limit: %s",
			nvml_text(&nv->api, ret));
	out->min = lo;
	out->max = hi;
	out->step = 1000;
	if (NVML_CALL(&nv->api, limit_default, h, &def) == NVML_SUCCESS)
		out->def = def;
	return ST_OK;
}

enum status nvml_knob_range(
	void *self, size_t dev, enum knob k, struct knob_range *out, struct err *e)
{
	struct nvml *nv = self;
	struct nvml_gpu *g = &nv->gpus[dev];
	bool mem = k == KNOB_MEM_CLOCK;
	uint32_t mhz = 0;
	enum status st;
	int ret;

	memset(out, 0, sizeof(*out));
	if (k == KNOB_POWER_LIMIT)
		return limit_range(nv, g->h, out, e);
	st = mem ? mem_grid(nv, g) : clock_grid(nv, g);
	if (st == ST_NOMEM)
		return err_set(e, st, "no memory for the list of clocks");
	if (st == ST_OK) {
		out->grid = mem ? g->mem_grid : g->clock_grid;
		out->n_grid = mem ? g->n_mem_grid : g->n_clock_grid;
		out->min = out->grid[0];
		out->max = out->grid[out->n_grid - 1];
		return ST_OK;
	}
	/* No list: the maximum alone, the minimum unknown. */
	ret = NVML_CALL(
		&nv->api, max_clock, g->h, mem ? NVML_CLOCK_MEM : NVML_CLOCK_GRAPHICS, &mhz);
	if (ret != NVML_SUCCESS)
		return err_set(
			e, nvml_status(ret), "supported clocks: %s", nvml_text(&nv->api, ret));
	out->max = (int64_t)mhz * 1000;
	out->step = 1000;
	return ST_OK;
}

enum status nvml_knob_get(void *self, size_t dev, enum knob k, struct knob_val *out, struct err *e)
{
	struct nvml *nv = self;
	nvml_device h = nv->gpus[dev].h;
	uint32_t set = 0, enforced = 0;
	int ret;

	*out = (struct knob_val){0, 0, 0, KV_UNKNOWN};
	if (k != KNOB_POWER_LIMIT)
		return err_set(e, ST_UNSUPPORTED, "NVML cannot read a clock lock back");
	ret = NVML_CALL(&nv->api, limit, h, &set);
	if (ret != NVML_SUCCESS)
		return err_set(e, nvml_status(ret), "power limit: %s", nvml_text(&nv->api, ret));
	*out = (struct knob_val){0, set, 0, KV_READ};
	if (NVML_CALL(&nv->api, limit_enforced, h, &enforced) == NVML_SUCCESS && enforced > 0 &&
		value_status(enforced, false) == ST_OK)
		out->in_force = enforced;
	return ST_OK;
}

static int set_lock(struct nvml *nv, struct nvml_gpu *g, const struct knob_val *v)
{
	int64_t lo = v->lo;

	/* "At most hi" needs a lower end too: the lowest clock the board knows. */
	if (lo <= 0)
		lo = clock_grid(nv, g) == ST_OK ? g->clock_grid[0] : 0;
	return NVML_CALL(
		&nv->api, lock_clocks, g->h, (uint32_t)(lo / 1000), (uint32_t)(v->hi / 1000));
}

enum status nvml_knob_set(
	void *self, size_t dev, enum knob k, const struct knob_val *v, struct err *e)
{
	struct nvml *nv = self;
	struct nvml_gpu *g = &nv->gpus[dev];
	bool reset = v->from == KV_RESET;
	uint32_t mw = (uint32_t)v->hi;
	int ret = NVML_SUCCESS;

	if (!reset && (v->hi <= 0 || v->hi > UINT32_MAX || v->lo > v->hi))
		return err_set(e, ST_RANGE, "%s: %lld is out of range", knob_info(k)->name,
			(long long)v->hi);
	switch (k) {
	case KNOB_POWER_LIMIT:
		if (reset)
			ret = NVML_CALL(&nv->api, limit_default, g->h, &mw);
		if (ret == NVML_SUCCESS)
			ret = NVML_CALL(&nv->api, set_limit, g->h, mw);
		break;
	case KNOB_CLOCK_MAX:
		ret = reset ? NVML_CALL(&nv->api, reset_clocks, g->h) : set_lock(nv, g, v);
		break;
	case KNOB_MEM_CLOCK:
		ret = reset ? NVML_CALL(&nv->api, reset_memory, g->h)
			    : NVML_CALL(&nv->api, lock_memory, g->h,
				      (uint32_t)((v->lo > 0 ? v->lo : v->hi) / 1000),
				      (uint32_t)(v->hi / 1000));
		break;
	default:
		return err_set(e, ST_UNSUPPORTED, "no such knob on an NVIDIA GPU");
	}
	if (ret != NVML_SUCCESS)
		return err_set(e, nvml_status(ret), "%s of %s: %s", knob_info(k)->name,
			nv->devs[dev].key, nvml_text(&nv->api, ret));
	return ST_OK;
}

/* Has this process CAP_SYS_ADMIN? Root in a container often has not. */
static bool may_administrate(int root_fd)
{
	char buf[4096];
	const char *p;

	if (sysfs_read(root_fd, "proc/self/status", buf, sizeof(buf), NULL) != ST_OK)
		return true; /* cannot tell: the set itself will */
	p = strstr(buf, "\nCapEff:");
	if (!p)
		return true;
	return strtoull(p + strlen("\nCapEff:"), NULL, 16) >> CAP_SYS_ADMIN_BIT & 1;
}

enum status nvml_knob_check(
	void *self, size_t dev, enum knob k, struct err *e, char *fix, size_t size)
{
	struct nvml *nv = self;

	(void)dev;
	(void)k;
	if (nv->api.simulated || may_administrate(nv->env.root_fd))
		return ST_OK;
	snprintf(fix, size,
		"run as root or with CAP_SYS_ADMIN, or ask the site to run wattlawd for its users");
	return err_set(e, ST_NO_PERMISSION, "limits and clocks need CAP_SYS_ADMIN");
}
