/* world_map.c: the world in a file shared by processes that may be killed at any instant. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "sim/world.h"

#define WORLD_MAGIC UINT64_C(0x3130444c524f5757) /* "WWORLD01" */
/* Owner records are bytes of the file far beyond its data. */
#define OWNER_BASE ((off_t)1 << 40)
#define FRESH_NS   INT64_C(200000) /* a copy this young is as good as now */
#define REAP_NS    INT64_C(20000000) /* how often dead owners are looked for */

struct world_file {
	uint64_t magic, size;
	int64_t start_ns;
	pthread_mutex_t mutex;
	_Atomic uint64_t gen; /* copy gen & 1 is current */
	_Atomic uint32_t calls[CALL_COUNT];
	struct scenario scn;
	struct world copy[2];
};

struct world_map {
	struct world_file *f;
	int fd;
	bool writable;
	size_t used; /* bytes of a struct world that mean something */
	pthread_mutex_t local;
	uint64_t gen; /* of the private copy; UINT64_MAX = none */
	int64_t reaped_ns;
	struct world mine;
};

static int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static size_t used_size(const struct scenario *s)
{
	return offsetof(struct world, dev) + (size_t)s->n_gpus * sizeof(struct sim_dev);
}

enum status world_create(const char *path, const struct scenario *s, struct err *e)
{
	struct world_file *f = MAP_FAILED;
	pthread_mutexattr_t a;
	enum status st = ST_OK;
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_errno(e, errno, "cannot create '%s'", path);
	/* Jobs of other users see the devices too; the directory decides who gets here. */
	if (fchmod(fd, 0666) || ftruncate(fd, sizeof(*f)))
		st = err_errno(e, errno, "cannot size '%s'", path);
	if (!st)
		f = mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!st && f == MAP_FAILED)
		st = err_errno(e, errno, "cannot map '%s'", path);
	if (!st) {
		f->size = sizeof(*f);
		f->start_ns = now_ns();
		f->scn = *s;
		world_init(&f->copy[0], s, f->start_ns);
		pthread_mutexattr_init(&a);
		pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
		pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
		pthread_mutex_init(&f->mutex, &a);
		pthread_mutexattr_destroy(&a);
		atomic_thread_fence(memory_order_seq_cst);
		f->magic = WORLD_MAGIC;
	} else {
		unlink(path);
	}
	if (f != MAP_FAILED)
		munmap(f, sizeof(*f));
	close(fd);
	return st;
}

enum status world_open(const char *path, struct world_map **out, struct err *e)
{
	struct world_map *m = mem_calloc(1, sizeof(*m));
	struct stat sb;
	enum status st = ST_OK;

	*out = NULL;
	if (!m)
		return err_set(e, ST_NOMEM, "out of memory");
	m->fd = open(path, O_RDWR | O_CLOEXEC);
	if (m->fd < 0) {
		st = err_errno(e, errno, "cannot open the simulated devices '%s'", path);
		mem_free(m);
		return st;
	}
	if (fstat(m->fd, &sb) || !S_ISREG(sb.st_mode) || sb.st_size != sizeof(*m->f)) {
		st = err_set(e, ST_INVALID, "'%s' is no state of simulated devices", path);
		goto out;
	}
	m->f = mmap(NULL, sizeof(*m->f), PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (m->f == MAP_FAILED) {
		m->f = NULL;
		st = err_errno(e, errno, "cannot map '%s'", path);
		goto out;
	}
	if (m->f->magic != WORLD_MAGIC || m->f->size != sizeof(*m->f) || m->f->scn.n_gpus < 0 ||
		m->f->scn.n_gpus > SIM_GPUS) {
		st = err_set(e, ST_INVALID, "'%s' was made by another version", path);
		goto out;
	}
	m->used = used_size(&m->f->scn);
	m->gen = UINT64_MAX;
	pthread_mutex_init(&m->local, NULL);
out:
	if (st) {
		if (m->f)
			munmap(m->f, sizeof(*m->f));
		close(m->fd);
		mem_free(m);
		return st;
	}
	*out = m;
	return ST_OK;
}

void world_close(struct world_map *m)
{
	if (!m)
		return;
	munmap(m->f, sizeof(*m->f));
	close(m->fd);
	pthread_mutex_destroy(&m->local);
	mem_free(m);
}

const struct scenario *world_scenario(const struct world_map *m)
{
	return &m->f->scn;
}

int64_t world_start_ns(const struct world_map *m)
{
	return m->f->start_ns;
}

/* Take the current copy. It is whole when no writer flipped while it was read: the next but one
 * writer is the first to touch it. */
static void take_copy(struct world_map *m)
{
	for (;;) {
		uint64_t gen = atomic_load_explicit(&m->f->gen, memory_order_acquire);

		memcpy(&m->mine, &m->f->copy[gen & 1], m->used);
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&m->f->gen, memory_order_relaxed) == gen) {
			m->gen = gen;
			return;
		}
	}
}

