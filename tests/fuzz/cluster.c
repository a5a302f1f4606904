/* cluster.c: a cluster file is refused with its place, or gives steps that are finite from one GPU
 * to all of them. */
#include "fuzz.h"

#include <math.h>

#include "sim/cluster.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	struct cluster c;
	struct workload w;
	struct gpu_load l;
	enum status st = ST_OK;

	/* a path in the file would be read */
	for (size_t i = 0; i < size; i++)
		if (data[i] == '/' && (i == 0 || data[i - 1] != 'B') &&
			(i + 1 >= size || data[i + 1] != 's'))
			return 0;
	st = cluster_parse("f", (const char *)data, size, &c, &e);
	if (st) {
		must(e.st == st && e.msg[0]);
		return 0;
	}
	must(!profile_workload("resnet50", &w, &e));
	workload_load(&w, &c.gpu, &l, NULL);
	for (long long n = 1; n <= (long long)c.nodes * c.gpus_per_node && n < 1 << 30; n *= 7) {
		const struct cluster_setting s = {(int)n, c.gpu.limit_min_mw, 0, 0, 0};
		struct cluster_step step;

		must(!cluster_eval(&c, &w, &l, &s, &step, &e));
		cluster_noise(&c, &w, 1, (uint64_t)n, &step);
		must(isfinite(step.step_s) && step.step_s > 0);
		must(isfinite(step.gpu_mw) && step.gpu_mw >= 0 && isfinite(step.host_mw));
	}
	return 0;
}
