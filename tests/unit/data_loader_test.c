/* The loader: which samples a rank sees, the thread that fetches them, and how it ends. */
#include <stdatomic.h>
#include <unistd.h>
#include "data/data.h"
#include "tap.h"

#define N 103

/* A source whose samples are their numbers; a fill may be slow, or fail at a sample. */
struct probe {
	struct data d;
	atomic_int fills;
	int64_t fail_at; /* −1: never */
	unsigned slow_us;
};

static int fill(struct data *d, const int64_t *index, int64_t n, uint64_t epoch, bool eval,
	struct batch *b, struct fault *f)
{
	struct probe *p = d->state;
	int32_t *v = batch_array(b, "id", DT_I32, 1, &n);

	(void)epoch;
	(void)eval;
	if (p->slow_us)
		usleep(p->slow_us);
	atomic_fetch_add(&p->fills, 1);
	for (int64_t i = 0; i < n; i++) {
		if (index[i] == p->fail_at)
			return fault_set(f, "sample %lld cannot be read", (long long)index[i]);
		v[i] = (int32_t)index[i];
	}
	return 0;
}

static void probe_init(struct probe *p)
{
	static const struct data_ops ops = {"probe", fill, NULL};

	*p = (struct probe){.fail_at = -1};
	p->d.ops = &ops;
	p->d.info = (struct data_info){.n_train = N, .n_eval = 10};
	p->d.state = p;
}

static struct loader *open_as(
	struct probe *p, int rank, int size, int64_t first, int ahead, struct fault *f)
{
	struct loader_opt o = {.batch = 12,
		.rank = rank,
		.size = size,
		.seed = 5,
		.first_step = first,
		.shuffle = true,
		.ahead = ahead};

	return loader_open(&p->d, &o, f);
}

/* Ids of `steps` batches into out; returns how many ids. consumer_us: how slow the user is. */
static int64_t ids(struct probe *p, int rank, int size, int64_t first, int ahead, int steps,
	unsigned consumer_us, int32_t *out)
{
	struct fault f = {0};
	struct loader *l = open_as(p, rank, size, first, ahead, &f);
	int64_t n = 0;

	for (int s = 0; l && s < steps; s++) {
		struct batch *b = loader_next(l, &f);

		if (!b || b->step != first + s)
			break;
		if (consumer_us)
			usleep(consumer_us);
		memcpy(out + n, batch_find(b, "id")->data, (size_t)b->n_samples * sizeof(*out));
		n += b->n_samples;
	}
	loader_close(l);
	return n;
}

static void order_is_kept(void)
{
	static int32_t plain[12 * 20], other[12 * 20];
	struct probe p;

	probe_init(&p);
	is_int(ids(&p, 0, 1, 0, 0, 20, 0, plain), 240, "twenty batches of twelve without a thread");
	for (int ahead = 1; ahead <= 8; ahead *= 2) {
		memset(other, 0xff, sizeof(other));
		ids(&p, 0, 1, 0, ahead, 20, 0, other);
		ok(!memcmp(plain, other, sizeof(plain)),
			"%d ahead: the same samples in the same order", ahead);
	}
	p.slow_us = 300;
	ids(&p, 0, 1, 0, 2, 20, 0, other);
	ok(!memcmp(plain, other, sizeof(plain)), "a slow source changes nothing");
	p.slow_us = 0;
	ids(&p, 0, 1, 0, 2, 20, 300, other);
	ok(!memcmp(plain, other, sizeof(plain)),
		"nor does a slow user: a batch stays valid in use");
	ids(&p, 0, 1, 13, 2, 7, 0, other);
	ok(!memcmp(plain + 13 * 12, other, 7 * 12 * sizeof(*other)),
		"a loader that begins at step 13 goes on as the first did");
}

static void ranks_share(void)
{
	static int32_t whole[12 * 16], part[12 * 16];
	struct probe p;
	int seen[N] = {0}, wrong = 0;

	probe_init(&p);
	ids(&p, 0, 1, 0, 0, 8, 0, whole);
	for (int r = 0; r < 3; r++) {
		is_int(ids(&p, r, 3, 0, 2, 8, 0, part), 32,
			"a third of each batch for each of 3 ranks");
		for (int i = 0; i < 32; i++) {
			seen[part[i]]++;
			wrong += whole[i / 4 * 12 + r * 4 + i % 4] != part[i];
		}
	}
	is_int(wrong, 0, "together the ranks see the batches of one");
	for (int i = 0; i < N; i++)
		wrong += seen[i] > 1;
	is_int(wrong, 0, "and within an epoch no sample twice");
}

static void epochs_differ(void)
{
	static int32_t v[12 * 16];
	struct probe p;
	int64_t again = 0;

	probe_init(&p);
	ids(&p, 0, 1, 0, 2, 16, 0, v); /* 8 steps an epoch */
	for (int i = 0; i < 96; i++)
		again += v[i] == v[96 + i];
	ok(again < 12, "the next epoch has another order");
}

static void faults_arrive(void)
{
	struct fault f = {0};
	struct loader *l;
	struct probe p;
	int n = 0;

	probe_init(&p);
	p.fail_at = 50;
	l = open_as(&p, 0, 1, 0, 2, &f);
	while (loader_next(l, &f))
		n++;
	ok(n < 9, "the batch with the bad sample does not come");
	is_str(f.msg, "sample 50 cannot be read", "its fault does");
	f = (struct fault){0};
	ok(!loader_next(l, &f) && f.set, "asking again gives the fault again");
	loader_close(l);
}

static void ends_at_any_time(void)
{
	struct fault f = {0};
	struct probe p;

	probe_init(&p);
	p.slow_us = 2000;
	for (int i = 0; i < 10; i++) {
		struct loader *l = open_as(&p, 0, 1, 0, 2, &f);

		for (int k = 0; k < i % 3; k++)
			loader_next(l, &f);
		loader_close(l);
	}
	ok(!f.set, "closed while the thread reads, waits or begins");
	p.slow_us = 0;
	atomic_store(&p.fills, 0);
	struct loader *l = open_as(&p, 0, 1, 0, 2, &f);

	for (int i = 0; i < 200 && atomic_load(&p.fills) < 4; i++)
		usleep(1000);
	usleep(20000);
	is_int(atomic_load(&p.fills), 4, "the thread stops when its buffers are full");
	loader_close(l);
}

static void evaluates_once(void)
{
	struct loader_opt o = {.batch = 4, .size = 1, .eval = true, .ahead = 2};
	struct fault f = {0};
	struct batch *b;
	struct loader *l;
	struct probe p;
	int64_t n = 0;

	probe_init(&p);
	l = loader_open(&p.d, &o, &f);
	while ((b = loader_next(l, &f)))
		for (int64_t i = 0; i < b->n_samples; i++, n++)
			if (((int32_t *)batch_find(b, "id")->data)[i] != n)
				n = -1000;
	is_int(n, 10, "evaluation sees each held-out sample once, in order, the last batch short");
	ok(!f.set, "and its end is no fault");
	loader_close(l);
}

static void too_large(void)
{
	struct loader_opt o = {.batch = N + 1, .size = 1};
	struct fault f = {0};
	struct probe p;

	probe_init(&p);
	ok(!loader_open(&p.d, &o, &f), "a batch larger than the set is refused");
	has(f.msg, "the batch of 104 samples is larger than the training set of 103",
		"with both sizes");
}

int main(void)
{
	order_is_kept();
	ranks_share();
	epochs_differ();
	faults_arrive();
	ends_at_any_time();
	evaluates_once();
	too_large();
	return tap_done();
}
