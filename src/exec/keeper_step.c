/* keeper_step.c: several settings inside one launch.
 *
 * After warm-up each point is applied, left to settle, and held until the interval of its mean step
 * time is narrow enough or its time is up. The window of a point begins and ends at step ends, and
 * where a CPU quota chops time into periods its length is as near as possible to a whole number of
 * them: over a broken period the mean would depend on where the window fell.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/mem.h"
#include "exec/keeper_priv.h"
#include "exec/window.h"

#define TRACK_MAX       ((size_t)1 << 20)
#define QUOTA_PERIOD_NS (100 * NS_PER_MS)
#define GROUPS_NS       (30 * NS_PER_S)
#define STRETCH         10 /* a setting may last this many times its time to see WINDOW_STEPS_MIN steps */

void step_seen(struct keeper *k, int64_t pid, int rank, int64_t t_ns)
{
	struct step_track *t = &k->track;

	/* Rank 0 is followed; where nobody says which that is, whoever came first. */
	if (!t->n || (rank == 0 && t->rank != 0)) {
		t->pid = pid;
		t->rank = rank;
		t->n = 0;
	}
	if (t->pid != pid || (t->n && t_ns <= t->end_ns[t->n - 1]))
		return;
	if (mem_grow((void **)&t->end_ns, &t->cap, t->n + 1, sizeof *t->end_ns, TRACK_MAX))
		t->end_ns[t->n++] = t_ns;
}

static void enter(struct keeper *k, enum step_state s, int64_t now)
{
	k->state = s;
	k->state_ns = now;
}

static void all_done(struct keeper *k, int64_t now)
{
	enter(k, STEP_OVER, now);
	(void)chan_send(&k->chan, MSG_ALL_DONE, NULL, 0, 2000);
}

static void apply_next(struct keeper *k, int64_t now)
{
	struct point_msg *p = &k->points[k->cur];
	struct str s = STR_INIT;

	if (k->cur == k->n_points) {
		all_done(k, now);
		return;
	}
	wire_u64(&s, p->ticket);
	if (chan_send(&k->chan, MSG_SETTING, s.p, s.len, 2000))
		k->leader_gone = true;
	str_release(&s);
	if (!k->knobs || !p->n_knobs) {
		enter(k, STEP_SETTLE, now);
		return;
	}
	knobs_post(k->knobs, KNOBS_APPLY, p);
	enter(k, STEP_APPLY, now);
}

/* A point that cannot be measured is a record too: it says why. */
static void fail_point(struct keeper *k, int64_t now, const char *why)
{
	struct point_msg *p = &k->points[k->cur];
	struct build_window w = {.t0_ns = k->state_ns < now ? k->state_ns : now - 1, .t1_ns = now};

	run_rec_warn(&p->rec, "%s", why);
	keeper_record(k, p, &w, -1, RUN_FAILED);
	k->cur++;
	apply_next(k, now);
}

void step_knobs(struct keeper *k, const struct knobs_result *r)
{
	int64_t now = keeper_now();

	if (r->op == KNOBS_GROUPS) {
		k->groups_ready = r->st == ST_OK;
		if (r->st != ST_OK && r->st != ST_AGAIN)
			keeper_warn(k, "%s", r->err.msg);
		return;
	}
	if (r->op != KNOBS_APPLY || k->state != STEP_APPLY)
		return;
	keeper_outcomes(k, r, &k->points[k->cur].rec);
	if (r->st != ST_OK)
		fail_point(k, now, r->err.msg);
	else
		enter(k, STEP_SETTLE, now);
}

/* Steps of the followed rank that ended in [a, b): index of the first, and how many. */
static size_t ends_between(const struct step_track *t, int64_t a, int64_t b, size_t *first)
{
	size_t i = t->n, n = 0;

	while (i && t->end_ns[i - 1] >= a) {
		i--;
		n += t->end_ns[i] < b;
	}
	*first = i;
	return n;
}

