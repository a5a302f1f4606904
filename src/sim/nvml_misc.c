/* nvml_misc.c: utilisation, memory, temperature, links, modes, processes. */
#include <string.h>
#include <unistd.h>

#include "sim/nvml_core.h"

/* Functions that this generation of devices refuses whatever the arguments. */
#define NOT_SUPPORTED_CALL(fn, dev)                                                                \
	do {                                                                                       \
		CALL(fn, dev);                                                                     \
		return call_end(&c, NV_NOT_SUPPORTED);                                             \
	} while (0)

EXPORT nv_ret_t nvmlDeviceGetUtilizationRates(nv_dev_t dev, struct nv_util *u);
EXPORT nv_ret_t nvmlDeviceGetUtilizationRates(nv_dev_t dev, struct nv_util *u)
{
	CALL(DeviceGetUtilizationRates, dev);
	if (!u)
		return call_end(&c, NV_INVALID);
	if (c.mig >= 0)
		return call_end(&c, NV_NOT_SUPPORTED);
	u->gpu = c.has_value ? (unsigned)c.value : (unsigned)(c.d->g.now.util * 100 + 0.5);
	u->memory = c.has_value ? (unsigned)c.value : (unsigned)(c.d->g.now.mem_util * 100 + 0.5);
	return call_end(&c, NV_OK);
}

EXPORT nv_ret_t nvmlDeviceGetEncoderUtilization(nv_dev_t dev, unsigned *util, unsigned *period_us);
EXPORT nv_ret_t nvmlDeviceGetEncoderUtilization(nv_dev_t dev, unsigned *util, unsigned *period_us)
{
	CALL(DeviceGetEncoderUtilization, dev);
	if (!util || !period_us)
		return call_end(&c, NV_INVALID);
	*util = 0;
	*period_us = 167000;
	return call_end(&c, NV_OK);
}

EXPORT nv_ret_t nvmlDeviceGetDecoderUtilization(nv_dev_t dev, unsigned *util, unsigned *period_us);
EXPORT nv_ret_t nvmlDeviceGetDecoderUtilization(nv_dev_t dev, unsigned *util, unsigned *period_us)
{
	CALL(DeviceGetDecoderUtilization, dev);
	if (!util || !period_us)
		return call_end(&c, NV_INVALID);
	*util = 0;
	*period_us = 167000;
	return call_end(&c, NV_OK);
}

static void memory_of(const struct call *c, unsigned long long *total, unsigned long long *used)
{
	*total = (unsigned long long)(c->mig >= 0 ? c->cfg->mig[c->mig].mem_bytes
						  : c->cfg->prof.mem_bytes);
	*used = (unsigned long long)c->cfg->mem_used;
	if (c->d->job > 0)
		*used += (unsigned long long)c->w->job[c->d->job - 1].mem_bytes;
	if (*used > *total)
		*used = *total;
}

EXPORT nv_ret_t nvmlDeviceGetMemoryInfo(nv_dev_t dev, struct nv_memory *m);
EXPORT nv_ret_t nvmlDeviceGetMemoryInfo(nv_dev_t dev, struct nv_memory *m)
{
	CALL(DeviceGetMemoryInfo, dev);
	if (!m)
		return call_end(&c, NV_INVALID);
	memory_of(&c, &m->total, &m->used);
	m->free = m->total - m->used;
	return call_end(&c, NV_OK);
}

EXPORT nv_ret_t nvmlDeviceGetMemoryInfo_v2(nv_dev_t dev, struct nv_memory_v2 *m);
EXPORT nv_ret_t nvmlDeviceGetMemoryInfo_v2(nv_dev_t dev, struct nv_memory_v2 *m)
{
	CALL(DeviceGetMemoryInfo, dev);
	if (!m)
		return call_end(&c, NV_INVALID);
	if (m->version != (sizeof(*m) | 2u << 24))
		return call_end(&c, NV_VERSION);
	memory_of(&c, &m->total, &m->used);
	m->reserved = m->total / 100;
	m->free = m->total - m->used > m->reserved ? m->total - m->used - m->reserved : 0;
	return call_end(&c, NV_OK);
}

