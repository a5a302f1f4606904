/* once.c: see once.h. */
#include "exec/once.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/mem.h"
#include "exec/shard.h"

struct once {
	int fd;
	bool held; /* a device is ours */
	char path[256];
};

/* The job's id as part of a file name; false when there is none. */
static bool job_key(char *buf, size_t size)
{
	const char *pmix = getenv("PMIX_NAMESPACE"), *job = getenv("SLURM_JOB_ID");
	const char *step = getenv("SLURM_STEP_ID");
	int n = -1;

	if (pmix && *pmix)
		n = snprintf(buf, size, "%s", pmix);
	else if (job && *job && step && *step)
		n = snprintf(buf, size, "%s.%s", job, step);
	if (n <= 0 || (size_t)n >= size)
		return false;
	for (char *c = buf; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '.' && *c != '-')
			*c = '_';
	return true;
}

struct once *once_open(void)
{
	char key[128];
	struct once *o;
	struct stat st;

	if (!job_key(key, sizeof(key)))
		return NULL;
	o = mem_calloc(1, sizeof(*o));
	if (!o)
		return NULL;
	snprintf(o->path, sizeof(o->path), "/dev/shm/wattlaw-once.%ld.%s", (long)getuid(), key);
	o->fd = open(o->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	/* Somebody else's file of that name decides nothing here. */
	if (o->fd < 0 || fstat(o->fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != getuid()) {
		if (o->fd >= 0)
			close(o->fd);
		mem_free(o);
		return NULL;
	}
	return o;
}

bool once_claim(struct once *o, const char *key)
{
	size_t n = 0;
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};

	if (!o)
		return true;
	while (key[n])
		n++;
	lock.l_start = (off_t)crc32c(0, key, n);
	if (fcntl(o->fd, F_OFD_SETLK, &lock))
		return false;
	o->held = true;
	return true;
}

void once_close(struct once *o)
{
	if (!o)
		return;
	/* Ranks that have it open keep their locks; who comes after us may count again. */
	if (o->held)
		unlink(o->path);
	close(o->fd);
	mem_free(o);
}
