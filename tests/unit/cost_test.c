/* cost_test.c: GPU-hours, energy, money, allocation and carbon of a plan. */
#include "tap.h"

#include "advise/cost.h"

static const struct cost_terms nothing = {NAN, NAN, NAN, NAN, NAN, NAN, NAN};

int main(void)
{
	const struct interval two_hours = {7200, 6300, 8100, 0.9},
			      energy = {7.2e6, 6.3e6, 8.1e6, 0.9};
	const struct interval unknown = {NAN, NAN, NAN, 0.9};
	struct cost_terms t = nothing;
	struct cost c;

	cost_of(&t, 4, &two_hours, &energy, &c);
	is_near(c.gpu_hours.value, 8, 1e-12, "four workers for two hours are eight GPU-hours");
	is_near(c.gpu_hours.hi, 9, 1e-12, "their bounds are those of the time");
	is_near(c.energy_kwh.value, 2, 1e-12, "7.2 MJ are 2 kWh");
	ok(isnan(c.money.value) && isnan(c.co2_g.value) && isnan(c.units.value),
		"what has no price is unknown, not free");
	ok(c.energy_only && !c.has_host, "without a price of GPU-hours it is energy only");

	t.per_kwh = 0.5;
	t.pue = 1.5;
	cost_of(&t, 4, &two_hours, &energy, &c);
	is_near(c.energy_kwh.value, 3, 1e-12, "PUE multiplies the energy");
	is_near(c.money.value, 1.5, 1e-12, "and so what it costs");
	ok(c.energy_only, "a price of energy alone stays energy only");

	t.host_w = 500;
	cost_of(&t, 4, &two_hours, &energy, &c);
	is_near(c.energy_kwh.value, 3 + 1.5, 1e-12, "one host of 500 W for two hours, times PUE");
	t.workers_per_host = 2;
	cost_of(&t, 4, &two_hours, &energy, &c);
	is_near(c.energy_kwh.value, 3 + 3, 1e-12, "two workers a host: two hosts");
	cost_of(&t, 5, &two_hours, &energy, &c);
	is_near(c.energy_kwh.value, 3 + 4.5, 1e-12, "a host that is not full draws as much");

	t = nothing;
	t.per_gpu_hour = 2;
	t.units_per_gpu_hour = 10;
	t.carbon_g_kwh = 100;
	cost_of(&t, 4, &two_hours, &energy, &c);
	is_near(c.money.value, 16, 1e-12, "a price of GPU-hours alone is the whole price");
	ok(!c.energy_only, "and is not energy only");
	is_near(c.units.value, 80, 1e-12, "allocation units go with GPU-hours");
	is_near(c.co2_g.value, 200, 1e-12, "carbon goes with energy");
	t.per_kwh = 0.5;
	cost_of(&t, 4, &two_hours, &energy, &c);
	is_near(c.money.value, 17, 1e-12, "both prices add");
	is_near(c.money.lo, 14 + 0.875, 1e-12, "bound to bound");
	cost_of(&t, 4, &two_hours, &unknown, &c);
	ok(isnan(c.energy_kwh.value) && isnan(c.co2_g.value), "unknown energy stays unknown");
	is_near(c.gpu_hours.value, 8, 1e-12, "GPU-hours are known all the same");
	return tap_done();
}
