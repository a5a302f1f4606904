#include "exec/exec_sim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "sim/cluster.h"

#define MAX_QUEUE     ((size_t)1 << 20)
#define MAX_WORKLOADS 64
#define MIN_STEPS     20

struct exec_sim {
	struct cluster cluster;
	uint64_t seed, next_ticket;
	int64_t t_ns; /* virtual */
	char describe[192];
	struct workload workloads[MAX_WORKLOADS];
	char keys[MAX_WORKLOADS][64]; /* the name each was asked for by */
	size_t n_workloads;
	struct finished {
		uint64_t ticket;
		struct run_rec rec;
	} * queue; /* [head, n) wait to be fetched; emptied before it is filled again */
	size_t head, n, cap;
};

enum status exec_sim_open(const char *cluster, uint64_t seed, struct exec_sim **out, struct err *e)
{
	struct exec_sim *x = mem_calloc(1, sizeof(*x));
	enum status st;

	if (!x)
		return err_set(e, ST_NOMEM, "out of memory");
	st = cluster_read(cluster, &x->cluster, e);
	if (st) {
		mem_free(x);
		return st;
	}
	x->seed = seed;
	x->next_ticket = 1;
	snprintf(x->describe, sizeof(x->describe), "%s: %d x %d %s (simulated)", x->cluster.name,
		x->cluster.nodes, x->cluster.gpus_per_node, x->cluster.gpu.model);
	*out = x;
	return ST_OK;
}

void exec_sim_seed(struct exec_sim *x, uint64_t seed)
{
	x->seed = seed;
}

const char *exec_sim_describe(const struct exec_sim *x)
{
	return x->describe;
}

/* FNV-1a over what identifies a run within its campaign. */
static uint64_t hash_point(const struct exec_sim *x, const struct point *p)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ x->seed;
	char order[48];

#define MIX(text)                                                                                  \
	for (const char *s_ = (text); s_ && *s_; s_++)                                             \
	h = (h ^ (unsigned char)*s_) * UINT64_C(0x100000001b3)
	MIX(p->campaign);
	MIX("/");
	MIX(p->workload);
	for (size_t i = 0; i < p->n_axes; i++) {
		MIX("|");
		MIX(p->axes[i].name);
		MIX("=");
		MIX(p->axes[i].text);
	}
	/* Visits of the default have the same setting: their place tells them apart. */
	snprintf(order, sizeof(order), "#%d@%d", p->repeat, p->baseline ? p->order : -1);
	MIX(order);
#undef MIX
	return h;
}

/* The word after "sim job", else the workload's name. */
static void profile_of(const struct point *p, char *buf, size_t size)
{
	const char *at = p->command ? strstr(p->command, "sim job ") : NULL;
	size_t n;

	if (!at) {
		snprintf(buf, size, "%s", p->workload ? p->workload : "");
		return;
	}
	at += strlen("sim job ");
	at += strspn(at, " '");
	n = strcspn(at, " '");
	snprintf(buf, size, "%.*s", (int)n, at);
}

static enum status find_workload(
	struct exec_sim *x, const struct point *p, const struct workload **out, struct err *e)
{
	char name[64];
	enum status st;

	profile_of(p, name, sizeof(name));
	for (size_t i = 0; i < x->n_workloads; i++) {
		if (!strcmp(x->keys[i], name)) {
			*out = &x->workloads[i];
			return ST_OK;
		}
	}
	if (x->n_workloads == MAX_WORKLOADS)
		return err_set(
			e, ST_RANGE, "more than %d workloads in one simulation", MAX_WORKLOADS);
	st = profile_workload(name, &x->workloads[x->n_workloads], e);
	if (st)
		return st;
	snprintf(x->keys[x->n_workloads], sizeof(x->keys[0]), "%s", name);
	*out = &x->workloads[x->n_workloads++];
	return ST_OK;
}

enum status exec_sim_check(struct exec_sim *x, const struct point *p, struct err *e)
{
	const struct workload *w;

	return find_workload(x, p, &w, e);
}

static int64_t axis_or(const struct point *p, const char *name, int64_t fallback)
{
	for (size_t i = 0; i < p->n_axes; i++)
		if (!strcmp(p->axes[i].name, name) && p->axes[i].value.st == ST_OK)
			return p->axes[i].value.v;
	return fallback;
}

