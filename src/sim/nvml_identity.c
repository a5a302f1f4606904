/* nvml_identity.c: the library, its devices and their names. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sim/nvml_core.h"

static nv_ret_t copy_text(char *dst, unsigned size, const char *text)
{
	if (!dst)
		return NV_INVALID;
	if (strlen(text) >= size)
		return NV_SMALL;
	strcpy(dst, text);
	return NV_OK;
}

EXPORT nv_ret_t nvmlInit_v2(void);
EXPORT nv_ret_t nvmlInit_v2(void)
{
	return core_init();
}

EXPORT nv_ret_t nvmlInit(void);
EXPORT nv_ret_t nvmlInit(void)
{
	return core_init();
}

EXPORT nv_ret_t nvmlInitWithFlags(unsigned flags);
EXPORT nv_ret_t nvmlInitWithFlags(unsigned flags)
{
	(void)flags;
	return core_init();
}

EXPORT nv_ret_t nvmlShutdown(void);
EXPORT nv_ret_t nvmlShutdown(void)
{
	return core_shutdown();
}

EXPORT const char *nvmlErrorString(nv_ret_t ret);
EXPORT const char *nvmlErrorString(nv_ret_t ret)
{
	switch (ret) {
	case NV_OK:
		return "Success";
	case NV_UNINITIALIZED:
		return "Uninitialized";
	case NV_INVALID:
		return "Invalid Argument";
	case NV_NOT_SUPPORTED:
		return "Not Supported";
	case NV_NO_PERMISSION:
		return "Insufficient Permissions";
	case NV_NOT_FOUND:
		return "Not Found";
	case NV_SMALL:
		return "Insufficient Size";
	case NV_NO_DRIVER:
		return "Driver Not Loaded";
	case 10:
		return "Timeout";
	case NV_LOST:
		return "GPU is lost";
	case 16:
		return "GPU requires restart";
	case 18:
		return "Driver/library version mismatch";
	case 21:
		return "No data";
	case NV_VERSION:
		return "Argument version mismatch";
	default:
		return "Unknown Error";
	}
}

EXPORT nv_ret_t nvmlSystemGetDriverVersion(char *version, unsigned length);
EXPORT nv_ret_t nvmlSystemGetDriverVersion(char *version, unsigned length)
{
	HOST_CALL(SystemGetDriverVersion);
	return call_end(&c, copy_text(version, length, c.scn->driver));
}

EXPORT nv_ret_t nvmlSystemGetNVMLVersion(char *version, unsigned length);
EXPORT nv_ret_t nvmlSystemGetNVMLVersion(char *version, unsigned length)
{
	HOST_CALL(SystemGetNVMLVersion);
	return call_end(&c, copy_text(version, length, c.scn->nvml));
}

EXPORT nv_ret_t nvmlSystemGetCudaDriverVersion(int *version);
EXPORT nv_ret_t nvmlSystemGetCudaDriverVersion(int *version)
{
	HOST_CALL(SystemGetCudaDriverVersion);
	ANSWER(version, c.scn->cuda);
}

EXPORT nv_ret_t nvmlSystemGetCudaDriverVersion_v2(int *version);
EXPORT nv_ret_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	HOST_CALL(SystemGetCudaDriverVersion);
	ANSWER(version, c.scn->cuda);
}

EXPORT nv_ret_t nvmlSystemGetProcessName(unsigned pid, char *name, unsigned length);
EXPORT nv_ret_t nvmlSystemGetProcessName(unsigned pid, char *name, unsigned length)
{
	char path[64], text[256] = "";
	FILE *f;
	HOST_CALL(SystemGetProcessName);

	snprintf(path, sizeof(path), "/proc/%u/comm", pid);
	f = fopen(path, "re");
	if (!f)
		return call_end(&c, NV_NOT_FOUND);
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	fclose(f);
	text[strcspn(text, "\n")] = '\0';
	return call_end(&c, copy_text(name, length, text));
}

EXPORT nv_ret_t nvmlUnitGetCount(unsigned *count);
EXPORT nv_ret_t nvmlUnitGetCount(unsigned *count)
{
	HOST_CALL(UnitGetCount);
	ANSWER(count, 0);
}

EXPORT nv_ret_t nvmlDeviceGetCount_v2(unsigned *count);
EXPORT nv_ret_t nvmlDeviceGetCount_v2(unsigned *count)
{
	HOST_CALL(DeviceGetCount);
	ANSWER(count, c.scn->n_gpus);
}

/* The old function counted only devices the caller may use: here all. */
EXPORT nv_ret_t nvmlDeviceGetCount(unsigned *count);
EXPORT nv_ret_t nvmlDeviceGetCount(unsigned *count)
{
	return nvmlDeviceGetCount_v2(count);
}

