/* journal.c: what must be put back, on disk before it is changed. */
#include "hw/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "hw/sysfs.h"

#define PREFIX      "lease."
#define TMP_PREFIX  "new."
#define MAX_JOURNAL (4 << 20)
#define MAX_ENTRIES 65536

/* FNV-1a: finds torn and scribbled lines; nobody forges files in a 0700 directory. */
static uint32_t line_sum(const char *p, size_t n)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)p[i]) * 16777619u;
	return h;
}

static void end_line(struct str *s, size_t from)
{
	uint32_t sum;

	if (s->failed)
		return;
	sum = line_sum(s->p + from, s->len - from);
	str_addf(s, " #%08" PRIx32 "\n", sum);
}

void journal_init(struct journal *j, int dir_fd)
{
	memset(j, 0, sizeof(*j));
	j->dir_fd = dir_fd;
	j->fd = -1;
}

void journal_release(struct journal *j)
{
	if (j->fd >= 0)
		close(j->fd);
	mem_free(j->entries);
	journal_init(j, j->dir_fd);
}

struct journal_entry *journal_add(struct journal *j)
{
	void *v = j->entries;

	if (!mem_grow(&v, &j->cap, j->n + 1, sizeof(*j->entries), MAX_ENTRIES))
		return NULL;
	j->entries = v;
	memset(&j->entries[j->n], 0, sizeof(j->entries[0]));
	return &j->entries[j->n++];
}

/* One word: white space, '%' and '#' are written as %XX. */
static void add_word(struct str *s, const char *w)
{
	if (!*w)
		str_add(s, "%");
	for (; *w; w++) {
		unsigned char c = (unsigned char)*w;

		if (c <= ' ' || c == '%' || c == '#' || c == 127)
			str_addf(s, "%%%02X", c);
		else
			str_addc(s, (char)c);
	}
}

static bool take_word(char **line, char *out, size_t size)
{
	char *p = *line;
	size_t n = 0;

	while (*p == ' ')
		p++;
	if (!*p)
		return false;
	for (; *p && *p != ' '; p++) {
		int c = *p;
		char hex[3] = {0, 0, 0};

		if (c == '%') {
			if (!p[1] || p[1] == ' ')
				continue; /* the empty word */
			hex[0] = p[1];
			hex[1] = p[2];
			c = (int)strtol(hex, NULL, 16);
			p += p[2] ? 2 : 1;
		}
		if (n + 1 < size)
			out[n++] = (char)c;
	}
	out[n] = '\0';
	*line = p;
	return true;
}

static bool take_i64(char **line, int64_t *out)
{
	char w[32];
	long long v;

	if (!take_word(line, w, sizeof(w)) || !str_to_i64(w, &v))
		return false;
	*out = v;
	return true;
}

static bool take_val(char **line, struct knob_val *v)
{
	int64_t from;

	if (!take_i64(line, &v->lo) || !take_i64(line, &v->hi) || !take_i64(line, &from) ||
		from < KV_READ || from > KV_UNKNOWN)
		return false;
	v->in_force = 0;
	v->from = (enum knob_from)from;
	return true;
}

static void add_val(struct str *s, const struct knob_val *v)
{
	str_addf(s, " %" PRId64 " %" PRId64 " %d", v->lo, v->hi, (int)v->from);
}

/* The part that is written whole. */
static void add_head(struct str *s, const struct journal *j)
{
	size_t from = s->len;

	str_add(s, "wattlaw-journal 1 ");
	add_word(s, j->holder.boot);
	str_addf(s, " %" PRId64 " %" PRIu64 " %" PRId64 " %d ", j->holder.pid, j->holder.start,
		j->holder.since_ns, (int)j->end);
	add_word(s, j->job);
	str_addc(s, ' ');
	add_word(s, j->text);
	str_addf(s, " %zu", j->n);
	end_line(s, from);
	for (size_t i = 0; i < j->n; i++) {
		const struct journal_entry *en = &j->entries[i];

		from = s->len;
		str_add(s, "save ");
		add_word(s, en->backend);
		str_addc(s, ' ');
		add_word(s, en->key);
		str_addc(s, ' ');
		add_word(s, en->where);
		str_addf(s, " %s %d", knob_info(en->knob)->name, (int)en->st);
		add_val(s, &en->found);
		end_line(s, from);
	}
}

static int write_all(int fd, const char *p, size_t n)
{
	if (fault_point("journal"))
		return EIO;
	while (n > 0) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return errno;
		p += done;
		n -= (size_t)done;
	}
	return 0;
}

enum status journal_create(struct journal *j, struct err *e)
{
	static _Atomic unsigned serial;
	char tmp[80];
	struct str s = STR_INIT;
	int fd = -1, err = 0;

