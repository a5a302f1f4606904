/* cgroup_fs.c: find, make, join and remove the CPU groups of ranks. */
#include "hw/cgroup.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "hw/cgroup_name.h"
#include "hw/sysfs.h"

#define TEXT_MAX 65536

/* Is word one of the comma-separated words of list (which ends at a space, newline or NUL)? */
static bool in_list(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (;;) {
		size_t n = strcspn(list, ", \n");

		if (n == len && !strncmp(list, word, n))
			return true;
		if (list[n] != ',')
			return false;
		list += n + 1;
	}
}

/* This process's path in the hierarchy: "N:controllers:/path"; v2 is "0::/path". */
static bool own_path(char *text, const char *controller, char *out, size_t size)
{
	for (char *line = text, *next; line && *line; line = next) {
		char *c = strchr(line, ':'), *p;

		next = strchr(line, '\n');
		p = c ? strchr(c + 1, ':') : NULL;
		if (p && (!next || p < next)) {
			bool hit;

			*p = '\0';
			hit = controller ? in_list(c + 1, controller) : c[1] == '\0';
			*p = ':';
			if (hit) {
				snprintf(out, size, "%.*s",
					(int)(next ? next - p - 1 : (long)strlen(p + 1)), p + 1);
				return true;
			}
		}
		if (next)
			next++;
	}
	return false;
}

/* Mount point (without '/') and root of the hierarchy, from mountinfo:
 * "id parent dev root mountpoint options … - type source superoptions". */
static bool mount_of(char *text, const char *controller, char *root, char *mnt, size_t size)
{
	for (char *line = text, *next; line && *line; line = next) {
		char *dash, *f[6];
		char type[32], super[512];
		int n = 0;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		dash = strstr(line, " - ");
		if (!dash || sscanf(dash, " - %31s %*s %511s", type, super) != 2)
			continue;
		if (strcmp(type, controller ? "cgroup" : "cgroup2") ||
			(controller && !in_list(super, controller)))
			continue;
		*dash = '\0';
		for (char *w = strtok(line, " "); w && n < 6; w = strtok(NULL, " "))
			f[n++] = w;
		if (n < 5)
			continue;
		snprintf(root, size, "%s", f[3]);
		snprintf(mnt, size, "%s", f[4] + (f[4][0] == '/'));
		return true;
	}
	return false;
}

static bool locate(int root_fd, const char *controller, char *base, size_t size)
{
	char *text = mem_alloc(TEXT_MAX);
	char path[1024], root[1024], mnt[1024];
	const char *rel = path;
	bool found = false;

	if (!text)
		return false;
	if (sysfs_read(root_fd, "proc/self/cgroup", text, TEXT_MAX, NULL) != ST_OK ||
		!own_path(text, controller, path, sizeof(path)))
		goto out;
	if (sysfs_read(root_fd, "proc/self/mountinfo", text, TEXT_MAX, NULL) != ST_OK ||
		!mount_of(text, controller, root, mnt, sizeof(root)))
		goto out;
	/* In a container only part of the tree is mounted, and the path may begin above it. */
	if (strcmp(root, "/") && str_starts(path, root))
		rel = path + strlen(root);
	snprintf(base, size, "%s%s", mnt, strcmp(rel, "/") ? rel : "");
	if (!sysfs_exists(root_fd, base))
		snprintf(base, size, "%s", mnt);
	found = sysfs_exists(root_fd, base);
out:
	mem_free(text);
	return found;
}

enum status cgroup_find(int root_fd, struct cgroup_place *out, struct err *e)
{
	char path[PATH_MAX], list[512];

	memset(out, 0, sizeof(*out));
	if (locate(root_fd, "cpu", out->base, sizeof(out->base))) {
		out->version = 1;
		return ST_OK;
	}
	if (!locate(root_fd, NULL, out->base, sizeof(out->base)))
		return err_set(e, ST_UNSUPPORTED, "no cgroup file system is mounted");
	out->version = 2;
	if (snprintf(path, sizeof(path), "%s/cgroup.controllers", out->base) >= (int)sizeof(path) ||
		sysfs_read(root_fd, path, list, sizeof(list), NULL) != ST_OK)
		return err_set(e, ST_UNSUPPORTED, "/%s is not a cgroup", out->base);
	for (char *w = strtok(list, " "); w; w = strtok(NULL, " "))
		if (!strcmp(w, "cpu"))
			return ST_OK;
	return err_set(e, ST_UNSUPPORTED,
		"the cpu controller is not given to this cgroup (/%s/cgroup.controllers)",
		out->base);
}

/* A count in the environment; 0 when it is not there or no number. */
static int env_count(const char *(*getenv_fn)(void *, const char *), void *arg, const char *name)
{
	const char *s = getenv_fn(arg, name);
	long long v;
	char head[16];

	if (!s)
		return 0;
	/* OMP_NUM_THREADS may be a list "4,2"; SLURM_TASKS_PER_NODE "4(x2),3": the first counts. */
	snprintf(head, sizeof(head), "%.*s", (int)strspn(s, "0123456789"), s);
	return str_to_i64(head, &v) && v > 0 && v < 1000000 ? (int)v : 0;
}

