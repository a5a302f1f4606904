/* R6: 1 s average and instant power are confused (zeus #45, kernel_tuner PR #247, DCGM #157). */
#include "feed.h"

static const char *note_of(
	enum channel a, int64_t mw_a, enum channel b, int64_t mw_b, enum power_kind kind)
{
	struct build *bd = a_build();
	struct device d = a_gpu("GPU-0");

	d.power_kind = kind;
	build_device(bd, &d, true, -1);
	for (int64_t t = 100 * MS; t < 12 * S; t += 100 * MS) {
		if (mw_a)
			give(bd, 0, a, t, mw_a);
		if (mw_b)
			give(bd, 0, b, t, mw_b);
	}
	record(bd, S, 11 * S, 0);
	build_free(bd);
	return rec.devs[0].note;
}

int main(void)
{
	has(note_of(CH_POWER_AVERAGE, 180000, CH_POWER_INSTANT, 240000, POWER_KIND_UNKNOWN),
		"power: instant",
		"average and instant differ: the note names the one that was used");
	is_near((double)rec.devs[0].energy_uj.v, 2.4e9, 5e6, "and only that one is integrated");
	has(note_of(CH_POWER, 200000, CH_POWER_INSTANT, 240000, POWER_KIND_AVERAGE),
		"power: 1 s average", "a default reading that averages is called an average");
	is_int(rec.devs[0].window_ns.v, S, "with its window");
	/* the same kind: a module sensor that holds more than the GPU */
	has(note_of(CH_POWER_AVERAGE, 180000, CH_POWER_MODULE, 600000, POWER_KIND_UNKNOWN),
		"power: 1 s average", "module power is not taken for the GPU's");
	is_near((double)rec.devs[0].energy_uj.v, 1.8e9, 5e6, "its energy is the GPU's alone");
	note_of(CH_POWER_MODULE, 600000, CH_POWER, 0, POWER_KIND_UNKNOWN);
	ok(rec.devs[0].energy_uj.st != ST_OK, "module power alone leaves the GPU's energy unknown");
	run_rec_release(&rec);
	return tap_done();
}
