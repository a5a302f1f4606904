/* knobs.c: see knobs.h. */
#include "exec/knobs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>
#include "base/log.h"
#include "base/mem.h"
#include "hw/cgroup.h"
#include "measure/select.h"

#define PROBE_RANK   999999 /* no job has so many ranks on a host */
#define OUTCOMES_MAX 512
#define GPU_KNOBS    (1u << KNOB_POWER_LIMIT | 1u << KNOB_CLOCK_MAX | 1u << KNOB_MEM_CLOCK)
#define CPU_RATE     (1u << KNOB_CPU_RATE)

struct knobs {
	const struct hello *hello;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	int event_fd, cpu_lock_fd;
	/* Under the lock: what is to be done. The rest is the thread's alone while busy. */
	bool busy, posted, quit, done, exited;
	enum knobs_op op;
	struct point_msg point;
	struct knobs_result res;
	struct hw *hw;
	struct control *control;
	struct lease *lease[2]; /* devices of the machine; groups of the ranks */
	size_t *ids;
	size_t n_ids, n_first; /* the first n_first are under lease[0] */
};

static bool add_id(struct knobs *k, size_t id)
{
	size_t *p = mem_realloc(k->ids, k->n_ids + 1, sizeof *p);

	if (!p)
		return false;
	k->ids = p;
	p[k->n_ids++] = id;
	return true;
}

static enum status take(struct knobs *k, int which, size_t first, unsigned knobs, struct err *e)
{
	struct lease_req req = {.devices = k->ids + first,
		.n_devices = k->n_ids - first,
		.knobs = knobs,
		.end = LEASE_PID,
		.pid = getpid(),
		.holder = k->hello->holder};

	return lease_take(k->control, &req, &k->lease[which], e);
}

/* Ranks are pinned: two sweeps of CPU rates on one host would measure each other. */
static enum status lock_cpus(struct knobs *k, struct err *e)
{
	char path[4200], who[256] = "";
	ssize_t n;
	int fd;

	if (mkdir(k->hello->control_dir, 0700) && access(k->hello->control_dir, W_OK))
		return err_set(e, ST_IO, "cannot write in %s", k->hello->control_dir);
	snprintf(path, sizeof path, "%s/cpus.lock", k->hello->control_dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0)
		return err_set(e, ST_IO, "cannot open %s", path);
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		n = read(fd, who, sizeof who - 1);
		who[n > 0 ? n : 0] = 0;
		close(fd);
		return err_set(e, ST_BUSY, "the CPUs of this machine are held by %s",
			who[0] ? who : "another sweep");
	}
	n = snprintf(who, sizeof who, "%s (pid %ld)",
		k->hello->holder ? k->hello->holder : "wattlaw", (long)getpid());
	if (ftruncate(fd, 0) || pwrite(fd, who, (size_t)n, 0) < 0)
		log_debug("exec", "cannot write %s", path);
	k->cpu_lock_fd = fd;
	return ST_OK;
}

static bool wants(const struct device *d, unsigned knobs)
{
	return (d->kind == DEV_GPU || d->kind == DEV_CPU) &&
	       (d->knobs & knobs & GPU_KNOBS) == (knobs & GPU_KNOBS);
}

static enum status pick_devices(struct knobs *k, struct err *e)
{
	struct selection sel;
	enum status st = select_devices(k->hw, k->hello->devices, NULL, NULL, &sel, e);
	bool gpus = false;
	const char *why = "";

