#include "sim/job.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

/* Steps queued beyond the last one seen: two, and half a second of them, so that a busy host that
 * wakes this process late does not starve the devices. */
#define AHEAD    2
#define AHEAD_S  0.5
#define POLL_NS  INT64_C(20000000)
#define SHORT_NS INT64_C(200000)

struct job {
	struct world_map *map;
	int index; /* in the world */
	uint64_t key, seen, ahead, max_steps;
	int first, n_mine;
};

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Does uuid begin with that word? */
static bool begins(const char *uuid, const char *word, size_t n)
{
	return !strncasecmp(uuid, word, n);
}

/* The device or MIG instance that a word of CUDA_VISIBLE_DEVICES names, -1 when none or several do.
 * *mig: the instance, -1 = the whole device. */
static int find_uuid(const struct scenario *s, const char *word, size_t n, int *mig)
{
	int found = -1;

	for (int i = 0; i < s->n_gpus; i++) {
		for (int m = -1; m < s->gpu[i].n_mig; m++) {
			char uuid[SIM_UUID];

			if (m < 0)
				snprintf(uuid, sizeof(uuid), "%s", s->gpu[i].uuid);
			else
				world_mig_uuid(s, i, m, uuid);
			if (!begins(uuid, word, n))
				continue;
			if (found >= 0)
				return -1; /* not unique */
			found = i;
			*mig = m;
		}
	}
	return found;
}

/* One word: an index, a UUID or a unique beginning of one. */
static int find_device(const struct scenario *s, const char *word, size_t n, int *mig)
{
	char *end;
	long v;

	*mig = -1;
	if (n > 4 && (begins(word, "GPU-", 4) || begins(word, "MIG-", 4)))
		return find_uuid(s, word, n, mig);
	if (!isdigit((unsigned char)*word))
		return -1;
	v = strtol(word, &end, 10);
	return end == word + n && v < s->n_gpus ? (int)v : -1;
}

/* Takes device i and its instance; false when that is the last one a process gets: CUDA gives it
 * one MIG instance, the first where the device itself was asked for. */
static bool take(const struct scenario *s, int i, int mig, int *gpu, double *share)
{
	if (s->gpu[i].n_mig > 0 && mig < 0)
		mig = 0;
	*gpu = i;
	if (share && mig >= 0)
		*share = s->gpu[i].mig[mig].slices / 7.0;
	return mig < 0;
}

int job_visible(const struct scenario *s, const char *visible, int gpu[SIM_GPUS], double *share)
{
	int n = 0;

	if (share)
		*share = 1;
	for (int i = 0; !visible && i < s->n_gpus; i++) {
		if (n > 0 && s->gpu[i].n_mig > 0)
			continue; /* whole devices first */
		if (!take(s, i, -1, &gpu[n++], share))
			return n;
	}
	for (const char *p = visible; p && *p && n < SIM_GPUS;) {
		size_t len = strcspn(p, ",");
		int mig, i = find_device(s, p, len, &mig);

		for (int k = 0; k < n; k++) /* a device named twice: CUDA sees none */
			if (gpu[k] == i)
				return 0;
		if (i < 0)
			break;
		if (n > 0 && (mig >= 0 || s->gpu[i].n_mig > 0))
			break; /* an instance beside other devices is not given */
		if (!take(s, i, mig, &gpu[n++], share))
			break;
		p += len;
		p += *p == ',';
	}
	return n;
}

/* An instance has its share of the multiprocessors: kernels take longer and draw less. */
static void shrink(struct gpu_load *l, double share)
{
	double host = l->host_share * l->step_s;

	if (!(share > 0) || share >= 1)
		return;
	l->step_s = host + (l->step_s - host) / share;
	l->host_share = host / l->step_s;
	l->dyn_mw *= share;
}

static int find_job(const struct world *w, uint64_t key)
{
	for (int i = 0; i < WORLD_JOBS; i++)
		if (w->job[i].used && w->job[i].key == key)
			return i;
	return -1;
}

/* Ring all-reduce: 2(n-1)/n of the gradient over the slowest link, and a latency a hop. */
static int64_t comm_time(const struct job_spec *s)
{
	double n = s->n_ranks;

	if (s->comm_ns >= 0)
		return s->comm_ns;
	if (s->n_ranks < 2 || s->link_gbytes_s <= 0)
		return 0;
	return (int64_t)((2 * (n - 1) / n * (double)s->workload->gradient_bytes /
					 (s->link_gbytes_s * 1e9) +
				 2 * (n - 1) * 20e-6) *
			 1e9 * s->time_scale);
}

