/* train.c: wl-train: options, the loop, marks. */
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <math.h>
#include <unistd.h>
#include <wattlaw/mark.h>
#include "tools.h"
#include "trainer.h"

static volatile sig_atomic_t got_signal;

static void on_signal(int sig)
{
	got_signal = sig;
}

static void catch_signals(void)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Thread i of local rank r on the (r × threads + i)-th allowed CPU. A launcher that bound ranks
 * apart has left each only its own CPUs: then ranks do not count. all: the CPUs allowed at the
 * start. */
static void set_threads(const struct options *o, const struct comm *c, const cpu_set_t *all)
{
	int cpu[1024], n = 0, first, threads = (int)o->threads;
	bool shared;

	for (int i = 0; i < CPU_SETSIZE && n < 1024; i++)
		if (CPU_ISSET(i, all))
			cpu[n++] = i;
	shared = sysconf(_SC_NPROCESSORS_ONLN) == n;
	if (!threads)
		threads = shared ? n / c->local_size : n;
	if (threads < 1)
		threads = 1;
	omp_set_dynamic(0);
	omp_set_num_threads(threads);
	if (!strcmp(o->pin, "none") || n < 1)
		return;
	first = shared ? c->local_rank * threads : 0;
#pragma omp parallel num_threads(threads)
	{
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(cpu[(first + omp_get_thread_num()) % n], &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
}

static const char *metric_text(const struct trainer *t, double v, char *buf, size_t len)
{
	const struct model *m = t->model;

	if (isnan(v))
		buf[0] = '\0';
	else if (m->metric_is_error)
		snprintf(buf, len, "  %s %.4g%s%s", m->metric, v, *t->data.info.unit ? " " : "",
			t->data.info.unit);
	else
		snprintf(buf, len, "  %s %.1f %%", m->metric, 100 * v);
	return buf;
}

#define KEPT_STEPS 4096 /* the last so many step times make the median */

struct progress {
	double step_s[KEPT_STEPS], step_start;
	double start, last_time;
	struct result eval; /* the last one */
	bool evaluated;
	int64_t first_step, last_step, samples, last_samples;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_step(const struct progress *p, int64_t steps)
{
	static double v[KEPT_STEPS];
	size_t n = (size_t)(steps < KEPT_STEPS ? steps : KEPT_STEPS);

	memcpy(v, p->step_s, n * sizeof(*v));
	qsort(v, n, sizeof(*v), by_value);
	return n ? v[n / 2] : 0;
}

static void log_step(const struct trainer *t, struct progress *p, const struct result *r)
{
	const struct options *o = t->o;
	double now = now_s(), dt = now - p->last_time;
	char buf[64];

	p->step_s[(t->step - p->first_step - 1) % KEPT_STEPS] = now - p->step_start;

	p->samples += r->global_samples;
	if (o->quiet || !o->log_every || t->comm.rank || (t->step - p->first_step) % o->log_every)
		return;
	fprintf(stderr, "step %lld  loss %.5f%s  lr %.3g  %.1f samples/s  %.2f ms/step\n",
		(long long)t->step, r->loss, metric_text(t, r->metric, buf, sizeof(buf)), r->lr,
		(double)(p->samples - p->last_samples) / dt,
		1e3 * dt / (double)(t->step - p->last_step));
	p->last_time = now;
	p->last_step = t->step;
	p->last_samples = p->samples;
}

static int evaluate(struct trainer *t, struct result *r, struct fault *f)
{
	char buf[64];
	int rc;

	wl_phase_begin("eval");
	rc = trainer_eval(t, r, f);
	wl_phase_end();
	if (!rc && !t->comm.rank && !t->o->quiet)
		fprintf(stderr, "eval at step %lld  loss %.5f%s\n", (long long)t->step, r->loss,
			metric_text(t, r->metric, buf, sizeof(buf)));
	return rc;
}

static void mark_step(const struct trainer *t, const struct result *r)
{
	wl_step((uint64_t)r->samples);
	wl_loss(r->loss);
	if (t->step * t->o->accumulate % loader_steps_per_epoch(t->loader) == 0)
		wl_epoch();
}

static int save(struct trainer *t, struct fault *f)
{
	int rc;

	wl_phase_begin("checkpoint");
	rc = trainer_save(t, t->o->checkpoint, f);
	wl_phase_end();
	return rc;
}

/* Trains; *last is the last step's result. */
static int loop(struct trainer *t, struct progress *p, struct result *last, struct fault *f)
{
	const struct options *o = t->o;
	int64_t want = trainer_steps(t);

	wl_phase_begin("train");
	while (t->step < want) {
		t->stop = got_signal != 0;
		p->step_start = now_s();
		if (trainer_step(t, last, f))
			break;
		mark_step(t, last);
		log_step(t, p, last);
		if (o->eval_every && t->step % o->eval_every == 0) {
			if (evaluate(t, &p->eval, f))
				break;
			p->evaluated = true;
		}
		if (o->checkpoint && o->checkpoint_every && t->step % o->checkpoint_every == 0 &&
			save(t, f))
			break;
		if (last->stop || (!isnan(o->target_loss) && last->loss <= o->target_loss))
			break;
	}
	wl_phase_end();
	if (!f->set && o->checkpoint)
		save(t, f);
	return f->set ? -1 : 0;
}

/* What --target-loss adds to the summary. */
static void target(const struct trainer *t, double s, const struct result *r)
{
	double want = t->o->target_loss, e = wl_energy_j();
	bool reached = r->loss <= want;
	char energy[40];

	if (isnan(want))
		return;
	if (t->o->json) {
		snprintf(energy, sizeof(energy), isnan(e) ? "null" : "%.3f", e);
		printf(",\"target_loss\":%.8g,\"target_reached\":%s", want,
			reached ? "true" : "false");
		if (reached)
			printf(",\"time_to_target_s\":%.6f,\"energy_to_target_j\":%s", s, energy);
		return;
	}
	snprintf(energy, sizeof(energy), isnan(e) ? "energy unknown (not measured)" : "%.1f J", e);
	if (reached)
		printf("target loss %g reached after %.2f s, %s\n", want, s, energy);
	else
		printf("target loss %g not reached\n", want);
}

/* What --eval-every adds to JSON. */
static void evaluation(const struct trainer *t, const struct progress *p)
{
	if (!p->evaluated)
		return;
	printf(",\"metric\":\"%s\",\"eval_loss\":%.8g", t->model->metric, p->eval.loss);
	if (!isnan(p->eval.metric))
		printf(",\"eval_metric\":%.8g", p->eval.metric);
	if (t->model->metric_is_error && *t->data.info.unit)
		printf(",\"metric_unit\":\"%s\"", t->data.info.unit);
	else if (t->model->metric_is_error)
		printf(",\"metric_unit\":null");
}

static void summary(const struct trainer *t, const struct progress *p, const struct result *r)
{
	double s = now_s() - p->start;
	int64_t steps = t->step - p->first_step;
	char buf[64];

	if (t->comm.rank)
		return;
	if (t->o->json) {
		printf("{\"schema\":\"wattlaw.train/1\",\"network\":\"%s\",\"size\":\"%s\","
		       "\"ranks\":%d,\"threads\":%d,\"steps\":%lld,\"samples\":%lld,"
		       "\"wall_s\":%.6f,\"step_s\":%.9f,\"step_median_s\":%.9f,"
		       "\"samples_per_s\":%.3f,\"loss\":%.8g,\"allreduce_s\":%.6f,"
		       "\"gradient_bytes\":%lld,\"flops_per_sample\":%.6g",
			t->model->name, size_name[t->o->size], t->comm.size, omp_get_max_threads(),
			(long long)steps, (long long)p->samples, s, steps ? s / (double)steps : 0.0,
			median_step(p, steps), (double)p->samples / s, r->loss, t->comm.wait_s,
			(long long)t->ps->n_trainable * 4, t->flops_per_sample);
		evaluation(t, p);
		target(t, s, r);
		printf("}\n");
		return;
	}
	printf("%s %s: %lld steps, %lld samples in %.2f s: %.2f ms/step, %.1f samples/s, loss "
	       "%.5f%s\n",
		t->model->name, size_name[t->o->size], (long long)steps, (long long)p->samples, s,
		steps ? 1e3 * s / (double)steps : 0.0, (double)p->samples / s, r->loss,
		metric_text(t, r->metric, buf, sizeof(buf)));
	if (t->comm.size > 1)
		printf("%d ranks: %.1f %% of the time waiting for sums over ranks\n", t->comm.size,
			100 * t->comm.wait_s / s);
	target(t, s, r);
}

/* What is trained, on what, by whom. */
static void tell_start(const struct trainer *t)
{
	const struct data_info *in = &t->data.info;

	if (t->o->quiet || t->comm.rank)
		return;
	fprintf(stderr, "%s %s: %lld parameters; %s", t->model->name, size_name[t->o->size],
		(long long)t->ps->n_trainable, t->data.ops->name);
	if (in->classes && t->model->data != DATA_MLM && t->model->data != DATA_CLM)
		fprintf(stderr, " of %d classes", in->classes);
	fprintf(stderr, ", %lld samples and %lld held out; %lld a step, %d rank%s of %d thread%s\n",
		(long long)in->n_train, (long long)in->n_eval,
		(long long)(t->global_batch * t->o->accumulate), t->comm.size,
		t->comm.size > 1 ? "s" : "", omp_get_max_threads(),
		omp_get_max_threads() > 1 ? "s" : "");
}

static int train(struct trainer *t, struct fault *f)
{
	static struct progress p;
	struct result r = {0};

	wl_rank(t->comm.rank, t->comm.size);
	wl_job((uint64_t)t->ps->n_trainable * 4, (uint64_t)(t->global_batch / t->comm.size),
		(uint64_t)(t->global_batch * t->o->accumulate));
	p = (struct progress){.start = now_s(),
		.last_time = now_s(),
		.first_step = t->step,
		.last_step = t->step};
	t->comm.wait_s = 0;
	tell_start(t);
	if (loop(t, &p, &r, f))
		return -1;
	summary(t, &p, &r);
	if (t->o->sample && !t->comm.rank)
		return tools_sample(t, f);
	return 0;
}

/* All ranks for the same reason, which one tells; or this one alone, which the others must not wait
 * for. */
static void failed(struct comm *c, const struct fault *f, int status)
{
	bool together = !c->ops || c->ops->all_failed(c);

	if (together && !c->rank)
		fprintf(stderr, "wl-train: %s\n", f->msg);
	if (together)
		return;
	fprintf(stderr, "wl-train: rank %d: %s\n", c->rank, f->msg);
	c->ops->abort(c, status);
}

int main(int argc, char **argv)
{
	struct options o;
	struct fault f = {0};
	struct trainer t = {0};
	cpu_set_t cpus;
	int rc = 2;

	if (options_parse(&o, argc, argv, &f)) {
		fprintf(stderr, "wl-train: %s\n", f.msg);
		return 2;
	}
	if (o.help) {
		options_help();
		return 0;
	}
	if (o.version) {
		puts("wl-train " WATTLAW_VERSION);
		return 0;
	}
	if (o.list) {
		if (!tools_list(&o, &f))
			return 0;
		fprintf(stderr, "wl-train: %s\n", f.msg);
		return 1;
	}
	catch_signals();
	CPU_ZERO(&cpus);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	wl_phase_begin("load");
	if (!trainer_start(&t, &o, &f)) {
		t.cpus = &cpus;
		set_threads(&o, &t.comm, &cpus);
		if (!trainer_load(&t, &f)) {
			wl_phase_end();
			rc = train(&t, &f) ? 1 : got_signal == SIGINT ? 130 : 0;
		}
	}
	if (f.set)
		failed(&t.comm, &f, rc);
	trainer_close(&t);
	return rc;
}
