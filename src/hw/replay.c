/* replay.c: where journals live, and finishing those of holders that are dead. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hw/journal.h"
#include "hw/lock.h"
#include "hw/restore.h"
#include "hw/sysfs.h"

enum status control_dir(const char *db_dir, char *buf, size_t size, struct err *e)
{
	const char *run = getenv("WATTLAW_RUN_DIR"), *xdg = getenv("XDG_RUNTIME_DIR");
	int n;

	if (run && *run)
		n = snprintf(buf, size, "%s", run);
	else if (geteuid() == 0)
		n = snprintf(buf, size, "/run/wattlaw");
	else if (xdg && *xdg)
		n = snprintf(buf, size, "%s/wattlaw", xdg);
	else if (access("/tmp", W_OK) == 0)
		n = snprintf(buf, size, "/tmp/wattlaw-%u", (unsigned)geteuid());
	else if (db_dir)
		n = snprintf(buf, size, "%s", db_dir);
	else
		return err_set(e, ST_NO_PERMISSION,
			"no directory for locks and journals; set WATTLAW_RUN_DIR");
	if (n < 0 || (size_t)n >= size)
		return err_set(e, ST_RANGE, "the directory for locks and journals has a long name");
	return ST_OK;
}

enum status control_dir_open(const char *dir, bool make, int *fd, struct err *e)
{
	char path[4096];
	struct stat sb;

	if (snprintf(path, sizeof(path), "%s", dir) >= (int)sizeof(path))
		return err_set(e, ST_RANGE, "'%s' is too long", dir);
	for (char *p = path + 1; make && *p; p++) {
		if (*p != '/')
			continue;
		*p = '\0';
		if (mkdir(path, 0755) < 0 && errno != EEXIST)
			return err_errno(e, errno, "cannot make '%s'", path);
		*p = '/';
	}
	if (make && mkdir(path, 0700) < 0 && errno != EEXIST)
		return err_errno(e, errno, "cannot make '%s'", path);
	*fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (*fd < 0)
		return err_errno(e, errno, "cannot open '%s'", path);
	if (fstat(*fd, &sb) < 0 || (sb.st_uid != geteuid() && sb.st_uid != 0) ||
		(sb.st_mode & S_IWOTH)) {
		close(*fd);
		*fd = -1;
		return err_set(e, ST_NO_PERMISSION,
			"'%s' belongs to somebody else or anybody may write to it", path);
	}
	return ST_OK;
}

/* Restore one journal under the locks of its devices, as far as they can be had. */
static enum status replay_one(
	struct hw *hw, int dir_fd, struct journal *j, struct restore_report *rep)
{
	char who[320];
	enum status st = ST_OK;

	for (size_t i = 0; i < j->n; i++) {
		struct journal_entry *en = &j->entries[i];
		int fd;

		if (!en->was_set || en->done)
			continue;
		if (lock_take(dir_fd, en->backend, en->key, &fd, NULL) != ST_OK) {
			rep->left_alone++;
			str_addf(&rep->text, "%s: in use by %s\n", en->key,
				restore_holder_text(j, who, sizeof(who)));
			st = ST_PARTIAL;
			continue;
		}
		/* Somebody may have finished it before we had the lock, and a new holder may have
		 * come and gone: only what the file says now counts. */
		if (journal_reload(j) && !j->entries[i].done &&
			restore_entries(hw, j, j->entries[i].backend, j->entries[i].key, rep) !=
				ST_OK)
			st = ST_PARTIAL;
		lock_drop(fd);
	}
	return st;
}

/* job NULL: those of dead holders, or of everybody when all. Else the leases of that job. */
static enum status replay(struct hw *hw, const char *dir, bool all, const char *job,
	struct restore_report *rep, struct err *e)
{
	struct restore_report local = {0, 0, 0, STR_INIT};
	struct sysfs_list names = {NULL, 0, 0};
	bool found = false;
	int dir_fd;
	enum status st = control_dir_open(dir, false, &dir_fd, e), worst = ST_OK;

	if (st == ST_NOT_FOUND)
		return job ? err_set(e, st, "job %s holds nothing", job) : ST_OK;
	if (st != ST_OK)
		return st;
	if (!rep)
		rep = &local;
	journal_sweep_tmp(dir_fd);
	st = journal_names(dir_fd, &names);
	if (st != ST_OK)
		worst = err_set(e, st, "cannot list the journals in '%s'", dir);
	for (size_t n = 0; n < names.n; n++) {
		struct err why = ERR_INIT;
		struct journal j;

		st = journal_load(&j, dir_fd, names.v[n], &why);
		if (st == ST_NOT_FOUND)
			continue;
		if (st != ST_OK) {
			rep->failed++;
			str_addf(&rep->text, "%s\n", why.msg);
			worst = ST_PARTIAL;
			continue;
		}
		if (job ? j.end != LEASE_JOB || strcmp(j.job, job)
			: !all && restore_holder_alive(&j)) {
			journal_release(&j);
			continue;
		}
		found = true;
		if (!holder_same_boot(&j.holder)) {
			/* Limits, locks and groups do not outlive the machine's restart. */
			for (size_t i = 0; i < j.n; i++)
				j.entries[i].done = true;
			str_addf(&rep->text,
				"%s: the machine was restarted since: nothing to restore\n",
				j.name);
		} else if (replay_one(hw, dir_fd, &j, rep) != ST_OK) {
			worst = ST_PARTIAL;
		}
		if (holder_same_boot(&j.holder))
			journal_reload(&j);
		journal_finish(&j);
		journal_release(&j);
	}
	sysfs_list_release(&names);
	close(dir_fd);
	restore_report_release(&local);
	if (job && !found && worst == ST_OK)
		return err_set(e, ST_NOT_FOUND, "job %s holds nothing", job);
	if (worst == ST_PARTIAL)
		err_set(e, worst, "not everything could be restored");
	return worst;
}

enum status control_replay(
	struct hw *hw, const char *dir, bool all, struct restore_report *rep, struct err *e)
{
	return replay(hw, dir, all, NULL, rep, e);
}

enum status control_end_job(
	struct hw *hw, const char *dir, const char *job, struct restore_report *rep, struct err *e)
{
	return replay(hw, dir, true, job, rep, e);
}
