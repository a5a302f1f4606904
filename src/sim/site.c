#include "sim/site.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sim/ends.h"

/* Neumaier's compensated sum: two million terms must agree with another order of summation to
 * 1e-9. */
struct ksum {
	double s, c;
};

static void ksum_add(struct ksum *k, double x)
{
	double t = k->s + x;

	k->c += fabs(k->s) >= fabs(x) ? (k->s - t) + x : (x - t) + k->s;
	k->s = t;
}

static double ksum_get(const struct ksum *k)
{
	return k->s + k->c;
}

struct grant {
	double cap_w, time_ratio, power_w, bound_w;
};

struct sched {
	const struct site_config *cfg;
	const struct site_class *classes;
	const struct site_job *jobs;
	size_t n_jobs;
	int32_t *order; /* jobs by release time */
	int32_t *next; /* waiting list: next[i] = following job, -1 = none */
	int32_t head, tail;
	double *start_s, *end_s, *cap_w;
	struct grant *by_class; /* the fixed grant of each class, for all policies but the budget */
	double *draw_w; /* running job's mean power above idle, for the integral */
	struct ends ends;
	int64_t free_gpus;
	double bound_w; /* Σ over running jobs of bound − idle, watts */
	double load_w; /* Σ over running jobs of mean power − idle */
	double now_s, last_s, peak_w, peak_bound_w;
	struct ksum integral, job_j, gpu_s, gpu_s_default;
};

void site_class_at(const struct site_class *c, double cap_w, double *time_ratio, double *power_w,
	double *p95_w)
{
	size_t i = 0;
	double f = 0;

	if (cap_w >= c->cap_w[c->n - 1]) {
		i = c->n - 1;
	} else if (cap_w > c->cap_w[0]) {
		while (c->cap_w[i + 1] <= cap_w)
			i++;
		f = (cap_w - c->cap_w[i]) / (c->cap_w[i + 1] - c->cap_w[i]);
	}
	*time_ratio = c->time_ratio[i];
	*power_w = c->power_w[i];
	*p95_w = c->p95_w[i];
	if (f > 0) {
		*time_ratio += f * (c->time_ratio[i + 1] - c->time_ratio[i]);
		*power_w += f * (c->power_w[i + 1] - c->power_w[i]);
		*p95_w += f * (c->p95_w[i + 1] - c->p95_w[i]);
	}
}

static struct grant grant_at(const struct site_class *c, double cap_w)
{
	struct grant g = {.cap_w = cap_w};
	double p95;

	site_class_at(c, cap_w, &g.time_ratio, &g.power_w, &p95);
	g.bound_w = p95 > cap_w ? p95 : cap_w;
	return g;
}

/* The lowest measured cap of the class whose slowdown is within the bound; points are not
 * interpolated, because a bound between two measurements is a guess. */
static struct grant grant_lowest(const struct site_class *c, double max_slowdown)
{
	size_t i = c->n - 1;

	while (i > 0 && c->time_ratio[i - 1] <= 1 + max_slowdown)
		i--;
	return grant_at(c, c->cap_w[i]);
}

static enum status check_class(const struct site_class *c, struct err *e)
{
	if (!c->n || c->n > SITE_MAX_POINTS)
		return err_set(e, ST_INVALID, "class '%s': %zu points; expected 1 to %d", c->name,
			c->n, SITE_MAX_POINTS);
	for (size_t i = 0; i < c->n; i++) {
		if (!(c->cap_w[i] > 0) || !(c->time_ratio[i] > 0) || !(c->power_w[i] >= 0) ||
			!(c->p95_w[i] >= 0) ||
			!isfinite(c->cap_w[i] + c->time_ratio[i] + c->power_w[i]))
			return err_set(e, ST_INVALID,
				"class '%s', point %zu: cap and time must be above 0 and power not "
				"negative",
				c->name, i + 1);
		if (i && !(c->cap_w[i] > c->cap_w[i - 1]))
			return err_set(e, ST_INVALID,
				"class '%s': caps must ascend (%g W after %g W)", c->name,
				c->cap_w[i], c->cap_w[i - 1]);
	}
	if (fabs(c->time_ratio[c->n - 1] - 1) > 1e-9)
		return err_set(e, ST_INVALID,
			"class '%s': the time ratio at the last (default) cap is %g; expected 1",
			c->name, c->time_ratio[c->n - 1]);
	return ST_OK;
}

