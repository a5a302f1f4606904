/* readback.c: see readback.h. */
#include "exec/readback.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "measure/select.h"

#define LOOK_US    100000
#define VALUES_MAX 8 /* distinct values of a knob during one job; a command sets one or two */

/* A knob of a device, and how often it was seen at each value. */
struct seen {
	struct device dev; /* copy */
	enum knob knob;
	int64_t value[VALUES_MAX];
	unsigned times[VALUES_MAX];
	size_t n;
};

struct readback {
	const char *devices, *only;
	unsigned knobs;
	pthread_mutex_t lock; /* of what follows */
	bool quit;
	enum status open_st; /* of the drivers */
	struct err open_err;
	struct seen *seen;
	size_t n, cap;
};

static struct seen *find(struct readback *r, const struct device *d, enum knob k)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->seen[i].knob == k && !strcmp(r->seen[i].dev.key, d->key))
			return &r->seen[i];
	if (!mem_grow((void **)&r->seen, &r->cap, r->n + 1, sizeof(*r->seen), 4096))
		return NULL;
	r->seen[r->n] = (struct seen){.dev = *d, .knob = k};
	return &r->seen[r->n++];
}

static void count(struct seen *s, int64_t value)
{
	size_t i = 0;

	while (i < s->n && s->value[i] != value)
		i++;
	if (i == VALUES_MAX)
		return;
	if (i == s->n)
		s->n++;
	s->value[i] = value;
	s->times[i]++;
}

static void look(struct readback *r, struct hw *hw, const struct selection *sel)
{
	for (size_t i = 0; i < hw_n_devices(hw); i++)
		for (int k = 0; k < KNOB_COUNT; k++) {
			const struct device *d = hw_device(hw, i);
			struct knob_val v = {0};
			struct err e = ERR_INIT;
			struct seen *s;
			struct qty q;

			if (!sel->on[i] || !(r->knobs & d->knobs & 1u << k) ||
				hw_knob_get(hw, i, (enum knob)k, &v, &e) != ST_OK)
				continue;
			q = knob_enforced_qty((enum knob)k, &v);
			if (q.st != ST_OK)
				continue;
			pthread_mutex_lock(&r->lock);
			s = find(r, d, (enum knob)k);
			/* A read that was under way when the job ended is not counted. */
			if (s && !r->quit)
				count(s, q.v);
			pthread_mutex_unlock(&r->lock);
		}
}

static bool quits(struct readback *r)
{
	bool quit;

	pthread_mutex_lock(&r->lock);
	quit = r->quit;
	pthread_mutex_unlock(&r->lock);
	return quit;
}

static enum status open_selected(
	const struct readback *r, struct hw **hw, struct selection *sel, struct err *e)
{
	struct backend_env env;
	enum status st = hw_env_default(&env, e);

	env.flags |= BACKEND_READ_ONLY;
	if (st == ST_OK)
		st = hw_open(&env, r->only, hw, e);
	if (st == ST_OK)
		st = select_devices(*hw, r->devices, NULL, NULL, sel, e);
	return st;
}

static void *watch(void *arg)
{
	struct readback *r = arg;
	struct selection sel;
	struct hw *hw = NULL;
	struct err e = ERR_INIT;
	enum status st = open_selected(r, &hw, &sel, &e);

	pthread_mutex_lock(&r->lock);
	r->open_st = st;
	r->open_err = e;
	pthread_mutex_unlock(&r->lock);
	while (st == ST_OK && !quits(r)) {
		look(r, hw, &sel);
		usleep(LOOK_US);
	}
	return NULL;
}

enum status readback_start(
	const char *devices, const char *only, unsigned knobs, struct readback **out, struct err *e)
{
	struct readback *r = mem_calloc(1, sizeof(*r));
	pthread_t thread;

	*out = NULL;
	if (!r)
		return err_set(e, ST_NOMEM, "out of memory");
	r->devices = devices;
	r->only = only;
	r->knobs = knobs;
	r->open_st = err_set(&r->open_err, ST_TIMEOUT, "the drivers did not answer in time");
	pthread_mutex_init(&r->lock, NULL);
	if (pthread_create(&thread, NULL, watch, r)) {
		mem_free(r);
		return err_set(e, ST_NOMEM, "cannot start a thread");
	}
	(void)pthread_detach(thread);
	*out = r;
	return ST_OK;
}

void readback_end(struct readback *r)
{
	pthread_mutex_lock(&r->lock);
	r->quit = true;
	pthread_mutex_unlock(&r->lock);
}

enum status readback_tell(struct readback *r,
	void (*fn)(void *arg, const struct device *d, enum knob k, int64_t value), void *arg,
	struct err *e)
{
	enum status st;

	pthread_mutex_lock(&r->lock);
	for (size_t i = 0; i < r->n; i++) {
		const struct seen *s = &r->seen[i];
		size_t most = 0;

		if (!s->n)
			continue;
		for (size_t v = 1; v < s->n; v++)
			if (s->times[v] > s->times[most])
				most = v;
		fn(arg, &s->dev, s->knob, s->value[most]);
	}
	st = r->open_st;
	if (st != ST_OK)
		*e = r->open_err;
	pthread_mutex_unlock(&r->lock);
	/* r stays: the thread may still be inside a driver. */
	return st;
}