static nv_ret_t give_handle(const struct call *c, int gpu, nv_dev_t *dev)
{
	if (!dev)
		return NV_INVALID;
	if (c->w->dev[gpu].lost)
		return NV_LOST;
	*dev = handle_of(gpu, -1);
	return NV_OK;
}

EXPORT nv_ret_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nv_dev_t *dev);
EXPORT nv_ret_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nv_dev_t *dev)
{
	HOST_CALL(DeviceGetHandleByIndex);
	if (index >= (unsigned)c.scn->n_gpus)
		return call_end(&c, NV_INVALID);
	return call_end(&c, give_handle(&c, (int)index, dev));
}

EXPORT nv_ret_t nvmlDeviceGetHandleByIndex(unsigned index, nv_dev_t *dev);
EXPORT nv_ret_t nvmlDeviceGetHandleByIndex(unsigned index, nv_dev_t *dev)
{
	return nvmlDeviceGetHandleByIndex_v2(index, dev);
}

EXPORT nv_ret_t nvmlDeviceGetHandleByUUID(const char *uuid, nv_dev_t *dev);
EXPORT nv_ret_t nvmlDeviceGetHandleByUUID(const char *uuid, nv_dev_t *dev)
{
	HOST_CALL(DeviceGetHandleByUUID);
	if (!uuid)
		return call_end(&c, NV_INVALID);
	for (int i = 0; i < c.scn->n_gpus; i++) {
		char name[SIM_UUID];

		if (!strcmp(c.scn->gpu[i].uuid, uuid))
			return call_end(&c, give_handle(&c, i, dev));
		for (int m = 0; m < c.scn->gpu[i].n_mig; m++) {
			world_mig_uuid(c.scn, i, m, name);
			if (strcmp(name, uuid) || !dev)
				continue;
			*dev = handle_of(i, m);
			return call_end(&c, NV_OK);
		}
	}
	return call_end(&c, NV_NOT_FOUND);
}

EXPORT nv_ret_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, nv_dev_t *dev);
EXPORT nv_ret_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, nv_dev_t *dev)
{
	unsigned domain = 0, bus, device;
	HOST_CALL(DeviceGetHandleByPciBusId);

	if (!id || (sscanf(id, "%x:%x:%x.0", &domain, &bus, &device) != 3 &&
			   (domain = 0, sscanf(id, "%x:%x.0", &bus, &device) != 2)))
		return call_end(&c, NV_INVALID);
	for (int i = 0; i < c.scn->n_gpus; i++)
		if (c.scn->gpu[i].domain == domain && c.scn->gpu[i].bus == bus &&
			c.scn->gpu[i].device == device)
			return call_end(&c, give_handle(&c, i, dev));
	return call_end(&c, NV_NOT_FOUND);
}

EXPORT nv_ret_t nvmlDeviceGetHandleByPciBusId(const char *id, nv_dev_t *dev);
EXPORT nv_ret_t nvmlDeviceGetHandleByPciBusId(const char *id, nv_dev_t *dev)
{
	return nvmlDeviceGetHandleByPciBusId_v2(id, dev);
}

EXPORT nv_ret_t nvmlDeviceGetHandleBySerial(const char *serial, nv_dev_t *dev);
EXPORT nv_ret_t nvmlDeviceGetHandleBySerial(const char *serial, nv_dev_t *dev)
{
	(void)serial;
	(void)dev;
	HOST_CALL(DeviceGetHandleBySerial);
	return call_end(&c, NV_NOT_FOUND);
}