EXPORT nv_ret_t nvmlDeviceGetBAR1MemoryInfo(nv_dev_t dev, struct nv_bar1 *m);
EXPORT nv_ret_t nvmlDeviceGetBAR1MemoryInfo(nv_dev_t dev, struct nv_bar1 *m)
{
	CALL(DeviceGetBAR1MemoryInfo, dev);
	if (!m)
		return call_end(&c, NV_INVALID);
	m->total = 1ull << 35;
	m->used = 1ull << 20;
	m->free = m->total - m->used;
	return call_end(&c, NV_OK);
}

EXPORT nv_ret_t nvmlDeviceGetTemperature(nv_dev_t dev, unsigned sensor, unsigned *deg_c);
EXPORT nv_ret_t nvmlDeviceGetTemperature(nv_dev_t dev, unsigned sensor, unsigned *deg_c)
{
	CALL(DeviceGetTemperature, dev);
	if (sensor != 0)
		return call_end(&c, NV_INVALID);
	ANSWER(deg_c, c.d->g.temp_c > 0 ? c.d->g.temp_c + 0.5 : 0);
}

EXPORT nv_ret_t nvmlDeviceGetTemperatureV(nv_dev_t dev, struct nv_temperature *t);
EXPORT nv_ret_t nvmlDeviceGetTemperatureV(nv_dev_t dev, struct nv_temperature *t)
{
	unsigned deg_c = 0;
	nv_ret_t r;

	if (!t)
		return NV_INVALID;
	if (t->version != (sizeof(*t) | 1u << 24))
		return NV_VERSION;
	r = nvmlDeviceGetTemperature(dev, t->sensor, &deg_c);
	if (r == NV_OK)
		t->deg_c = (int)deg_c;
	return r;
}

/* Windows alone has driver models. */
EXPORT nv_ret_t nvmlDeviceGetDriverModel(nv_dev_t dev, unsigned *now, unsigned *pending);
EXPORT nv_ret_t nvmlDeviceGetDriverModel(nv_dev_t dev, unsigned *now, unsigned *pending)
{
	(void)now, (void)pending;
	NOT_SUPPORTED_CALL(DeviceGetDriverModel, dev);
}

EXPORT nv_ret_t nvmlDeviceGetDriverModel_v2(nv_dev_t dev, unsigned *now, unsigned *pending);
EXPORT nv_ret_t nvmlDeviceGetDriverModel_v2(nv_dev_t dev, unsigned *now, unsigned *pending)
{
	return nvmlDeviceGetDriverModel(dev, now, pending);
}

EXPORT nv_ret_t nvmlDeviceGetTemperatureThreshold(nv_dev_t dev, unsigned kind, unsigned *deg_c);
EXPORT nv_ret_t nvmlDeviceGetTemperatureThreshold(nv_dev_t dev, unsigned kind, unsigned *deg_c)
{
	CALL(DeviceGetTemperatureThreshold, dev);
	switch (kind) {
	case 0:
		ANSWER(deg_c, c.cfg->prof.shutdown_c);
	case 1:
		ANSWER(deg_c, c.cfg->prof.hw_slow_c);
	case 2: /* memory maximum */
	case 3: /* GPU maximum operating */
		ANSWER(deg_c, c.cfg->prof.slow_c);
	default:
		return call_end(&c, NV_NOT_SUPPORTED);
	}
}

/* Data-centre cards are passive. */
EXPORT nv_ret_t nvmlDeviceGetFanSpeed(nv_dev_t dev, unsigned *percent);
EXPORT nv_ret_t nvmlDeviceGetFanSpeed(nv_dev_t dev, unsigned *percent)
{
	(void)percent;
	NOT_SUPPORTED_CALL(DeviceGetFanSpeed, dev);
}

