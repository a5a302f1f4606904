/* R63: a 38 % "regression" was a hot node, 5 % of the time in thermal slowdown (atlas PR #569). */
#include "feed.h"

static void with(bool counter, int64_t hot_ns)
{
	struct build *b = a_build();
	struct device d = a_gpu("GPU-0");
	int64_t uj = 0;

	if (counter)
		d.channels = UINT64_C(1) << CH_VIOL_THERMAL;
	build_device(b, &d, true, -1);
	draws(b, 0, 100 * MS, 62 * S, 200000, true, &uj);
	for (int64_t t = 100 * MS; t < 62 * S; t += 100 * MS) {
		bool hot = t >= 20 * S && t < 20 * S + hot_ns;

		if (!counter)
			give(b, 0, CH_THROTTLE, t, hot ? THROTTLE_THERMAL : 0);
		else if (t % S == 0)
			give(b, 0, CH_VIOL_THERMAL, t,
				t < 20 * S ? 5 : 5 + (t - 20 * S < hot_ns ? t - 20 * S : hot_ns));
		if (t % S == 0)
			give(b, 0, CH_TEMP, t, t < 20 * S ? 60000 : 88000);
	}
	record(b, S, 61 * S, 0);
	build_free(b);
}

int main(void)
{
	with(false, 3 * S);
	is_near((double)rec.devs[0].throttle_thermal_ppm.v, 50000, 2000,
		"5 % of the time, from sampled bits");
	is_int(rec.state, RUN_DISTURBED, "the run is called disturbed");
	ok(warned("thermal throttling for 5.0 % of the time"), "and says how much");
	ok(rec.devs[0].temp_start_mdegc.v == 60000 && rec.devs[0].temp_max_mdegc.v == 88000,
		"with its temperatures");
	with(true, 3 * S);
	is_near((double)rec.devs[0].throttle_thermal_ppm.v, 50000, 1000,
		"the same from the driver's violation counter");
	/* the same kind: too little to matter; none that could be seen */
	with(true, 200 * MS);
	is_int(rec.state, RUN_DONE, "0.3 % does not spoil a run");
	with(true, 0);
	is_int(rec.devs[0].throttle_thermal_ppm.v, 0, "a counter that stands is a known 0");
	ok(rec.devs[0].throttle_hw_ppm.st != ST_OK, "what nobody reports is unknown, not 0");
	run_rec_release(&rec);
	return tap_done();
}
