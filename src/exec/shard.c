/* shard.c: the append-only file of CRC-framed records a keeper writes. See shard.h.
 *
 * Frame: magic, type, length, CRC32C over type, length and payload; all 32-bit little endian.
 */
#include "exec/shard.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/mem.h"

#define SHARD_MAGIC 0x48534c57u /* "WLSH" */
#define FRAME_HEAD  16
#define FRAME_MAX   ((size_t)256 << 20)
#define FLUSH_BYTES ((size_t)256 << 10)
#define FLUSH_NS    NS_PER_S
#define PATH_SIZE   4096

struct shard {
	int fd;
	struct str buf;
	off_t whole; /* file length up to the last frame written whole */
	int64_t flushed_ns;
	uint64_t dropped;
	int failed_errno; /* first write error; later frames are dropped */
	bool told;
	char tmp[PATH_SIZE], path[PATH_SIZE];
};

uint32_t crc32c(uint32_t crc, const void *p, size_t n)
{
	static uint32_t table[256];
	static _Atomic int ready;
	const unsigned char *b = p;

	/* Two threads may both fill it: they write the same values. */
	if (!ready) {
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = i;

			for (int k = 0; k < 8; k++)
				c = c & 1 ? 0x82f63b78u ^ (c >> 1) : c >> 1;
			__atomic_store_n(&table[i], c, __ATOMIC_RELAXED);
		}
		ready = 1;
	}
	crc = ~crc;
	while (n--)
		crc = table[(crc ^ *b++) & 0xff] ^ (crc >> 8);
	return ~crc;
}

enum status shard_create(
	const char *dir, const char *run_id, const char *host, struct shard **out, struct err *e)
{
	struct shard *s;
	int n;

	*out = NULL;
	if (mkdir(dir, 0777) && errno != EEXIST)
		return err_errno(e, errno, "cannot make %s", dir);
	s = mem_calloc(1, sizeof *s);
	if (!s)
		return err_set(e, ST_NOMEM, "out of memory");
	s->fd = -1;
	n = snprintf(
		s->path, sizeof s->path, "%s/%s.%s.%ld.shard", dir, run_id, host, (long)getpid());
	if (n < 0 || (size_t)n + 5 > sizeof s->path) {
		mem_free(s);
		return err_set(e, ST_RANGE, "%s: path too long", dir);
	}
	snprintf(s->tmp, sizeof s->tmp, "%.*s.tmp", (int)sizeof s->tmp - 5, s->path);
	s->fd = open(s->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0644);
	if (s->fd < 0) {
		enum status st = err_errno(e, errno, "cannot create %s", s->tmp);

		mem_free(s);
		return st;
	}
	/* Held while the writer lives: a merger leaves a locked shard alone. */
	(void)flock(s->fd, LOCK_EX | LOCK_NB);
	*out = s;
	return ST_OK;
}

const char *shard_path(const struct shard *s)
{
	return s->path;
}

uint64_t shard_dropped(const struct shard *s)
{
	return s->dropped;
}

static enum status shard_flush(struct shard *s)
{
	size_t done = 0;

	if (s->failed_errno || !s->buf.len)
		goto out;
	while (done < s->buf.len) {
		ssize_t n = -1;

		if (fault_point("shard"))
			errno = ENOSPC;
		else
			n = write(s->fd, s->buf.p + done, s->buf.len - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			s->failed_errno = n ? errno : ENOSPC;
			/* Leave whole frames only; if even this fails the reader cuts. */
			if (ftruncate(s->fd, s->whole))
				break;
			break;
		}
		done += (size_t)n;
	}
	if (!s->failed_errno)
		s->whole += (off_t)s->buf.len;
	str_clear(&s->buf);
out:
	if (s->failed_errno && !s->told) {
		s->told = true;
		return ST_IO;
	}
	return ST_OK;
}

enum status shard_append(struct shard *s, enum shard_type type, const void *payload, size_t n)
{
	uint32_t head[4];
	size_t before = s->buf.len;

