/* nvml_fake.c: see nvml_fake.h. With FAKE_OLD it has the names of a driver of 2016. */
#include "nvml_fake.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define API __attribute__((visibility("default")))
#define OK  0

API struct nvml_fake nvml_fake;

struct handle {
	int gpu, mig; /* mig -1 = the GPU itself */
};
static struct handle handles[FAKE_GPUS][9];
typedef struct handle *dev;

static struct fake_gpu *g(dev d)
{
	return &nvml_fake.gpu[d->gpu];
}

static void nap(unsigned ms)
{
	struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

	if (ms)
		nanosleep(&t, NULL);
}

#ifdef FAKE_OLD
#define NAME(new, old) old
#else
#define NAME(new, old) new
#endif

API int NAME(nvmlInit_v2, nvmlInit)(void);
API int NAME(nvmlInit_v2, nvmlInit)(void)
{
	nap(nvml_fake.init_hang_ms);
	nvml_fake.inits++;
	return nvml_fake.init_ret;
}

API int nvmlShutdown(void);
API int nvmlShutdown(void)
{
	nvml_fake.shutdowns++;
	return OK;
}

#ifndef FAKE_BROKEN
API int NAME(nvmlDeviceGetCount_v2, nvmlDeviceGetCount)(uint32_t *n);
API int NAME(nvmlDeviceGetCount_v2, nvmlDeviceGetCount)(uint32_t *n)
{
	*n = nvml_fake.n;
	return OK;
}
#endif

API int NAME(nvmlDeviceGetHandleByIndex_v2, nvmlDeviceGetHandleByIndex)(uint32_t i, dev *d);
API int NAME(nvmlDeviceGetHandleByIndex_v2, nvmlDeviceGetHandleByIndex)(uint32_t i, dev *d)
{
	if (i >= nvml_fake.n)
		return 2;
	handles[i][8] = (struct handle){(int)i, -1};
	*d = &handles[i][8];
	return nvml_fake.gpu[i].ret[FAKE_HANDLE];
}

API int nvmlDeviceGetName(dev d, char *buf, uint32_t n);
API int nvmlDeviceGetName(dev d, char *buf, uint32_t n)
{
	snprintf(buf, n, "%s", g(d)->name);
	return OK;
}

API int nvmlDeviceGetUUID(dev d, char *buf, uint32_t n);
API int nvmlDeviceGetUUID(dev d, char *buf, uint32_t n)
{
	if (d->mig >= 0)
		snprintf(buf, n, "MIG-%d-%s", d->mig, g(d)->uuid);
	else
		snprintf(buf, n, "%s", g(d)->uuid);
	return g(d)->ret[FAKE_UUID];
}

struct pci {
	char legacy[16];
	uint32_t domain, bus, device;
};
API int NAME(nvmlDeviceGetPciInfo_v3, nvmlDeviceGetPciInfo)(dev d, struct pci *p);
API int NAME(nvmlDeviceGetPciInfo_v3, nvmlDeviceGetPciInfo)(dev d, struct pci *p)
{
	p->domain = 0;
	p->bus = g(d)->bus;
	p->device = 0;
	return OK;
}

API int nvmlDeviceGetPowerUsage(dev d, uint32_t *mw);
API int nvmlDeviceGetPowerUsage(dev d, uint32_t *mw)
{
	*mw = g(d)->power_mw;
	return d->mig >= 0 ? 3 : g(d)->ret[FAKE_POWER];
}

API int nvmlDeviceGetClockInfo(dev d, int type, uint32_t *mhz);
API int nvmlDeviceGetClockInfo(dev d, int type, uint32_t *mhz)
{
	*mhz = type == 2 ? g(d)->mem_mhz : g(d)->sm_mhz;
	return g(d)->ret[FAKE_CLOCK];
}

API int nvmlDeviceGetUtilizationRates(dev d, uint32_t *u);
API int nvmlDeviceGetUtilizationRates(dev d, uint32_t *u)
{
	u[0] = g(d)->util;
	u[1] = g(d)->mem_util;
	return g(d)->ret[FAKE_UTIL];
}

API int nvmlDeviceGetMemoryInfo(dev d, uint64_t *m);
API int nvmlDeviceGetMemoryInfo(dev d, uint64_t *m)
{
	m[2] = g(d)->memory_used;
	return g(d)->ret[FAKE_MEMORY];
}

API int nvmlDeviceGetTemperature(dev d, int sensor, uint32_t *c);
API int nvmlDeviceGetTemperature(dev d, int sensor, uint32_t *c)
{
	(void)sensor;
	*c = g(d)->temp;
	return g(d)->ret[FAKE_TEMP];
}