	snprintf(j->name, sizeof(j->name), PREFIX "%" PRId64 ".%" PRIu64 ".%u", j->holder.pid,
		j->holder.start, atomic_fetch_add(&serial, 1));
	/* The maker may take a lease on another process's life: its own pid keeps names apart. */
	snprintf(tmp, sizeof(tmp), TMP_PREFIX "%d.%s", (int)getpid(), j->name);
	if (j->holder.pid != getpid())
		snprintf(j->name + strlen(j->name), sizeof(j->name) - strlen(j->name), ".%d",
			(int)getpid());
	add_head(&s, j);
	if (s.failed) {
		str_release(&s);
		return err_set(e, ST_NOMEM, "no memory for the journal");
	}
	fd = openat(j->dir_fd, tmp, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	if (fd < 0)
		err = errno;
	if (!err)
		err = write_all(fd, s.p, s.len);
	if (!err && fsync(fd) < 0)
		err = errno;
	if (!err && renameat(j->dir_fd, tmp, j->dir_fd, j->name) < 0)
		err = errno;
	/* Directories on some file systems cannot be synced: the rename is then as safe as it gets.
	 */
	if (!err && fsync(j->dir_fd) < 0 && errno != EINVAL && errno != EBADF)
		err = errno;
	str_release(&s);
	if (err) {
		if (fd >= 0)
			close(fd);
		unlinkat(j->dir_fd, tmp, 0);
		unlinkat(j->dir_fd, j->name, 0);
		return err_errno(e, err, "cannot write the journal, so nothing may be changed");
	}
	j->fd = fd;
	return ST_OK;
}

static bool parse_head(struct journal *j, char *line, size_t *n_save)
{
	char w[32], start[32];
	int64_t version, end, n;

	if (!take_word(&line, w, sizeof(w)) || strcmp(w, "wattlaw-journal") ||
		!take_i64(&line, &version) || version != 1 ||
		!take_word(&line, j->holder.boot, sizeof(j->holder.boot)) ||
		!take_i64(&line, &j->holder.pid) || !take_word(&line, start, sizeof(start)) ||
		!take_i64(&line, &j->holder.since_ns) || !take_i64(&line, &end) || end < 0 ||
		end > LEASE_JOB || !take_word(&line, j->job, sizeof(j->job)) ||
		!take_word(&line, j->text, sizeof(j->text)) || !take_i64(&line, &n) || n < 0 ||
		n > MAX_ENTRIES)
		return false;
	j->holder.start = strtoull(start, NULL, 10);
	j->end = (enum lease_end)end;
	*n_save = (size_t)n;
	return true;
}

static bool parse_save(struct journal *j, char *line)
{
	struct journal_entry en;
	char w[32], knob[32];
	int64_t st;
	struct journal_entry *slot;
	int k;

	memset(&en, 0, sizeof(en));
	if (!take_word(&line, w, sizeof(w)) || strcmp(w, "save") ||
		!take_word(&line, en.backend, sizeof(en.backend)) ||
		!take_word(&line, en.key, sizeof(en.key)) ||
		!take_word(&line, en.where, sizeof(en.where)) ||
		!take_word(&line, knob, sizeof(knob)) || !take_i64(&line, &st) || st < 0 ||
		st >= ST_COUNT || !take_val(&line, &en.found))
		return false;
	k = knob_from_name(knob);
	if (k < 0)
		return false;
	en.knob = (enum knob)k;
	en.st = (enum status)st;
	slot = journal_add(j);
	if (!slot)
		return false;
	*slot = en;
	return true;
}

static void parse_event(struct journal *j, char *line)
{
	struct knob_val v;
	char w[16];
	int64_t i;

	if (!take_word(&line, w, sizeof(w)))
		return;
	if (!strcmp(w, "abandoned")) {
		j->abandoned = true;
		return;
	}
	if (!take_i64(&line, &i) || i < 0 || (size_t)i >= j->n)
		return;
	if (!strcmp(w, "set") && take_val(&line, &v)) {
		j->entries[i].was_set = j->entries[i].in_flight = true;
		j->entries[i].done = false;
		j->entries[i].want = v;
	} else if (!strcmp(w, "did") && take_val(&line, &v)) {
		j->entries[i].in_flight = false;
		j->entries[i].enforced = v;
	} else if (!strcmp(w, "done")) {
		j->entries[i].done = true;
	}
}

/* Cut the sum off a line; false when it does not match. */
static bool check_line(char *line)
{
	size_t n = strlen(line);
	char *mark = n > 10 ? line + n - 10 : NULL;

	if (!mark || mark[0] != ' ' || mark[1] != '#' ||
		strtoul(mark + 2, NULL, 16) != line_sum(line, (size_t)(mark - line)))
		return false;
	*mark = '\0';
	return true;
}

enum status journal_load(struct journal *j, int dir_fd, const char *name, struct err *e)
{
	char *text = NULL, *line, *next;
	size_t n_save = 0, n_line = 0, len = 0;
	struct stat sb;
	enum status st = ST_CORRUPT;
	int fd;

