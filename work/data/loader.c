/* loader.c: which samples a rank sees at which step, fetched ahead by a thread.
 *
 * Epoch e visits a permutation drawn from (seed, e); step s takes its next `batch` samples and
 * rank r of n the r-th n-th of them, so the global batch of a step is the same for any number of
 * ranks. Permutations are computed, not stored: a Feistel network over the next power of four,
 * walked until the value is in range (Black & Rogaway 2002, cycle walking).
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "data/data.h"
#include "ops/rng.h"

#define RING 9

struct loader {
	struct data *d;
	struct loader_opt o;
	int64_t n, per_epoch, step; /* step: the next to fill */
	int half_bits;
	int64_t *index;
	struct batch ring[RING];
	int slots, filled, next; /* next: slot to hand out */
	bool held; /* the slot before next is with the caller */
	bool stop, ended;
	struct fault fault;
	pthread_t thread;
	bool threaded;
	pthread_mutex_t lock;
	pthread_cond_t change;
};

static uint64_t feistel(const struct loader *l, uint64_t key, uint64_t x)
{
	uint64_t mask = ((uint64_t)1 << l->half_bits) - 1, a = x >> l->half_bits, b = x & mask;

	for (uint64_t r = 0; r < 4; r++) {
		uint64_t t = a ^ (rng_u64(key, r, b) & mask);

		a = b;
		b = t;
	}
	return a << l->half_bits | b;
}

static int64_t shuffled(const struct loader *l, uint64_t epoch, int64_t i)
{
	uint64_t key = rng_u64(l->o.seed, 0x51ff1e, epoch), x = (uint64_t)i;

	if (!l->o.shuffle)
		return i;
	do
		x = feistel(l, key, x);
	while (x >= (uint64_t)l->n);
	return (int64_t)x;
}

/* Fills b for the loader's next step. 0, 1 at the end, −1 on a fault. */
static int fill(struct loader *l, struct batch *b, struct fault *f)
{
	int64_t epoch = l->step / l->per_epoch, at = l->step % l->per_epoch * l->o.batch;
	int64_t count = l->n - at < l->o.batch ? l->n - at : l->o.batch;
	int64_t from = count * l->o.rank / l->o.size, to = count * (l->o.rank + 1) / l->o.size;

	if (l->o.eval && epoch > 0)
		return 1;
	for (int64_t i = from; i < to; i++)
		l->index[i - from] = shuffled(l, (uint64_t)epoch, at + i);
	b->n_samples = to - from;
	b->row0 = from;
	b->n_global = count;
	b->step = l->step;
	if (l->d->ops->fill(l->d, l->index, to - from, (uint64_t)epoch, l->o.eval, b, f))
		return -1;
	l->step++;
	return 0;
}

static void *run(void *arg)
{
	struct loader *l = arg;

	if (l->o.cpus)
		sched_setaffinity(0, sizeof(*l->o.cpus), l->o.cpus);
	for (int slot = 0;; slot = (slot + 1) % l->slots) {
		int rc;

		pthread_mutex_lock(&l->lock);
		while (!l->stop && l->filled + l->held >= l->slots)
			pthread_cond_wait(&l->change, &l->lock);
		if (l->stop) {
			pthread_mutex_unlock(&l->lock);
			return NULL;
		}
		pthread_mutex_unlock(&l->lock);
		rc = fill(l, &l->ring[slot], &l->fault);
		pthread_mutex_lock(&l->lock);
		if (rc)
			l->ended = true;
		else
			l->filled++;
		pthread_cond_broadcast(&l->change);
		pthread_mutex_unlock(&l->lock);
		if (rc)
			return NULL;
	}
}

struct loader *loader_open(struct data *d, const struct loader_opt *o, struct fault *f)
{
	struct loader *l = calloc(1, sizeof(*l));

	if (!l)
		goto nomem;
	l->d = d;
	l->o = *o;
	l->n = o->eval ? d->info.n_eval : d->info.n_train;
	l->step = o->first_step;
	if (o->batch > l->n && !o->eval) {
		fault_set(f,
			"the batch of %lld samples is larger than the training set of %lld (%lld "
			"more are held out)",
			(long long)o->batch, (long long)l->n, (long long)d->info.n_eval);
		free(l);
		return NULL;
	}
	/* training drops the short last batch, evaluation sees every sample once */
	l->per_epoch = o->eval ? (l->n + o->batch - 1) / o->batch : l->n / o->batch;
	if (l->per_epoch < 1)
		l->per_epoch = 1;
	while (((int64_t)1 << 2 * l->half_bits) < l->n)
		l->half_bits++;
	l->index = malloc((size_t)(o->batch + 1) * sizeof(*l->index));
	if (!l->index)
		goto nomem;
	l->slots = o->ahead > RING - 2 ? RING : o->ahead + 2;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->change, NULL);
	if (o->ahead > 0 && l->n > 0)
		l->threaded = !pthread_create(&l->thread, NULL, run, l);
	return l;
nomem:
	fault_set(f, "out of memory");
	free(l);
	return NULL;
}

int64_t loader_steps_per_epoch(const struct loader *l)
{
	return l->per_epoch;
}

struct batch *loader_next(struct loader *l, struct fault *f)
{
	struct batch *b = NULL;

	if (l->n == 0)
		return NULL;
	if (!l->threaded)
		return fill(l, &l->ring[0], f) ? NULL : &l->ring[0];
	pthread_mutex_lock(&l->lock);
	l->held = false;
	pthread_cond_broadcast(&l->change);
	while (!l->filled && !l->ended)
		pthread_cond_wait(&l->change, &l->lock);
	if (l->filled) {
		b = &l->ring[l->next];
		l->next = (l->next + 1) % l->slots;
		l->filled--;
		l->held = true;
	} else if (l->fault.set) {
		fault_set(f, "%s", l->fault.msg);
	}
	pthread_mutex_unlock(&l->lock);
	return b;
}

void loader_close(struct loader *l)
{
	if (!l)
		return;
	if (l->threaded) {
		pthread_mutex_lock(&l->lock);
		l->stop = true;
		pthread_cond_broadcast(&l->change);
		pthread_mutex_unlock(&l->lock);
		pthread_join(l->thread, NULL);
	}
	for (int i = 0; i < RING; i++)
		batch_release(&l->ring[i]);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->change);
	free(l->index);
	free(l);
}