static enum status make_job(struct world *w, const struct job_spec *s, int *index, struct err *e)
{
	int free_slot = -1;
	struct sim_job *j;

	*index = find_job(w, s->key);
	if (*index >= 0) {
		j = &w->job[*index];
		return j->n_ranks == s->n_ranks
			       ? ST_OK
			       : err_set(e, ST_INVALID,
					 "this job has %d ranks, another process says %d",
					 s->n_ranks, j->n_ranks);
	}
	for (int i = 0; i < WORLD_JOBS && free_slot < 0; i++)
		if (!w->job[i].used)
			free_slot = i;
	if (free_slot < 0)
		return err_set(
			e, ST_BUSY, "%d jobs are running on the simulated devices", WORLD_JOBS);
	j = &w->job[free_slot];
	memset(j, 0, sizeof(*j));
	j->used = true;
	j->key = s->key;
	j->n_ranks = s->n_ranks;
	j->comm_ns = comm_time(s);
	j->noise = s->noise >= 0 ? s->noise : s->workload->noise;
	j->t_ns = j->step_end_ns = w->t_ns;
	j->mem_bytes = 4 * s->workload->gradient_bytes + (INT64_C(1) << 30);
	for (int r = 0; r < WORLD_RANKS; r++)
		j->slot[r] = -1;
	*index = free_slot;
	return ST_OK;
}

static uint64_t steps_ahead(const struct gpu_load *l)
{
	double n = l->step_s > 0 ? AHEAD_S / l->step_s : 0;

	return n > 1000 ? 1000 : n > AHEAD ? (uint64_t)n : AHEAD;
}

static uint64_t queue_to(uint64_t max_steps, uint64_t seen, uint64_t ahead)
{
	return max_steps && seen + ahead > max_steps ? max_steps : seen + ahead;
}

static enum status join(
	struct world_map *m, struct world *w, int index, const struct job_spec *s, struct err *e)
{
	struct sim_job *j = &w->job[index];

	for (int k = 0; k < s->n_mine; k++) {
		int r = s->first_rank + k, g = s->gpu[k];
		struct sim_dev *d = &w->dev[g];
		enum status st;

		if (j->pid[r])
			return err_set(e, ST_BUSY, "rank %d of this job is process %d already", r,
				j->pid[r]);
		if (d->job > 0)
			return err_set(e, ST_BUSY,
				"simulated device %d has a job already (process %d); it takes one "
				"at a "
				"time",
				g, w->job[d->job - 1].pid[0]);
		j->slot[r] = w->slots++;
		st = world_own(m, j->slot[r], e);
		if (st)
			return st;
		workload_load(s->workload, &d->g.prof, &j->load[r], NULL);
		shrink(&j->load[r], s->share);
		j->load[r].step_s *= s->time_scale;
		j->gpu[r] = g;
		j->pid[r] = (int32_t)getpid();
		d->job = index + 1;
		j->queued[r] = queue_to(s->max_steps, 0, steps_ahead(&j->load[r]));
		j->n_joined++;
	}
	return ST_OK;
}

enum status job_start(
	const char *state_path, const struct job_spec *spec, struct job **out, struct err *e)
{
	struct job *j = mem_calloc(1, sizeof(*j));
	struct world *w;
	enum status st;

	*out = NULL;
	if (!j)
		return err_set(e, ST_NOMEM, "out of memory");
	if (spec->n_ranks < 1 || spec->n_ranks > WORLD_RANKS || spec->n_mine < 1 ||
		spec->first_rank < 0 || spec->first_rank + spec->n_mine > spec->n_ranks) {
		st = err_set(e, ST_RANGE, "%d ranks: a simulated job has 1 to %d", spec->n_ranks,
			WORLD_RANKS);
		goto fail;
	}
	st = world_open(state_path, &j->map, e);
	if (st)
		goto fail;
	for (int k = 0; k < spec->n_mine; k++)
		if (spec->gpu[k] < 0 || spec->gpu[k] >= world_scenario(j->map)->n_gpus) {
			st = err_set(
				e, ST_NOT_FOUND, "there is no simulated device %d", spec->gpu[k]);
			goto fail;
		}
	world_begin(j->map); /* whose owner died makes room first */
	world_end(j->map);
	st = world_lock(j->map, &w, e);
	if (st)
		goto fail;
	st = make_job(w, spec, &j->index, e);
	if (!st)
		st = join(j->map, w, j->index, spec, e);
	if (st) {
		world_abort(j->map);
		goto fail;
	}
	j->ahead = steps_ahead(&w->job[j->index].load[spec->first_rank]);
	world_commit(j->map);
	j->max_steps = spec->max_steps;
	j->key = spec->key;
	j->first = spec->first_rank;
	j->n_mine = spec->n_mine;
	*out = j;
	return ST_OK;
fail:
	world_close(j->map);
	mem_free(j);
	return st;
}

