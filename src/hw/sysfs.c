/* sysfs.c: small kernel files below a root descriptor. */
#include "hw/sysfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

static enum status fail(struct err *e, int err, const char *verb, const char *path)
{
	if (err == ENODEV || err == ENXIO)
		return err_set(e, ST_LOST, "cannot %s /%s: the device is gone", verb, path);
	if (err == EOPNOTSUPP || err == ENODATA)
		return err_set(e, ST_UNSUPPORTED, "/%s: not supported here", path);
	return err_errno(e, err, "cannot %s /%s", verb, path);
}

int sysfs_open(int root_fd, const char *path, enum status *st)
{
	int fd;

	if (fault_point("read")) {
		*st = ST_IO;
		return -1;
	}
	fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC);
	*st = fd >= 0 ? ST_OK : fail(NULL, errno, "open", path);
	return fd;
}

/* pread until the end, an error or a full buffer. Returns 0 or an errno. */
static int read_all(int fd, void *buf, size_t size, size_t *n)
{
	*n = 0;
	if (fault_point("read"))
		return EIO;
	while (*n < size) {
		ssize_t got = pread(fd, (char *)buf + *n, size - *n, (off_t)*n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno;
		if (got == 0)
			break;
		*n += (size_t)got;
	}
	return 0;
}

enum status sysfs_read_bytes(
	int root_fd, const char *path, void *buf, size_t size, size_t *n, struct err *e)
{
	int fd, err;

	*n = 0;
	fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(e, errno, "read", path);
	err = read_all(fd, buf, size, n);
	close(fd);
	return err ? fail(e, err, "read", path) : ST_OK;
}

enum status sysfs_read(int root_fd, const char *path, char *buf, size_t size, struct err *e)
{
	size_t n;
	enum status st = sysfs_read_bytes(root_fd, path, buf, size - 1, &n, e);

	while (n > 0 && (buf[n - 1] == '\n' || buf[n - 1] == ' ' || buf[n - 1] == '\0'))
		n--;
	buf[n] = '\0';
	return st;
}

enum status sysfs_read_i64(int root_fd, const char *path, int64_t *out, struct err *e)
{
	char buf[64];
	long long v;
	enum status st = sysfs_read(root_fd, path, buf, sizeof(buf), e);

	if (st != ST_OK)
		return st;
	if (!str_to_i64(buf, &v))
		return err_set(e, ST_CORRUPT, "/%s holds '%.40s', expected a number", path, buf);
	*out = v;
	return ST_OK;
}

enum status sysfs_fd_i64(int fd, int64_t *out)
{
	char buf[64];
	size_t n;
	long long v;
	int err = read_all(fd, buf, sizeof(buf) - 1, &n);

	if (err)
		return fail(NULL, err, "read", "");
	buf[n] = '\0';
	if (!str_to_i64(buf, &v))
		return ST_CORRUPT;
	*out = v;
	return ST_OK;
}

enum status sysfs_write(int root_fd, const char *path, const char *text, struct err *e)
{
	size_t len = strlen(text);
	char buf[128];
	struct stat sb;
	ssize_t done;
	int fd, err = 0;

	if (fault_point("write"))
		return fail(e, EIO, "write", path);
	if (len >= sizeof(buf))
		return err_set(e, ST_RANGE, "too long a value for /%s", path);
	/* No O_CREAT: a knob that is not there must not be made up. */
	fd = openat(root_fd, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return fail(e, errno, "write", path);
	/* One write, as the kernel's own files want it. In a recorded tree files keep their length,
	 * so the rest of a longer old value is overwritten with newlines (kernel files claim 0 or a
	 * page). */
	memcpy(buf, text, len + 1);
	if (fstat(fd, &sb) == 0 && sb.st_size > (off_t)len && sb.st_size < (off_t)sizeof(buf)) {
		memset(buf + len, '\n', (size_t)sb.st_size - len);
		len = (size_t)sb.st_size;
	}
	do
		done = write(fd, buf, len);
	while (done < 0 && errno == EINTR);
	if (done < 0)
		err = errno;
	else if ((size_t)done != len)
		err = EIO;
	if (close(fd) < 0 && !err)
		err = errno;
	return err ? fail(e, err, "write", path) : ST_OK;
}

enum status sysfs_write_i64(int root_fd, const char *path, int64_t v, struct err *e)
{
	char buf[32];

	snprintf(buf, sizeof(buf), "%lld", (long long)v);
	return sysfs_write(root_fd, path, buf, e);
}

bool sysfs_exists(int root_fd, const char *path)
{
	return faccessat(root_fd, path, F_OK, 0) == 0;
}

bool sysfs_writable(int root_fd, const char *path)
{
	return faccessat(root_fd, path, W_OK, AT_EACCESS) == 0;
}

bool sysfs_is_real_root(int root_fd)
{
	struct stat a, b;

	return fstat(root_fd, &a) == 0 && stat("/", &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(a, b);
}

enum status sysfs_list(int root_fd, const char *path, const char *prefix, struct sysfs_list *out)
{
	enum status st = ST_OK;
	struct dirent *d;
	DIR *dir = NULL;
	void *v;
	int fd;

	*out = (struct sysfs_list){NULL, 0, 0};
	fd = sysfs_open(root_fd, path, &st);
	if (fd < 0)
		return st;
	dir = fdopendir(fd);
	if (!dir) {
		st = fail(NULL, errno, "list", path);
		close(fd);
		return st;
	}
	while ((d = readdir(dir))) {
		if (d->d_name[0] == '.' || !str_starts(d->d_name, prefix) ||
			strlen(d->d_name) >= sizeof(out->v[0]))
			continue;
		v = out->v;
		if (!mem_grow(&v, &out->cap, out->n + 1, sizeof(*out->v), 65536)) {
			st = ST_NOMEM;
			break;
		}
		out->v = v;
		memcpy(out->v[out->n++], d->d_name, strlen(d->d_name) + 1);
	}
	closedir(dir);
	if (st != ST_OK)
		sysfs_list_release(out);
	else if (out->n > 1)
		qsort(out->v, out->n, sizeof(*out->v), by_name);
	return st;
}

void sysfs_list_release(struct sysfs_list *l)
{
	mem_free(l->v);
	*l = (struct sysfs_list){NULL, 0, 0};
}
