/* world.c: how the devices, the script and the jobs of one host go forward. Pure. */
#include "sim/world.h"

#include <stdio.h>
#include <string.h>

static const struct gpu_load load_wait = {.kind = LOAD_WAIT};
static const struct gpu_load load_comm = {.kind = LOAD_COMM};

static double noise_of(const struct sim_job *j, int rank)
{
	/* Triangular from a hash of (job, step, rank): the same for every reader. */
	uint64_t x = j->key * 31 + j->done * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)rank * 7919;
	double u = 0;

	for (int i = 0; i < 2; i++) {
		x ^= x >> 31;
		x *= UINT64_C(0xbf58476d1ce4e5b9);
		x ^= x >> 29;
		x *= UINT64_C(0x94d049bb133111eb);
		u += (double)(x >> 11) / 9007199254740992.0;
	}
	return 1 + j->noise * (u - 1) * 2.449489742783178;
}

void world_mig_uuid(const struct scenario *s, int gpu, int mig, char out[SIM_UUID])
{
	/* The device's own digits with the instance folded in. */
	snprintf(out, SIM_UUID, "MIG-%.*s%x%s", 7, s->gpu[gpu].uuid + 4, (unsigned)mig + 1,
		s->gpu[gpu].uuid + 12);
}

void world_init(struct world *w, const struct scenario *s, int64_t t_ns)
{
	memset(w, 0, sizeof(*w));
	w->t_ns = t_ns;
	for (int i = 0; i < s->n_gpus; i++) {
		const struct sim_gpu_cfg *c = &s->gpu[i];
		struct sim_dev *d = &w->dev[i];

		gpu_init(&d->g, &c->prof, t_ns, s->seed * 1000 + (uint64_t)i);
		if (c->limit_mw > 0)
			d->g.limit_mw = c->limit_mw;
		d->g.clamp_mw = c->clamp_mw;
		d->counter_offset_uj = (double)c->counter_start_uj;
		d->persistence = 1;
	}
}

static bool is_square(const struct sim_gpu_cfg *c)
{
	return c->sq_period_ns > 0;
}

/* A device without a job: idle, the script's load, or its square wave. */
static void advance_scripted(
	struct sim_dev *d, const struct sim_gpu_cfg *c, int64_t start_ns, int64_t t_ns)
{
	while (d->g.t_ns < t_ns) {
		int64_t until = t_ns;
		struct gpu_load l = d->scripted;

		if (is_square(c) && l.kind == LOAD_IDLE) {
			int64_t in = (d->g.t_ns - start_ns) % c->sq_period_ns;
			bool high = in < c->sq_high_ns;
			int64_t left = (high ? c->sq_high_ns : c->sq_period_ns) - in;

			l.kind = LOAD_CONST;
			l.const_mw = (double)(high ? c->sq_hi_mw : c->sq_lo_mw);
			l.util = high ? c->util : 0;
			/* A reader that comes back after long need not walk through every period:
			 * beyond 20000 of them one walks whole periods at their mean. */
			if (t_ns - d->g.t_ns > 20000 * c->sq_period_ns) {
				l.const_mw =
					((double)c->sq_hi_mw * (double)c->sq_high_ns +
						(double)c->sq_lo_mw *
							(double)(c->sq_period_ns - c->sq_high_ns)) /
					(double)c->sq_period_ns;
				left = (t_ns - d->g.t_ns) / c->sq_period_ns * c->sq_period_ns -
				       1000 * c->sq_period_ns;
			}
			if (left < until - d->g.t_ns)
				until = d->g.t_ns + left;
		}
		gpu_advance(&d->g, until, &l);
	}
}

static void advance_members(struct world *w, struct sim_job *j, int64_t t_ns, bool comm)
{
	for (int r = 0; r < j->n_ranks; r++) {
		struct gpu_load l = load_comm;

		l.dyn_mw = j->load[r].dyn_mw;
		gpu_advance(&w->dev[j->gpu[r]].g, t_ns, comm ? &l : &load_wait);
	}
}

