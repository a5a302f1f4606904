/* lock.c: one lock file per device, held by an open descriptor. */
#include "hw/lock.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* "dev.nvml.GPU-aaaa.1234abcd": readable, and unique by the sum. */
static void lock_name(const char *backend, const char *key, char *buf, size_t size)
{
	uint32_t h = 2166136261u;
	size_t n;

	for (const char *p = key; *p; p++)
		h = (h ^ (unsigned char)*p) * 16777619u;
	snprintf(buf, size, "dev.%s.%.60s.%08x", backend, key, h);
	n = strlen(buf);
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)buf[i]) && buf[i] != '.' && buf[i] != '-')
			buf[i] = '_';
}

enum status lock_take(int dir_fd, const char *backend, const char *key, int *fd, struct err *e)
{
	/* An open file description lock: not lost when another descriptor of the file is closed,
	 * and held against other leases of this same process too. */
	struct flock fl = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	char name[128];

	lock_name(backend, key, name, sizeof(name));
	*fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*fd < 0)
		return err_errno(e, errno, "cannot open the lock of %s", key);
	if (fcntl(*fd, F_OFD_SETLK, &fl) == 0)
		return ST_OK;
	if (errno == EAGAIN || errno == EACCES) {
		close(*fd);
		*fd = -1;
		return err_set(e, ST_BUSY, "%s is in use", key);
	}
	err_errno(
		e, errno, "cannot lock %s (does the directory's file system support locks?)", key);
	close(*fd);
	*fd = -1;
	return ST_IO;
}

void lock_sign(int fd, const char *journal)
{
	size_t n = strlen(journal);

	/* Only a courtesy: a failure costs the second asker a name. */
	if (pwrite(fd, journal, n, 0) == (ssize_t)n && ftruncate(fd, (off_t)n) < 0)
		return;
}

void lock_read(int dir_fd, const char *backend, const char *key, char *journal, size_t size)
{
	char name[128];
	ssize_t n;
	int fd;

	journal[0] = '\0';
	lock_name(backend, key, name, sizeof(name));
	fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return;
	n = read(fd, journal, size - 1);
	journal[n > 0 ? n : 0] = '\0';
	close(fd);
	if (strchr(journal, '/'))
		journal[0] = '\0';
}

void lock_drop(int fd)
{
	if (fd >= 0)
		close(fd);
}
