/* trainer.c: the loop's parts. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "nn/checkpoint.h"
#include "ops/rng.h"
#include "trainer.h"

static const char *nearest_model(const char *name)
{
	const char *names[32];
	int n = 0;

	while (models[n] && n < 32) {
		names[n] = models[n]->name;
		n++;
	}
	return fault_nearest(name, names, n);
}

static int find_model(struct trainer *t, struct fault *f)
{
	const struct options *o = t->o;
	const char *near;

	if (!o->network)
		return fault_set(f, "no network given; see wl-train --list");
	t->model = model_find(o->network);
	if (t->model)
		return 0;
	near = nearest_model(o->network);
	return fault_set(f, "unknown network '%s'%s%s%s", o->network,
		near ? " (did you mean " : "; see --list", near ? near : "", near ? "?)" : "");
}

static void set_optim(struct trainer *t)
{
	const struct options *o = t->o;
	const struct model_size *ms = &t->model->size[o->size];

	t->optim = (struct optim){.kind = t->model->optim,
		.lr = isnan(o->lr) ? ms->lr : o->lr,
		.momentum = o->momentum,
		.beta1 = 0.9,
		.beta2 = 0.999,
		.eps = 1e-8,
		.decay = isnan(o->weight_decay) ? t->model->weight_decay : o->weight_decay,
		.clip = o->clip,
		.warmup = o->warmup};
	for (int i = 0; o->optimizer && optim_name[i]; i++)
		if (!strcmp(optim_name[i], o->optimizer))
			t->optim.kind = (enum optim_kind)i;
	for (int i = 0; o->schedule && schedule_name[i]; i++)
		if (!strcmp(schedule_name[i], o->schedule))
			t->optim.schedule = (enum schedule)i;
}

static int open_data(struct trainer *t, struct fault *f)
{
	const struct options *o = t->o;
	struct data_spec spec = {.kind = t->model->data,
		.path = o->data,
		.vocab = o->vocab,
		.seed = (uint64_t)o->seed,
		.target = o->target};
	enum data_kind kind = t->model->data;
	bool text = kind == DATA_MLM || kind == DATA_SEQCLASS || kind == DATA_CLM;

	if (o->data && access(o->data, R_OK) && !strchr(o->data, ','))
		return fault_set(f, "--data %s: %s; expected %s", o->data, strerror(errno),
			data_formats(kind));
	if (o->vocab && (!o->data || !text))
		return fault_set(f, "--vocab is for text given with --data");
	if (o->target && (!o->data || (kind != DATA_MOLECULE && kind != DATA_IMAGE)))
		return fault_set(f, "--target is for molecules or CIFAR-100 given with --data");
	if (t->model->data_spec)
		t->model->data_spec(&t->cfg, &spec);
	if (data_open(&t->data, &spec, f))
		return -1;
	t->cfg.data = t->data.info;
	return 0;
}

static int open_loader(struct trainer *t, struct fault *f)
{
	const struct options *o = t->o;
	struct loader_opt lo = {.batch = t->global_batch,
		.rank = t->comm.rank,
		.size = t->comm.size,
		.seed = (uint64_t)o->seed,
		.first_step = t->step * o->accumulate,
		.shuffle = true,
		.ahead = 2,
		.cpus = t->cpus};

	t->loader = loader_open(&t->data, &lo, f);
	return t->loader ? 0 : -1;
}

static uint64_t batch_key(const struct batch *b, bool train)
{
	uint64_t h = train ? 1 : 2;

	for (int i = 0; i < b->n; i++) {
		h = rng_mix(h ^ rng_name(b->a[i].name));
		for (int d = 0; d < b->a[i].n_dims; d++)
			h = rng_mix(h ^ (uint64_t)b->a[i].dim[d]);
	}
	return h;
}

/* A free place for a net; the least recently used one is dropped when all are taken. */
static struct trainer_net *net_slot(struct trainer *t)
{
	struct trainer_net *old = &t->nets[0];

	if (t->n_nets < TRAINER_NETS)
		return &t->nets[t->n_nets++];
	for (int i = 1; i < t->n_nets; i++)
		if (t->nets[i].used < old->used)
			old = &t->nets[i];
	net_free(old->net);
	old->net = NULL;
	return old;
}

