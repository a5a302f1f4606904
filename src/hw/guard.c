/* guard.c: a call that may never return, with a deadline. */
#include "hw/guard.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"

struct guard {
	pthread_mutex_t lock;
	pthread_cond_t done_cond;
	bool done, abandoned;
	void (*fn)(void *arg);
	void (*free_fn)(void *arg);
	void *arg;
};

static void guard_free(struct guard *g)
{
	pthread_cond_destroy(&g->done_cond);
	pthread_mutex_destroy(&g->lock);
	mem_free(g);
}

static void *run(void *p)
{
	struct guard *g = p;
	bool abandoned;

	g->fn(g->arg);
	pthread_mutex_lock(&g->lock);
	g->done = true;
	abandoned = g->abandoned;
	pthread_cond_signal(&g->done_cond);
	pthread_mutex_unlock(&g->lock);
	/* Not abandoned: the caller joins this thread and frees g. */
	if (abandoned) {
		g->free_fn(g->arg);
		guard_free(g);
	}
	return NULL;
}

static struct guard *guard_new(void (*fn)(void *), void *arg, void (*free_fn)(void *))
{
	struct guard *g = mem_calloc(1, sizeof(*g));
	pthread_condattr_t attr;

	if (!g)
		return NULL;
	g->fn = fn;
	g->arg = arg;
	g->free_fn = free_fn;
	pthread_mutex_init(&g->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&g->done_cond, &attr);
	pthread_condattr_destroy(&attr);
	return g;
}

enum status guard_call(
	void (*fn)(void *arg), void *arg, void (*free_fn)(void *arg), int64_t timeout_ns)
{
	struct guard *g = guard_new(fn, arg, free_fn);
	struct timespec until;
	pthread_t thread;
	bool late = false;

	if (!g)
		return ST_NOMEM;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += timeout_ns / NS_PER_S;
	until.tv_nsec += timeout_ns % NS_PER_S;
	if (until.tv_nsec >= NS_PER_S) {
		until.tv_nsec -= NS_PER_S;
		until.tv_sec++;
	}
	if (pthread_create(&thread, NULL, run, g)) {
		guard_free(g);
		return ST_NOMEM;
	}
	pthread_mutex_lock(&g->lock);
	while (!g->done && !late)
		late = pthread_cond_timedwait(&g->done_cond, &g->lock, &until) == ETIMEDOUT;
	g->abandoned = late = !g->done;
	pthread_mutex_unlock(&g->lock);
	if (late) {
		pthread_detach(thread);
		return ST_TIMEOUT;
	}
	pthread_join(thread, NULL);
	guard_free(g);
	return ST_OK;
}