	if (n > FRAME_MAX)
		return ST_RANGE;
	if (s->failed_errno) {
		s->dropped++;
		return shard_flush(s);
	}
	head[0] = htole32(SHARD_MAGIC);
	head[1] = htole32((uint32_t)type);
	head[2] = htole32((uint32_t)n);
	head[3] = htole32(crc32c(crc32c(0, head + 1, 8), payload, n));
	str_addn(&s->buf, (const char *)head, sizeof head);
	if (n)
		str_addn(&s->buf, payload, n);
	if (s->buf.failed) {
		/* Out of memory: this frame is dropped whole, the ones before it stay. */
		s->buf.len = before;
		s->buf.failed = false;
		s->dropped++;
		return ST_NOMEM;
	}
	return s->buf.len >= FLUSH_BYTES ? shard_flush(s) : ST_OK;
}

enum status shard_tick(struct shard *s, int64_t now_ns)
{
	if (now_ns - s->flushed_ns < FLUSH_NS)
		return ST_OK;
	s->flushed_ns = now_ns;
	return shard_flush(s);
}

enum status shard_close(struct shard *s, struct err *e)
{
	enum status st = ST_OK;

	if (!s)
		return ST_OK;
	(void)shard_flush(s);
	if (s->failed_errno)
		st = err_errno(e, s->failed_errno, "%s: %llu frames dropped", s->tmp,
			(unsigned long long)s->dropped);
	else if (s->dropped)
		st = err_set(e, ST_PARTIAL, "%s: %llu frames dropped", s->tmp,
			(unsigned long long)s->dropped);
	/* Whole or not, it is finished: a merger may take it. */
	if (rename(s->tmp, s->path) && st == ST_OK)
		st = err_errno(e, errno, "cannot rename %s", s->tmp);
	close(s->fd);
	str_release(&s->buf);
	mem_free(s);
	return st;
}

struct shard_reader {
	int fd;
	off_t at, size;
	void *buf;
	size_t cap;
	bool ended;
};

enum status shard_open(const char *path, struct shard_reader **out, struct err *e)
{
	struct shard_reader *r;
	struct stat sb;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*out = NULL;
	if (fd < 0)
		return err_errno(e, errno, "cannot open %s", path);
	if (fstat(fd, &sb) || !S_ISREG(sb.st_mode)) {
		close(fd);
		return err_set(e, ST_INVALID, "%s is not a shard", path);
	}
	r = mem_calloc(1, sizeof *r);
	if (!r) {
		close(fd);
		return err_set(e, ST_NOMEM, "out of memory");
	}
	r->fd = fd;
	r->size = sb.st_size;
	*out = r;
	return ST_OK;
}

static bool read_at(int fd, void *p, size_t n, off_t at)
{
	size_t done = 0;

	while (done < n) {
		ssize_t k = pread(fd, (char *)p + done, n - done, at + (off_t)done);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		done += (size_t)k;
	}
	return true;
}

enum status shard_next(struct shard_reader *r, struct shard_frame *f)
{
	uint32_t head[4];
	size_t n;

	if (r->ended)
		return ST_CORRUPT;
	if (r->at == r->size)
		return ST_NOT_FOUND;
	r->ended = true; /* until this frame proves whole */
	if (r->size - r->at < FRAME_HEAD || !read_at(r->fd, head, sizeof head, r->at))
		return ST_CORRUPT;
	n = le32toh(head[2]);
	if (le32toh(head[0]) != SHARD_MAGIC || n > FRAME_MAX ||
		(off_t)n > r->size - r->at - FRAME_HEAD)
		return ST_CORRUPT;
	if (n > r->cap) {
		void *p = mem_realloc(r->buf, n, 1);

		if (!p)
			return ST_NOMEM;
		r->buf = p;
		r->cap = n;
	}
	if (!read_at(r->fd, r->buf, n, r->at + FRAME_HEAD) ||
		crc32c(crc32c(0, head + 1, 8), r->buf, n) != le32toh(head[3]))
		return ST_CORRUPT;
	r->at += FRAME_HEAD + (off_t)n;
	r->ended = false;
	f->type = (enum shard_type)le32toh(head[1]);
	f->payload = r->buf;
	f->n = n;
	return ST_OK;
}

void shard_reader_close(struct shard_reader *r)
{
	if (!r)
		return;
	close(r->fd);
	mem_free(r->buf);
	mem_free(r);
}
