/* scenario.c: no scenario crashes the reader or the world it makes; every refusal says why. */
#include "fuzz.h"

#include <math.h>

#include "sim/scenario.h"
#include "sim/world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct scenario s; /* large */
	static struct world w;
	struct err e = ERR_INIT;
	enum status st;

	scenario_init(&s);
	st = scenario_text(&s, "f", (const char *)data, size, &e);
	if (!st)
		st = scenario_finish(&s, &e);
	if (st) {
		must(e.st == st && e.msg[0]);
		return 0;
	}
	must(s.n_gpus >= 0 && s.n_gpus <= SIM_GPUS && s.n_events <= SIM_EVENTS);
	for (int i = 1; i < s.n_events; i++)
		must(s.event[i - 1].at_ns <= s.event[i].at_ns);
	world_init(&w, &s, 0);
	for (int k = 1; k <= 20; k++) {
		double before[SIM_GPUS];

		for (int i = 0; i < s.n_gpus; i++)
			before[i] = w.dev[i].g.energy_uj;
		world_advance(&w, &s, 0, k * INT64_C(300000000));
		for (int i = 0; i < s.n_gpus; i++) {
			int64_t mw = 0;
			double uj = 0;

			must(isfinite(w.dev[i].g.energy_uj) && w.dev[i].g.energy_uj >= before[i]);
			must(isfinite(w.dev[i].g.temp_c) && w.dev[i].g.t_ns == w.t_ns);
			gpu_read_power(&w.dev[i].g, GPU_READ_DEFAULT, &mw);
			gpu_read_counter(&w.dev[i].g, &uj);
			must(mw >= 0 && uj >= 0);
			must(gpu_clock_now(&w.dev[i].g) > 0);
		}
	}
	return 0;
}