EXPORT nv_ret_t nvmlDeviceGetFanSpeed_v2(nv_dev_t dev, unsigned fan, unsigned *percent);
EXPORT nv_ret_t nvmlDeviceGetFanSpeed_v2(nv_dev_t dev, unsigned fan, unsigned *percent)
{
	(void)fan;
	(void)percent;
	NOT_SUPPORTED_CALL(DeviceGetFanSpeed, dev);
}

EXPORT nv_ret_t nvmlDeviceGetNumFans(nv_dev_t dev, unsigned *n);
EXPORT nv_ret_t nvmlDeviceGetNumFans(nv_dev_t dev, unsigned *n)
{
	CALL(DeviceGetNumFans, dev);
	ANSWER(n, 0);
}

/* Modes */

EXPORT nv_ret_t nvmlDeviceGetPersistenceMode(nv_dev_t dev, unsigned *mode);
EXPORT nv_ret_t nvmlDeviceGetPersistenceMode(nv_dev_t dev, unsigned *mode)
{
	CALL(DeviceGetPersistenceMode, dev);
	ANSWER(mode, c.d->persistence);
}

static enum status change_persistence(
	struct world *w, const struct scenario *s, int gpu, int64_t on, int64_t unused)
{
	(void)s;
	(void)unused;
	w->dev[gpu].persistence = (int32_t)on;
	return ST_OK;
}

EXPORT nv_ret_t nvmlDeviceSetPersistenceMode(nv_dev_t dev, unsigned mode);
EXPORT nv_ret_t nvmlDeviceSetPersistenceMode(nv_dev_t dev, unsigned mode)
{
	CALL(DeviceSetPersistenceMode, dev);
	if (mode > 1)
		return call_end(&c, NV_INVALID);
	return call_change(&c, change_persistence, mode, 0);
}

EXPORT nv_ret_t nvmlDeviceGetComputeMode(nv_dev_t dev, unsigned *mode);
EXPORT nv_ret_t nvmlDeviceGetComputeMode(nv_dev_t dev, unsigned *mode)
{
	CALL(DeviceGetComputeMode, dev);
	ANSWER(mode, c.d->compute_mode);
}

static enum status change_compute(
	struct world *w, const struct scenario *s, int gpu, int64_t mode, int64_t unused)
{
	(void)s;
	(void)unused;
	w->dev[gpu].compute_mode = (int32_t)mode;
	return ST_OK;
}

EXPORT nv_ret_t nvmlDeviceSetComputeMode(nv_dev_t dev, unsigned mode);
EXPORT nv_ret_t nvmlDeviceSetComputeMode(nv_dev_t dev, unsigned mode)
{
	CALL(DeviceSetComputeMode, dev);
	if (mode > 3 || mode == 1)
		return call_end(&c, NV_INVALID);
	return call_change(&c, change_compute, mode, 0);
}

EXPORT nv_ret_t nvmlDeviceGetEccMode(nv_dev_t dev, unsigned *now, unsigned *pending);
EXPORT nv_ret_t nvmlDeviceGetEccMode(nv_dev_t dev, unsigned *now, unsigned *pending)
{
	CALL(DeviceGetEccMode, dev);
	if (!now || !pending)
		return call_end(&c, NV_INVALID);
	*now = *pending = 1;
	return call_end(&c, NV_OK);
}

EXPORT nv_ret_t nvmlDeviceGetTotalEccErrors(
	nv_dev_t dev, unsigned type, unsigned counter, unsigned long long *n);
EXPORT nv_ret_t nvmlDeviceGetTotalEccErrors(
	nv_dev_t dev, unsigned type, unsigned counter, unsigned long long *n)
{
	(void)type;
	(void)counter;
	CALL(DeviceGetTotalEccErrors, dev);
	ANSWER(n, 0);
}

