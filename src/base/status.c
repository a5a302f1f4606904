/* status.c: the words of enum status, and one-line errors for people. */
#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const names[ST_COUNT] = {
	[ST_OK] = "ok",
	[ST_UNKNOWN] = "unknown",
	[ST_UNSUPPORTED] = "unsupported",
	[ST_NO_PERMISSION] = "no-permission",
	[ST_NOT_FOUND] = "not-found",
	[ST_BUSY] = "busy",
	[ST_TIMEOUT] = "timeout",
	[ST_LOST] = "lost",
	[ST_INVALID] = "invalid",
	[ST_RANGE] = "range",
	[ST_IO] = "io",
	[ST_NOMEM] = "no-memory",
	[ST_CORRUPT] = "corrupt",
	[ST_PARTIAL] = "partial",
	[ST_AGAIN] = "again",
	[ST_CANCELLED] = "cancelled",
};

const char *status_name(enum status st)
{
	if ((unsigned)st >= ST_COUNT)
		return "unknown";
	return names[st];
}

enum status status_from_name(const char *name)
{
	if (!name)
		return ST_UNKNOWN;
	for (int i = 0; i < ST_COUNT; i++)
		if (!strcmp(names[i], name))
			return (enum status)i;
	return ST_UNKNOWN;
}

/* Append to e->msg from `used` on; what does not fit is cut and ends in "...". */
__attribute__((format(printf, 3, 0))) static size_t msg_add(
	struct err *e, size_t used, const char *fmt, va_list ap)
{
	size_t room = sizeof(e->msg) - used;
	int n = vsnprintf(e->msg + used, room, fmt, ap);

	if (n < 0) {
		e->msg[used] = '\0';
		return used;
	}
	if ((size_t)n >= room) {
		memcpy(e->msg + sizeof(e->msg) - 4, "...", 4);
		return sizeof(e->msg) - 1;
	}
	return used + (size_t)n;
}

__attribute__((format(printf, 3, 4))) static size_t msg_addf(
	struct err *e, size_t used, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	used = msg_add(e, used, fmt, ap);
	va_end(ap);
	return used;
}

enum status(err_set)(struct err *e, enum status st, const char *fmt, ...)
{
	va_list ap;

	if (!e)
		return st;
	e->st = st;
	va_start(ap, fmt);
	msg_add(e, 0, fmt, ap);
	va_end(ap);
	return st;
}

static enum status from_errno(int errno_value)
{
	switch (errno_value) {
	case EACCES:
	case EPERM:
	case EROFS:
		return ST_NO_PERMISSION;
	case ENOENT:
	case ENOTDIR:
	case ENXIO:
		return ST_NOT_FOUND;
	case ENODEV:
		return ST_LOST;
	case ENOMEM:
		return ST_NOMEM;
	case EBUSY:
		return ST_BUSY;
	case ETIMEDOUT:
		return ST_TIMEOUT;
	default:
		return ST_IO;
	}
}

enum status(err_errno)(struct err *e, int errno_value, const char *fmt, ...)
{
	enum status st = from_errno(errno_value);
	char buf[128];
	size_t used;
	va_list ap;

	if (!e)
		return st;
	e->st = st;
	va_start(ap, fmt);
	used = msg_add(e, 0, fmt, ap);
	va_end(ap);
	/* the GNU strerror_r: thread-safe, and may return a constant instead of buf */
	msg_addf(e, used, ": %s", strerror_r(errno_value, buf, sizeof(buf)));
	return st;
}

enum status(err_at)(struct err *e, const char *file, int line, int col, const char *fmt, ...)
{
	size_t used = 0;
	va_list ap;

	if (!e)
		return ST_INVALID;
	e->st = ST_INVALID;
	if (file)
		used = msg_addf(e, used, "%s:", file);
	if (line > 0)
		used = msg_addf(e, used, "%d:", line);
	if (line > 0 && col > 0)
		used = msg_addf(e, used, "%d:", col);
	if (used)
		used = msg_addf(e, used, " ");
	va_start(ap, fmt);
	msg_add(e, used, fmt, ap);
	va_end(ap);
	return ST_INVALID;
}

void err_prefix(struct err *e, const char *fmt, ...)
{
	char old[sizeof(e->msg)];
	size_t used;
	va_list ap;

	if (!e)
		return;
	memcpy(old, e->msg, sizeof(old));
	va_start(ap, fmt);
	used = msg_add(e, 0, fmt, ap);
	va_end(ap);
	msg_addf(e, used, ": %s", old);
}
