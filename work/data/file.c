/* file.c: whole files, lines and numbers. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "data/file.h"

int file_read(const char *path, char **bytes, size_t *len, struct fault *f)
{
	FILE *file = fopen(path, "rb");
	long size;
	int rc = -1;

	*bytes = NULL;
	if (!file)
		return fault_set(f, "%s: %s", path, strerror(errno));
	if (fseek(file, 0, SEEK_END) || (size = ftell(file)) < 0 || size == LONG_MAX ||
		fseek(file, 0, SEEK_SET)) {
		fault_set(f, "%s: not a file that can be read", path);
		goto out;
	}
	if (!size) {
		fault_set(f, "%s: the file is empty", path);
		goto out;
	}
	*bytes = malloc((size_t)size + 1);
	if (!*bytes) {
		fault_set(f, "%s: out of memory for %ld bytes", path, size);
		goto out;
	}
	if (fread(*bytes, 1, (size_t)size, file) != (size_t)size) {
		fault_set(f, "%s: cannot be read", path);
		free(*bytes);
		*bytes = NULL;
		goto out;
	}
	(*bytes)[size] = '\0';
	*len = (size_t)size;
	rc = 0;
out:
	fclose(file);
	return rc;
}

bool file_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path), k = strlen(suffix);

	return n >= k && !strcasecmp(path + n - k, suffix);
}

void lines_init(struct lines *l, const char *path, const char *bytes, size_t len, struct fault *f)
{
	*l = (struct lines){.path = path, .at = bytes, .end = bytes + len, .f = f};
}

bool lines_next(struct lines *l)
{
	const char *stop;
	size_t n;

	if (l->at == l->end)
		return false;
	stop = memchr(l->at, '\n', (size_t)(l->end - l->at));
	n = (size_t)((stop ? stop : l->end) - l->at);
	n = n < sizeof(l->text) - 1 ? n : sizeof(l->text) - 1;
	memcpy(l->text, l->at, n);
	l->text[n] = '\0';
	l->text[strcspn(l->text, "\r")] = '\0';
	l->at = stop ? stop + 1 : l->end;
	l->line++;
	return true;
}

int lines_bad(struct lines *l, const char *fmt, ...)
{
	char msg[320];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	return fault_set(l->f, "%s:%lld: %s", l->path, (long long)l->line, msg);
}

bool text_number(char **p, double *out)
{
	char buf[64], *end, *star;
	size_t n;

	*p += strspn(*p, " \t");
	n = strcspn(*p, " \t");
	if (!n || n >= sizeof(buf))
		return false;
	memcpy(buf, *p, n);
	buf[n] = '\0';
	*p += n;
	star = strstr(buf, "*^");
	if (star) {
		*star = 'e';
		memmove(star + 1, star + 2, strlen(star + 2) + 1);
	}
	*out = strtod(buf, &end);
	return !*end && end != buf && isfinite(*out);
}