EXPORT nv_ret_t nvmlDeviceGetName(nv_dev_t dev, char *name, unsigned length);
EXPORT nv_ret_t nvmlDeviceGetName(nv_dev_t dev, char *name, unsigned length)
{
	char text[128];
	CALL(DeviceGetName, dev);

	if (c.mig >= 0)
		snprintf(
			text, sizeof(text), "%s MIG %s", c.cfg->prof.model, c.cfg->mig[c.mig].name);
	else
		snprintf(text, sizeof(text), "%s", c.cfg->prof.model);
	return call_end(&c, copy_text(name, length, text));
}

EXPORT nv_ret_t nvmlDeviceGetUUID(nv_dev_t dev, char *uuid, unsigned length);
EXPORT nv_ret_t nvmlDeviceGetUUID(nv_dev_t dev, char *uuid, unsigned length)
{
	char text[96];
	CALL(DeviceGetUUID, dev);

	if (c.mig >= 0)
		world_mig_uuid(c.scn, c.gpu, c.mig, text);
	else
		snprintf(text, sizeof(text), "%s", c.cfg->uuid);
	return call_end(&c, copy_text(uuid, length, text));
}

EXPORT nv_ret_t nvmlDeviceGetSerial(nv_dev_t dev, char *serial, unsigned length);
EXPORT nv_ret_t nvmlDeviceGetSerial(nv_dev_t dev, char *serial, unsigned length)
{
	char text[32];
	CALL(DeviceGetSerial, dev);

	snprintf(text, sizeof(text), "%013d", 1650000000 + c.gpu);
	return call_end(&c, copy_text(serial, length, text));
}

static void fill_pci(const struct call *c, struct nv_pci *pci)
{
	const struct sim_gpu_cfg *g = c->cfg;

	memset(pci, 0, sizeof(*pci));
	pci->domain = g->domain;
	pci->bus = g->bus;
	pci->device = g->device;
	/* No real card has device number 0xfff0: nobody takes this for one. */
	pci->pci_device_id = 0xfff010de;
	pci->pci_subsystem_id = 0xfff010de;
	snprintf(pci->legacy, sizeof(pci->legacy), "%04X:%02X:%02X.0", g->domain & 0xffff, g->bus,
		g->device);
	snprintf(pci->id, sizeof(pci->id), "%08X:%02X:%02X.0", g->domain, g->bus, g->device);
}

EXPORT nv_ret_t nvmlDeviceGetPciInfo_v3(nv_dev_t dev, struct nv_pci *pci);
EXPORT nv_ret_t nvmlDeviceGetPciInfo_v3(nv_dev_t dev, struct nv_pci *pci)
{
	CALL(DeviceGetPciInfo, dev);
	if (!pci)
		return call_end(&c, NV_INVALID);
	fill_pci(&c, pci);
	return call_end(&c, NV_OK);
}

/* Versions 1 and 2 have the short address only, and four reserved words where the long one is. */
EXPORT nv_ret_t nvmlDeviceGetPciInfo_v2(nv_dev_t dev, struct nv_pci_v1 *pci);
EXPORT nv_ret_t nvmlDeviceGetPciInfo_v2(nv_dev_t dev, struct nv_pci_v1 *pci)
{
	struct nv_pci full;
	CALL(DeviceGetPciInfo, dev);

	if (!pci)
		return call_end(&c, NV_INVALID);
	fill_pci(&c, &full);
	memset(pci, 0, sizeof(*pci));
	memcpy(pci, &full, offsetof(struct nv_pci_v1, reserved));
	return call_end(&c, NV_OK);
}

EXPORT nv_ret_t nvmlDeviceGetPciInfo(nv_dev_t dev, struct nv_pci_v1 *pci);
EXPORT nv_ret_t nvmlDeviceGetPciInfo(nv_dev_t dev, struct nv_pci_v1 *pci)
{
	return nvmlDeviceGetPciInfo_v2(dev, pci);
}

EXPORT nv_ret_t nvmlDeviceGetMinorNumber(nv_dev_t dev, unsigned *minor);
EXPORT nv_ret_t nvmlDeviceGetMinorNumber(nv_dev_t dev, unsigned *minor)
{
	CALL(DeviceGetMinorNumber, dev);
	ANSWER(minor, c.cfg->minor);
}

EXPORT nv_ret_t nvmlDeviceGetIndex(nv_dev_t dev, unsigned *index);
EXPORT nv_ret_t nvmlDeviceGetIndex(nv_dev_t dev, unsigned *index)
{
	CALL(DeviceGetIndex, dev);
	ANSWER(index, c.mig >= 0 ? c.mig : c.gpu);
}