static double release_s(const struct site_job *j)
{
	return isnan(j->start_s) ? j->submit_s : j->start_s;
}

static enum status check_jobs(const struct sched *s, size_t n_classes, struct err *e)
{
	for (size_t i = 0; i < s->n_jobs; i++) {
		const struct site_job *j = &s->jobs[i];

		if (j->gpus < 1 || j->gpus > s->cfg->n_gpus)
			return err_set(e, ST_RANGE,
				"job %zu (line %d) asks for %d GPUs; the site has %lld", i + 1,
				(int)j->line, (int)j->gpus, (long long)s->cfg->n_gpus);
		if (j->cls < 0 || (size_t)j->cls >= n_classes)
			return err_set(e, ST_INVALID, "job %zu has no class", i + 1);
		if (!(j->runtime_s >= 0) || !isfinite(j->runtime_s) || !isfinite(j->submit_s) ||
			(!isnan(j->start_s) && !isfinite(j->start_s)))
			return err_set(e, ST_INVALID,
				"job %zu: submit, start and runtime must be finite "
				"and the runtime not negative",
				i + 1);
	}
	return ST_OK;
}

static int by_release(const void *a, const void *b, void *arg)
{
	const struct site_job *jobs = arg;
	int32_t i = *(const int32_t *)a, k = *(const int32_t *)b;
	double x = release_s(&jobs[i]), y = release_s(&jobs[k]);

	return x < y ? -1 : x > y ? 1 : i < k ? -1 : i > k;
}

/* Power the site draws now: running jobs at their mean, free GPUs idle, hosts always. */
static double site_watts(const struct sched *s, double above_idle)
{
	return above_idle + (double)s->cfg->n_gpus * (s->cfg->idle_w + s->cfg->host_w);
}

static void advance(struct sched *s, double t)
{
	if (t > s->last_s)
		ksum_add(&s->integral, site_watts(s, s->load_w) * (t - s->last_s));
	s->last_s = s->now_s = t;
}

/* What the job may have now: *g, or false when the budget leaves nothing. */
static bool grant_now(const struct sched *s, const struct site_job *j, struct grant *g)
{
	const struct site_class *c = &s->classes[j->cls];
	double room, low;

	if (s->cfg->policy != SITE_BUDGET) {
		*g = s->by_class[j->cls];
		return true;
	}
	room = s->cfg->budget_w - site_watts(s, s->bound_w);
	low = s->by_class[j->cls].cap_w; /* the lowest the slowdown bound allows */
	for (size_t i = c->n; i-- > 0 && c->cap_w[i] >= low;) {
		*g = grant_at(c, c->cap_w[i]);
		if (j->gpus * (g->bound_w - s->cfg->idle_w) <= room)
			return true;
	}
	return false;
}

static void start_job(struct sched *s, int32_t id, const struct grant *g)
{
	const struct site_job *j = &s->jobs[id];
	double run = j->runtime_s * g->time_ratio;

	s->start_s[id] = s->now_s;
	s->end_s[id] = s->now_s + run;
	s->cap_w[id] = g->cap_w;
	s->draw_w[id] = j->gpus * (g->power_w - s->cfg->idle_w);
	s->free_gpus -= j->gpus;
	s->load_w += s->draw_w[id];
	s->bound_w += j->gpus * (g->bound_w - s->cfg->idle_w);
	ends_add(&s->ends, id, s->end_s[id], j->gpus, j->gpus * (g->bound_w - s->cfg->idle_w));
	ksum_add(&s->job_j, j->gpus * g->power_w * (s->end_s[id] - s->start_s[id]));
	ksum_add(&s->gpu_s, j->gpus * (s->end_s[id] - s->start_s[id]));
	ksum_add(&s->gpu_s_default, j->gpus * j->runtime_s);
	if (site_watts(s, s->load_w) > s->peak_w)
		s->peak_w = site_watts(s, s->load_w);
	if (site_watts(s, s->bound_w) > s->peak_bound_w)
		s->peak_bound_w = site_watts(s, s->bound_w);
}

