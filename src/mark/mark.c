/* mark.c: libwattlaw, the writer's side of record/mark_abi.h.
 *
 * Loaded into other people's training programs, so: libc only, no allocation, no thread, no
 * signal, no output, nothing at load time. The first mark looks for WATTLAW_MARKS; without it every
 * later call is a load and a branch. The slot's pages are reserved when it is made, so that a full
 * tmpfs turns marking off instead of killing the job with SIGBUS at some later store.
 */
#pragma GCC visibility push(default)
#include "wattlaw/mark.h"
#pragma GCC visibility pop

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "record/mark_abi.h"

#define BEAT_FRESH_NS UINT64_C(5000000000) /* an older beat: nobody reads any more */
#define SLOT_TRIES    256 /* slots one pid may leave by exec'ing itself */

enum { UNTRIED, TRYING, ON, OFF };

static struct {
	int state;
	struct mark_slot *slot; /* valid when ON */
	int depth; /* open phases, may exceed MARK_DEPTH */
	char phase[MARK_DEPTH][sizeof(((struct mark_event *)0)->text)];
} mark;

static struct {
	int state;
	const struct mark_energy_page *page;
} energy;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline void store(uint64_t *p, uint64_t v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

/* Read by this process alone: it is the only writer. */
static inline uint64_t mine(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

/* The child of a fork is another process: it must not write into its parent's slot. */
static void after_fork_in_child(void)
{
	if (mark.slot)
		munmap(mark.slot, MARK_SLOT_BYTES);
	mark.slot = NULL;
	mark.depth = 0;
	__atomic_store_n(&mark.state, UNTRIED, __ATOMIC_RELEASE);
	if (__atomic_load_n(&energy.state, __ATOMIC_RELAXED) == TRYING)
		__atomic_store_n(&energy.state, UNTRIED, __ATOMIC_RELEASE);
}

static const char *env_number(const char *name, long *out)
{
	const char *text = getenv(name);
	char *end;

	if (!text || !*text)
		return NULL;
	errno = 0;
	*out = strtol(text, &end, 10);
	return errno || *end || *out < 0 ? NULL : text;
}

/* The most specific launcher first: a job step of Slurm may start mpirun or torchrun. */
static void rank_from_env(struct mark_slot *s)
{
	static const char *const names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
		{"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"}, {"PMI_RANK", "PMI_SIZE"},
		{"RANK", "WORLD_SIZE"}, {"SLURM_PROCID", "SLURM_NTASKS"}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		long rank, size;

		if (!env_number(names[i][0], &rank) || !env_number(names[i][1], &size) ||
			rank >= size)
			continue;
		store(&s->h.rank, (uint64_t)rank);
		store(&s->h.n_ranks, (uint64_t)size);
		return;
	}
}

/* Reserve the whole file. Beyond RLIMIT_FSIZE the kernel would answer with a fatal SIGXFSZ. */
static bool reserve(int fd)
{
	struct rlimit lim;
	int rc = EINTR;

	if (getrlimit(RLIMIT_FSIZE, &lim) || lim.rlim_cur < MARK_SLOT_BYTES)
		return false;
	for (int i = 0; i < 100 && rc == EINTR; i++)
		rc = posix_fallocate(fd, 0, (off_t)MARK_SLOT_BYTES);
	return !rc;
}

/* A new file of our own below dir, with every page reserved. Errors leave nothing behind. */
static struct mark_slot *slot_make(const char *dir)
{
	char path[4096];
	struct mark_slot *s = MAP_FAILED;
	int fd = -1;

	for (int n = 0; n < SLOT_TRIES && fd < 0; n++) {
		int len = snprintf(path, sizeof(path), "%s/slot.%ld.%d", dir, (long)getpid(), n);

		if (len < 0 || (size_t)len >= sizeof(path))
			return NULL;
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd < 0 && errno != EEXIST)
			return NULL;
	}
	if (fd < 0)
		return NULL;
	if (reserve(fd))
		s = mmap(NULL, MARK_SLOT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (s == MAP_FAILED) {
		unlink(path);
		return NULL;
	}
	store(&s->h.abi, WL_MARK_ABI);
	store(&s->h.pid, (uint64_t)getpid());
	store(&s->h.start_ns, now_ns());
	rank_from_env(s);
	store(&s->h.magic, MARK_MAGIC); /* last: the reader believes nothing before it */
	return s;
}

/* Out of line: runs once a process. errno is the caller's. */
static __attribute__((noinline, cold)) struct mark_slot *slot_start(void)
{
	static bool registered;
	int saved = errno, want = UNTRIED;
	const char *dir;

	if (!__atomic_compare_exchange_n(
		    &mark.state, &want, TRYING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return NULL;
	dir = getenv("WATTLAW_MARKS");
	if (dir && *dir) {
		/* Without the fork handler a child would write into our slot: then no marks. */
		if (!registered)
			registered = !pthread_atfork(NULL, NULL, after_fork_in_child);
		if (registered)
			mark.slot = slot_make(dir);
	}
	__atomic_store_n(&mark.state, mark.slot ? ON : OFF, __ATOMIC_RELEASE);
	errno = saved;
	return mark.slot;
}

static inline struct mark_slot *slot_get(void)
{
	int state = __atomic_load_n(&mark.state, __ATOMIC_ACQUIRE);

	if (state == ON)
		return mark.slot;
	return state == UNTRIED ? slot_start() : NULL;
}

/* One event. seq is cleared first and written last, so a reader that meets a half-written event (or
 * one being overwritten) sees that it is not the one it expects. */
static inline void put(
	struct mark_slot *s, enum mark_kind kind, uint64_t t_ns, uint64_t value, const char *text)
{
	uint64_t i = mine(&s->h.head), words[3] = {0, 0, 0};
	struct mark_event *ev = &s->ring[i % MARK_RING];
	uint64_t *to = (uint64_t *)(void *)ev->text;

	if (text)
		memcpy(words, text, sizeof(words));
	__atomic_store_n(&ev->seq, 0, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_RELEASE);
	__atomic_store_n(&ev->t_ns, t_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&ev->kind, (uint64_t)kind | mine(&s->h.steps) << 8, __ATOMIC_RELAXED);
	__atomic_store_n(&ev->value, value, __ATOMIC_RELAXED);
	for (int w = 0; w < 3; w++)
		__atomic_store_n(&to[w], words[w], __ATOMIC_RELAXED);
	store(&ev->seq, i + 1);
	store(&s->h.head, i + 1);
}

void wl_rank(int rank, int n_ranks)
{
	struct mark_slot *s = slot_get();

	if (!s || rank < 0 || rank >= n_ranks)
		return;
	store(&s->h.rank, (uint64_t)rank);
	store(&s->h.n_ranks, (uint64_t)n_ranks);
}

void wl_step(uint64_t n_samples)
{
	struct mark_slot *s = slot_get();
	uint64_t t;

	if (!s)
		return;
	t = now_ns();
	if (!mine(&s->h.steps))
		store(&s->h.first_step_ns, t);
	store(&s->h.last_step_ns, t);
	store(&s->h.samples, mine(&s->h.samples) + n_samples);
	store(&s->h.steps, mine(&s->h.steps) + 1);
	put(s, MARK_STEP, t, n_samples, NULL);
}

void wl_epoch(void)
{
	struct mark_slot *s = slot_get();

	if (!s)
		return;
	store(&s->h.epochs, mine(&s->h.epochs) + 1);
	put(s, MARK_EPOCH, now_ns(), mine(&s->h.epochs), NULL);
}

void wl_phase_begin(const char *name)
{
	struct mark_slot *s = slot_get();
	char *mine_text;

	if (!s)
		return;
	if (mark.depth++ >= MARK_DEPTH)
		return; /* counted, so that its end is not taken for another phase's */
	mine_text = mark.phase[mark.depth - 1];
	memset(mine_text, 0, sizeof(mark.phase[0]));
	strncpy(mine_text, name ? name : "", sizeof(mark.phase[0]) - 1);
	put(s, MARK_PHASE_BEGIN, now_ns(), (uint64_t)mark.depth, mine_text);
}

void wl_phase_end(void)
{
	struct mark_slot *s = slot_get();

	if (!s || mark.depth <= 0)
		return;
	if (mark.depth-- > MARK_DEPTH)
		return;
	put(s, MARK_PHASE_END, now_ns(), (uint64_t)mark.depth + 1, mark.phase[mark.depth]);
}

void wl_loss(double value)
{
	struct mark_slot *s = slot_get();
	uint64_t bits;

	if (!s)
		return;
	memcpy(&bits, &value, sizeof(bits));
	put(s, MARK_LOSS, now_ns(), bits, NULL);
}

void wl_job(uint64_t gradient_bytes, uint64_t batch_per_rank, uint64_t global_batch)
{
	struct mark_slot *s = slot_get();

	if (!s)
		return;
	store(&s->h.gradient_bytes, gradient_bytes);
	store(&s->h.batch_per_rank, batch_per_rank);
	store(&s->h.global_batch, global_batch);
}

static __attribute__((noinline, cold)) void energy_start(void)
{
	int saved = errno, want = UNTRIED, fd = -1;
	const char *dir = getenv("WATTLAW_MARKS");
	const struct mark_energy_page *p = MAP_FAILED;
	struct stat st;
	char path[4096];
	int len;

	if (!__atomic_compare_exchange_n(
		    &energy.state, &want, TRYING, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return;
	len = dir && *dir ? snprintf(path, sizeof(path), "%s/energy", dir) : -1;
	if (len > 0 && (size_t)len < sizeof(path))
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd >= 0 && !fstat(fd, &st) && st.st_size >= (off_t)sizeof(*p))
		p = mmap(NULL, sizeof(*p), PROT_READ, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	if (p != MAP_FAILED && (mine(&p->magic) != MARK_MAGIC || mine(&p->abi) != WL_MARK_ABI)) {
		munmap((void *)(uintptr_t)p, sizeof(*p));
		p = MAP_FAILED;
	}
	energy.page = p == MAP_FAILED ? NULL : p;
	__atomic_store_n(&energy.state, energy.page ? ON : OFF, __ATOMIC_RELEASE);
	errno = saved;
}

double wl_energy_j(void)
{
	uint64_t uj;

	if (__atomic_load_n(&energy.state, __ATOMIC_ACQUIRE) == UNTRIED)
		energy_start();
	if (__atomic_load_n(&energy.state, __ATOMIC_ACQUIRE) != ON)
		return NAN;
	uj = __atomic_load_n(&energy.page->energy_uj, __ATOMIC_ACQUIRE);
	return uj == UINT64_MAX ? NAN : (double)uj / 1e6;
}

int wl_active(void)
{
	struct mark_slot *s = slot_get();
	uint64_t beat = s ? __atomic_load_n(&s->h.reader_beat_ns, __ATOMIC_ACQUIRE) : 0, now;

	if (!beat)
		return 0;
	now = now_ns();
	return beat >= now || now - beat < BEAT_FRESH_NS;
}
