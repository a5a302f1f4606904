/* R64: cold first steps and a missing warm-up bias the first point of a sweep (club-3090 PR #802).
 */
#include "feed.h"

/* 20 steps of 400 ms, then 100 ms; warm-up of n steps */
static double step_ms(int64_t warmup, const char *phase_name)
{
	struct build *b = a_build();
	struct mark_rank r = {.pid = 0, .rank = 0, .n_ranks = 1};
	struct mark_event ev = {.kind = MARK_PHASE_BEGIN, .value = 1};
	int64_t t = S;

	if (phase_name) {
		ev.t_ns = (uint64_t)t;
		snprintf(ev.text, sizeof(ev.text), "%s", phase_name);
		build_mark(b, &r, &ev);
	}
	for (uint64_t i = 1; i <= 320; i++) {
		step(b, 0, i, t += i <= 20 ? 400 * MS : 100 * MS);
		if (i == 20 && phase_name) {
			ev.t_ns = (uint64_t)t;
			ev.kind = MARK_PHASE_END;
			build_mark(b, &r, &ev);
		}
	}
	record(b, 500 * MS, t + S, warmup);
	build_free(b);
	return (double)rec.train.window_ns.v / (double)rec.train.window_steps.v / 1e6;
}

int main(void)
{
	ok(step_ms(0, NULL) > 115, "without a warm-up the mean is biased by a fifth");
	ok(!rec.train.steady, "and is not called steady");
	is_near(step_ms(20, NULL), 100, 1e-6, "twenty steps of warm-up: the true time per step");
	ok(rec.train.steady, "which is steady");
	is_int(phase("warmup") ? phase("warmup")->steps : -1, 20,
		"the warm-up is a phase of its own");
	/* the same kind: the program itself says what its warm-up is */
	is_near(step_ms(0, "warmup"), 100, 1e-6, "a phase called warmup counts as one");
	ok(phase("job:warmup") && phase("warmup"), "and is not mixed up with ours");
	run_rec_release(&rec);
	return tap_done();
}