static void end_job(struct sched *s, int32_t id)
{
	const struct site_class *c = &s->classes[s->jobs[id].cls];
	struct grant g = grant_at(c, s->cap_w[id]);

	ends_remove(&s->ends, id);
	s->free_gpus += s->jobs[id].gpus;
	s->load_w -= s->draw_w[id];
	s->bound_w -= s->jobs[id].gpus * (g.bound_w - s->cfg->idle_w);
	if (!s->ends.n)
		s->load_w = s->bound_w = 0; /* no rounding survives an empty machine */
}

static void unlink_job(struct sched *s, int32_t prev, int32_t id)
{
	if (prev < 0)
		s->head = s->next[id];
	else
		s->next[prev] = s->next[id];
	if (s->tail == id)
		s->tail = prev;
}

/* EASY: the first waiting job gets a reservation at the earliest time it fits; others may start now
 * if they end before it or leave it its GPUs and its power. */
static void backfill(struct sched *s)
{
	const struct site_job *first = &s->jobs[s->head];
	int depth = s->cfg->backfill_depth > 0 ? s->cfg->backfill_depth : 100;
	double shadow = INFINITY, spare_w = INFINITY, need_w = 0, freed_w = 0;
	int64_t spare = 0, freed = 0;
	struct grant g;

	if (s->cfg->policy == SITE_BUDGET) {
		double room = s->cfg->budget_w - site_watts(s, s->bound_w);

		g = s->by_class[first->cls];
		need_w = first->gpus * (g.bound_w - s->cfg->idle_w) - room;
	}
	if (ends_when(&s->ends, first->gpus - s->free_gpus, need_w, &shadow, &freed, &freed_w)) {
		spare = s->free_gpus + freed - first->gpus;
		if (s->cfg->policy == SITE_BUDGET)
			spare_w = freed_w - need_w;
	}
	for (int32_t prev = s->head, id = s->next[prev];
		id >= 0 && depth-- > 0 && s->free_gpus > 0;) {
		const struct site_job *j = &s->jobs[id];
		int32_t after = s->next[id];
		bool fits = j->gpus <= s->free_gpus && grant_now(s, j, &g);
		double bound = fits ? j->gpus * (g.bound_w - s->cfg->idle_w) : 0;
		bool ends_early = fits && s->now_s + j->runtime_s * g.time_ratio <= shadow;

		if (fits && (ends_early || (j->gpus <= spare && bound <= spare_w))) {
			if (!ends_early) {
				spare -= j->gpus;
				spare_w -= bound;
			}
			unlink_job(s, prev, id);
			start_job(s, id, &g);
		} else {
			prev = id;
		}
		id = after;
	}
}

static void schedule(struct sched *s)
{
	struct grant g;

	while (s->head >= 0) {
		int32_t id = s->head;
		const struct site_job *j = &s->jobs[id];

		if (j->gpus > s->free_gpus || !grant_now(s, j, &g))
			break;
		unlink_job(s, -1, id);
		start_job(s, id, &g);
	}
	if (s->head >= 0 && s->free_gpus > 0 && s->next[s->head] >= 0)
		backfill(s);
}

static void enqueue(struct sched *s, int32_t id)
{
	s->next[id] = -1;
	if (s->tail >= 0)
		s->next[s->tail] = id;
	else
		s->head = id;
	s->tail = id;
}

static enum status replay(struct sched *s, struct err *e)
{
	size_t i = 0;
	double end = 0;

