/* backends.h: the back ends of this build, for the table in backend.c alone. */
#ifndef WATTLAW_HW_BACKENDS_H
#define WATTLAW_HW_BACKENDS_H

#include "hw/backend.h"

extern const struct backend backend_nvml;
extern const struct backend backend_amdgpu;
extern const struct backend backend_intelgpu;
extern const struct backend backend_rapl;
extern const struct backend backend_cpufreq;
extern const struct backend backend_node;
extern const struct backend backend_job;
extern const struct backend backend_cgroup;

#endif