EXPORT nv_ret_t nvmlDeviceGetDisplayMode(nv_dev_t dev, unsigned *mode);
EXPORT nv_ret_t nvmlDeviceGetDisplayMode(nv_dev_t dev, unsigned *mode)
{
	CALL(DeviceGetDisplayMode, dev);
	ANSWER(mode, 0);
}

EXPORT nv_ret_t nvmlDeviceGetDisplayActive(nv_dev_t dev, unsigned *mode);
EXPORT nv_ret_t nvmlDeviceGetDisplayActive(nv_dev_t dev, unsigned *mode)
{
	CALL(DeviceGetDisplayActive, dev);
	ANSWER(mode, 0);
}

EXPORT nv_ret_t nvmlDeviceGetAccountingMode(nv_dev_t dev, unsigned *mode);
EXPORT nv_ret_t nvmlDeviceGetAccountingMode(nv_dev_t dev, unsigned *mode)
{
	CALL(DeviceGetAccountingMode, dev);
	ANSWER(mode, 0);
}

/* Place in the machine. Every device is near every CPU there is. */

static nv_ret_t fill_affinity(struct call *c, unsigned n, unsigned long *set)
{
	if (!set || n == 0)
		return call_end(c, NV_INVALID);
	memset(set, 0, n * sizeof(*set));
	for (long cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF) && cpu < (long)n * 64; cpu++)
		set[cpu / 64] |= 1ul << (cpu % 64);
	return call_end(c, NV_OK);
}

EXPORT nv_ret_t nvmlDeviceGetCpuAffinity(nv_dev_t dev, unsigned n, unsigned long *set);
EXPORT nv_ret_t nvmlDeviceGetCpuAffinity(nv_dev_t dev, unsigned n, unsigned long *set)
{
	CALL(DeviceGetCpuAffinity, dev);
	return fill_affinity(&c, n, set);
}

EXPORT nv_ret_t nvmlDeviceGetCpuAffinityWithinScope(
	nv_dev_t dev, unsigned n, unsigned long *set, unsigned scope);
EXPORT nv_ret_t nvmlDeviceGetCpuAffinityWithinScope(
	nv_dev_t dev, unsigned n, unsigned long *set, unsigned scope)
{
	(void)scope;
	CALL(DeviceGetCpuAffinity, dev);
	return fill_affinity(&c, n, set);
}

EXPORT nv_ret_t nvmlDeviceGetMemoryAffinity(
	nv_dev_t dev, unsigned n, unsigned long *set, unsigned scope);
EXPORT nv_ret_t nvmlDeviceGetMemoryAffinity(
	nv_dev_t dev, unsigned n, unsigned long *set, unsigned scope)
{
	(void)scope;
	CALL(DeviceGetMemoryAffinity, dev);
	return fill_affinity(&c, n, set);
}

EXPORT nv_ret_t nvmlDeviceGetTopologyCommonAncestor(nv_dev_t a, nv_dev_t b, unsigned *level);
EXPORT nv_ret_t nvmlDeviceGetTopologyCommonAncestor(nv_dev_t a, nv_dev_t b, unsigned *level)
{
	(void)b;
	CALL(DeviceGetTopologyCommonAncestor, a);
	ANSWER(level, 40); /* same NUMA node */
}

EXPORT nv_ret_t nvmlDeviceGetNvLinkState(nv_dev_t dev, unsigned link, unsigned *active);
EXPORT nv_ret_t nvmlDeviceGetNvLinkState(nv_dev_t dev, unsigned link, unsigned *active)
{
	(void)link;
	(void)active;
	NOT_SUPPORTED_CALL(DeviceGetNvLinkState, dev);
}

EXPORT nv_ret_t nvmlDeviceGetNvLinkRemotePciInfo_v2(
	nv_dev_t dev, unsigned link, struct nv_pci *pci);
