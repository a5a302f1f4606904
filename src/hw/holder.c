/* holder.c: is the process that made this journal still the same, still alive? */
#include "hw/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "hw/sysfs.h"

static bool boot_id(char *buf, size_t size)
{
	/* Absolute paths: processes are this host's even when devices come from a recorded tree. */
	return sysfs_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id", buf, size, NULL) == ST_OK;
}

/* Field 22, counted after the last ')': the command may contain anything. A zombie is not found. */
static enum status start_time(int64_t pid, uint64_t *out)
{
	char path[64], buf[1024], *p;
	enum status st;

	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	st = sysfs_read(AT_FDCWD, path, buf, sizeof(buf), NULL);
	if (st != ST_OK)
		return st;
	p = strrchr(buf, ')');
	if (!p || p[1] != ' ')
		return ST_CORRUPT;
	if (p[2] == 'Z' || p[2] == 'X')
		return ST_NOT_FOUND;
	for (int field = 2; field < 22 && p; field++)
		p = strchr(p + 1, ' ');
	if (!p)
		return ST_CORRUPT;
	*out = strtoull(p + 1, NULL, 10);
	return ST_OK;
}

bool holder_of(int64_t pid, struct holder *out)
{
	memset(out, 0, sizeof(*out));
	out->pid = pid ? pid : getpid();
	out->since_ns = clock_system()->realtime(clock_system());
	return boot_id(out->boot, sizeof(out->boot)) && start_time(out->pid, &out->start) == ST_OK;
}

bool holder_same_boot(const struct holder *h)
{
	char now[40];

	/* When it cannot be told, the journal is taken to be of this boot: restoring compares
	 * first. */
	return !boot_id(now, sizeof(now)) || !strcmp(now, h->boot);
}

bool holder_alive(const struct holder *h)
{
	uint64_t start;

	if (!holder_same_boot(h) || (kill((pid_t)h->pid, 0) < 0 && errno == ESRCH))
		return false;
	/* What cannot be read must not make a living holder dead: the process is there. */
	switch (start_time(h->pid, &start)) {
	case ST_OK:
		return start == h->start;
	case ST_NOT_FOUND:
		return false;
	default:
		return kill((pid_t)h->pid, 0) == 0 || errno != ESRCH;
	}
}