EXPORT nv_ret_t nvmlDeviceGetBoardId(nv_dev_t dev, unsigned *id);
EXPORT nv_ret_t nvmlDeviceGetBoardId(nv_dev_t dev, unsigned *id)
{
	CALL(DeviceGetBoardId, dev);
	ANSWER(id, c.cfg->bus << 8);
}

EXPORT nv_ret_t nvmlDeviceGetMultiGpuBoard(nv_dev_t dev, unsigned *multi);
EXPORT nv_ret_t nvmlDeviceGetMultiGpuBoard(nv_dev_t dev, unsigned *multi)
{
	CALL(DeviceGetMultiGpuBoard, dev);
	ANSWER(multi, 0);
}

EXPORT nv_ret_t nvmlDeviceGetBrand(nv_dev_t dev, unsigned *brand);
EXPORT nv_ret_t nvmlDeviceGetBrand(nv_dev_t dev, unsigned *brand)
{
	CALL(DeviceGetBrand, dev);
	ANSWER(brand, c.cfg->prof.cc_major < 8 ? 2 : 14); /* Tesla, NVIDIA */
}

EXPORT nv_ret_t nvmlDeviceGetArchitecture(nv_dev_t dev, unsigned *arch);
EXPORT nv_ret_t nvmlDeviceGetArchitecture(nv_dev_t dev, unsigned *arch)
{
	CALL(DeviceGetArchitecture, dev);
	ANSWER(arch, c.cfg->prof.cc_major == 7 ? 5 : c.cfg->prof.cc_major == 8 ? 7 : 9);
}

EXPORT nv_ret_t nvmlDeviceGetNumGpuCores(nv_dev_t dev, unsigned *cores);
EXPORT nv_ret_t nvmlDeviceGetNumGpuCores(nv_dev_t dev, unsigned *cores)
{
	CALL(DeviceGetNumGpuCores, dev);
	ANSWER(cores, c.cfg->prof.cores);
}

EXPORT nv_ret_t nvmlDeviceGetCudaComputeCapability(nv_dev_t dev, int *major, int *minor);
EXPORT nv_ret_t nvmlDeviceGetCudaComputeCapability(nv_dev_t dev, int *major, int *minor)
{
	CALL(DeviceGetCudaComputeCapability, dev);
	if (!major || !minor)
		return call_end(&c, NV_INVALID);
	*major = c.cfg->prof.cc_major;
	*minor = c.cfg->prof.cc_minor;
	return call_end(&c, NV_OK);
}

/* Only instances have attributes; a whole device refuses, as the real library does. */
EXPORT nv_ret_t nvmlDeviceGetAttributes_v2(nv_dev_t dev, struct nv_attributes *a);
EXPORT nv_ret_t nvmlDeviceGetAttributes_v2(nv_dev_t dev, struct nv_attributes *a)
{
	CALL(DeviceGetAttributes, dev);
	if (!a)
		return call_end(&c, NV_INVALID);
	if (c.mig < 0)
		return call_end(&c, NV_NOT_SUPPORTED);
	memset(a, 0, sizeof(*a));
	a->gpu_slices = a->compute_slices = (unsigned)c.cfg->mig[c.mig].slices;
	a->sms = (unsigned)c.cfg->prof.sms / 8 * a->gpu_slices;
	a->copy = a->gpu_slices;
	a->mem_mb = (unsigned long long)(c.cfg->mig[c.mig].mem_bytes >> 20);
	return call_end(&c, NV_OK);
}

EXPORT nv_ret_t nvmlDeviceGetAttributes(nv_dev_t dev, struct nv_attributes *a);
EXPORT nv_ret_t nvmlDeviceGetAttributes(nv_dev_t dev, struct nv_attributes *a)
{
	return nvmlDeviceGetAttributes_v2(dev, a);
}

EXPORT nv_ret_t nvmlDeviceGetVbiosVersion(nv_dev_t dev, char *version, unsigned length);
EXPORT nv_ret_t nvmlDeviceGetVbiosVersion(nv_dev_t dev, char *version, unsigned length)
{
	CALL(DeviceGetVbiosVersion, dev);
	return call_end(&c, copy_text(version, length, "00.00.00.00.SIM"));
}