EXPORT nv_ret_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nv_dev_t dev, unsigned link, struct nv_pci *pci)
{
	(void)link;
	(void)pci;
	NOT_SUPPORTED_CALL(DeviceGetNvLinkRemotePciInfo, dev);
}

EXPORT nv_ret_t nvmlDeviceGetNvLinkRemotePciInfo(nv_dev_t dev, unsigned link, struct nv_pci *pci);
EXPORT nv_ret_t nvmlDeviceGetNvLinkRemotePciInfo(nv_dev_t dev, unsigned link, struct nv_pci *pci)
{
	return nvmlDeviceGetNvLinkRemotePciInfo_v2(dev, link, pci);
}

EXPORT nv_ret_t nvmlDeviceGetPcieThroughput(nv_dev_t dev, unsigned counter, unsigned *kb_s);
EXPORT nv_ret_t nvmlDeviceGetPcieThroughput(nv_dev_t dev, unsigned counter, unsigned *kb_s)
{
	CALL(DeviceGetPcieThroughput, dev);
	if (counter > 1)
		return call_end(&c, NV_INVALID);
	ANSWER(kb_s, c.d->g.busy ? (counter ? 200000 : 50000) : 0);
}

EXPORT nv_ret_t nvmlDeviceGetCurrPcieLinkGeneration(nv_dev_t dev, unsigned *gen);
EXPORT nv_ret_t nvmlDeviceGetCurrPcieLinkGeneration(nv_dev_t dev, unsigned *gen)
{
	CALL(DeviceGetCurrPcieLinkGeneration, dev);
	ANSWER(gen, c.cfg->prof.cc_major < 8 ? 3 : c.cfg->prof.cc_major < 9 ? 4 : 5);
}

EXPORT nv_ret_t nvmlDeviceGetMaxPcieLinkGeneration(nv_dev_t dev, unsigned *gen);
EXPORT nv_ret_t nvmlDeviceGetMaxPcieLinkGeneration(nv_dev_t dev, unsigned *gen)
{
	CALL(DeviceGetMaxPcieLinkGeneration, dev);
	ANSWER(gen, c.cfg->prof.cc_major < 8 ? 3 : c.cfg->prof.cc_major < 9 ? 4 : 5);
}

EXPORT nv_ret_t nvmlDeviceGetCurrPcieLinkWidth(nv_dev_t dev, unsigned *width);
EXPORT nv_ret_t nvmlDeviceGetCurrPcieLinkWidth(nv_dev_t dev, unsigned *width)
{
	CALL(DeviceGetCurrPcieLinkWidth, dev);
	ANSWER(width, 16);
}

EXPORT nv_ret_t nvmlDeviceGetMaxPcieLinkWidth(nv_dev_t dev, unsigned *width);
EXPORT nv_ret_t nvmlDeviceGetMaxPcieLinkWidth(nv_dev_t dev, unsigned *width)
{
	CALL(DeviceGetMaxPcieLinkWidth, dev);
	ANSWER(width, 16);
}

EXPORT nv_ret_t nvmlDeviceGetPcieReplayCounter(nv_dev_t dev, unsigned *n);
EXPORT nv_ret_t nvmlDeviceGetPcieReplayCounter(nv_dev_t dev, unsigned *n)
{
	CALL(DeviceGetPcieReplayCounter, dev);
	ANSWER(n, 0);
}

/* Processes: slow on purpose, see nvml_core.c. */

static int pid_of(const struct call *c, unsigned long long *mem)
{
	const struct sim_job *j;

	if (c->d->job <= 0)
		return 0;
	j = &c->w->job[c->d->job - 1];
	*mem = (unsigned long long)j->mem_bytes;
	for (int r = 0; r < j->n_ranks; r++)
		if (j->gpu[r] == c->gpu)
			return j->pid[r];
	return 0;
}

static nv_ret_t list_processes(
	struct call *c, unsigned *count, struct nv_process *p, struct nv_process_v1 *old)
{
	unsigned long long mem = 0;
	unsigned room;
	int pid = pid_of(c, &mem);

