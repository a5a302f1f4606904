/* profile.c: a device or workload profile is refused with its place, or gives devices and loads
 * whose physics stays finite; a workload that is written is read back. The first byte chooses
 * which. */
#include "fuzz.h"

#include <math.h>

#include "sim/profile.h"

static void look_at_device(const struct gpu_profile *p)
{
	const struct gpu_load l = {.kind = LOAD_WORK,
		.step_s = 0.5,
		.host_share = 0.1,
		.clock_share = 0.7,
		.mem_share = 0.1,
		.dyn_mw = 200000,
		.spread = 0.4};
	struct gpu_state g;
	struct gpu_point out;

	must(gpu_clock_count(p) >= 1);
	for (int64_t mw = p->limit_min_mw; mw <= p->limit_max_mw;
		mw += 1 + (p->limit_max_mw - p->limit_min_mw) / 4) {
		gpu_steady(p, &l, mw, p->clock_max_khz / 2, 0, &out);
		must(isfinite(out.power_mw) && out.power_mw >= 0);
		must(isfinite(out.rate) && out.rate > 0 && out.clock_khz > 0);
	}
	gpu_init(&g, p, 0, 1);
	gpu_advance(&g, INT64_C(2000000000), &l);
	must(g.t_ns == INT64_C(2000000000) && isfinite(g.energy_uj) && isfinite(g.temp_c));
}

static void look_at_workload(const struct workload *w)
{
	struct str text = STR_INIT;
	struct workload back;
	struct gpu_profile p;
	struct err e = ERR_INIT;
	struct gpu_point out;
	struct gpu_load l;

	must(!profile_gpu("a100", &p, &e));
	workload_load(w, &p, &l, NULL);
	gpu_steady(&p, &l, 0, 0, 0, &out);
	must(out.power_mw >= 0 && out.rate > 0);
	workload_format(&text, w);
	must(!profile_workload_text("b", text.p, text.len, &back, &e));
	must(back.n_loads == w->n_loads && !strcmp(back.name, w->name));
	str_release(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;
	struct gpu_profile p;
	struct workload w;
	struct err e = ERR_INIT;
	enum status st;

	if (size < 1)
		return 0;
	st = data[0] == 'w' ? profile_workload_text("f", text, size - 1, &w, &e)
			    : profile_gpu_text("f", text, size - 1, &p, &e);
	if (st)
		must(e.st == st && e.msg[0]);
	else if (data[0] == 'w')
		look_at_workload(&w);
	else
		look_at_device(&p);
	return 0;
}