/* Is the owner record still held by somebody? */
static bool owner_alive(struct world_map *m, int slot)
{
	struct flock fl = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = OWNER_BASE + slot, .l_len = 1};

	return fcntl(m->fd, F_OFD_GETLK, &fl) != 0 || fl.l_type != F_UNLCK;
}

static bool job_dead(struct world_map *m, const struct sim_job *j)
{
	for (int r = 0; j->used && r < j->n_ranks; r++)
		if (j->pid[r] && !owner_alive(m, j->slot[r]) && j->pid[r] != getpid())
			return true;
	return false;
}

/* Free the devices of jobs whose process is gone. */
static void reap(struct world_map *m, int64_t now)
{
	struct world *w;
	bool dead = false;

	if (now - m->reaped_ns < REAP_NS)
		return;
	m->reaped_ns = now;
	for (int i = 0; i < WORLD_JOBS; i++)
		dead = dead || job_dead(m, &m->mine.job[i]);
	if (!dead || world_lock(m, &w, NULL))
		return;
	for (int i = 0; i < WORLD_JOBS; i++)
		if (job_dead(m, &w->job[i]))
			world_drop_job(w, i);
	world_commit(m);
}

static void refresh(struct world_map *m, int64_t now)
{
	if (m->gen != atomic_load_explicit(&m->f->gen, memory_order_acquire))
		take_copy(m);
	if (now - m->mine.t_ns >= FRESH_NS)
		world_advance(&m->mine, &m->f->scn, m->f->start_ns, now);
}

const struct world *world_begin(struct world_map *m)
{
	int64_t now = now_ns();

	pthread_mutex_lock(&m->local);
	refresh(m, now);
	reap(m, now);
	refresh(m, now);
	return &m->mine;
}

void world_end(struct world_map *m)
{
	pthread_mutex_unlock(&m->local);
}

enum status world_lock(struct world_map *m, struct world **w, struct err *e)
{
	struct timespec until;
	uint64_t gen;
	int rc;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 5;
	rc = pthread_mutex_timedlock(&m->f->mutex, &until);
	if (rc == EOWNERDEAD) {
		/* The dead writer had not flipped: the current copy is whole. */
		pthread_mutex_consistent(&m->f->mutex);
		rc = 0;
	}
	if (rc)
		return err_set(e, rc == ETIMEDOUT ? ST_BUSY : ST_IO,
			"the simulated devices are held by a writer: %s", strerror(rc));
	gen = atomic_load_explicit(&m->f->gen, memory_order_relaxed);
	*w = &m->f->copy[(gen + 1) & 1];
	memcpy(*w, &m->f->copy[gen & 1], m->used);
	world_advance(*w, &m->f->scn, m->f->start_ns, now_ns());
	return ST_OK;
}

void world_commit(struct world_map *m)
{
	atomic_fetch_add_explicit(&m->f->gen, 1, memory_order_release);
	pthread_mutex_unlock(&m->f->mutex);
}

void world_abort(struct world_map *m)
{
	pthread_mutex_unlock(&m->f->mutex);
}

enum status world_own(struct world_map *m, int slot, struct err *e)
{
	struct flock fl = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = OWNER_BASE + slot, .l_len = 1};

	if (fcntl(m->fd, F_OFD_SETLK, &fl))
		return err_errno(e, errno, "cannot tie the job to its process");
	return ST_OK;
}

uint32_t world_count_call(struct world_map *m, int call)
{
	return atomic_fetch_add_explicit(&m->f->calls[call], 1, memory_order_relaxed) + 1;
}

uint32_t world_calls(const struct world_map *m, int call)
{
	return atomic_load_explicit(&m->f->calls[call], memory_order_relaxed);
}