	journal_init(j, dir_fd);
	snprintf(j->name, sizeof(j->name), "%s", name);
	fd = openat(dir_fd, name, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return err_errno(e, errno, "cannot read the journal %s", name);
	j->fd = fd;
	if (fstat(fd, &sb) == 0 && S_ISREG(sb.st_mode) && sb.st_size < MAX_JOURNAL)
		text = mem_alloc((size_t)sb.st_size + 1);
	if (!text) {
		journal_release(j);
		return err_set(e, ST_NOMEM, "cannot load the journal %s", name);
	}
	st = sysfs_read_bytes(dir_fd, name, text, (size_t)sb.st_size, &len, e);
	text[len] = '\0';
	for (line = text; st == ST_OK && line && *line; line = next, n_line++) {
		next = strchr(line, '\n');
		if (!next)
			break; /* torn */
		*next++ = '\0';
		if (!check_line(line)) {
			if (n_line <= n_save)
				st = ST_CORRUPT;
			continue;
		}
		if (n_line == 0 ? !parse_head(j, line, &n_save)
				: n_line <= n_save && !parse_save(j, line))
			st = ST_CORRUPT;
		else if (n_line > n_save)
			parse_event(j, line);
	}
	mem_free(text);
	if (st == ST_OK && (n_line == 0 || j->n < n_save))
		st = ST_CORRUPT;
	if (st != ST_OK) {
		journal_release(j);
		return err_set(e, st, "the journal %s is damaged", name);
	}
	return ST_OK;
}

bool journal_reload(struct journal *j)
{
	struct journal now;

	if (journal_load(&now, j->dir_fd, j->name, NULL) == ST_OK) {
		if (now.n == j->n) {
			journal_release(j);
			*j = now;
			return true;
		}
		journal_release(&now);
	}
	for (size_t i = 0; i < j->n; i++)
		j->entries[i].done = true;
	return false;
}

static enum status append(struct journal *j, struct str *s, struct err *e)
{
	enum status st = ST_OK;
	int err;

	end_line(s, 0);
	if (s->failed)
		st = err_set(e, ST_NOMEM, "no memory for the journal");
	if (st == ST_OK) {
		err = write_all(j->fd, s->p, s->len);
		if (!err && fdatasync(j->fd) < 0 && errno != EINVAL)
			err = errno;
		if (err)
			st = err_errno(e, err, "cannot write the journal");
	}
	str_release(s);
	return st;
}

enum status journal_intent(struct journal *j, size_t i, const struct knob_val *want, struct err *e)
{
	struct str s = STR_INIT;
	enum status st;

	str_addf(&s, "set %zu", i);
	add_val(&s, want);
	st = append(j, &s, e);
	if (st == ST_OK) {
		j->entries[i].was_set = j->entries[i].in_flight = true;
		j->entries[i].done = false;
		j->entries[i].want = *want;
	}
	return st;
}

enum status journal_outcome(struct journal *j, size_t i, const struct knob_val *now, struct err *e)
{
	struct str s = STR_INIT;

	j->entries[i].in_flight = false;
	j->entries[i].enforced = *now;
	str_addf(&s, "did %zu", i);
	add_val(&s, now);
	return append(j, &s, e);
}

enum status journal_done(struct journal *j, size_t i, struct err *e)
{
	struct str s = STR_INIT;

	j->entries[i].done = true;
	str_addf(&s, "done %zu", i);
	return append(j, &s, e);
}

enum status journal_abandon(struct journal *j)
{
	struct str s = STR_INIT;

	j->abandoned = true;
	str_add(&s, "abandoned");
	return append(j, &s, NULL);
}

bool journal_finish(struct journal *j)
{
	for (size_t i = 0; i < j->n; i++)
		if (j->entries[i].was_set && !j->entries[i].done)
			return false;
	unlinkat(j->dir_fd, j->name, 0);
	return true;
}

enum status journal_names(int dir_fd, struct sysfs_list *out)
{
	return sysfs_list(dir_fd, ".", PREFIX, out);
}

void journal_sweep_tmp(int dir_fd)
{
	struct sysfs_list l;

	if (sysfs_list(dir_fd, ".", TMP_PREFIX, &l) != ST_OK)
		return;
	for (size_t i = 0; i < l.n; i++) {
		struct holder h;
		int64_t pid = strtoll(l.v[i] + strlen(TMP_PREFIX), NULL, 10);

		if (pid <= 0 || !holder_of(pid, &h))
			unlinkat(dir_fd, l.v[i], 0);
	}
	sysfs_list_release(&l);
}
