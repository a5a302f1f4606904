/* file.c: see file.h. */
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum status file_unopened(struct err *e, int errno_value, const char *path, const char *what)
{
	return err_set(e, errno_value == ENOENT ? ST_NOT_FOUND : ST_INVALID, "%s: %s; expected %s",
		path, strerror(errno_value), what);
}

enum status file_read(
	const char *path, unsigned max_mib, const char *what, struct str *out, struct err *e)
{
	const size_t max = (size_t)max_mib << 20;
	FILE *f = fopen(path, "rbe");
	char buf[65536];
	enum status st = ST_OK;
	size_t n;

	if (!f)
		return file_unopened(e, errno, path, what);
	while (!out->failed && out->len <= max && (n = fread(buf, 1, sizeof(buf), f)) > 0)
		str_addn(out, buf, n);
	if (ferror(f))
		st = errno == EISDIR ? file_unopened(e, errno, path, what)
				     : err_errno(e, errno, "%s", path);
	else if (out->failed)
		st = err_set(e, ST_NOMEM, "%s: too large to read into memory", path);
	else if (out->len > max)
		st = err_set(
			e, ST_INVALID, "%s: larger than %u MiB; expected %s", path, max_mib, what);
	fclose(f);
	return st;
}
