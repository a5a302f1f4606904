/* sampler.c: see sampler.h. The thread shares with its owner: the ring (one producer, one
 * consumer, two indices), a handful of atomics, and two semaphores. Nothing is locked, so neither
 * side can hold up the other. */
#include "measure/sampler.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include "base/log.h"
#include "base/mem.h"

#define SLOW_EVERY   10
#define RING_MIN     16384
#define RING_SECONDS 30 /* what a keeper may sleep through at the asked rate */
#define RING_MAX     ((size_t)1 << 22)
#define GIVE_UP      5 /* reads in a row after which an unsupported channel is left alone */
#define EDGE_SHARE   10 /* reads near an edge take at most one part in so many of the time */
#define FINE_SHARE   50 /* and those of power that nothing sums up */
#define LOST_TICKS   10 /* reads in a row after which a lost device is asked only on slow ticks */

/* Cheap to read or needed for energy; all else changes slowly or costs more. */
#define BIT(ch) (UINT64_C(1) << (ch))
#define FAST_BITS                                                                                  \
	(BIT(CH_ENERGY) | BIT(CH_POWER) | BIT(CH_POWER_AVERAGE) | BIT(CH_POWER_INSTANT) |          \
		BIT(CH_POWER_MODULE) | BIT(CH_CLOCK) | BIT(CH_UTIL) | BIT(CH_THROTTLE))
#define FINE_BITS (BIT(CH_POWER) | BIT(CH_POWER_INSTANT))

struct sampled {
	size_t id;
	uint64_t fast, slow;
	int64_t energy; /* last reading */
	unsigned news; /* times it changed since the last edge; SAMPLER_EDGE_NEWS: enough */
	bool edge; /* worth reading faster there */
	bool instant; /* its power is that of a moment */
	unsigned lost; /* reads in a row */
	unsigned char unsupported[CH_COUNT];
};

struct sampler {
	struct hw *hw;
	struct clock *clock;
	int64_t period_ns, edge_ns, fine_ns;
	unsigned slow_every;
	struct sampled *dev;
	size_t n_dev;

	struct tagged_sample *ring;
	size_t mask;
	_Alignas(64) atomic_size_t head; /* written by the thread */
	_Alignas(64) atomic_size_t tail; /* written by the owner */

	_Alignas(64) atomic_int_least64_t beat_ns;
	atomic_uint_least64_t lost, missed;
	atomic_bool stop, kicked, finished;
	atomic_int owners; /* thread and owner; the last one frees */
	sem_t wake, done;
};

static void release(struct sampler *s)
{
	if (atomic_fetch_sub_explicit(&s->owners, 1, memory_order_acq_rel) != 1)
		return;
	sem_destroy(&s->wake);
	sem_destroy(&s->done);
	mem_free(s->ring);
	mem_free(s->dev);
	mem_free(s);
}

static void push(struct sampler *s, size_t id, int ch, const struct sample *v)
{
	size_t head = atomic_load_explicit(&s->head, memory_order_relaxed);
	size_t tail = atomic_load_explicit(&s->tail, memory_order_acquire);

	if (head - tail > s->mask) {
		atomic_fetch_add_explicit(&s->lost, 1, memory_order_relaxed);
		return;
	}
	s->ring[head & s->mask] = (struct tagged_sample){(int32_t)id, ch, *v};
	atomic_store_explicit(&s->head, head + 1, memory_order_release);
}

int64_t sampler_dither(uint64_t tick, int64_t period_ns)
{
	/* Multiples of the golden ratio, modulo 1: any stretch of them is spread evenly. */
	uint32_t share = (uint32_t)tick * UINT32_C(2654435769);

	return (int64_t)((double)share / 4294967296.0 * 0.5 * (double)period_ns);
}

/* What is due, in bits. */
enum { DUE_EDGE = 1, DUE_FINE = 2, DUE_FAST = 4, DUE_SLOW = 8 };

static bool at_edge(const struct sampled *d)
{
	return d->edge && d->news < SAMPLER_EDGE_NEWS && d->fast & BIT(CH_ENERGY);
}

static bool is_fine(const struct sampled *d)
{
	return d->instant && !(d->fast & BIT(CH_ENERGY)) && d->fast & FINE_BITS;
}

