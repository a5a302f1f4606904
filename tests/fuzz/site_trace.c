/* site_trace.c: a job trace is refused with its place, or is replayed with its energy conserved. */
#include "fuzz.h"

#include <math.h>

#include "base/mem.h"
#include "sim/site_trace.h"

#define MAX_JOBS 200 /* a trace of every possible length is no test of the schedule */

static void replay(const struct site_trace *t)
{
	static const char curves[] = "[class *]\npower_limit = 100W, 250W\ntime = 1.9, 1\n"
				     "power = 99W, 220W\n";
	struct site_class *c = mem_calloc(t->n_classes, sizeof(*c));
	struct site_config cfg = {.n_gpus = INT32_MAX, .idle_w = 0, .cap_w = 100};
	struct err e = ERR_INIT;
	struct site_result r;

	must(c && !site_classes_parse("c", curves, sizeof(curves) - 1, t, c, &e));
	for (int p = SITE_NONE; p <= SITE_CLASS; p++) {
		enum status st;

		cfg.policy = (enum site_policy)p;
		st = site_run(&cfg, c, t->n_classes, t->jobs, t->n, &r, NULL, NULL, &e);
		if (st) {
			must(st == ST_RANGE && e.msg[0]); /* more GPUs at once than there are */
			continue;
		}
		must(isfinite(r.total_j) && r.total_j >= 0);
		must(fabs(r.total_j - r.integral_j) <= 1e-9 * fmax(1, r.total_j));
	}
	mem_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct err e = ERR_INIT;
	struct site_trace t;
	enum status st = site_trace_parse("f", (const char *)data, size, &t, &e);

	if (st) {
		must(e.st == st && e.msg[0]);
		return 0;
	}
	must(t.n > 0 && t.n_classes > 0);
	if (t.n <= MAX_JOBS)
		replay(&t);
	site_trace_release(&t);
	return 0;
}