struct net *trainer_net(struct trainer *t, const struct batch *b, bool train, struct fault *f)
{
	uint64_t key = batch_key(b, train);
	struct trainer_net *slot;
	struct net *n;

	t->clock++;
	for (int i = 0; i < t->n_nets; i++)
		if (t->nets[i].key == key) {
			t->nets[i].used = t->clock;
			return t->nets[i].net;
		}
	n = net_new(t->be, t->ps, &t->ctx, &t->arena, train);
	if (!n) {
		fault_set(f, "out of memory");
		return NULL;
	}
	t->model->build(n, &t->cfg, b);
	if (net_plan(n, f))
		goto fail;
	if (!t->ps->finished && (params_finish(t->ps, optim_states(t->optim.kind),
					 (size_t)t->o->bucket_kib << 10, f) ||
					params_init(t->ps, (uint64_t)t->o->seed, f)))
		goto fail;
	if (net_place(n, f))
		goto fail;
	slot = net_slot(t);
	*slot = (struct trainer_net){n, key, t->clock};
	return n;
fail:
	net_free(n);
	return NULL;
}

/* Plans the first net, so that parameters exist before the first step. */
static int first_net(struct trainer *t, struct fault *f)
{
	struct loader_opt lo = {.batch = t->global_batch,
		.rank = 0,
		.size = t->comm.size,
		.seed = (uint64_t)t->o->seed,
		.shuffle = true};
	struct loader *l = loader_open(&t->data, &lo, f);
	struct batch *b = l ? loader_next(l, f) : NULL;
	struct net *n = b ? trainer_net(t, b, true, f) : NULL;

	if (n)
		t->flops_per_sample = 3 * net_flops(n) / (double)b->n_samples;
	loader_close(l);
	return n ? 0 : -1;
}

static int64_t samples_per_step(const struct trainer *t)
{
	return t->global_batch * t->o->accumulate;
}

int trainer_save(const struct trainer *t, const char *path, struct fault *f)
{
	struct checkpoint_meta m = {.step = t->step,
		.seed = t->o->seed,
		.global_batch = samples_per_step(t),
		.n_state = optim_states(t->optim.kind)};

	if (t->comm.rank)
		return 0;
	snprintf(m.network, sizeof(m.network), "%s", t->model->name);
	snprintf(m.size, sizeof(m.size), "%s", size_name[t->o->size]);
	snprintf(m.optimizer, sizeof(m.optimizer), "%s", optim_name[t->optim.kind]);
	return checkpoint_write(path, &m, t->ps, f);
}

/* Exact resume needs the same network, seed and samples per step. */
static int resume(struct trainer *t, struct fault *f)
{
	const char *path = t->o->resume;
	struct checkpoint c;
	int rc = -1;

	if (checkpoint_read(path, &c, f))
		return -1;
	if (strcmp(c.meta.network, t->model->name) != 0 ||
		strcmp(c.meta.size, size_name[t->o->size]) != 0)
		fault_set(f, "%s: a checkpoint of %s --size %s", path, c.meta.network, c.meta.size);
	else if (strcmp(c.meta.optimizer, optim_name[t->optim.kind]) != 0)
		fault_set(f, "%s: was trained with --optimizer %s", path, c.meta.optimizer);
	else if (c.meta.seed != t->o->seed)
		fault_set(f, "%s: was trained with --seed %lld", path, (long long)c.meta.seed);
	else if (c.meta.global_batch != samples_per_step(t))
		fault_set(f, "%s: was trained with %lld samples a step, not %lld", path,
			(long long)c.meta.global_batch, (long long)samples_per_step(t));
	else
		rc = checkpoint_apply(&c, t->ps, f);
	t->step = c.meta.step;
	checkpoint_release(&c);
	return rc;
}