static uint64_t steps_queued(const struct sim_job *j)
{
	uint64_t q = UINT64_MAX;

	for (int r = 0; r < j->n_ranks; r++)
		q = j->queued[r] < q ? j->queued[r] : q;
	return q;
}

static void end_step(struct sim_job *j, int64_t t_ns)
{
	j->done++;
	j->step_end_ns = t_ns;
	j->phase = JOB_IDLE;
}

/* Kernels of one step on every rank, up to t_ns. */
static void advance_compute(struct world *w, struct sim_job *j, int64_t t_ns)
{
	int64_t last = j->t_ns;
	bool all = true;

	for (int r = 0; r < j->n_ranks; r++) {
		struct gpu_state *g = &w->dev[j->gpu[r]].g;

		gpu_advance_work(g, t_ns, &j->load[r], j->target[r]);
		if (g->work < j->target[r])
			all = false;
		else if (g->t_ns > last)
			last = g->t_ns;
	}
	/* Who is done waits for the others. */
	advance_members(w, j, all ? last : t_ns, false);
	j->t_ns = all ? last : t_ns;
	if (!all)
		return;
	if (j->comm_ns > 0 && j->n_ranks > 1) {
		j->phase = JOB_COMM;
		j->phase_end_ns = last + j->comm_ns;
	} else {
		end_step(j, last);
	}
}

static void advance_job(struct world *w, struct sim_job *j, int64_t t_ns)
{
	if (j->n_joined < j->n_ranks) {
		for (int r = 0; r < j->n_ranks; r++)
			if (j->slot[r] >= 0)
				gpu_advance(&w->dev[j->gpu[r]].g, t_ns, &load_wait);
		j->t_ns = t_ns;
		return;
	}
	while (j->t_ns < t_ns) {
		int64_t end = t_ns;

		switch (j->phase) {
		case JOB_IDLE:
			if (steps_queued(j) <= j->done) {
				advance_members(w, j, t_ns, false);
				j->t_ns = t_ns;
				break;
			}
			for (int r = 0; r < j->n_ranks; r++)
				j->target[r] = w->dev[j->gpu[r]].g.work + noise_of(j, r);
			j->phase = JOB_COMPUTE;
			break;
		case JOB_COMPUTE:
			advance_compute(w, j, t_ns);
			break;
		default:
			if (j->phase_end_ns < end)
				end = j->phase_end_ns;
			advance_members(w, j, end, true);
			j->t_ns = end;
			if (end == j->phase_end_ns)
				end_step(j, end);
		}
	}
}

static void apply_event(struct world *w, const struct scenario *s, const struct sim_event *ev)
{
	struct sim_dev *d = &w->dev[ev->gpu];
	const struct gpu_profile *p = &d->g.prof;

	switch (ev->kind) {
	case EV_POWER:
		d->scripted = (struct gpu_load){.kind = ev->a > 0 ? LOAD_CONST : LOAD_IDLE,
			.const_mw = (double)ev->a,
			.util = s->gpu[ev->gpu].util};
		break;
	case EV_LOAD:
		d->scripted = (struct gpu_load){.kind = ev->a > 0 ? LOAD_WORK : LOAD_IDLE,
			.step_s = 1,
			.clock_share = 1,
			.util = s->gpu[ev->gpu].util,
			.dyn_mw = (double)ev->a > p->static_mw ? (double)ev->a - p->static_mw : 0};
		break;
	case EV_LIMIT:
		d->g.limit_mw = ev->a;
		break;
	case EV_CLAMP:
		d->g.clamp_mw = ev->a;
		break;
	case EV_CLOCKS:
		d->g.lock_lo_khz = ev->b ? gpu_clock_grid(p, ev->a) : 0;
		d->g.lock_hi_khz = ev->b ? gpu_clock_grid(p, ev->b) : 0;
		break;
	case EV_RELOAD:
		d->g.limit_mw = p->limit_def_mw;
		d->g.lock_lo_khz = d->g.lock_hi_khz = d->g.mem_lock_khz = 0;
		d->g.viol_power_ns = d->g.viol_thermal_ns = d->g.viol_hw_ns = 0;
		d->app_clock_khz = d->app_mem_khz = 0;
		/* fall through */
	case EV_COUNTER:
		if (ev->a) {
			gpu_counter_reset(&d->g);
			d->counter_offset_uj = 0;
			d->counter_epoch++;
		}
		break;
	case EV_AMBIENT:
		d->g.ambient_c = (double)ev->a / 1000;
		break;
	case EV_BRAKE:
		d->g.brake = ev->a != 0;
		break;
	case EV_LOST:
		d->lost = ev->a != 0;
		break;
	case EV_GAIN:
		d->g.prof.gain = (double)ev->a / 1e6;
		break;
	}
}

