/* nvml_clock.c: clocks, their grids and locks. MHz outside, kHz inside. */
#include "sim/nvml_core.h"

static bool clock_of(const struct call *c, unsigned kind, int64_t *khz)
{
	if (kind == NV_CLOCK_MEM)
		*khz = gpu_mem_clock(&c->d->g);
	else if (kind < NV_CLOCK_KINDS)
		*khz = gpu_clock_now(&c->d->g);
	else
		return false;
	return true;
}

EXPORT nv_ret_t nvmlDeviceGetClockInfo(nv_dev_t dev, unsigned kind, unsigned *mhz);
EXPORT nv_ret_t nvmlDeviceGetClockInfo(nv_dev_t dev, unsigned kind, unsigned *mhz)
{
	int64_t khz;
	CALL(DeviceGetClockInfo, dev);

	if (!clock_of(&c, kind, &khz))
		return call_end(&c, NV_INVALID);
	ANSWER(mhz, khz / 1000);
}

EXPORT nv_ret_t nvmlDeviceGetMaxClockInfo(nv_dev_t dev, unsigned kind, unsigned *mhz);
EXPORT nv_ret_t nvmlDeviceGetMaxClockInfo(nv_dev_t dev, unsigned kind, unsigned *mhz)
{
	CALL(DeviceGetMaxClockInfo, dev);
	if (kind >= NV_CLOCK_KINDS)
		return call_end(&c, NV_INVALID);
	ANSWER(mhz,
		(kind == NV_CLOCK_MEM ? c.cfg->prof.mem_clock_khz[0] : c.cfg->prof.clock_max_khz) /
			1000);
}

static int64_t app_clock(const struct call *c, unsigned kind)
{
	if (kind == NV_CLOCK_MEM)
		return c->d->app_mem_khz ? c->d->app_mem_khz : c->cfg->prof.mem_clock_khz[0];
	return c->d->app_clock_khz ? c->d->app_clock_khz : c->cfg->prof.clock_max_khz;
}

EXPORT nv_ret_t nvmlDeviceGetClock(nv_dev_t dev, unsigned kind, unsigned id, unsigned *mhz);
EXPORT nv_ret_t nvmlDeviceGetClock(nv_dev_t dev, unsigned kind, unsigned id, unsigned *mhz)
{
	int64_t khz;
	CALL(DeviceGetClock, dev);

	if (!clock_of(&c, kind, &khz) || id > 3)
		return call_end(&c, NV_INVALID);
	/* 0 current, 1 application target, 2 application default, 3 customer boost maximum */
	if (id == 1)
		khz = app_clock(&c, kind);
	else if (id > 1)
		khz = kind == NV_CLOCK_MEM ? c.cfg->prof.mem_clock_khz[0]
					   : c.cfg->prof.clock_max_khz;
	ANSWER(mhz, khz / 1000);
}

EXPORT nv_ret_t nvmlDeviceGetMaxCustomerBoostClock(nv_dev_t dev, unsigned kind, unsigned *mhz);
EXPORT nv_ret_t nvmlDeviceGetMaxCustomerBoostClock(nv_dev_t dev, unsigned kind, unsigned *mhz)
{
	CALL(DeviceGetMaxCustomerBoostClock, dev);
	if (kind >= NV_CLOCK_KINDS)
		return call_end(&c, NV_INVALID);
	ANSWER(mhz,
		(kind == NV_CLOCK_MEM ? c.cfg->prof.mem_clock_khz[0] : c.cfg->prof.clock_max_khz) /
			1000);
}

