/* marks.c: see marks.h. A slot is read in three steps: its header, the new part of the ring, the
 * header's head again. Events that the writer may have overtaken in between count as lost; the rest
 * carry their own sequence number. */
#include "measure/marks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define PREFIX          "wattlaw-marks."
#define SWEEP_AFTER_S   10
#define MARKS_MAX       4096 /* slots; a job that makes more is not training */
#define RING_AT         offsetof(struct mark_slot, ring)
#define CHUNK           256 /* events read at a time */
#define FUTURE_NS       NS_PER_S /* a mark later than now by more than this is a lie */
#define MAX_RANKS       UINT64_C(10000000)
#define HALF_BORN_POLLS 600 /* polls a slot may stay without its magic word */

struct source {
	char name[48];
	int fd;
	uint64_t next; /* index of the first event not yet handed out */
	int64_t last_event_ns;
	bool born; /* header was valid once */
	int polls;
	struct mark_rank pub;
};

struct marks {
	char dir[PATH_MAX];
	int dir_fd, energy_fd;
	struct source *src;
	size_t n, cap;
	bool full;
	char note[192];
	struct mark_event chunk[CHUNK];
};

static const char *default_parent(void)
{
	const char *const candidates[] = {
		"/dev/shm", getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};

	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++)
		if (candidates[i] && *candidates[i] && !access(candidates[i], W_OK | X_OK))
			return candidates[i];
	return "/tmp";
}

/* Directories of keepers that were killed: nobody holds their lock. A job that outlived its keeper
 * keeps its slots mapped, read by nobody, so it loses nothing. Young ones may be about to be
 * locked. */
