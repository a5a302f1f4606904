#include "cmd/output.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "cmd/cmd.h"

static bool write_text(FILE *f, const char *text, size_t n)
{
	bool good = fwrite(text, 1, n, f) == n;

	return (fclose(f) == 0) & good;
}

int cmd_write(const char *path, const char *text, size_t n)
{
	struct str tmp = STR_INIT;
	struct err e = ERR_INIT;
	struct stat sb;
	bool direct;
	FILE *f;
	int code = CMD_DONE;

	if (!path || !strcmp(path, "-")) {
		/* cmd_main notices a stdout that could not be written. */
		fwrite(text, 1, n, stdout);
		return CMD_DONE;
	}
	direct = stat(path, &sb) == 0 && !S_ISREG(sb.st_mode);
	if (direct)
		str_add(&tmp, path);
	else
		str_addf(&tmp, "%s.tmp%ld", path, (long)getpid());
	if (tmp.failed) {
		err_set(&e, ST_NOMEM, "%s: out of memory", path);
		code = cmd_fail(&e);
		goto out;
	}
	f = fopen(str_cstr(&tmp), direct ? "w" : "wx");
	if (!f || !write_text(f, text, n) || (!direct && rename(str_cstr(&tmp), path))) {
		err_set(&e, ST_IO, "%s: %s", path, strerror(errno));
		code = cmd_fail(&e);
		if (f && !direct)
			unlink(str_cstr(&tmp));
	}
out:
	str_release(&tmp);
	return code;
}