	s->last_s = s->now_s = s->n_jobs ? release_s(&s->jobs[s->order[0]]) : 0;
	while (i < s->n_jobs || s->ends.n || s->head >= 0) {
		int32_t done = ends_first(&s->ends, &end);
		double arrive = i < s->n_jobs ? release_s(&s->jobs[s->order[i]]) : INFINITY;

		if (done < 0 && i >= s->n_jobs)
			return err_set(e, ST_RANGE,
				"the budget of %g W cannot start job %d (%d GPUs) even on an empty "
				"site",
				s->cfg->budget_w, (int)s->head + 1, (int)s->jobs[s->head].gpus);
		/* Ends come before arrivals of the same moment, so that a back-to-back trace fits.
		 */
		if (done >= 0 && end <= arrive) {
			advance(s, end);
			for (; done >= 0 && end <= s->now_s; done = ends_first(&s->ends, &end))
				end_job(s, done);
		} else {
			advance(s, arrive);
			for (; i < s->n_jobs && release_s(&s->jobs[s->order[i]]) <= arrive; i++)
				enqueue(s, s->order[i]);
		}
		schedule(s);
	}
	return ST_OK;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Sorts v. Percentiles are nearest rank. */
static struct site_dist distribution(double *v, size_t n)
{
	struct site_dist d = {0};
	struct ksum sum = {0};

	if (!n)
		return d;
	qsort(v, n, sizeof(*v), by_value);
	for (size_t i = 0; i < n; i++)
		ksum_add(&sum, v[i]);
	d.mean = ksum_get(&sum) / (double)n;
	d.p50 = v[(n - 1) / 2];
	d.p90 = v[(size_t)(0.9 * (double)(n - 1))];
	d.p99 = v[(size_t)(0.99 * (double)(n - 1))];
	d.max = v[n - 1];
	return d;
}

static void summarise(struct sched *s, struct site_result *out, double *work)
{
	const struct site_config *c = s->cfg;
	double idle_gpu_s;

	out->n_jobs = s->n_jobs;
	out->begin_s = s->n_jobs ? release_s(&s->jobs[s->order[0]]) : 0;
	out->end_s = s->last_s;
	out->job_j = ksum_get(&s->job_j);
	idle_gpu_s = (double)c->n_gpus * (out->end_s - out->begin_s) - ksum_get(&s->gpu_s);
	out->idle_j = idle_gpu_s * c->idle_w;
	out->host_j = (double)c->n_gpus * c->host_w * (out->end_s - out->begin_s);
	out->total_j = out->job_j + out->idle_j + out->host_j;
	out->integral_j = ksum_get(&s->integral);
	out->gpu_hours = ksum_get(&s->gpu_s) / 3600;
	out->gpu_hours_default = ksum_get(&s->gpu_s_default) / 3600;
	out->peak_w = s->peak_w;
	out->guaranteed_peak_w = s->peak_bound_w;
	if (out->end_s > out->begin_s) {
		double span = out->end_s - out->begin_s;

		out->mean_w = out->total_j / span;
		out->jobs_per_hour = (double)s->n_jobs / span * 3600;
		out->utilisation = ksum_get(&s->gpu_s) / ((double)c->n_gpus * span);
	}
	for (size_t i = 0; i < s->n_jobs; i++)
		work[i] = s->jobs[i].runtime_s > 0
				  ? (s->end_s[i] - s->start_s[i]) / s->jobs[i].runtime_s
				  : 1;
	out->slowdown = distribution(work, s->n_jobs);
	for (size_t i = 0; i < s->n_jobs; i++) {
		work[i] = s->start_s[i] - s->jobs[i].submit_s;
		out->delayed += !isnan(s->jobs[i].start_s) && s->start_s[i] > s->jobs[i].start_s;
	}
	out->wait_s = distribution(work, s->n_jobs);
	for (size_t i = 0; i < s->n_jobs; i++)
		work[i] = (s->end_s[i] - s->jobs[i].submit_s) / fmax(s->jobs[i].runtime_s, 10);
	out->turnaround = distribution(work, s->n_jobs);
}

static enum status set_grants(struct sched *s, size_t n_classes, struct err *e)
{
	for (size_t i = 0; i < n_classes; i++) {
		const struct site_class *c = &s->classes[i];
		enum status st = check_class(c, e);

		if (st)
			return st;
		switch (s->cfg->policy) {
		case SITE_NONE:
			s->by_class[i] = grant_at(c, c->cap_w[c->n - 1]);
			break;
		case SITE_STATIC:
			s->by_class[i] = grant_at(c, s->cfg->cap_w);
			break;
		case SITE_CLASS:
		case SITE_BUDGET:
			s->by_class[i] = grant_lowest(c, s->cfg->max_slowdown);
			break;
		}
	}
	return ST_OK;
}

/* Under policy "none" a trace with starts is a statement of fact: it must fit the site. */
static enum status check_reproduced(const struct sched *s, struct err *e)
{
	size_t late = 0, worst = 0;