EXPORT nv_ret_t nvmlDeviceGetSupportedMemoryClocks(nv_dev_t dev, unsigned *count, unsigned *mhz);
EXPORT nv_ret_t nvmlDeviceGetSupportedMemoryClocks(nv_dev_t dev, unsigned *count, unsigned *mhz)
{
	unsigned n, room;
	CALL(DeviceGetSupportedMemoryClocks, dev);

	if (!count)
		return call_end(&c, NV_INVALID);
	n = (unsigned)c.cfg->prof.n_mem_clocks;
	room = *count;
	*count = n;
	if (room < n)
		return call_end(&c, NV_SMALL);
	if (!mhz)
		return call_end(&c, NV_INVALID);
	for (unsigned i = 0; i < n; i++)
		mhz[i] = (unsigned)(c.cfg->prof.mem_clock_khz[i] / 1000);
	return call_end(&c, NV_OK);
}

EXPORT nv_ret_t nvmlDeviceGetSupportedGraphicsClocks(
	nv_dev_t dev, unsigned mem_mhz, unsigned *count, unsigned *mhz);
EXPORT nv_ret_t nvmlDeviceGetSupportedGraphicsClocks(
	nv_dev_t dev, unsigned mem_mhz, unsigned *count, unsigned *mhz)
{
	const struct gpu_profile *p;
	unsigned n, room;
	bool known = false;
	CALL(DeviceGetSupportedGraphicsClocks, dev);

	if (!count)
		return call_end(&c, NV_INVALID);
	p = &c.cfg->prof;
	for (int i = 0; i < p->n_mem_clocks; i++)
		known = known || p->mem_clock_khz[i] / 1000 == (int64_t)mem_mhz;
	if (!known)
		return call_end(&c, NV_NOT_FOUND);
	n = (unsigned)gpu_clock_count(p);
	room = *count;
	*count = n;
	if (room < n)
		return call_end(&c, NV_SMALL);
	if (!mhz)
		return call_end(&c, NV_INVALID);
	for (unsigned i = 0; i < n; i++) /* from the top, as the driver does */
		mhz[i] = (unsigned)(gpu_clock_nth(p, (int)(n - 1 - i)) / 1000);
	return call_end(&c, NV_OK);
}

static enum status change_clocks(
	struct world *w, const struct scenario *s, int gpu, int64_t lo, int64_t hi)
{
	return world_set_clocks(w, s, gpu, lo, hi);
}

EXPORT nv_ret_t nvmlDeviceSetGpuLockedClocks(nv_dev_t dev, unsigned min_mhz, unsigned max_mhz);
EXPORT nv_ret_t nvmlDeviceSetGpuLockedClocks(nv_dev_t dev, unsigned min_mhz, unsigned max_mhz)
{
	CALL(DeviceSetGpuLockedClocks, dev);
	if (max_mhz == 0 || min_mhz > max_mhz || max_mhz > 100000)
		return call_end(&c, NV_INVALID);
	return call_change(&c, change_clocks, (int64_t)min_mhz * 1000, (int64_t)max_mhz * 1000);
}

EXPORT nv_ret_t nvmlDeviceResetGpuLockedClocks(nv_dev_t dev);
EXPORT nv_ret_t nvmlDeviceResetGpuLockedClocks(nv_dev_t dev)
{
	CALL(DeviceResetGpuLockedClocks, dev);
	return call_change(&c, change_clocks, 0, 0);
}

static enum status change_mem(
	struct world *w, const struct scenario *s, int gpu, int64_t khz, int64_t unused)
{
	(void)unused;
	return world_set_mem_clock(w, s, gpu, khz);
}

EXPORT nv_ret_t nvmlDeviceSetMemoryLockedClocks(nv_dev_t dev, unsigned min_mhz, unsigned max_mhz);
EXPORT nv_ret_t nvmlDeviceSetMemoryLockedClocks(nv_dev_t dev, unsigned min_mhz, unsigned max_mhz)
{
	CALL(DeviceSetMemoryLockedClocks, dev);
	if (c.cfg->prof.cc_major < 8) /* Ampere and newer */
		return call_end(&c, NV_NOT_SUPPORTED);
	if (max_mhz == 0 || min_mhz > max_mhz)
		return call_end(&c, NV_INVALID);
	return call_change(&c, change_mem, (int64_t)max_mhz * 1000, 0);
}