/* When the step under way will be over, if nothing changes: an estimate to sleep until. */
static int64_t estimate(const struct world *w, const struct sim_job *sj)
{
	int64_t left = 0;

	if (sj->n_joined < sj->n_ranks)
		return POLL_NS;
	if (sj->phase == JOB_COMM)
		return sj->phase_end_ns - w->t_ns;
	for (int r = 0; r < sj->n_ranks; r++) {
		const struct gpu_state *g = &w->dev[sj->gpu[r]].g;
		int64_t ns = POLL_NS;

		if (sj->phase != JOB_COMPUTE || g->work >= sj->target[r])
			continue;
		if (g->now.rate > 0)
			ns = (int64_t)((sj->target[r] - g->work) / g->now.rate * 1e9);
		left = ns > left ? ns : left;
	}
	return left + sj->comm_ns;
}

static enum status queue_more(struct job *j, struct err *e)
{
	struct world *w;
	struct sim_job *sj;
	enum status st = world_lock(j->map, &w, e);

	if (st)
		return st;
	sj = &w->job[j->index];
	if (!sj->used || sj->key != j->key) {
		world_abort(j->map);
		return err_set(e, ST_LOST, "another rank of this job died");
	}
	for (int k = 0; k < j->n_mine; k++)
		sj->queued[j->first + k] = queue_to(j->max_steps, j->seen, j->ahead);
	world_commit(j->map);
	return ST_OK;
}

enum status job_step(struct job *j, int64_t deadline_ns, int64_t *t_ns, struct err *e)
{
	for (;;) {
		const struct world *w = world_begin(j->map);
		const struct sim_job *sj = &w->job[j->index];
		int64_t now = now_ns(), wait, end;
		struct timespec ts;
		bool lost = !sj->used || sj->key != j->key, done = false;

		lost = lost || (sj->n_left > 0 && sj->done == j->seen);

		for (int k = 0; !lost && k < j->n_mine; k++)
			lost = w->dev[sj->gpu[j->first + k]].lost;
		if (!lost && sj->done > j->seen) {
			/* Several at once when this process slept long: all ended by now. */
			done = true;
			j->seen++;
			*t_ns = sj->done == j->seen ? sj->step_end_ns : now;
		}
		wait = lost || done ? 0 : estimate(w, sj);
		world_end(j->map);
		if (lost)
			return err_set(
				e, ST_LOST, "a device of this job, or another rank, is gone");
		if (done)
			return queue_more(j, e);
		if (now >= deadline_ns)
			return ST_AGAIN;
		wait = wait < SHORT_NS ? SHORT_NS : wait > POLL_NS ? POLL_NS : wait;
		end = now + wait < deadline_ns ? now + wait : deadline_ns;
		ts.tv_sec = end / 1000000000;
		ts.tv_nsec = end % 1000000000;
		if (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
			return ST_AGAIN;
	}
}

uint64_t job_steps(const struct job *j)
{
	return j->seen;
}

/* The job stays until its last rank has left, so that slower processes still see its last step. */
static bool leave(struct job *j, struct world *w)
{
	struct sim_job *sj = &w->job[j->index];

	if (!sj->used || sj->key != j->key)
		return false;
	for (int k = 0; k < j->n_mine; k++) {
		sj->pid[j->first + k] = 0;
		sj->n_left++;
	}
	if (sj->n_left >= sj->n_joined)
		world_drop_job(w, j->index);
	return true;
}

void job_end(struct job *j)
{
	struct world *w;

	if (!j)
		return;
	if (!world_lock(j->map, &w, NULL)) {
		if (leave(j, w))
			world_commit(j->map);
		else
			world_abort(j->map);
	}
	world_close(j->map);
	mem_free(j);
}