static uint64_t wanted(const struct sampled *d, unsigned due)
{
	uint64_t want = due & DUE_SLOW ? d->slow : 0;

	/* a lost device is asked only on slow ticks */
	if (d->lost >= LOST_TICKS && !(due & DUE_SLOW))
		return 0;
	if (due & DUE_FAST)
		return want | d->fast;
	if (due & DUE_EDGE && at_edge(d))
		want |= BIT(CH_ENERGY);
	if (due & DUE_FINE && is_fine(d))
		want |= d->fast & FINE_BITS;
	return want;
}

static void read_device(struct sampler *s, struct sampled *d, unsigned due)
{
	struct sample out[CH_COUNT];
	uint64_t want = wanted(d, due);
	bool all_lost = true;

	if (!want)
		return;
	hw_read(s->hw, d->id, want, out);
	for (uint64_t left = want; left; left &= left - 1) {
		int ch = __builtin_ctzll(left);

		all_lost &= out[ch].st == ST_LOST;
		if (out[ch].st != ST_UNSUPPORTED)
			d->unsupported[ch] = 0;
		else if (++d->unsupported[ch] >= GIVE_UP) {
			d->fast &= ~BIT(ch);
			d->slow &= ~BIT(ch);
		}
		push(s, d->id, ch, &out[ch]);
	}
	if (want & BIT(CH_ENERGY) && out[CH_ENERGY].st == ST_OK &&
		out[CH_ENERGY].value != d->energy) {
		d->energy = out[CH_ENERGY].value;
		d->news += d->news < SAMPLER_EDGE_NEWS;
	}
	d->lost = all_lost ? d->lost + (d->lost < LOST_TICKS) : 0;
}

/* Wait for the deadline or a kick. The system clock is waited for on a semaphore, so that a kick
 * ends the wait; another clock decides itself how long that takes. */
static void wait_until(struct sampler *s, int64_t t_ns)
{
	struct timespec ts = {.tv_sec = t_ns / NS_PER_S, .tv_nsec = t_ns % NS_PER_S};

	if (s->clock != clock_system()) {
		s->clock->sleep_until(s->clock, t_ns);
		return;
	}
	while (sem_clockwait(&s->wake, CLOCK_MONOTONIC, &ts) && errno == EINTR)
		;
}

static void read_all(struct sampler *s, unsigned due)
{
	/* A call that never returns keeps us here; then only the owner goes on. */
	for (size_t i = 0; i < s->n_dev; i++) {
		if (atomic_load_explicit(&s->stop, memory_order_acquire))
			break;
		read_device(s, &s->dev[i], due);
	}
}

/* Begin to read faster, if there is a counter to read. Returns when that ends. */
static int64_t edge_begin(struct sampler *s, int64_t now)
{
	for (size_t i = 0; i < s->n_dev; i++)
		s->dev[i].news = 0;
	return now + s->edge_ns;
}

static bool edge_over(const struct sampler *s)
{
	for (size_t i = 0; i < s->n_dev; i++)
		if (at_edge(&s->dev[i]))
			return false;
	return true;
}

static bool any_fine(const struct sampler *s)
{
	for (size_t i = 0; s->fine_ns && i < s->n_dev; i++)
		if (is_fine(&s->dev[i]))
			return true;
	return false;
}

/* When to read again what is read each step_ns, if that may take one part in `share` of the time.
 */
static int64_t next_after(int64_t begin, int64_t took_ns, int64_t step_ns, int64_t share)
{
	return begin + (took_ns * share > step_ns ? took_ns * share : step_ns);
}

static bool told(struct sampler *s)
{
	return atomic_load_explicit(&s->stop, memory_order_acquire) ||
	       atomic_load_explicit(&s->kicked, memory_order_acquire);
}