	if (s->cfg->policy != SITE_NONE)
		return ST_OK;
	for (size_t i = 0; i < s->n_jobs; i++)
		if (!isnan(s->jobs[i].start_s) && s->start_s[i] > s->jobs[i].start_s && !late++)
			worst = i;
	if (late)
		return err_set(e, ST_RANGE,
			"the trace runs more than %lld GPUs at once: %zu jobs cannot "
			"start when it says they did (first: job %zu at %.0f s)",
			(long long)s->cfg->n_gpus, late, worst + 1, s->jobs[worst].start_s);
	return ST_OK;
}

enum status site_run(const struct site_config *cfg, const struct site_class *classes,
	size_t n_classes, const struct site_job *jobs, size_t n_jobs, struct site_result *out,
	double *start_s, double *cap_w, struct err *e)
{
	struct sched s = {.cfg = cfg,
		.classes = classes,
		.jobs = jobs,
		.n_jobs = n_jobs,
		.head = -1,
		.tail = -1,
		.free_gpus = cfg->n_gpus};
	enum status st;
	double *work;

	memset(out, 0, sizeof(*out));
	if (n_jobs > INT32_MAX)
		return err_set(e, ST_RANGE, "more than %d jobs", INT32_MAX);
	s.order = mem_calloc(n_jobs + 1, sizeof(*s.order));
	s.next = mem_calloc(n_jobs + 1, sizeof(*s.next));
	s.start_s = mem_calloc(n_jobs + 1, sizeof(double));
	s.end_s = mem_calloc(n_jobs + 1, sizeof(double));
	s.cap_w = mem_calloc(n_jobs + 1, sizeof(double));
	s.draw_w = mem_calloc(n_jobs + 1, sizeof(double));
	s.by_class = mem_calloc(n_classes + 1, sizeof(*s.by_class));
	work = mem_calloc(n_jobs + 1, sizeof(double));
	if (!s.order || !s.next || !s.start_s || !s.end_s || !s.cap_w || !s.draw_w || !s.by_class ||
		!work || !ends_init(&s.ends, n_jobs)) {
		st = err_set(e, ST_NOMEM, "out of memory for %zu jobs", n_jobs);
		goto out;
	}
	st = check_jobs(&s, n_classes, e);
	if (!st)
		st = set_grants(&s, n_classes, e);
	if (st)
		goto out;
	for (size_t i = 0; i < n_jobs; i++)
		s.order[i] = (int32_t)i;
	qsort_r(s.order, n_jobs, sizeof(*s.order), by_release, (void *)(uintptr_t)jobs);
	s.peak_w = s.peak_bound_w = site_watts(&s, 0);
	st = replay(&s, e);
	if (!st)
		st = check_reproduced(&s, e);
	if (st)
		goto out;
	summarise(&s, out, work);
	if (start_s)
		memcpy(start_s, s.start_s, n_jobs * sizeof(double));
	if (cap_w)
		memcpy(cap_w, s.cap_w, n_jobs * sizeof(double));
out:
	ends_release(&s.ends);
	mem_free(s.order);
	mem_free(s.next);
	mem_free(s.start_s);
	mem_free(s.end_s);
	mem_free(s.cap_w);
	mem_free(s.draw_w);
	mem_free(s.by_class);
	mem_free(work);
	return st;
}