static void set_steps(struct run_rec *r, const struct cluster_step *s, const struct workload *w,
	const struct point *p, double batch)
{
	double step_ns = s->step_s * 1e9;
	int64_t steps = (int64_t)((double)p->hold_max_ns / step_ns);
	int64_t workers = axis_or(p, "workers", 1);
	struct train_rec *t = &r->train;
	struct phase_rec *phase;

	if (steps < MIN_STEPS)
		steps = MIN_STEPS;
	t->n_ranks = (int)workers;
	t->from_marks = true;
	t->steady = true;
	t->window_ns = QTY(llrint((double)steps * step_ns));
	t->window_steps = t->steps = QTY(steps);
	t->window_samples = t->samples = QTY(llrint((double)steps * batch * (double)workers));
	t->step_mean_ns = t->step_median_ns = QTY(llrint(step_ns));
	t->batch_per_rank = QTY(llrint(batch));
	t->global_batch = QTY(llrint(batch * (double)workers));
	t->gradient_bytes = QTY(w->gradient_bytes);
	r->wall_ns = t->window_ns;
	phase = run_rec_phase(r);
	if (phase) {
		rec_set(&phase->name, "steady");
		phase->end_ns = t->window_ns.v;
		phase->steps = steps;
		phase->samples = t->samples.v;
	}
}

static void set_power(struct dev_rec *d, double mw, int64_t wall_ns)
{
	d->mean_mw = QTY(llrint(mw));
	d->energy_uj = QTY(llrint(mw * (double)wall_ns / 1e6));
	d->method = ENERGY_SIMULATED;
	d->coverage_ppm = QTY(1000000);
	d->resolution_ppm = QTY(0);
	d->counted = true;
	d->st = ST_OK;
}

/* One row for all GPUs of the run and one for its hosts: hundreds of equal rows a run would say
 * nothing more. */
static bool set_devices(struct run_rec *r, const struct exec_sim *x, const struct point *p,
	const struct cluster_step *s, int64_t workers)
{
	const struct gpu_profile *g = &x->cluster.gpu;
	struct dev_rec *d = run_rec_dev(r);
	struct knob_rec *k;
	char text[128];

	if (!d)
		return false;
	snprintf(text, sizeof(text), "sim:%s/%s", x->cluster.name, g->name);
	rec_set(&d->key, text);
	rec_set(&d->host, x->cluster.name);
	rec_set(&d->name, g->model);
	d->kind = DEV_GPU;
	set_power(d, s->gpu_mw * (double)workers, r->wall_ns.v);
	d->clock_khz = QTY(llrint(s->clock_khz));
	d->util_ppm = QTY(llrint(s->util * 1e6));
	d->throttle_power_cap_ppm = QTY(llrint(s->capped * 1e6));
	if (workers > 1)
		snprintf(text, sizeof(text),
			"simulated; power and energy of %lld GPUs together, the rest a mean",
			(long long)workers);
	else
		snprintf(text, sizeof(text), "simulated");
	rec_set(&d->note, text);
	k = dev_rec_knob(d, "power_limit", UNIT_POWER);
	if (!k)
		return false;
	k->found = QTY(g->limit_def_mw);
	k->requested = k->enforced = QTY(axis_or(p, "power_limit", g->limit_def_mw));
	k = dev_rec_knob(d, "clock_max", UNIT_FREQ);
	if (!k)
		return false;
	k->found = QTY(g->clock_max_khz);
	k->requested = QTY(axis_or(p, "clock_max", g->clock_max_khz));
	k->enforced = QTY(gpu_clock_grid(g, k->requested.v));
	if (s->host_mw <= 0)
		return true;
	d = run_rec_dev(r);
	if (!d)
		return false;
	snprintf(text, sizeof(text), "sim:%s/hosts", x->cluster.name);
	rec_set(&d->key, text);
	rec_set(&d->host, x->cluster.name);
	rec_set(&d->name, "hosts");
	rec_set(&d->note, "simulated; all hosts of the run together");
	d->kind = DEV_CPU;
	set_power(d, s->host_mw, r->wall_ns.v);
	return true;
}

/* "default" gets the number behind the word, so that laws can use the point. */
static bool set_axes(struct run_rec *r, const struct exec_sim *x, const struct point *p)
{
	for (size_t i = 0; i < p->n_axes; i++) {
		const struct axis_val *a = &p->axes[i];
		struct qty v = a->value;

		if (!strcmp(a->text, "default")) {
			if (!strcmp(a->name, "power_limit"))
				v = QTY(x->cluster.gpu.limit_def_mw);
			else if (!strcmp(a->name, "clock_max"))
				v = QTY(x->cluster.gpu.clock_max_khz);
			else if (!strcmp(a->name, "memory_clock"))
				v = QTY(x->cluster.gpu.mem_clock_khz[0]);
		}
		if (!run_rec_axis(r, a->name, a->text, a->unit, v))
			return false;
	}
	return true;
}

