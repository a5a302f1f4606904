/* R21: start-up is averaged in, 720 W became 440 W (InferenceX #1507, PR #1558). */
#include "feed.h"

int main(void)
{
	struct build *b = a_build();
	struct device d = a_gpu("GPU-0");
	int64_t uj = 0, t = 42 * S;

	build_device(b, &d, true, -1);
	draws(b, 0, 100 * MS, 42 * S, 90000, true, &uj); /* loading */
	draws(b, 0, 42 * S, 82 * S, 720000, true, &uj); /* training */
	draws(b, 0, 82 * S, 100 * S, 120000, true, &uj); /* saving */
	for (uint64_t i = 1; i < 200; i++)
		step(b, 0, i, t += 200 * MS);
	record(b, 2 * S, 98 * S, 5);
	is_near((double)rec.devs[0].mean_mw.v, 357500, 1000,
		"the mean of the whole run is diluted");
	is_near(mean_of(phase("steady")), 720000, 1000, "the steady phase by itself draws 720 W");
	is_near(mean_of(phase("warmup")), 102000, 5000, "start-up is apart");
	ok(phase("warmup") && phase("warmup")->start_ns == 0, "from the start of the run");
	/* the same kind: the tail */
	is_near(mean_of(phase("tail")), 128000, 8000, "and so is the tail");
	is_near((double)(phase("warmup")->energy_uj.v + phase("steady")->energy_uj.v +
			 phase("tail")->energy_uj.v),
		(double)rec.energy_uj.v, 10, "the three add up to the run");
	build_free(b);
	run_rec_release(&rec);
	return tap_done();
}
