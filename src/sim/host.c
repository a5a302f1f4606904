#include "sim/host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "sim/world.h"

#define SONAME    "libnvidia-ml.so.1"
#define PLAIN     "libnvidia-ml.so"
#define LIB_BYTES ((size_t)64 << 20)

/* The directory of this program, without its last '/'. */
static bool program_dir(char *buf, size_t size)
{
	ssize_t n = readlink("/proc/self/exe", buf, size - 1);
	char *slash;

	if (n <= 0)
		return false;
	buf[n] = '\0';
	slash = strrchr(buf, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

enum status host_library(struct str *path, struct err *e)
{
	static const char *const beside[] = {
		"/sim/", "/../src/sim/", "/../../src/sim/", "/../lib/wattlaw/"};
	const char *env = getenv("WATTLAW_SIM_LIBRARY");
	char dir[PATH_MAX];

	if (env && *env) {
		str_add(path, env);
		return access(env, R_OK) ? err_errno(e, errno, "WATTLAW_SIM_LIBRARY '%s'", env)
					 : ST_OK;
	}
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]) && program_dir(dir, sizeof(dir));
		i++) {
		str_clear(path);
		str_addf(path, "%s%s" SONAME, dir, beside[i]);
		if (!access(str_cstr(path), R_OK))
			return ST_OK;
	}
	str_clear(path);
	str_add(path, WATTLAW_NVML_SIM_DIR "/" SONAME);
	if (!access(str_cstr(path), R_OK))
		return ST_OK;
	return err_set(e, ST_UNSUPPORTED,
		"the simulated " SONAME " is not installed in " WATTLAW_NVML_SIM_DIR
		"; set WATTLAW_SIM_LIBRARY to it");
}

/* Spoil one symbol's name in the string tables of a library image, so that nobody finds it: the
 * hash leads to the entry, the comparison fails. */
static void hide_symbol(char *image, size_t len, const char *name)
{
	size_t n = strlen(name) + 1;

	for (size_t i = 1; i + n <= len; i++)
		if (image[i] == name[0] && image[i - 1] == '\0' && !memcmp(image + i, name, n))
			image[i] = 'x';
}

static enum status write_all(const char *path, const char *p, size_t len, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	enum status st = ST_OK;

	if (fd < 0)
		return err_errno(e, errno, "cannot create '%s'", path);
	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			st = err_errno(e, errno, "cannot write '%s'", path);
			break;
		}
		p += n;
		len -= (size_t)n;
	}
	if (close(fd) && !st)
		st = err_errno(e, errno, "cannot write '%s'", path);
	return st;
}

static enum status copy_library(
	const char *from, const char *to, const struct scenario *s, struct err *e)
{
	int fd = open(from, O_RDONLY | O_CLOEXEC);
	struct stat sb;
	char *image = NULL;
	enum status st = ST_OK;
	size_t have = 0;

	if (fd < 0 || fstat(fd, &sb) || (size_t)sb.st_size > LIB_BYTES) {
		st = err_errno(e, errno ? errno : EFBIG, "cannot read '%s'", from);
		goto out;
	}
	image = mem_alloc((size_t)sb.st_size + 1);
	if (!image) {
		st = err_set(e, ST_NOMEM, "out of memory");
		goto out;
	}
	while (have < (size_t)sb.st_size) {
		ssize_t n = read(fd, image + have, (size_t)sb.st_size - have);

		if (n <= 0) {
			st = err_errno(e, n ? errno : EIO, "cannot read '%s'", from);
			goto out;
		}
		have += (size_t)n;
	}
	for (int i = 0; i < s->n_missing; i++)
		hide_symbol(image, have, s->missing[i]);
	st = write_all(to, image, have, e);
out:
	if (fd >= 0)
		close(fd);
	mem_free(image);
	return st;
}

/* Some clients (Slurm's gpu/nvml) ask for the name without a version. */
static enum status link_plain_name(const char *dir, struct err *e)
{
	struct str p = STR_INIT;
	enum status st = ST_OK;

	str_addf(&p, "%s/lib/" PLAIN, dir);
	if (symlink(SONAME, str_cstr(&p)))
		st = err_errno(e, errno, "cannot create '%s'", str_cstr(&p));
	str_release(&p);
	return st;
}

static enum status place_library(const char *dir, const struct scenario *s, struct err *e)
{
	static const char garbage[] = "this is no library\n";
	struct str lib = STR_INIT, to = STR_INIT;
	enum status st = ST_OK;

	str_addf(&to, "%s/lib", dir);
	if (mkdir(str_cstr(&to), 0755))
		st = err_errno(e, errno, "cannot create '%s'", str_cstr(&to));
	str_add(&to, "/" SONAME);
	if (st || s->no_library)
		goto out;
	if (s->library_is_directory) {
		if (mkdir(str_cstr(&to), 0755))
			st = err_errno(e, errno, "cannot create '%s'", str_cstr(&to));
		goto out;
	}
	if (s->library_is_garbage) {
		st = write_all(str_cstr(&to), garbage, sizeof(garbage) - 1, e);
		goto out;
	}
	st = host_library(&lib, e);
	if (!st && s->n_missing > 0)
		st = copy_library(str_cstr(&lib), str_cstr(&to), s, e);
	else if (!st && symlink(str_cstr(&lib), str_cstr(&to)))
		st = err_errno(e, errno, "cannot create '%s'", str_cstr(&to));
	if (!st)
		st = link_plain_name(dir, e);
out:
	str_release(&lib);
	str_release(&to);
	return st;
}

enum status host_make(const char *dir, const struct scenario *s, struct err *e)
{
	struct str state = STR_INIT;
	enum status st;

	str_addf(&state, "%s/state", dir);
	st = place_library(dir, s, e);
	if (!st)
		st = world_create(str_cstr(&state), s, e);
	str_release(&state);
	return st;
}

void host_remove(const char *dir)
{
	struct str p = STR_INIT;

	str_addf(&p, "%s/lib/" SONAME, dir);
	if (unlink(str_cstr(&p)))
		rmdir(str_cstr(&p));
	str_clear(&p);
	str_addf(&p, "%s/lib/" PLAIN, dir);
	unlink(str_cstr(&p));
	str_clear(&p);
	str_addf(&p, "%s/lib", dir);
	rmdir(str_cstr(&p));
	str_clear(&p);
	str_addf(&p, "%s/state", dir);
	unlink(str_cstr(&p));
	rmdir(dir);
	str_release(&p);
}

enum status host_env(const char *dir, struct err *e)
{
	const char *old = getenv("LD_LIBRARY_PATH");
	char real[PATH_MAX];
	struct str p = STR_INIT;
	enum status st = ST_OK;

	if (!realpath(dir, real))
		return err_errno(e, errno, "'%s'", dir);
	str_addf(&p, "%s/state", real);
	if (setenv("WATTLAW_SIM_STATE", str_cstr(&p), 1))
		st = err_set(e, ST_NOMEM, "out of memory");
	str_clear(&p);
	str_addf(&p, "%s/lib%s%s", real, old && *old ? ":" : "", old ? old : "");
	if (setenv("LD_LIBRARY_PATH", str_cstr(&p), 1))
		st = err_set(e, ST_NOMEM, "out of memory");
	str_release(&p);
	return st;
}
