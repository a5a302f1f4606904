/* job.c: CPU time, memory and I/O of the job: the processes below its root process on this host.
 *
 * A process's own numbers plus those of its children that have ended and were waited for; over the
 * living tree that is everything, without a cost in the job. What a process that lost its parent
 * used is lost, so the counters are kept from going back. Processes that a batch system starts
 * elsewhere are not below the root process and not seen.
 */
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "hw/backends.h"
#include "hw/sysfs.h"

#define BIT(ch)   (UINT64_C(1) << (ch))
#define ALL       (BIT(CH_CPU_TIME) | BIT(CH_RSS) | BIT(CH_IO_READ) | BIT(CH_IO_WRITE))
#define MAX_PROCS 65536

struct job {
	struct backend_env env;
	struct device dev;
	int64_t pid; /* whose maxima these are */
	int64_t cpu_ns, io_read, io_write;
	int64_t *pids;
	size_t cap;
	int64_t tick_ns, page;
};

struct totals {
	int64_t cpu_ns, rss, io_read, io_write;
	enum status cpu_st, io_st;
};

/* /proc/PID/stat: utime, stime, cutime, cstime are fields 14 to 17, rss (pages) is 24. */
static enum status add_stat(struct job *j, int64_t pid, struct totals *t)
{
	char path[64], buf[1024], *p;
	long long ticks = 0;
	enum status st;

	snprintf(path, sizeof(path), "proc/%lld/stat", (long long)pid);
	st = sysfs_read(j->env.root_fd, path, buf, sizeof(buf), NULL);
	if (st != ST_OK)
		return st;
	p = strrchr(buf, ')');
	for (int field = 2; p && field < 24; field++) {
		p = strchr(p + 1, ' ');
		if (p && field + 1 >= 14 && field + 1 <= 17)
			ticks += strtoll(p + 1, NULL, 10);
	}
	if (!p)
		return ST_CORRUPT;
	t->rss += strtoll(p + 1, NULL, 10) * j->page;
	t->cpu_ns += ticks * j->tick_ns;
	return ST_OK;
}

static enum status add_io(struct job *j, int64_t pid, struct totals *t)
{
	char path[64], buf[1024], *r, *w;
	enum status st;

	snprintf(path, sizeof(path), "proc/%lld/io", (long long)pid);
	st = sysfs_read(j->env.root_fd, path, buf, sizeof(buf), NULL);
	if (st != ST_OK)
		return st;
	/* bytes that really went to or came from storage */
	r = strstr(buf, "\nread_bytes: ");
	w = strstr(buf, "\nwrite_bytes: ");
	if (!r || !w)
		return ST_CORRUPT;
	t->io_read += strtoll(r + strlen("\nread_bytes: "), NULL, 10);
	t->io_write += strtoll(w + strlen("\nwrite_bytes: "), NULL, 10);
	return ST_OK;
}

static bool push(struct job *j, size_t *n, int64_t pid)
{
	void *v = j->pids;

	if (!mem_grow(&v, &j->cap, *n + 1, sizeof(*j->pids), MAX_PROCS))
		return false;
	j->pids = v;
	j->pids[(*n)++] = pid;
	return true;
}

/* The children of every thread. */
static bool push_children(struct job *j, size_t *n, int64_t pid)
{
	char path[128], buf[65536];
	struct sysfs_list l;
	bool good = true;

	snprintf(path, sizeof(path), "proc/%lld/task", (long long)pid);
	if (sysfs_list(j->env.root_fd, path, "", &l) != ST_OK)
		return true; /* it ended just now */
	for (size_t i = 0; i < l.n && good; i++) {
		snprintf(path, sizeof(path), "proc/%lld/task/%.20s/children", (long long)pid,
			l.v[i]);
		if (sysfs_read(j->env.root_fd, path, buf, sizeof(buf), NULL) != ST_OK)
			continue;
		for (char *p = buf, *end; good; p = end) {
			long long child = strtoll(p, &end, 10);

			if (end == p)
				break;
			if (child > 1)
				good = push(j, n, child);
		}
	}
	sysfs_list_release(&l);
	return good;
}

