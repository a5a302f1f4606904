/* gpu_metrics.c: any bytes as amdgpu's table: answered or refused, and never a negative energy. */
#include "fuzz.h"

#include "hw/amd_metrics.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct amd_metrics m;
	enum status st = amd_metrics_parse(data, size, &m);

	must(st == ST_OK || st == ST_UNSUPPORTED || st == ST_CORRUPT);
	if (st != ST_OK)
		return 0;
	must(!m.has_energy || m.energy_uj > 0 || data[2] == 1);
	must(m.energy_uj >= 0 && m.power_mw >= 0 && m.energy_wrap >= 0);
	must(m.energy_wrap == 0 || m.energy_uj < m.energy_wrap);
	return 0;
}