static void *run(void *arg)
{
	struct sampler *s = arg;
	int64_t start = s->clock->now(s->clock), deadline = start, wake = start;
	int64_t edge_end = edge_begin(s, start), edge_next = start, fine_next = start;

	/* wake is the deadline of the next tick moved by its dither; edge_next, while before
	 * edge_end, that of the next read near an edge; fine_next that of the next of power alone.
	 */
	for (uint64_t tick = 0; !atomic_load_explicit(&s->stop, memory_order_acquire);) {
		bool kicked = atomic_exchange_explicit(&s->kicked, false, memory_order_acq_rel);
		int64_t begin = s->clock->now(s->clock), next;
		unsigned due = 0;

		if (kicked)
			edge_end = edge_begin(s, begin);
		if (kicked || begin >= wake)
			due |= DUE_FAST;
		if (kicked || (begin >= wake && tick % s->slow_every == 0))
			due |= DUE_SLOW;
		if (begin >= edge_next && begin < edge_end)
			due |= DUE_EDGE;
		if (begin >= fine_next)
			due |= DUE_FINE;
		if (due) {
			int64_t now, took;

			read_all(s, due);
			now = s->clock->now(s->clock);
			took = now - begin;
			atomic_store_explicit(&s->beat_ns, now, memory_order_release);
			edge_next = next_after(begin, took, SAMPLER_EDGE_STEP_NS, EDGE_SHARE);
			if (due & (DUE_FINE | DUE_FAST))
				fine_next = any_fine(s) ? next_after(begin, took, s->fine_ns,
								  FINE_SHARE)
							: INT64_MAX;
			if (edge_over(s))
				edge_end = now;
			if (now >= wake) {
				/* Deadlines stay multiples of the period; those we slept through
				 * are skipped, not made up for in a burst. */
				int64_t periods = (now - deadline) / s->period_ns + 1;

				atomic_fetch_add_explicit(
					&s->missed, (uint64_t)(periods - 1), memory_order_relaxed);
				deadline += periods * s->period_ns;
				wake = deadline + sampler_dither(++tick, s->period_ns);
			}
		}
		next = fine_next < wake ? fine_next : wake;
		if (edge_next < edge_end && edge_next < next)
			next = edge_next;
		if (!told(s))
			wait_until(s, next);
	}
	atomic_store_explicit(&s->finished, true, memory_order_release);
	sem_post(&s->done);
	release(s);
	return NULL;
}

static enum status ring_make(struct sampler *s)
{
	double per_tick = 0, want;
	size_t n = RING_MIN;

	for (size_t i = 0; i < s->n_dev; i++) {
		per_tick += __builtin_popcountll(s->dev[i].fast) +
			    __builtin_popcountll(s->dev[i].slow) / (double)s->slow_every;
		if (s->fine_ns && is_fine(&s->dev[i]))
			per_tick += __builtin_popcountll(s->dev[i].fast & FINE_BITS) *
				    (double)s->period_ns / (double)s->fine_ns;
	}
	want = per_tick * RING_SECONDS * (double)NS_PER_S / (double)s->period_ns;
	while ((double)n < want && n < RING_MAX)
		n *= 2;
	s->ring = mem_calloc(n, sizeof(*s->ring));
	s->mask = n - 1;
	if (!s->ring)
		return ST_NOMEM;
	/* Touch it now: a page fault in every third tick costs more than the tick's own work. */
	for (size_t i = 0; i < n; i += 64)
		((volatile struct tagged_sample *)s->ring)[i].device = -1;
	return ST_OK;
}

static enum status devices_make(struct sampler *s, const struct sampler_config *cfg)
{
	s->dev = mem_calloc(cfg->n ? cfg->n : 1, sizeof(*s->dev));
	if (!s->dev)
		return ST_NOMEM;
	for (size_t id = cfg->first; id < cfg->first + cfg->n; id++) {
		const struct device *d = hw_device(s->hw, id);
		uint64_t want = d->channels & (cfg->channels ? cfg->channels : UINT64_MAX);

		if ((cfg->selected && !cfg->selected[id]) || !want)
			continue;
		s->dev[s->n_dev] = (struct sampled){
			.id = id, .fast = want & FAST_BITS, .slow = want & ~FAST_BITS};
		/* A counter of a millisecond needs no such care. */
		s->dev[s->n_dev].edge = !d->refresh_ns || d->refresh_ns >= SAMPLER_EDGE_STEP_NS;
		s->dev[s->n_dev++].instant = d->power_kind == POWER_KIND_INSTANT;
	}
	return ST_OK;
}