	if (st != ST_OK)
		return st;
	for (size_t i = 0; i < hw_n_devices(k->hw); i++) {
		const struct device *d = hw_device(k->hw, i);

		gpus |= sel.on[i] && d->kind == DEV_GPU;
		if (sel.on[i] && d->why_not[0])
			why = d->why_not;
	}
	for (size_t i = 0; i < hw_n_devices(k->hw) && st == ST_OK; i++) {
		const struct device *d = hw_device(k->hw, i);

		if (sel.on[i] && (gpus ? d->kind == DEV_GPU : d->kind == DEV_CPU) &&
			wants(d, k->hello->knobs) && !add_id(k, i))
			st = err_set(e, ST_NOMEM, "out of memory");
	}
	selection_release(&sel);
	if (st == ST_OK && !k->n_ids) {
		struct str names = STR_INIT;

		for (int b = 0; b < KNOB_COUNT; b++)
			if (k->hello->knobs & GPU_KNOBS & 1u << b)
				str_addf(&names, "%s%s", names.len ? ", " : "",
					knob_info((enum knob)b)->name);
		st = err_set(e, ST_UNSUPPORTED,
			"no selected device has the knob %s%s%s; see 'wattlaw probe'",
			str_cstr(&names), why[0] ? ": " : "", why);
		str_release(&names);
	}
	return st;
}

/* The back ends that setting needs: no GPU driver for a CPU rate, and CPU groups whatever sensors
 * the user chose. */
static const char *needed(const struct hello *h, char *buf, size_t size)
{
	if (!(h->knobs & GPU_KNOBS))
		return "cgroup";
	if (!h->only)
		return NULL;
	snprintf(buf, size, "%.200s%s", h->only, h->knobs & CPU_RATE ? ",cgroup" : "");
	return buf;
}

/* Only a set tells whether a driver allows it: set what was found, before the job is started. */
static enum status try_all(struct knobs *k, struct err *e)
{
	for (size_t i = 0; i < k->n_ids; i++)
		for (int b = 0; b < KNOB_COUNT; b++) {
			enum status st = ST_OK;

			if (k->hello->knobs & GPU_KNOBS & 1u << b)
				st = lease_try(k->lease[0], k->ids[i], (enum knob)b, e);
			if (st != ST_OK && st != ST_PARTIAL)
				return st;
		}
	return ST_OK;
}

/* May this user make CPU groups? Known before a job is started, not from the first rank that fails.
 */
static enum status try_group(const struct knobs *k, const struct backend_env *env, struct err *e)
{
	char path[4096];
	enum status st = cgroup_group_create(
		env->root_fd, k->hello->run_id, PROBE_RANK, 1, path, sizeof path, e);

	if (st == ST_OK)
		(void)cgroup_group_remove(env->root_fd, path, NULL);
	return st;
}

static enum status do_open(struct knobs *k, struct err *e)
{
	char only[256];
	struct backend_env env;
	enum status st = hw_env_default(&env, e);

	if (st == ST_OK)
		st = hw_open(&env, needed(k->hello, only, sizeof only), &k->hw, e);
	if (st == ST_OK) {
		struct restore_report rep = {.text = STR_INIT};
		struct err ignored = ERR_INIT;

		/* What an earlier keeper could not put back comes first, or it would be "found". */
		(void)control_replay(k->hw, k->hello->control_dir, false, &rep, &ignored);
		restore_report_release(&rep);
		st = control_open(k->hw, k->hello->control_dir, &k->control, e);
	}
	if (st == ST_OK && k->hello->knobs & CPU_RATE)
		st = try_group(k, &env, e);
	if (st == ST_OK && k->hello->knobs & CPU_RATE)
		st = lock_cpus(k, e);
	/* Empty groups that dead runs left; nobody else makes groups while the lock is ours. */
	if (st == ST_OK && k->hello->knobs & CPU_RATE)
		(void)cgroup_reap(env.root_fd, NULL);
	if (st == ST_OK && k->hello->knobs & GPU_KNOBS) {
		st = pick_devices(k, e);
		for (size_t i = 0; i < k->n_ids && st == ST_OK; i++)
			for (int b = 0; b < KNOB_COUNT && st == ST_OK; b++) {
				char fix[256] = "";

				if (!(k->hello->knobs & GPU_KNOBS & 1u << b))
					continue;
				st = hw_knob_check(
					k->hw, k->ids[i], (enum knob)b, e, fix, sizeof fix);
				if (st != ST_OK && fix[0]) {
					size_t len = strlen(e->msg);

					snprintf(e->msg + len, sizeof e->msg - len, " (%s)", fix);
				}
			}
		if (st == ST_OK)
			st = take(k, 0, 0, k->hello->knobs & GPU_KNOBS, e);
		if (st == ST_OK)
			st = try_all(k, e);
	}
	k->n_first = k->n_ids;
	return st;
}