	if (!count)
		return call_end(c, NV_INVALID);
	room = *count;
	*count = pid > 0;
	if (pid <= 0)
		return call_end(c, NV_OK);
	if (room < 1 || (!p && !old))
		return call_end(c, NV_SMALL);
	if (p)
		*p = (struct nv_process){(unsigned)pid, mem, ~0u, ~0u};
	else
		*old = (struct nv_process_v1){(unsigned)pid, mem};
	return call_end(c, NV_OK);
}

#define PROCESS_LIST(fn)                                                                           \
	EXPORT nv_ret_t nvml##fn(nv_dev_t dev, unsigned *count, struct nv_process_v1 *p);          \
	EXPORT nv_ret_t nvml##fn(nv_dev_t dev, unsigned *count, struct nv_process_v1 *p)           \
	{                                                                                          \
		CALL(fn, dev);                                                                     \
		return list_processes(&c, count, NULL, p);                                         \
	}                                                                                          \
	EXPORT nv_ret_t nvml##fn##_v2(nv_dev_t dev, unsigned *count, struct nv_process *p);        \
	EXPORT nv_ret_t nvml##fn##_v2(nv_dev_t dev, unsigned *count, struct nv_process *p)         \
	{                                                                                          \
		CALL(fn, dev);                                                                     \
		return list_processes(&c, count, p, NULL);                                         \
	}                                                                                          \
	EXPORT nv_ret_t nvml##fn##_v3(nv_dev_t dev, unsigned *count, struct nv_process *p);        \
	EXPORT nv_ret_t nvml##fn##_v3(nv_dev_t dev, unsigned *count, struct nv_process *p)         \
	{                                                                                          \
		CALL(fn, dev);                                                                     \
		return list_processes(&c, count, p, NULL);                                         \
	}

PROCESS_LIST(DeviceGetComputeRunningProcesses)
PROCESS_LIST(DeviceGetMPSComputeRunningProcesses)

#define NO_PROCESSES(name)                                                                         \
	EXPORT nv_ret_t name(nv_dev_t dev, unsigned *count, void *p);                              \
	EXPORT nv_ret_t name(nv_dev_t dev, unsigned *count, void *p)                               \
	{                                                                                          \
		(void)p;                                                                           \
		CALL(DeviceGetGraphicsRunningProcesses, dev);                                      \
		ANSWER(count, 0);                                                                  \
	}

NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v2)
NO_PROCESSES(nvmlDeviceGetGraphicsRunningProcesses_v3)

EXPORT nv_ret_t nvmlDeviceGetProcessUtilization(
	nv_dev_t dev, struct nv_process_util *u, unsigned *count, unsigned long long since);
EXPORT nv_ret_t nvmlDeviceGetProcessUtilization(
	nv_dev_t dev, struct nv_process_util *u, unsigned *count, unsigned long long since)
{
	unsigned long long mem = 0;
	unsigned room;
	int pid;
	CALL(DeviceGetProcessUtilization, dev);

	(void)since;
	if (!count)
		return call_end(&c, NV_INVALID);
	pid = pid_of(&c, &mem);
	room = *count;
	*count = pid > 0;
	if (pid <= 0)
		return call_end(&c, NV_NOT_FOUND);
	if (room < 1 || !u)
		return call_end(&c, NV_SMALL);
	memset(u, 0, sizeof(*u));
	u->pid = (unsigned)pid;
	u->sm = (unsigned)(c.d->g.now.util * 100 + 0.5);
	u->mem = (unsigned)(c.d->g.now.mem_util * 100 + 0.5);
	return call_end(&c, NV_OK);
}

EXPORT nv_ret_t nvmlEventSetCreate(void **set);
EXPORT nv_ret_t nvmlEventSetCreate(void **set)
{
	(void)set;
	HOST_CALL(EventSetCreate);
	return call_end(&c, NV_NOT_SUPPORTED);
}