static void sweep(const char *parent)
{
	DIR *d = opendir(parent);
	struct dirent *de;
	struct stat st;
	char path[PATH_MAX];

	while (d && (de = readdir(d))) {
		int fd, len;

		if (strncmp(de->d_name, PREFIX, strlen(PREFIX)))
			continue;
		fd = openat(dirfd(d), de->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (fd < 0)
			continue;
		len = snprintf(path, sizeof(path), "%s/%s", parent, de->d_name);
		if (!fstat(fd, &st) && st.st_uid == geteuid() &&
			time(NULL) - st.st_mtime > SWEEP_AFTER_S && len > 0 &&
			(size_t)len < sizeof(path) && !flock(fd, LOCK_EX | LOCK_NB))
			marks_remove(path);
		close(fd);
	}
	if (d)
		closedir(d);
}

static enum status make_energy_page(struct marks *m, struct err *e)
{
	struct mark_energy_page page = {MARK_MAGIC, 1, UINT64_MAX, 0};

	m->energy_fd = openat(m->dir_fd, "energy", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (m->energy_fd < 0)
		return err_errno(e, errno, "cannot make %s/energy", m->dir);
	if (pwrite(m->energy_fd, &page, sizeof(page), 0) != (ssize_t)sizeof(page))
		return err_errno(e, errno, "cannot write %s/energy", m->dir);
	return ST_OK;
}

enum status marks_open(const char *parent, struct marks **out, struct err *e)
{
	struct marks *m = mem_calloc(1, sizeof(*m));
	enum status st;
	int len;

	*out = NULL;
	if (!m)
		return err_set(e, ST_NOMEM, "out of memory for marks");
	m->dir_fd = m->energy_fd = -1;
	if (!parent)
		parent = default_parent();
	sweep(parent);
	len = snprintf(m->dir, sizeof(m->dir), "%s/" PREFIX "XXXXXX", parent);
	if (len < 0 || (size_t)len >= sizeof(m->dir)) {
		st = err_set(e, ST_RANGE, "path too long: %s", parent);
		m->dir[0] = 0;
		goto out;
	}
	if (!mkdtemp(m->dir)) {
		st = err_errno(e, errno, "cannot make a directory for marks in %s", parent);
		m->dir[0] = 0;
		goto out;
	}
	m->dir_fd = open(m->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (m->dir_fd < 0 || flock(m->dir_fd, LOCK_EX | LOCK_NB))
		st = err_errno(e, errno, "cannot open %s", m->dir);
	else
		st = make_energy_page(m, e);
out:
	if (st != ST_OK) {
		marks_close(m);
		return st;
	}
	*out = m;
	return ST_OK;
}

const char *marks_dir(const struct marks *m)
{
	return m->dir;
}

/* "slot.<pid>.<n>": the pid, or -1 when the name is not one of ours. */
static int64_t slot_pid(const char *name)
{
	char *end;
	long long pid;

	if (strncmp(name, "slot.", 5) || name[5] < '1' || name[5] > '9' || strlen(name) >= 40)
		return -1;
	errno = 0;
	pid = strtoll(name + 5, &end, 10);
	if (errno || *end != '.' || pid > INT32_MAX || end[1] < '0' || end[1] > '9')
		return -1;
	strtol(end + 1, &end, 10);
	return *end || errno ? -1 : pid;
}

void marks_remove(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *de;

	if (!d)
		return;
	while ((de = readdir(d)))
		if (!strcmp(de->d_name, "energy") || slot_pid(de->d_name) > 0)
			unlinkat(dirfd(d), de->d_name, 0);
	closedir(d);
	rmdir(dir);
}

void marks_close(struct marks *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		if (m->src[i].fd >= 0)
			close(m->src[i].fd);
	if (m->energy_fd >= 0)
		close(m->energy_fd);
	if (m->dir_fd >= 0)
		close(m->dir_fd);
	if (m->dir[0])
		marks_remove(m->dir);
	mem_free(m->src);
	mem_free(m);
}

static void drop(struct marks *m, struct source *s, const char *why)
{
	s->pub.dropped = true;
	snprintf(m->note, sizeof(m->note), "marks of process %lld ignored from here on: %s",
		(long long)s->pub.pid, why);
	log_warn("marks", "%s", m->note);
	close(s->fd);
	s->fd = -1;
}

static enum status add_slot(struct marks *m, const char *name, int64_t pid)
{
	struct source *s;
	struct stat st;
	int fd;

	for (size_t i = 0; i < m->n; i++)
		if (!strcmp(m->src[i].name, name))
			return ST_OK;
	/* Write access is for the reader's beat; without it marks are read all the same. */
	fd = openat(m->dir_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		fd = openat(m->dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return ST_OK; /* gone again, or not ours to read: no marks from it */
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return ST_OK;
	}
	if (!mem_grow((void **)&m->src, &m->cap, m->n + 1, sizeof(*m->src), MARKS_MAX)) {
		close(fd);
		return m->n >= MARKS_MAX ? ST_RANGE : ST_NOMEM;
	}
	s = &m->src[m->n++];
	*s = (struct source){.fd = fd, .pub = {.pid = pid, .rank = -1, .alive = true}};
	memcpy(s->name, name, strlen(name) + 1); /* slot_pid bounded it */
	return ST_OK;
}

static enum status scan(struct marks *m)
{
	enum status st = ST_OK;
	struct dirent *de;
	DIR *d;
	int fd = openat(m->dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return ST_IO;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return ST_IO;
	}
	while ((de = readdir(d)) && st == ST_OK) {
		int64_t pid = slot_pid(de->d_name);

		if (pid > 0)
			st = add_slot(m, de->d_name, pid);
	}
	closedir(d);
	if (st == ST_RANGE) {
		if (!m->full)
			snprintf(m->note, sizeof(m->note),
				"more than %d processes make marks: the rest is ignored",
				MARKS_MAX);
		m->full = true;
		st = ST_OK;
	}
	return st;
}

/* What is wrong with a header, or NULL. Counters may only grow. */
static const char *header_lie(const struct source *s, const struct mark_header *h, int64_t now_ns)
{
	if (h->magic != MARK_MAGIC)
		return "not a slot";
	if (h->abi != 1)
		return "made for another version of the marks";
	if (h->pid != (uint64_t)s->pub.pid)
		return "it belongs to another process";
	if (h->steps < s->pub.steps || h->samples < s->pub.samples || h->epochs < s->pub.epochs ||
		h->head < s->next)
		return "a counter went back";
	if (h->head > INT64_MAX || h->samples > INT64_MAX || h->steps > UINT64_MAX >> 8)
		return "a counter beyond any training";
	if (h->last_step_ns > (uint64_t)now_ns + FUTURE_NS ||
		h->start_ns > (uint64_t)now_ns + FUTURE_NS)
		return "a time in the future";
	return NULL;
}

static void take_header(struct source *s, const struct mark_header *h)
{
	struct mark_rank *r = &s->pub;

	s->born = true;
	r->steps = h->steps;
	r->samples = h->samples;
	r->epochs = h->epochs;
	r->first_step_ns = h->first_step_ns <= h->last_step_ns ? (int64_t)h->first_step_ns : 0;
	r->last_step_ns = (int64_t)h->last_step_ns;
	r->gradient_bytes = h->gradient_bytes;
	r->batch_per_rank = h->batch_per_rank;
	r->global_batch = h->global_batch;
	if (h->n_ranks && h->n_ranks <= MAX_RANKS && h->rank < h->n_ranks) {
		r->rank = (int)h->rank;
		r->n_ranks = (int)h->n_ranks;
	} else {
		r->rank = -1;
		r->n_ranks = 0;
	}
}

/* What is wrong with a whole event, or NULL. Its text is made safe to print. */
static const char *event_lie(struct source *s, struct mark_event *ev, int64_t now_ns)
{
	uint64_t kind = ev->kind & 0xff;

	if (kind < MARK_STEP || kind > MARK_LOSS)
		return "an unknown kind of event";
	if (ev->t_ns > (uint64_t)now_ns + FUTURE_NS)
		return "a time in the future";
	if ((int64_t)ev->t_ns < s->last_event_ns)
		return "time went back";
	s->last_event_ns = (int64_t)ev->t_ns;
	ev->text[sizeof(ev->text) - 1] = 0;
	for (char *c = ev->text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	return NULL;
}

static uint64_t read_head(const struct source *s)
{
	uint64_t head;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (pread(s->fd, &head, sizeof(head), offsetof(struct mark_header, head)) !=
		(ssize_t)sizeof(head))
		return UINT64_MAX; /* truncated: whatever was read may be torn */
	return head;
}

/* Hand out events [s->next, target). */
static const char *drain(struct marks *m, struct source *s, uint64_t target, int64_t now_ns,
	void (*fn)(void *, const struct mark_rank *, const struct mark_event *), void *arg)
{
	uint64_t head = target;

	while (s->next < target) {
		uint64_t at, n, safe, first;
		const char *why;
		size_t bytes;

		if (head - s->next > MARK_RING) {
			uint64_t to = head - MARK_RING < target ? head - MARK_RING : target;

			s->pub.lost += to - s->next;
			s->next = to;
			continue;
		}
		first = s->next;
		at = first % MARK_RING;
		n = target - first;
		if (n > CHUNK)
			n = CHUNK;
		if (n > MARK_RING - at)
			n = MARK_RING - at;
		bytes = n * sizeof(m->chunk[0]);
		if (pread(s->fd, m->chunk, bytes, (off_t)(RING_AT + at * sizeof(m->chunk[0]))) !=
			(ssize_t)bytes)
			return "the slot was cut";
		head = read_head(s);
		if (head == UINT64_MAX)
			return "the slot was cut";
		if (head < target)
			return "a counter went back";
		/* The writer may be filling event `head`, in the place of head - MARK_RING. */
		safe = head >= MARK_RING ? head - MARK_RING + 1 : 0;
		for (uint64_t i = 0; i < n; i++, s->next++) {
			if (first + i < safe || m->chunk[i].seq != first + i + 1) {
				s->pub.lost++;
				continue;
			}
			why = event_lie(s, &m->chunk[i], now_ns);
			if (why)
				return why;
			if (fn)
				fn(arg, &s->pub, &m->chunk[i]);
		}
	}
	return NULL;
}

static void beat(const struct source *s, int64_t now_ns)
{
	uint64_t word = (uint64_t)now_ns;

	/* A read-only slot stays without a beat; wl_active then says 0. */
	if (pwrite(s->fd, &word, sizeof(word), offsetof(struct mark_header, reader_beat_ns)) < 0)
		return;
}

enum status marks_poll(struct marks *m, int64_t now_ns,
	void (*fn)(void *arg, const struct mark_rank *r, const struct mark_event *ev), void *arg)
{
	enum status st = scan(m);
	bool dropped = false;

	for (size_t i = 0; i < m->n; i++) {
		struct source *s = &m->src[i];
		struct mark_header h;
		const char *why;
		ssize_t got;

		if (s->fd < 0)
			continue;
		got = pread(s->fd, &h, sizeof(h), 0);
		if (got != (ssize_t)sizeof(h) || (!s->born && !h.magic)) {
			if (s->born || ++s->polls > HALF_BORN_POLLS) {
				drop(m, s, s->born ? "the slot was cut" : "it was never finished");
				dropped = true;
			}
			continue;
		}
		why = header_lie(s, &h, now_ns);
		if (!why) {
			take_header(s, &h);
			beat(s, now_ns);
			why = drain(m, s, h.head, now_ns, fn, arg);
		}
		s->pub.alive = !kill((pid_t)s->pub.pid, 0) || errno == EPERM;
		if (why) {
			drop(m, s, why);
			dropped = true;
		}
	}
	return st != ST_OK ? st : dropped ? ST_PARTIAL : ST_OK;
}

size_t marks_n_ranks(const struct marks *m)
{
	return m->n;
}

const struct mark_rank *marks_rank(const struct marks *m, size_t i)
{
	return &m->src[i].pub;
}

const char *marks_note(const struct marks *m)
{
	return m->note;
}

void marks_publish_energy(struct marks *m, struct qty energy_uj, int64_t t_ns)
{
	uint64_t words[2] = {UINT64_MAX, (uint64_t)t_ns};

	if (energy_uj.st == ST_OK && energy_uj.v >= 0)
		words[0] = (uint64_t)energy_uj.v;
	/* A full or vanished tmpfs costs the job its energy figure, nothing else. */
	if (pwrite(m->energy_fd, words, sizeof(words),
		    offsetof(struct mark_energy_page, energy_uj)) < 0)
		return;
}