static void advance_to(struct world *w, const struct scenario *s, int64_t start_ns, int64_t t_ns)
{
	for (int i = 0; i < WORLD_JOBS; i++)
		if (w->job[i].used)
			advance_job(w, &w->job[i], t_ns);
	for (int i = 0; i < s->n_gpus; i++)
		advance_scripted(&w->dev[i], &s->gpu[i], start_ns, t_ns);
	w->t_ns = t_ns;
}

void world_advance(struct world *w, const struct scenario *s, int64_t start_ns, int64_t t_ns)
{
	while (w->next_event < s->n_events) {
		const struct sim_event *ev = &s->event[w->next_event];
		int64_t at = start_ns + ev->at_ns;

		if (at > t_ns || at < start_ns)
			break;
		if (at > w->t_ns)
			advance_to(w, s, start_ns, at);
		apply_event(w, s, ev);
		w->next_event++;
	}
	if (t_ns > w->t_ns)
		advance_to(w, s, start_ns, t_ns);
}

void world_drop_job(struct world *w, int job)
{
	struct sim_job *j = &w->job[job];

	for (int r = 0; r < j->n_ranks; r++)
		if (j->slot[r] >= 0)
			w->dev[j->gpu[r]].job = 0;
	memset(j, 0, sizeof(*j));
}

enum status world_set_limit(struct world *w, const struct scenario *s, int gpu, int64_t mw)
{
	struct gpu_state *g = &w->dev[gpu].g;

	if (mw < g->prof.limit_min_mw || mw > g->prof.limit_max_mw)
		return ST_RANGE;
	if (s->gpu[gpu].limit_set != SET_IGNORED)
		g->limit_mw = mw;
	return ST_OK;
}

enum status world_set_clocks(
	struct world *w, const struct scenario *s, int gpu, int64_t lo_khz, int64_t hi_khz)
{
	struct gpu_state *g = &w->dev[gpu].g;
	int64_t clamp = s->gpu[gpu].clock_clamp_khz;

	if (lo_khz > hi_khz || lo_khz < 0)
		return ST_RANGE;
	if (s->gpu[gpu].clock_set == SET_IGNORED)
		return ST_OK;
	if (clamp > 0 && hi_khz > clamp)
		hi_khz = clamp;
	if (clamp > 0 && lo_khz > clamp)
		lo_khz = clamp;
	g->lock_lo_khz = hi_khz ? gpu_clock_grid(&g->prof, lo_khz) : 0;
	g->lock_hi_khz = hi_khz ? gpu_clock_grid(&g->prof, hi_khz) : 0;
	return ST_OK;
}

enum status world_set_mem_clock(struct world *w, const struct scenario *s, int gpu, int64_t khz)
{
	struct gpu_state *g = &w->dev[gpu].g;
	const struct gpu_profile *p = &g->prof;
	int64_t best = 0;

	if (s->gpu[gpu].clock_set == SET_IGNORED)
		return ST_OK;
	for (int i = 0; khz > 0 && i < p->n_mem_clocks && !best; i++)
		if (p->mem_clock_khz[i] <= khz)
			best = p->mem_clock_khz[i];
	if (khz > 0 && !best)
		best = p->mem_clock_khz[p->n_mem_clocks - 1];
	g->mem_lock_khz = best;
	return ST_OK;
}