API int NAME(nvmlDeviceGetCurrentClocksEventReasons, nvmlDeviceGetCurrentClocksThrottleReasons)(
	dev d, uint64_t *r);
API int NAME(nvmlDeviceGetCurrentClocksEventReasons, nvmlDeviceGetCurrentClocksThrottleReasons)(
	dev d, uint64_t *r)
{
	*r = g(d)->reasons;
	return g(d)->ret[FAKE_REASONS];
}

API int nvmlDeviceGetViolationStatus(dev d, int policy, uint64_t *v);
API int nvmlDeviceGetViolationStatus(dev d, int policy, uint64_t *v)
{
	v[0] = 0;
	v[1] = policy == 0   ? g(d)->viol_power_ns
	       : policy == 1 ? g(d)->viol_thermal_ns
			     : g(d)->board_ns;
	return g(d)->ret[FAKE_VIOLATION];
}

API int nvmlDeviceGetPowerManagementLimit(dev d, uint32_t *mw);
API int nvmlDeviceGetPowerManagementLimit(dev d, uint32_t *mw)
{
	*mw = g(d)->limit_mw;
	return g(d)->ret[FAKE_LIMIT];
}

API int nvmlDeviceGetPowerManagementLimitConstraints(dev d, uint32_t *lo, uint32_t *hi);
API int nvmlDeviceGetPowerManagementLimitConstraints(dev d, uint32_t *lo, uint32_t *hi)
{
	*lo = g(d)->limit_min_mw;
	*hi = g(d)->limit_max_mw;
	return g(d)->ret[FAKE_RANGE];
}

API int nvmlDeviceGetPowerManagementDefaultLimit(dev d, uint32_t *mw);
API int nvmlDeviceGetPowerManagementDefaultLimit(dev d, uint32_t *mw)
{
	*mw = g(d)->limit_default_mw;
	return OK;
}

API int nvmlDeviceSetPowerManagementLimit(dev d, uint32_t mw);
API int nvmlDeviceSetPowerManagementLimit(dev d, uint32_t mw)
{
	if (g(d)->ret[FAKE_SET_LIMIT])
		return g(d)->ret[FAKE_SET_LIMIT];
	if (mw < g(d)->limit_min_mw || mw > g(d)->limit_max_mw)
		return 2;
	if (!g(d)->ignore_set)
		g(d)->limit_mw = mw;
	return OK;
}

#ifndef FAKE_OLD
API int nvmlDeviceGetEnforcedPowerLimit(dev d, uint32_t *mw);
API int nvmlDeviceGetEnforcedPowerLimit(dev d, uint32_t *mw)
{
	*mw = g(d)->limit_mw;
	if (g(d)->clamp_mw && *mw > g(d)->clamp_mw)
		*mw = g(d)->clamp_mw;
	return OK;
}

API int nvmlDeviceGetCudaComputeCapability(dev d, int *major, int *minor);
API int nvmlDeviceGetCudaComputeCapability(dev d, int *major, int *minor)
{
	*major = g(d)->cc_major;
	*minor = g(d)->cc_minor;
	return OK;
}

API int nvmlDeviceGetTotalEnergyConsumption(dev d, uint64_t *mj);
API int nvmlDeviceGetTotalEnergyConsumption(dev d, uint64_t *mj)
{
	*mj = g(d)->energy_mj;
	return d->mig >= 0 ? 3 : g(d)->ret[FAKE_ENERGY];
}

struct memory_v2 {
	uint32_t version;
	uint64_t total, reserved, free, used;
};
API int nvmlDeviceGetMemoryInfo_v2(dev d, struct memory_v2 *m);
API int nvmlDeviceGetMemoryInfo_v2(dev d, struct memory_v2 *m)
{
	if (m->version != (sizeof(*m) | 2u << 24))
		return 25;
	m->used = g(d)->memory_used;
	m->reserved = 500000000;
	return g(d)->ret[FAKE_MEMORY];
}