static enum status do_groups(struct knobs *k, struct err *e)
{
	char prefix[64];
	enum status st = hw_rescan(k->hw, e);

	if (st != ST_OK && st != ST_PARTIAL)
		return st;
	if (k->lease[1])
		return ST_OK;
	k->n_ids = k->n_first;
	snprintf(prefix, sizeof prefix, "cgroup:%s:", k->hello->run_id);
	for (size_t i = 0; i < hw_n_devices(k->hw); i++)
		if (str_starts(hw_device(k->hw, i)->key, prefix) && !add_id(k, i))
			return err_set(e, ST_NOMEM, "out of memory");
	if (k->n_ids - k->n_first < k->hello->n_ranks)
		return err_set(e, ST_AGAIN, "%zu of %u ranks have joined their CPU groups",
			k->n_ids - k->n_first, k->hello->n_ranks);
	return take(k, 1, k->n_first, CPU_RATE, e);
}

static enum status set_one(
	struct knobs *k, size_t i, const struct knob_want *w, struct knob_outcome *o)
{
	struct lease *l = k->lease[i < k->n_first ? 0 : 1];
	struct knob_val v = {.lo = 0, .hi = w->value, .from = KV_READ};
	struct knob_set_result res = {.st = ST_UNKNOWN};
	struct err e = ERR_INIT;
	enum status st;

	o->dev = *hw_device(k->hw, k->ids[i]);
	o->knob = (enum knob)w->knob;
	st = w->leave ? lease_reset(l, k->ids[i], o->knob, &res, &e)
		      : lease_set(l, k->ids[i], o->knob, &v, &res, &e);
	o->st = st;
	o->found = knob_set_qty(o->knob, &res.found);
	o->requested = w->leave ? QTY_NONE(ST_UNKNOWN) : QTY(w->value);
	/* What cannot be read back was not enforced as far as we know. */
	o->enforced = res.enforced.from == KV_READ ? knob_set_qty(o->knob, &res.enforced)
						   : QTY_NONE(ST_UNKNOWN);
	snprintf(o->note, sizeof o->note, "%.159s", res.note[0] ? res.note : e.msg);
	if (st != ST_OK && st != ST_PARTIAL)
		err_set(&k->res.err, st, "%s", e.msg[0] ? e.msg : status_name(st));
	return st;
}

static enum status do_apply(struct knobs *k)
{
	enum status worst = ST_OK;

	for (uint32_t w = 0; w < k->point.n_knobs; w++) {
		const struct knob_want *want = &k->point.knobs[w];
		bool rank = want->knob == KNOB_CPU_RATE;

		if (want->site)
			continue;
		if (want->knob >= KNOB_COUNT)
			return err_set(&k->res.err, ST_CORRUPT, "unknown knob %u", want->knob);
		for (size_t i = rank ? k->n_first : 0; i < (rank ? k->n_ids : k->n_first); i++) {
			struct knob_outcome *o = &k->res.outcomes[k->res.n_outcomes];
			enum status st;

			if (k->res.n_outcomes == OUTCOMES_MAX)
				return err_set(&k->res.err, ST_RANGE, "too many devices");
			st = set_one(k, i, want, o);
			k->res.n_outcomes++;
			/* A limit the device clamps is a result, not a failure. */
			if (st != ST_OK && st != ST_PARTIAL)
				worst = st;
		}
	}
	return worst;
}

static enum status do_release(struct knobs *k, struct err *e)
{
	enum status worst = ST_OK;

	for (int i = 1; i >= 0; i--) {
		struct restore_report rep = {.text = STR_INIT};
		enum status st;

		if (!k->lease[i])
			continue;
		st = lease_release(k->lease[i], &rep, e);
		k->lease[i] = NULL;
		k->res.not_restored += rep.failed;
		if (rep.left_alone || rep.failed)
			snprintf(k->res.text, sizeof k->res.text, "%.470s", str_cstr(&rep.text));
		if (st != ST_OK)
			worst = st;
		restore_report_release(&rep);
	}
	return worst;
}

