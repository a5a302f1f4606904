/* R4: a window shorter than the counter's refresh gives 0 J (zeus #12, pynvml PR #18, PAPI PR
 * #525). */
#include "feed.h"

int main(void)
{
	struct meter *m = meter_of(100 * MS, POWER_KIND_INSTANT);
	struct meter_energy e;

	/* 200 W; the counter steps each 100 ms, it is read each 10 ms */
	for (int64_t t = 0; t < 4 * S; t += 10 * MS)
		push(m, CH_ENERGY, t, uj_of(200000, t / (100 * MS) * 100 * MS), ST_OK);
	e = ask(m, 2030 * MS, 2050 * MS);
	is_near((double)e.energy_uj.v, 4e6, 4e5, "20 ms between two refreshes: 4 J, not 0");
	ok(e.flags & METER_LOW_RESOLUTION, "flagged as low resolution");
	is_int(e.resolution_ppm.v, 1000000, "with an error as large as itself");
	e = ask(m, 1 * S, 3 * S);
	ok(!(e.flags & METER_LOW_RESOLUTION), "two seconds are long enough");
	meter_free(m);

	/* the same kind: a power sensor, and a job that ends between two readings */
	m = meter_of(100 * MS, POWER_KIND_INSTANT);
	for (int64_t t = 0; t < 4 * S; t += 100 * MS)
		push(m, CH_POWER, t, 200000, ST_OK);
	e = ask(m, 2030 * MS, 2050 * MS);
	is_near((double)e.energy_uj.v, 4e6, 4e5, "20 ms between two power readings: 4 J too");
	ok((e.flags & METER_LOW_RESOLUTION) && e.mean_mw.v == 200000,
		"flagged, at the right power");
	meter_free(m);
	return tap_done();
}