static enum status sum_tree(struct job *j, int64_t root, struct totals *t)
{
	size_t n = 0;
	enum status st;

	memset(t, 0, sizeof(*t));
	if (!push(j, &n, root))
		return ST_NOMEM;
	for (size_t i = 0; i < n; i++) {
		st = add_stat(j, j->pids[i], t);
		if (i == 0 && st != ST_OK)
			return st == ST_NOT_FOUND ? ST_LOST : st;
		if (st != ST_OK)
			continue; /* a child that has just ended */
		st = add_io(j, j->pids[i], t);
		if (st != ST_OK && st != ST_NOT_FOUND && t->io_st == ST_OK)
			t->io_st = st; /* another user's: the sum would be too small */
		if (!push_children(j, &n, j->pids[i]))
			return ST_NOMEM;
	}
	return ST_OK;
}

static void set(struct sample *s, enum status st, int64_t v, int64_t *high)
{
	if (high && st == ST_OK) {
		if (v < *high)
			v = *high;
		*high = v;
	}
	s->st = st;
	s->value = v;
}

static enum status job_read(void *self, size_t dev, uint64_t channels, struct sample *out)
{
	struct job *j = self;
	int64_t t0 = j->env.clock->now(j->env.clock), t1, pid;
	struct totals t;
	enum status st;

	(void)dev;
	samples_init(out, channels, t0, ST_UNSUPPORTED);
	if (!(channels & ALL))
		return samples_worst(out, channels);
	pid = atomic_load_explicit(j->env.job_pid, memory_order_acquire);
	if (pid != j->pid) {
		j->pid = pid;
		j->cpu_ns = j->io_read = j->io_write = 0;
	}
	memset(&t, 0, sizeof(t));
	st = pid > 0 ? sum_tree(j, pid, &t) : ST_UNKNOWN;
	set(&out[CH_CPU_TIME], st, t.cpu_ns, &j->cpu_ns);
	set(&out[CH_RSS], st, t.rss, NULL);
	set(&out[CH_IO_READ], st == ST_OK ? t.io_st : st, t.io_read, &j->io_read);
	set(&out[CH_IO_WRITE], st == ST_OK ? t.io_st : st, t.io_write, &j->io_write);
	t1 = j->env.clock->now(j->env.clock);
	for (int ch = CH_CPU_TIME; ch <= CH_IO_WRITE; ch++) {
		out[ch].t_ns = t0 + (t1 - t0) / 2;
		if (!(channels >> ch & 1))
			out[ch] = (struct sample){0, t0, ST_UNSUPPORTED};
	}
	return samples_worst(out, channels);
}

static enum status job_open(const struct backend_env *env, void **self, struct err *e)
{
	struct job *j;

	if (!env->job_pid)
		return ST_UNSUPPORTED;
	j = mem_calloc(1, sizeof(*j));
	if (!j)
		return err_set(e, ST_NOMEM, "no memory for the job's channels");
	j->env = *env;
	j->tick_ns = NS_PER_S / sysconf(_SC_CLK_TCK);
	j->page = sysconf(_SC_PAGESIZE);
	snprintf(j->dev.key, sizeof(j->dev.key), "job");
	snprintf(j->dev.name, sizeof(j->dev.name), "the job's processes on this host");
	snprintf(j->dev.model, sizeof(j->dev.model), "job");
	j->dev.kind = DEV_OTHER;
	j->dev.parent = -1;
	j->dev.channels = ALL;
	*self = j;
	return ST_OK;
}

static const struct device *job_devices(void *self, size_t *n)
{
	struct job *j = self;

	*n = 1;
	return &j->dev;
}

static void job_close(void *self)
{
	struct job *j = self;

	mem_free(j->pids);
	mem_free(j);
}

const struct backend backend_job = {
	.name = "job",
	.open = job_open,
	.devices = job_devices,
	.read = job_read,
	.close = job_close,
};
