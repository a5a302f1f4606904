/* R22: an idle baseline is learnt while something runs (kepler PR #2388). */
#include "feed.h"

static void with(int64_t before_mw, int64_t util_ppm, int64_t job_mw)
{
	struct build *b = a_build();
	struct device d = a_gpu("GPU-0");
	int64_t uj = 0;

	build_device(b, &d, true, -1);
	build_idle(b, S, 9 * S);
	if (util_ppm >= 0)
		for (int64_t t = 100 * MS; t < 10 * S; t += 100 * MS)
			give(b, 0, CH_UTIL, t, util_ppm);
	draws(b, 0, 100 * MS, 10 * S, before_mw, true, &uj);
	draws(b, 0, 10 * S, 32 * S, job_mw, true, &uj);
	record(b, 10 * S, 30 * S, 0);
	build_free(b);
}

int main(void)
{
	with(25000, 0, 200000);
	is_near((double)rec.devs[0].net_uj.v, 175e6 * 20, 2e7, "idle before the job: net is known");
	with(110000, 400000, 200000);
	ok(rec.devs[0].idle_mw.st != ST_OK && rec.devs[0].net_uj.st != ST_OK,
		"busy before the job: idle and net are unknown");
	ok(warned("40 % busy before the job"), "and it is said");
	is_int(rec.devs[0].energy_uj.st, ST_OK, "gross energy is known all the same");
	/* the same kind: a device without utilisation (a CPU package) */
	with(150000, -1, 90000);
	ok(rec.devs[0].idle_mw.st != ST_OK && rec.net_uj.st != ST_OK,
		"a package that drew more before than during: unknown");
	ok(warned("drew more before the job"), "and it is said");
	run_rec_release(&rec);
	return tap_done();
}