static int check_task(const struct trainer *t, struct fault *f)
{
	const char *names[2] = {t->model->task, t->model->other_task}, *task = t->o->task;

	if (t->o->sample && t->model->data != DATA_CLM)
		return fault_set(f, "--sample: %s does not write text", t->model->name);
	if (!task || !strcmp(task, names[0]) || (names[1] && !strcmp(task, names[1])))
		return 0;
	return fault_set(f, "%s cannot do '%s'; its tasks are %s%s%s", t->model->name, task,
		names[0], names[1] ? " and " : " only", names[1] ? names[1] : "");
}

int trainer_start(struct trainer *t, const struct options *o, struct fault *f)
{
	enum dtype dt = !strcmp(o->precision, "bf16") ? DT_BF16 : DT_F32;

	*t = (struct trainer){.o = o};
	if (find_model(t, f) || check_task(t, f))
		return -1;
	t->be = backend_find(o->backend);
	if (!t->be)
		return fault_set(f, "the back end %s is not in this build", o->backend);
	if (t->be->has_dtype(dt, f))
		return -1;
	return comm_open(&t->comm, o->comm, f);
}

int trainer_load(struct trainer *t, struct fault *f)
{
	const struct options *o = t->o;
	const struct model_size *ms = &t->model->size[o->size];

	t->cfg = ms->cfg;
	t->cfg.size = (enum size)o->size;
	t->cfg.task = o->task;
	if (!isnan(o->dropout))
		t->cfg.dropout = (float)o->dropout;
	t->global_batch = o->global_batch ? o->global_batch
					  : (o->batch ? o->batch : ms->batch) * t->comm.size;
	if (t->global_batch < t->comm.size)
		return fault_set(f, "a global batch of %lld cannot be shared by %d ranks",
			(long long)t->global_batch, t->comm.size);
	set_optim(t);
	if (open_data(t, f))
		return -1;
	t->ctx = (struct op_ctx){.seed = (uint64_t)o->seed,
		.sync_bn = o->sync_bn && t->comm.size > 1,
		.bf16 = !strcmp(o->precision, "bf16"),
		.comm = &t->comm,
		.loss_scale = 1};
	t->ps = params_new(t->be);
	if (!t->ps)
		return fault_set(f, "out of memory");
	if (first_net(t, f) || (o->resume && resume(t, f)))
		return -1;
	if (open_loader(t, f))
		return -1;
	t->optim.total = trainer_steps(t);
	return 0;
}

int64_t trainer_steps(const struct trainer *t)
{
	const struct options *o = t->o;

	if (o->epochs)
		return o->epochs * (loader_steps_per_epoch(t->loader) / o->accumulate);
	return o->steps ? o->steps : INT64_MAX;
}

static void bind(struct trainer *t, struct net *n, struct batch *b)
{
	for (int i = 0; i < b->n; i++)
		net_bind(n, b->a[i].name, b->a[i].data);
	t->ctx.row0 = b->row0;
	t->ctx.n_local = b->n_samples;
	t->ctx.n_global = b->n_global;
}

/* A parameter's gradient is complete: its bucket may go. */
static void reduce_when_full(void *arg, struct param *p)
{
	struct trainer *t = arg;
	struct bucket *b = &t->ps->bucket[p->bucket];

	if (++b->n_done == b->n_params)
		t->comm.ops->sum_start(&t->comm, t->ps->grad + b->at, b->count);
	else
		t->comm.ops->poll(&t->comm);
}

/* Parameters that the last net did not use: complete as they are, or zero. */
static void reduce_rest(struct trainer *t, const struct net *n)
{
	for (int i = 0; i < t->ps->n; i++) {
		struct param *p = t->ps->p[i];
		bool told = false;

		if (!p->trainable)
			continue;
		for (int k = 0; k < n->n_nodes; k++)
			for (struct param **q = n->done[k]; q && *q; q++)
				told |= *q == p;
		if (!p->written)
			memset(p->g.data, 0, p->g.bytes);
		if (!told)
			reduce_when_full(t, p);
	}
}

static int micro_batch(struct trainer *t, bool last, struct result *r, struct fault *f)
{
	struct batch *b = loader_next(t->loader, f);
	struct net *n;

	if (!b)
		return fault_set(f, "the data ended");
	n = trainer_net(t, b, true, f);
	if (!n)
		return -1;
	bind(t, n, b);
	net_forward(n);
	net_backward(n, last ? reduce_when_full : NULL, t);
	if (last)
		reduce_rest(t, n);
	r->samples += b->n_samples;
	r->global_samples += b->n_global;
	return 0;
}

