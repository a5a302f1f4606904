/* R62: a throttle detector discards every run under a power cap (nvbench #231). */
#include "feed.h"

static void with(int bits)
{
	struct build *b = a_build();
	struct device d = a_gpu("GPU-0");
	int64_t uj = 0;

	build_device(b, &d, true, -1);
	build_knob(b, 0, KNOB_POWER_LIMIT, QTY(250000), QTY(150000), QTY(150000));
	draws(b, 0, 100 * MS, 32 * S, 150000, true, &uj);
	for (int64_t t = 100 * MS; t < 32 * S; t += 100 * MS)
		give(b, 0, CH_THROTTLE, t, bits);
	record(b, S, 31 * S, 0);
	build_free(b);
}

int main(void)
{
	with(THROTTLE_POWER_CAP);
	is_int(rec.state, RUN_DONE, "in the power cap all the time: a good run");
	is_int(rec.devs[0].throttle_power_cap_ppm.v, 1000000, "whose share is recorded");
	is_int((long long)rec.n_warnings, 0, "without a warning");
	with(THROTTLE_POWER_CAP | THROTTLE_CLOCK_SET | THROTTLE_IDLE);
	is_int(rec.state, RUN_DONE, "a clock lock and idle gaps are expected, too");
	/* the same kind: what is not expected beside it */
	with(THROTTLE_POWER_CAP | THROTTLE_THERMAL);
	is_int(rec.state, RUN_DISTURBED, "thermal throttling under the cap does disturb");
	with(THROTTLE_POWER_CAP | THROTTLE_HW);
	is_int(rec.state, RUN_DISTURBED, "so does a power brake");
	run_rec_release(&rec);
	return tap_done();
}