struct field {
	uint32_t id, scope;
	int64_t timestamp, latency;
	int32_t type, ret;
	uint64_t value;
};
API int nvmlDeviceGetFieldValues(dev d, int n, struct field *f);
API int nvmlDeviceGetFieldValues(dev d, int n, struct field *f)
{
	if (d->mig >= 0 || g(d)->ret[FAKE_FIELDS])
		return d->mig >= 0 ? 3 : g(d)->ret[FAKE_FIELDS];
	for (int i = 0; i < n; i++) {
		f[i].ret = OK;
		f[i].type = 3;
		f[i].value = 0;
		if (f[i].id == 185 || f[i].id == 186) {
			f[i].type = 1;
			f[i].value = f[i].scope == 1  ? g(d)->module_mw
				     : f[i].id == 185 ? g(d)->power_average_mw
						      : g(d)->power_instant_mw;
			if (!f[i].value)
				f[i].ret = 3;
		} else if (f[i].id == 253) {
			f[i].value = g(d)->brake_ns;
		} else if (f[i].id == 77) {
			f[i].value = g(d)->board_ns;
		} else if (f[i].id == 197) {
			f[i].value = g(d)->pcie_tx;
		} else if (f[i].id == 138 && f[i].scope == UINT32_MAX) {
			f[i].value = g(d)->nvlink_tx_kib;
		} else {
			f[i].ret = 3;
		}
	}
	return OK;
}

API int nvmlDeviceGetSupportedMemoryClocks(dev d, uint32_t *n, uint32_t *mhz);
API int nvmlDeviceGetSupportedMemoryClocks(dev d, uint32_t *n, uint32_t *mhz)
{
	nap(nvml_fake.hang_ms);
	mhz[0] = 877;
	*n = 1;
	return g(d)->ret[FAKE_CLOCK_LIST];
}

API int nvmlDeviceGetSupportedGraphicsClocks(dev d, uint32_t mem, uint32_t *n, uint32_t *mhz);
API int nvmlDeviceGetSupportedGraphicsClocks(dev d, uint32_t mem, uint32_t *n, uint32_t *mhz)
{
	if (mem != 877)
		return 6;
	for (uint32_t i = 0; i < 4; i++)
		mhz[i] = 1380 - 8 * i; /* as NVML lists them: highest first */
	mhz[4] = 135;
	*n = 5;
	return g(d)->ret[FAKE_CLOCK_LIST];
}

API int nvmlDeviceSetGpuLockedClocks(dev d, uint32_t lo, uint32_t hi);
API int nvmlDeviceSetGpuLockedClocks(dev d, uint32_t lo, uint32_t hi)
{
	if (!g(d)->ret[FAKE_LOCK]) {
		g(d)->lock_min = lo;
		g(d)->lock_max = hi;
	}
	return g(d)->ret[FAKE_LOCK];
}

API int nvmlDeviceResetGpuLockedClocks(dev d);
API int nvmlDeviceResetGpuLockedClocks(dev d)
{
	g(d)->lock_min = g(d)->lock_max = 0;
	return OK;
}

API int nvmlDeviceSetMemoryLockedClocks(dev d, uint32_t lo, uint32_t hi);
API int nvmlDeviceSetMemoryLockedClocks(dev d, uint32_t lo, uint32_t hi)
{
	(void)lo;
	g(d)->mem_lock = hi;
	return OK;
}

API int nvmlDeviceResetMemoryLockedClocks(dev d);
API int nvmlDeviceResetMemoryLockedClocks(dev d)
{
	g(d)->mem_lock = 0;
	return OK;
}

API int nvmlDeviceGetMigMode(dev d, uint32_t *current, uint32_t *pending);
API int nvmlDeviceGetMigMode(dev d, uint32_t *current, uint32_t *pending)
{
	*current = *pending = g(d)->migs > 0;
	return OK;
}

API int nvmlDeviceGetMaxMigDeviceCount(dev d, uint32_t *n);
API int nvmlDeviceGetMaxMigDeviceCount(dev d, uint32_t *n)
{
	(void)d;
	*n = 7;
	return OK;
}

API int nvmlDeviceGetMigDeviceHandleByIndex(dev d, uint32_t i, dev *out);
API int nvmlDeviceGetMigDeviceHandleByIndex(dev d, uint32_t i, dev *out)
{
	if ((int)i >= g(d)->migs)
		return 6;
	handles[d->gpu][i] = (struct handle){d->gpu, (int)i};
	*out = &handles[d->gpu][i];
	return OK;
}
#endif

API int nvmlDeviceGetComputeRunningProcesses(dev d, uint32_t *n, void *p);
API int nvmlDeviceGetComputeRunningProcesses(dev d, uint32_t *n, void *p)
{
	(void)d;
	(void)n;
	(void)p;
	nvml_fake.process_lists++;
	return 3;
}

API const char *nvmlErrorString(int ret);
API const char *nvmlErrorString(int ret)
{
	return ret == 9 ? "Driver Not Loaded" : ret == 4 ? "Insufficient Permissions" : "";
}