/* Started with every signal blocked: signals are the owner's. */
static int thread_start(struct sampler *s)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	int rc = pthread_attr_init(&attr);

	if (rc)
		return rc;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&thread, &attr, run, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return rc;
}

enum status sampler_start(
	struct hw *hw, const struct sampler_config *cfg, struct sampler **out, struct err *e)
{
	struct sampler *s = NULL;
	enum status st;
	int rc;

	*out = NULL;
	if (cfg->period_ns <= 0)
		return err_set(e, ST_RANGE, "the sampling period must be positive");
	if (cfg->first + cfg->n < cfg->first || cfg->first + cfg->n > hw_n_devices(hw))
		return err_set(e, ST_RANGE, "devices %zu to %zu of %zu", cfg->first,
			cfg->first + cfg->n, hw_n_devices(hw));
	s = mem_calloc(1, sizeof(*s));
	if (!s)
		return err_set(e, ST_NOMEM, "out of memory for the sampler");
	s->hw = hw;
	s->clock = cfg->clock ? cfg->clock : clock_system();
	s->period_ns = cfg->period_ns;
	s->edge_ns = cfg->edge_ns;
	s->fine_ns = cfg->fine_ns < cfg->period_ns ? cfg->fine_ns : 0;
	s->slow_every = cfg->slow_every ? cfg->slow_every : SLOW_EVERY;
	atomic_init(&s->owners, 1);
	sem_init(&s->wake, 0, 0);
	sem_init(&s->done, 0, 0);
	st = devices_make(s, cfg);
	if (st == ST_OK && !s->n_dev) {
		st = err_set(e, ST_NOT_FOUND, "no device to sample");
		goto out;
	}
	if (st == ST_OK)
		st = ring_make(s);
	if (st != ST_OK) {
		err_set(e, st, "out of memory for the sampler of %zu devices", cfg->n);
		goto out;
	}
	atomic_store(&s->beat_ns, s->clock->now(s->clock));
	atomic_store(&s->owners, 2);
	rc = thread_start(s);
	if (rc) {
		atomic_store(&s->owners, 1);
		st = err_errno(e, rc, "cannot start the sampler");
	}
out:
	if (st != ST_OK) {
		release(s);
		return st;
	}
	*out = s;
	return ST_OK;
}

size_t sampler_drain(struct sampler *s, struct tagged_sample *out, size_t n)
{
	size_t tail = atomic_load_explicit(&s->tail, memory_order_relaxed);
	size_t have = atomic_load_explicit(&s->head, memory_order_acquire) - tail;

	if (n > have)
		n = have;
	for (size_t i = 0; i < n; i++)
		out[i] = s->ring[(tail + i) & s->mask];
	atomic_store_explicit(&s->tail, tail + n, memory_order_release);
	return n;
}

int64_t sampler_beat_ns(const struct sampler *s)
{
	return atomic_load_explicit(&s->beat_ns, memory_order_acquire);
}

uint64_t sampler_lost(const struct sampler *s)
{
	return atomic_load_explicit(&s->lost, memory_order_relaxed);
}

uint64_t sampler_missed(const struct sampler *s)
{
	return atomic_load_explicit(&s->missed, memory_order_relaxed);
}

void sampler_kick(struct sampler *s)
{
	atomic_store_explicit(&s->kicked, true, memory_order_release);
	sem_post(&s->wake);
}

enum status sampler_stop(struct sampler *s, int64_t timeout_ns)
{
	struct timespec ts;
	int64_t t;
	int rc;

	if (!s)
		return ST_OK;
	t = clock_system()->now(clock_system()) + timeout_ns;
	ts = (struct timespec){.tv_sec = t / NS_PER_S, .tv_nsec = t % NS_PER_S};
	atomic_store_explicit(&s->stop, true, memory_order_release);
	sem_post(&s->wake);
	while ((rc = sem_clockwait(&s->done, CLOCK_MONOTONIC, &ts)) && errno == EINTR)
		;
	/* The semaphore orders this already; the thread sanitizer does not know sem_clockwait. */
	if (!rc && !atomic_load_explicit(&s->finished, memory_order_acquire))
		rc = ETIMEDOUT;
	release(s);
	return rc ? ST_TIMEOUT : ST_OK;
}