EXPORT nv_ret_t nvmlDeviceResetMemoryLockedClocks(nv_dev_t dev);
EXPORT nv_ret_t nvmlDeviceResetMemoryLockedClocks(nv_dev_t dev)
{
	CALL(DeviceResetMemoryLockedClocks, dev);
	if (c.cfg->prof.cc_major < 8)
		return call_end(&c, NV_NOT_SUPPORTED);
	return call_change(&c, change_mem, 0, 0);
}

EXPORT nv_ret_t nvmlDeviceGetApplicationsClock(nv_dev_t dev, unsigned kind, unsigned *mhz);
EXPORT nv_ret_t nvmlDeviceGetApplicationsClock(nv_dev_t dev, unsigned kind, unsigned *mhz)
{
	CALL(DeviceGetApplicationsClock, dev);
	if (kind >= NV_CLOCK_KINDS)
		return call_end(&c, NV_INVALID);
	ANSWER(mhz, app_clock(&c, kind) / 1000);
}

EXPORT nv_ret_t nvmlDeviceGetDefaultApplicationsClock(nv_dev_t dev, unsigned kind, unsigned *mhz);
EXPORT nv_ret_t nvmlDeviceGetDefaultApplicationsClock(nv_dev_t dev, unsigned kind, unsigned *mhz)
{
	CALL(DeviceGetDefaultApplicationsClock, dev);
	if (kind >= NV_CLOCK_KINDS)
		return call_end(&c, NV_INVALID);
	ANSWER(mhz,
		(kind == NV_CLOCK_MEM ? c.cfg->prof.mem_clock_khz[0] : c.cfg->prof.clock_max_khz) /
			1000);
}

/* Application clocks act like a lock from the bottom of the grid. */
static enum status change_app(
	struct world *w, const struct scenario *s, int gpu, int64_t mem_khz, int64_t khz)
{
	w->dev[gpu].app_clock_khz = khz;
	w->dev[gpu].app_mem_khz = mem_khz;
	return world_set_clocks(w, s, gpu, khz ? s->gpu[gpu].prof.clock_min_khz : 0, khz);
}

EXPORT nv_ret_t nvmlDeviceSetApplicationsClocks(nv_dev_t dev, unsigned mem_mhz, unsigned mhz);
EXPORT nv_ret_t nvmlDeviceSetApplicationsClocks(nv_dev_t dev, unsigned mem_mhz, unsigned mhz)
{
	const struct gpu_profile *p;
	bool known = false;
	CALL(DeviceSetApplicationsClocks, dev);

	p = &c.cfg->prof;
	for (int i = 0; i < p->n_mem_clocks; i++)
		known = known || p->mem_clock_khz[i] / 1000 == (int64_t)mem_mhz;
	/* Unlike a lock, an application clock must be one of the grid. */
	if (!known || gpu_clock_grid(p, (int64_t)mhz * 1000) != (int64_t)mhz * 1000)
		return call_end(&c, NV_INVALID);
	return call_change(&c, change_app, (int64_t)mem_mhz * 1000, (int64_t)mhz * 1000);
}

EXPORT nv_ret_t nvmlDeviceResetApplicationsClocks(nv_dev_t dev);
EXPORT nv_ret_t nvmlDeviceResetApplicationsClocks(nv_dev_t dev)
{
	CALL(DeviceResetApplicationsClocks, dev);
	return call_change(&c, change_app, 0, 0);
}

EXPORT nv_ret_t nvmlDeviceGetAutoBoostedClocksEnabled(nv_dev_t dev, unsigned *on, unsigned *def);
EXPORT nv_ret_t nvmlDeviceGetAutoBoostedClocksEnabled(nv_dev_t dev, unsigned *on, unsigned *def)
{
	(void)on;
	(void)def;
	CALL(DeviceGetAutoBoostedClocksEnabled, dev);
	return call_end(&c, NV_NOT_SUPPORTED);
}
