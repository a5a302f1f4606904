/* file.h: whole files that a user named, and the error when they cannot be had. */
#ifndef WATTLAW_BASE_FILE_H
#define WATTLAW_BASE_FILE_H

#include "base/status.h"
#include "base/str.h"

/* Append the file to *out. `what` is what was expected there, "a sweep file". ST_NOT_FOUND when
 * there is none, ST_INVALID when it cannot be opened, is a directory or is larger than max MiB. */
enum status file_read(
	const char *path, unsigned max_mib, const char *what, struct str *out, struct err *e);
/* The error of a file that cannot be opened. */
enum status file_unopened(struct err *e, int errno_value, const char *path, const char *what);

#endif
