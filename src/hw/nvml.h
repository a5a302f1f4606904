/* nvml.h: what the two halves of the NVML back end share: devices and readings in nvml.c, knobs in
 * nvml_knob.c. */
#ifndef WATTLAW_HW_NVML_H
#define WATTLAW_HW_NVML_H

#include "hw/backend.h"
#include "hw/nvml_api.h"

#define NVML_MAX_FIELDS 12

/* What we keep of a GPU or MIG instance beside its struct device. */
struct nvml_gpu {
	nvml_device h;
	bool mig; /* an instance: no power, no knobs of its own */
	int clock_type; /* NVML_CLOCK_SM, or graphics where SM does not answer */
	bool memory_v2;
	struct nvml_want {
		uint32_t id, scope;
		enum channel ch;
		int64_t scale; /* to the channel's unit */
	} fields[NVML_MAX_FIELDS]; /* those that answered when opened */
	size_t n_fields;
	int64_t *clock_grid, *mem_grid; /* kHz, ascending; NULL until asked */
	size_t n_clock_grid, n_mem_grid;
};

struct nvml {
	struct nvml_api api;
	struct backend_env env;
	struct device *devs;
	struct nvml_gpu *gpus;
	size_t n, cap_devs, cap_gpus;
};

enum status nvml_knob_range(
	void *self, size_t dev, enum knob k, struct knob_range *out, struct err *e);
enum status nvml_knob_get(void *self, size_t dev, enum knob k, struct knob_val *out, struct err *e);
enum status nvml_knob_set(
	void *self, size_t dev, enum knob k, const struct knob_val *v, struct err *e);
enum status nvml_knob_check(
	void *self, size_t dev, enum knob k, struct err *e, char *fix, size_t size);
/* Which knobs a whole GPU has; fills device.knobs, max_power_mw and why_not. */
void nvml_knob_probe(struct nvml *nv, size_t dev);

#endif
