/* R12: the first read of the counter fails, and the job is said to have used 0 J (DCGM #171). */
#include "feed.h"

static struct meter_energy stream(int64_t good0, int64_t good1, bool power)
{
	struct meter *m = meter_of(20 * MS, POWER_KIND_INSTANT);
	struct meter_energy e;

	for (int64_t t = 0; t < 13 * S; t += 100 * MS) {
		bool good = t >= good0 && t < good1;

		push(m, CH_ENERGY, t, good ? 7000000 + uj_of(200000, t) : 0,
			good ? ST_OK : ST_UNKNOWN);
		if (power)
			push(m, CH_POWER, t, 200000, ST_OK);
	}
	e = ask(m, S, 11 * S);
	meter_free(m);
	return e;
}

int main(void)
{
	struct meter_energy e = stream(3 * S, 13 * S, true);

	ok(e.method == ENERGY_INTEGRAL && e.energy_uj.st == ST_OK,
		"a counter that comes late: power covers the whole window");
	is_near((double)e.energy_uj.v, 2e9, 2e6, "with all of the energy");
	e = stream(3 * S, 13 * S, false);
	is_int(e.energy_uj.st, ST_PARTIAL, "without power the energy is partial");
	is_near((double)e.energy_uj.v, 1.6e9, 3e7, "it is what was seen");
	is_near((double)e.coverage_ppm.v, 800000, 15000, "of 80 % of the window");
	is_near((double)e.mean_mw.v, 2e5, 2e3, "at an undiluted mean");
	/* the same kind: the last reads fail; and all of them */
	e = stream(0, 9 * S, false);
	is_int(e.energy_uj.st, ST_PARTIAL, "a counter that goes early: partial");
	is_near((double)e.coverage_ppm.v, 800000, 20000, "of the part that was seen");
	e = stream(100 * S, 0, false);
	ok(e.energy_uj.st != ST_OK && e.energy_uj.st != ST_PARTIAL && e.method == ENERGY_NONE,
		"never readable: unknown, not 0");
	return tap_done();
}