/* MIG instances */

EXPORT nv_ret_t nvmlDeviceGetMigMode(nv_dev_t dev, unsigned *now, unsigned *pending);
EXPORT nv_ret_t nvmlDeviceGetMigMode(nv_dev_t dev, unsigned *now, unsigned *pending)
{
	CALL(DeviceGetMigMode, dev);
	if (!now || !pending)
		return call_end(&c, NV_INVALID);
	if (!c.cfg->prof.mig || c.mig >= 0)
		return call_end(&c, NV_NOT_SUPPORTED);
	*now = *pending = c.cfg->n_mig > 0;
	return call_end(&c, NV_OK);
}

EXPORT nv_ret_t nvmlDeviceSetMigMode(nv_dev_t dev, unsigned mode, nv_ret_t *activation);
EXPORT nv_ret_t nvmlDeviceSetMigMode(nv_dev_t dev, unsigned mode, nv_ret_t *activation)
{
	(void)mode;
	(void)activation;
	CALL(DeviceSetMigMode, dev);
	return call_end(&c, call_may_set(&c) ? NV_NOT_SUPPORTED : NV_NO_PERMISSION);
}

EXPORT nv_ret_t nvmlDeviceGetMaxMigDeviceCount(nv_dev_t dev, unsigned *count);
EXPORT nv_ret_t nvmlDeviceGetMaxMigDeviceCount(nv_dev_t dev, unsigned *count)
{
	CALL(DeviceGetMaxMigDeviceCount, dev);
	ANSWER(count, c.cfg->prof.mig ? SIM_MIG : 0);
}

EXPORT nv_ret_t nvmlDeviceGetMigDeviceHandleByIndex(nv_dev_t dev, unsigned index, nv_dev_t *mig);
EXPORT nv_ret_t nvmlDeviceGetMigDeviceHandleByIndex(nv_dev_t dev, unsigned index, nv_dev_t *mig)
{
	CALL(DeviceGetMigDeviceHandleByIndex, dev);
	if (!mig || c.mig >= 0)
		return call_end(&c, NV_INVALID);
	if (!c.cfg->prof.mig)
		return call_end(&c, NV_NOT_SUPPORTED);
	if (index >= (unsigned)c.cfg->n_mig)
		return call_end(&c, NV_NOT_FOUND);
	*mig = handle_of(c.gpu, (int)index);
	return call_end(&c, NV_OK);
}

EXPORT nv_ret_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nv_dev_t mig, nv_dev_t *dev);
EXPORT nv_ret_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nv_dev_t mig, nv_dev_t *dev)
{
	CALL(DeviceGetDeviceHandleFromMigDeviceHandle, mig);
	if (!dev || c.mig < 0)
		return call_end(&c, NV_INVALID);
	*dev = handle_of(c.gpu, -1);
	return call_end(&c, NV_OK);
}

EXPORT nv_ret_t nvmlDeviceIsMigDeviceHandle(nv_dev_t dev, unsigned *is);
EXPORT nv_ret_t nvmlDeviceIsMigDeviceHandle(nv_dev_t dev, unsigned *is)
{
	CALL(DeviceIsMigDeviceHandle, dev);
	ANSWER(is, c.mig >= 0);
}

EXPORT nv_ret_t nvmlDeviceGetGpuInstanceId(nv_dev_t dev, unsigned *id);
EXPORT nv_ret_t nvmlDeviceGetGpuInstanceId(nv_dev_t dev, unsigned *id)
{
	CALL(DeviceGetGpuInstanceId, dev);
	if (c.mig < 0)
		return call_end(&c, NV_NOT_SUPPORTED);
	ANSWER(id, c.mig + 1);
}

EXPORT nv_ret_t nvmlDeviceGetComputeInstanceId(nv_dev_t dev, unsigned *id);
EXPORT nv_ret_t nvmlDeviceGetComputeInstanceId(nv_dev_t dev, unsigned *id)
{
	CALL(DeviceGetComputeInstanceId, dev);
	if (c.mig < 0)
		return call_end(&c, NV_NOT_SUPPORTED);
	ANSWER(id, 0);
}
