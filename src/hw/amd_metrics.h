/* amd_metrics.h: the binary gpu_metrics table of amdgpu. Pure: bytes in, numbers out.
 *
 * Layouts by version: struct gpu_metrics_v1_x of the kernel's kgd_pp_interface.h. A version that is
 * not known is refused, not guessed.
 */
#ifndef WATTLAW_HW_AMD_METRICS_H
#define WATTLAW_HW_AMD_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/status.h"

struct amd_metrics {
	int format, content; /* revisions: 1, 3 */
	bool has_energy, has_power, has_throttle;
	int64_t energy_uj; /* from units of 2^-16 J */
	int64_t energy_wrap; /* uJ, 0 = 64 bits */
	int64_t power_mw;
	uint64_t throttle; /* bits of the table that are the same for all chips: 0-15 power, 16-31
			    * current, 32-47 temperature */
};

/* ST_UNSUPPORTED for an unknown version, ST_CORRUPT for a table that is too short for its own. */
enum status amd_metrics_parse(const void *bytes, size_t n, struct amd_metrics *out);

#endif