static void perform(struct knobs *k)
{
	struct knobs_result *r = &k->res;

	r->op = k->op;
	r->err = ERR_INIT;
	r->n_outcomes = 0;
	r->not_restored = 0;
	r->text[0] = 0;
	switch (k->op) {
	case KNOBS_OPEN:
		r->st = do_open(k, &r->err);
		break;
	case KNOBS_GROUPS:
		r->st = do_groups(k, &r->err);
		break;
	case KNOBS_APPLY:
		r->st = do_apply(k);
		break;
	case KNOBS_RELEASE:
		r->st = do_release(k, &r->err);
		break;
	}
}

static void *worker(void *arg)
{
	struct knobs *k = arg;
	uint64_t one = 1;

	pthread_mutex_lock(&k->lock);
	while (!k->quit) {
		if (!k->posted) {
			pthread_cond_wait(&k->wake, &k->lock);
			continue;
		}
		k->posted = false;
		pthread_mutex_unlock(&k->lock);
		perform(k);
		pthread_mutex_lock(&k->lock);
		k->done = true;
		if (write(k->event_fd, &one, sizeof one) < 0)
			log_debug("exec", "eventfd write failed");
	}
	k->exited = true;
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

enum status knobs_start(const struct hello *hello, struct knobs **out, struct err *e)
{
	struct knobs *k = mem_calloc(1, sizeof *k);

	*out = NULL;
	if (!k)
		return err_set(e, ST_NOMEM, "out of memory");
	k->hello = hello;
	k->cpu_lock_fd = -1;
	k->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	k->res.outcomes = mem_calloc(OUTCOMES_MAX, sizeof *k->res.outcomes);
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->wake, NULL);
	run_rec_init(&k->point.rec);
	if (!k->res.outcomes || k->event_fd < 0 || pthread_create(&k->thread, NULL, worker, k)) {
		mem_free(k->res.outcomes);
		if (k->event_fd >= 0)
			close(k->event_fd);
		mem_free(k);
		return err_set(e, ST_NOMEM, "cannot start a thread");
	}
	*out = k;
	return ST_OK;
}

void knobs_post(struct knobs *k, enum knobs_op op, const struct point_msg *p)
{
	pthread_mutex_lock(&k->lock);
	k->op = op;
	if (p) {
		/* The knobs alone: the record stays the caller's. */
		memcpy(k->point.knobs, p->knobs, sizeof k->point.knobs);
		k->point.n_knobs = p->n_knobs;
		k->point.ticket = p->ticket;
	}
	k->busy = k->posted = true;
	k->done = false;
	pthread_cond_signal(&k->wake);
	pthread_mutex_unlock(&k->lock);
}

bool knobs_idle(const struct knobs *k)
{
	return !k->busy;
}

bool knobs_take(struct knobs *k, struct knobs_result **out)
{
	uint64_t n;
	bool done;

	pthread_mutex_lock(&k->lock);
	done = k->busy && k->done;
	if (done)
		k->busy = k->done = false;
	pthread_mutex_unlock(&k->lock);
	if (!done)
		return false;
	if (read(k->event_fd, &n, sizeof n) < 0)
		log_debug("exec", "eventfd read failed");
	*out = &k->res;
	return true;
}

int knobs_fd(const struct knobs *k)
{
	return k->event_fd;
}

bool knobs_stop(struct knobs *k)
{
	bool stuck;

	if (!k)
		return true;
	pthread_mutex_lock(&k->lock);
	stuck = k->busy && !k->done;
	k->quit = true;
	pthread_cond_signal(&k->wake);
	pthread_mutex_unlock(&k->lock);
	if (stuck)
		return false;
	pthread_join(k->thread, NULL);
	control_close(k->control);
	hw_close(k->hw);
	if (k->cpu_lock_fd >= 0)
		close(k->cpu_lock_fd);
	close(k->event_fd);
	mem_free(k->ids);
	mem_free(k->res.outcomes);
	pthread_mutex_destroy(&k->lock);
	pthread_cond_destroy(&k->wake);
	mem_free(k);
	return true;
}