int cgroup_rank_cpus(
	const char *(*getenv_fn)(void *arg, const char *name), void *arg, int affinity, int online)
{
	static const char *const local_sizes[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS",
		"PMI_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE", "SLURM_TASKS_PER_NODE"};
	int n = affinity > 0 ? affinity : online, v;

	v = env_count(getenv_fn, arg, "OMP_NUM_THREADS");
	if (v > 0 && v < n)
		n = v;
	for (size_t i = 0; i < sizeof(local_sizes) / sizeof(local_sizes[0]); i++) {
		v = env_count(getenv_fn, arg, local_sizes[i]);
		if (v > 0) {
			v = online / v > 0 ? online / v : 1;
			if (v < n)
				n = v;
			break;
		}
	}
	return n > 0 ? n : 1;
}

bool cgroup_name_make(const char *run_id, int rank, int n_cpus, char *buf, size_t size)
{
	if (!*run_id || strlen(run_id) > 40 || rank < 0 || n_cpus < 1)
		return false;
	for (const char *p = run_id; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '-' && *p != '_')
			return false;
	return snprintf(buf, size, CGROUP_PREFIX "%s.%d.%d", run_id, rank, n_cpus) < (int)size;
}

bool cgroup_name_parse(const char *name, char run_id[48], int *rank, int *n_cpus)
{
	int used = 0;

	return sscanf(name, CGROUP_PREFIX "%40[A-Za-z0-9_-].%d.%d%n", run_id, rank, n_cpus,
		       &used) == 3 &&
	       name[used] == '\0' && *rank >= 0 && *n_cpus > 0 && *n_cpus < 100000;
}

/* Did whoever runs this system hand the group to us (systemd's Delegate=)? */
static bool delegated(int root_fd, const char *base)
{
	struct stat sb;

	return geteuid() != 0 && fstatat(root_fd, base, &sb, 0) == 0 && sb.st_uid == geteuid();
}

/* v2 forbids processes beside groups with controllers: move those of base into a leaf of it. They
 * keep every limit that base has. */
static enum status make_leaf(int root_fd, const char *base, struct err *e)
{
	char path[PATH_MAX], pids[TEXT_MAX];
	enum status st;

	snprintf(path, sizeof(path), "%.3800s/wattlaw-leaf", base);
	if (mkdirat(root_fd, path, 0755) < 0 && errno != EEXIST)
		return err_errno(e, errno, "cannot make /%s", path);
	snprintf(path, sizeof(path), "%.3800s/cgroup.procs", base);
	st = sysfs_read(root_fd, path, pids, sizeof(pids), e);
	if (st != ST_OK)
		return st;
	snprintf(path, sizeof(path), "%.3800s/wattlaw-leaf/cgroup.procs", base);
	for (char *p = strtok(pids, "\n"); p; p = strtok(NULL, "\n"))
		sysfs_write(root_fd, path, p, NULL); /* one that has ended is no loss */
	return ST_OK;
}

/* v2: children of base get the cpu controller. */
static enum status enable_cpu(int root_fd, const char *base, struct err *e)
{
	char path[PATH_MAX], list[512];
	enum status st;

	snprintf(path, sizeof(path), "%.3800s/cgroup.subtree_control", base);
	if (sysfs_read(root_fd, path, list, sizeof(list), e) != ST_OK)
		return e ? e->st : ST_IO;
	for (char *w = strtok(list, " "); w; w = strtok(NULL, " "))
		if (!strcmp(w, "cpu"))
			return ST_OK;
	st = sysfs_write(root_fd, path, "+cpu", e);
	if (st == ST_BUSY && delegated(root_fd, base)) {
		st = make_leaf(root_fd, base, e);
		if (st == ST_OK)
			st = sysfs_write(root_fd, path, "+cpu", e);
	}
	if (st == ST_BUSY)
		return err_set(e, ST_BUSY,
			"/%s holds processes, so it cannot give CPU shares to groups below it; "
			"start "
			"under `systemd-run --user --scope -p Delegate=yes`",
			base);
	return st;
}

enum status cgroup_group_create(int root_fd, const char *run_id, int rank, int n_cpus, char *path,
	size_t size, struct err *e)
{
	struct cgroup_place place;
	char name[96], file[PATH_MAX];
	enum status st = cgroup_find(root_fd, &place, e);

	if (st != ST_OK)
		return st;
	if (!cgroup_name_make(run_id, rank, n_cpus, name, sizeof(name)))
		return err_set(e, ST_INVALID, "'%s' rank %d on %d CPUs cannot name a group", run_id,
			rank, n_cpus);
	if (place.version == 2) {
		st = enable_cpu(root_fd, place.base, e);
		if (st != ST_OK)
			return st;
	}
	if (snprintf(path, size, "%s/%s", place.base, name) >= (int)size)
		return err_set(e, ST_RANGE, "the path of the CPU group is too long");
	if (mkdirat(root_fd, path, 0755) < 0 && errno != EEXIST)
		return err_errno(e, errno, "cannot make the CPU group /%s", path);
	snprintf(file, sizeof(file), "%.3900s/%s", path,
		place.version == 1 ? "cpu.cfs_quota_us" : "cpu.max");
	if (!sysfs_exists(root_fd, file)) {
		unlinkat(root_fd, path, AT_REMOVEDIR);
		return err_set(e, ST_UNSUPPORTED,
			"this kernel cannot limit CPU time (/%s is not there: "
			"CONFIG_CFS_BANDWIDTH)",
			file);
	}
	return ST_OK;
}