static void finish_point(struct keeper *k, int64_t now)
{
	struct point_msg *p = &k->points[k->cur];
	struct build_window w = {.keep_series = true};
	size_t first, from = 0, to, n = ends_between(&k->track, k->hold_ns, now, &first);
	const int64_t *end = k->track.end_ns + first;

	if (n < WINDOW_STEPS_MIN) {
		fail_point(k, now,
			"too few steps ended while this setting was held; give it more point_time");
		return;
	}
	to = n - 1;
	if (k->hello.knobs & 1u << KNOB_CPU_RATE)
		window_whole_periods(end, n, QUOTA_PERIOD_NS, &from, &to);
	w.t0_ns = end[from];
	w.t1_ns = end[to];
	keeper_record(k, p, &w, -1, RUN_DONE);
	k->cur++;
	apply_next(k, now);
}

static bool narrow_enough(const struct keeper *k, const struct point_msg *p, int64_t now)
{
	struct step_stats s;

	if (p->ci_ppm <= 0)
		return false;
	build_steps(k->build, k->hold_ns, now, &s);
	return s.n >= 20 && isfinite(s.ci95_rel) && s.ci95_rel * 1e6 <= (double)p->ci_ppm;
}

static void give_up(struct keeper *k, int64_t now, const char *why)
{
	struct build_window w = {.t0_ns = k->job_start_ns, .t1_ns = now};

	for (; k->cur < k->n_points; k->cur++) {
		run_rec_warn(&k->points[k->cur].rec, "%s", why);
		keeper_record(k, &k->points[k->cur], &w, -1, RUN_FAILED);
	}
	all_done(k, now);
}

static void wait_tick(struct keeper *k, int64_t now)
{
	const struct step_track *t = &k->track;
	bool ranks = k->knobs && k->hello.knobs & 1u << KNOB_CPU_RATE;

	if (ranks && !k->groups_ready) {
		if (now - k->job_start_ns > GROUPS_NS) {
			give_up(k, now, "not every rank joined its CPU group within 30 s");
			return;
		}
		if (knobs_idle(k->knobs) && now >= k->retry_ns) {
			k->retry_ns = now + 50 * NS_PER_MS;
			knobs_post(k->knobs, KNOBS_GROUPS, NULL);
		}
		return;
	}
	if (ranks && !knobs_idle(k->knobs))
		return;
	if (!t->n) {
		if (now - k->job_start_ns >= k->hello.no_steps_ns && !k->no_steps_told) {
			k->no_steps_told = true;
			(void)chan_send(&k->chan, MSG_NO_STEPS, NULL, 0, 2000);
		}
		return;
	}
	if ((int64_t)t->n < k->hello.warmup_steps || now - t->end_ns[0] < k->hello.warmup_ns) {
		return;
	}
	apply_next(k, now);
}

void step_tick(struct keeper *k, int64_t now)
{
	struct point_msg *p = k->cur < k->n_points ? &k->points[k->cur] : NULL;
	size_t first;
	int64_t held;

	switch (k->state) {
	case STEP_WAIT:
		wait_tick(k, now);
		break;
	case STEP_SETTLE:
		/* At least one step must begin and end under the new setting before counting. */
		if (now - k->state_ns < k->hello.settle_ns ||
			(ends_between(&k->track, k->state_ns, now, &first) < 2 &&
				now - k->state_ns < STRETCH * p->hold_max_ns))
			break;
		k->hold_ns = now;
		enter(k, STEP_HOLD, now);
		break;
	case STEP_HOLD:
		held = now - k->hold_ns;
		if (held >= p->hold_max_ns && (held >= STRETCH * p->hold_max_ns ||
						      ends_between(&k->track, k->hold_ns, now,
							      &first) > WINDOW_STEPS_MIN))
			finish_point(k, now);
		else if (held >= p->hold_min_ns && narrow_enough(k, p, now))
			finish_point(k, now);
		break;
	case STEP_APPLY:
	case STEP_OVER:
		break;
	}
}