/* Sums over ranks of what the step added up; *stop is set if some rank asks for it. */
static void sum_stats(struct trainer *t, struct op_stats *s, bool *stop)
{
	double v[5 + 2 * STAT_CLASSES] = {s->loss, s->count, s->metric, s->metric_count, *stop};
	int classes = t->model->data == DATA_SEGMENT ? t->data.info.classes : 0;
	size_t bytes = (size_t)classes * sizeof(*v);

	memcpy(v + 5, s->overlap, bytes);
	memcpy(v + 5 + classes, s->either, bytes);
	t->comm.ops->sum_f64(&t->comm, v, 5 + 2 * classes);
	s->loss = v[0];
	s->count = v[1];
	s->metric = v[2];
	s->metric_count = v[3];
	*stop = v[4] > 0;
	memcpy(s->overlap, v + 5, bytes);
	memcpy(s->either, v + 5 + classes, bytes);
}

/* Intersection over union, mean of the classes that occur; NAN without labelled images. */
static double mean_iou(const struct op_stats *s)
{
	double sum = 0;
	int n = 0;

	for (int k = 0; k < STAT_CLASSES; k++)
		if (s->either[k] > 0) {
			sum += s->overlap[k] / s->either[k];
			n++;
		}
	return n ? sum / n : NAN;
}

static void means(const struct trainer *t, struct result *r)
{
	const struct op_stats *s = &t->ctx.stats;

	r->loss = s->count > 0 ? s->loss / s->count : NAN;
	r->metric = mean_iou(s);
	if (isnan(r->metric) && s->metric_count > 0)
		r->metric = s->metric / s->metric_count;
	if (t->model->metric_is_error)
		r->metric *= t->data.info.target_std;
}

int trainer_step(struct trainer *t, struct result *r, struct fault *f)
{
	int64_t n = t->o->accumulate;

	*r = (struct result){.lr = optim_lr(&t->optim, t->step), .stop = t->stop};
	t->ctx.stats = (struct op_stats){0};
	t->ctx.step = (uint64_t)(t->step * n);
	params_begin_step(t->ps);
	for (int64_t i = 0; i < n; i++, t->ctx.step++)
		if (micro_batch(t, i == n - 1, r, f))
			return -1;
	t->comm.ops->finish(&t->comm);
	sum_stats(t, &t->ctx.stats, &r->stop);
	means(t, r);
	if (!isfinite(r->loss))
		return fault_set(f,
			"step %lld: the loss is %g; stopped (try a smaller --lr, or --clip)",
			(long long)t->step + 1, r->loss);
	r->grad_norm = optim_step(&t->optim, t->ps, t->step, 1 / t->ctx.stats.count);
	t->step++;
	return 0;
}

int trainer_eval(struct trainer *t, struct result *r, struct fault *f)
{
	struct loader_opt lo = {.batch = t->global_batch,
		.rank = t->comm.rank,
		.size = t->comm.size,
		.seed = (uint64_t)t->o->seed,
		.eval = true,
		.ahead = 2,
		.cpus = t->cpus};
	struct loader *l = loader_open(&t->data, &lo, f);
	struct batch *b;
	bool none = false;

	*r = (struct result){0};
	if (!l)
		return -1;
	t->ctx.stats = (struct op_stats){0};
	while ((b = loader_next(l, f))) {
		struct net *n = b->n_samples ? trainer_net(t, b, false, f) : NULL;

		r->global_samples += b->n_global;
		if (!n)
			continue;
		bind(t, n, b);
		net_forward(n);
	}
	loader_close(l);
	sum_stats(t, &t->ctx.stats, &none);
	means(t, r);
	return f->set ? -1 : 0;
}

void trainer_close(struct trainer *t)
{
	loader_close(t->loader);
	for (int i = 0; i < t->n_nets; i++)
		net_free(t->nets[i].net);
	params_free(t->ps);
	arena_release(&t->arena);
	data_close(&t->data);
	comm_close(&t->comm);
}