enum status cgroup_join(int root_fd, const char *path, int64_t pid, struct err *e)
{
	char file[PATH_MAX];

	snprintf(file, sizeof(file), "%.3900s/cgroup.procs", path);
	return sysfs_write_i64(root_fd, file, pid, e);
}

enum status cgroup_group_remove(int root_fd, const char *path, struct err *e)
{
	if (unlinkat(root_fd, path, AT_REMOVEDIR) == 0 || errno == ENOENT)
		return ST_OK;
	return err_errno(e, errno, "cannot remove the CPU group /%s", path);
}

/* Call fn for each of our groups in dir. */
static void each_in(int root_fd, const char *dir, const char *run_id, cgroup_fn *fn, void *arg)
{
	struct sysfs_list l;
	char path[PATH_MAX], run[48];
	int rank, n_cpus;

	if (sysfs_list(root_fd, dir, CGROUP_PREFIX, &l) != ST_OK)
		return;
	for (size_t i = 0; i < l.n; i++) {
		if (!cgroup_name_parse(l.v[i], run, &rank, &n_cpus) ||
			(run_id && strcmp(run, run_id)))
			continue;
		if (snprintf(path, sizeof(path), "%s/%s", dir, l.v[i]) < (int)sizeof(path))
			fn(arg, path, run, rank, n_cpus);
	}
	sysfs_list_release(&l);
}

/* A launcher may put each rank into a group of its own beside or below ours: look in base, in its
 * children, in its parent and in that one's children. */
void cgroup_each(
	int root_fd, const struct cgroup_place *place, const char *run_id, cgroup_fn *fn, void *arg)
{
	char dir[PATH_MAX], top[PATH_MAX], *slash;
	struct sysfs_list l;

	snprintf(top, sizeof(top), "%s", place->base);
	slash = strrchr(top, '/');
	/* Not above the mount point: a group has cgroup.procs, the directory of hierarchies has
	 * not. */
	if (slash) {
		*slash = '\0';
		snprintf(dir, sizeof(dir), "%.4000s/cgroup.procs", top);
		if (!sysfs_exists(root_fd, dir))
			snprintf(top, sizeof(top), "%s", place->base);
	}
	each_in(root_fd, top, run_id, fn, arg);
	if (sysfs_list(root_fd, top, "", &l) != ST_OK)
		return;
	for (size_t i = 0; i < l.n; i++) {
		if (str_starts(l.v[i], CGROUP_PREFIX))
			continue;
		snprintf(dir, sizeof(dir), "%.3900s/%s/cgroup.procs", top, l.v[i]);
		if (!sysfs_exists(root_fd, dir))
			continue;
		snprintf(dir, sizeof(dir), "%.3900s/%s", top, l.v[i]);
		each_in(root_fd, dir, run_id, fn, arg);
	}
	sysfs_list_release(&l);
	if (strcmp(top, place->base) && sysfs_list(root_fd, place->base, "", &l) == ST_OK) {
		for (size_t i = 0; i < l.n; i++) {
			snprintf(dir, sizeof(dir), "%.3900s/%s/cgroup.procs", place->base, l.v[i]);
			if (str_starts(l.v[i], CGROUP_PREFIX) || !sysfs_exists(root_fd, dir))
				continue;
			snprintf(dir, sizeof(dir), "%.3900s/%s", place->base, l.v[i]);
			each_in(root_fd, dir, run_id, fn, arg);
		}
		sysfs_list_release(&l);
	}
}

#define FRESH_S 30

struct reap {
	int root_fd;
	bool fresh_too;
	size_t left;
};

/* A group that was just made may be waiting for its rank to join. */
static bool is_fresh(int root_fd, const char *path)
{
	struct stat sb;

	return fstatat(root_fd, path, &sb, 0) == 0 && time(NULL) - sb.st_mtime < FRESH_S;
}

static void reap_one(void *arg, const char *path, const char *run, int rank, int n_cpus)
{
	struct reap *r = arg;

	(void)run;
	(void)rank;
	(void)n_cpus;
	if ((!r->fresh_too && is_fresh(r->root_fd, path)) ||
		cgroup_group_remove(r->root_fd, path, NULL) != ST_OK)
		r->left++;
}

size_t cgroup_reap(int root_fd, const char *run_id)
{
	struct cgroup_place place;
	struct reap r = {root_fd, run_id != NULL, 0};

	if (cgroup_find(root_fd, &place, NULL) == ST_OK)
		cgroup_each(root_fd, &place, run_id, reap_one, &r);
	return r.left;
}