static enum status fill(struct exec_sim *x, const struct point *p, struct run_rec *r, struct err *e)
{
	int64_t workers = axis_or(p, "workers", 1);
	struct cluster_setting s = {(int)workers, axis_or(p, "power_limit", 0),
		axis_or(p, "clock_max", 0), axis_or(p, "memory_clock", 0),
		(double)axis_or(p, "batch", 0)};
	uint64_t h = hash_point(x, p);
	const struct workload *w = NULL;
	struct cluster_step step;
	struct gpu_load load;
	struct err why = ERR_INIT;
	bool estimated, good;
	char text[128];
	enum status st = find_workload(x, p, &w, e);

	if (st)
		return st;
	snprintf(text, sizeof(text), "%016llx", (unsigned long long)h);
	good = rec_set(&r->run_id, text);
	snprintf(text, sizeof(text), "sim:%s:%s", x->cluster.name, x->cluster.gpu.name);
	good = good && rec_set(&r->source, text);
	snprintf(text, sizeof(text), "sim-%llu", (unsigned long long)p->group);
	good = good && rec_set(&r->launch, text) && rec_set(&r->campaign, p->campaign) &&
	       rec_set(&r->workload, p->workload) &&
	       rec_set(&r->domain, p->domain ? p->domain : w->domain) &&
	       rec_set(&r->task, p->task ? p->task : w->task) &&
	       rec_set(&r->host, x->cluster.name) && rec_set(&r->version, WATTLAW_VERSION) &&
	       set_axes(r, x, p);
	r->simulated = true;
	r->repeat = p->repeat;
	r->order = p->order;
	r->baseline = p->baseline;
	r->start_mono_ns = r->start_realtime_ns = x->t_ns;
	r->hosts_expected = r->hosts_seen = 1;
	r->method = ENERGY_SIMULATED;
	if (!good)
		return err_set(e, ST_NOMEM, "out of memory");
	workload_load(w, &x->cluster.gpu, &load, &estimated);
	if (cluster_eval(&x->cluster, w, &load, &s, &step, &why)) {
		r->state = RUN_FAILED;
		r->exit_code = 1;
		run_rec_warn(r, "%s", why.msg);
		return ST_OK;
	}
	cluster_noise(&x->cluster, w, x->seed, h, &step);
	set_steps(r, &step, w, p, s.batch_per_gpu > 0 ? s.batch_per_gpu : (double)w->batch);
	if (!set_devices(r, x, p, &step, workers))
		return err_set(e, ST_NOMEM, "out of memory");
	if (estimated)
		run_rec_warn(r, "profile '%s' was not measured on %s: estimated", w->name,
			x->cluster.gpu.name);
	r->state = RUN_DONE;
	run_rec_total(r);
	r->method = ENERGY_SIMULATED;
	if (r->n_phases)
		r->phases[0].energy_uj = r->energy_uj;
	x->t_ns += r->wall_ns.v + p->warmup_ns;
	return ST_OK;
}

static enum status sim_submit(void *self, const struct point *p, uint64_t *ticket, struct err *e)
{
	struct exec_sim *x = self;
	struct finished *f;
	enum status st;

	if (x->head == x->n)
		x->head = x->n = 0;
	if (x->n >= MAX_QUEUE)
		return ST_AGAIN;
	if (!mem_grow((void **)&x->queue, &x->cap, x->n + 1, sizeof(*x->queue), MAX_QUEUE))
		return err_set(e, ST_NOMEM, "out of memory");
	f = &x->queue[x->n];
	run_rec_init(&f->rec);
	st = fill(x, p, &f->rec, e);
	if (st) {
		run_rec_release(&f->rec);
		return st;
	}
	*ticket = f->ticket = x->next_ticket++;
	x->n++;
	return ST_OK;
}

static enum status sim_next(
	void *self, int64_t deadline_ns, uint64_t *ticket, struct run_rec *out, struct err *e)
{
	struct exec_sim *x = self;

	(void)deadline_ns;
	(void)e;
	if (x->head == x->n)
		return ST_NOT_FOUND;
	*ticket = x->queue[x->head].ticket;
	*out = x->queue[x->head].rec;
	x->head++;
	return ST_OK;
}

static void sim_cancel(void *self, uint64_t ticket)
{
	struct exec_sim *x = self;

	for (size_t i = x->head; i < x->n; i++)
		if (ticket == UINT64_MAX || x->queue[i].ticket == ticket)
			x->queue[i].rec.state = RUN_INTERRUPTED;
}

static void sim_flush(void *self)
{
	(void)self; /* nothing is held back */
}

static void sim_close(void *self)
{
	struct exec_sim *x = self;

	for (; x->head < x->n; x->head++)
		run_rec_release(&x->queue[x->head].rec);
	mem_free(x->queue);
	mem_free(x);
}

const struct exec_ops exec_sim_ops = {
	.name = "sim",
	.submit = sim_submit,
	.next = sim_next,
	.cancel = sim_cancel,
	.flush = sim_flush,
	.close = sim_close,
};
