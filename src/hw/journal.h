/* journal.h: what must be put back, on disk before it is changed.
 *
 * One text file per lease, made whole (written, fsynced, renamed) before the first set, then
 * appended to one checked line at a time. A line torn by a crash is ignored; nothing was done that
 * a whole line does not say, because a line is on disk before its deed. Only the holder of a
 * device's lock appends lines about that device. Fault point "journal".
 */
#ifndef WATTLAW_HW_JOURNAL_H
#define WATTLAW_HW_JOURNAL_H

#include <stddef.h>
#include "hw/backend.h"
#include "hw/control.h"
#include "hw/holder.h"

struct journal_entry {
	char backend[16], key[96], where[256];
	enum knob knob;
	enum status st; /* ST_OK, or why it could not be saved: then it must not be set */
	struct knob_val found;
	bool was_set; /* a set was begun at least once */
	bool in_flight; /* begun, and its outcome is not known */
	struct knob_val want, enforced; /* of the last set */
	bool done; /* put back, or left to somebody else */
};

struct journal {
	char name[64]; /* of the file in dir */
	int dir_fd, fd; /* dir_fd borrowed; fd -1 when only read */
	struct holder holder;
	enum lease_end end;
	char job[64], text[160];
	bool abandoned; /* its holder gave up restoring */
	struct journal_entry *entries;
	size_t n, cap;
};

void journal_init(struct journal *j, int dir_fd);
void journal_release(struct journal *j);
struct journal_entry *journal_add(struct journal *j); /* before journal_create; NULL: no memory */
/* Write it under a new name and keep it open for appending. */
enum status journal_create(struct journal *j, struct err *e);
/* Read it; torn or damaged lines at the end are ignored. ST_NOT_FOUND when it is gone, ST_CORRUPT
 * when its first part is damaged (it was never whole). */
enum status journal_load(struct journal *j, int dir_fd, const char *name, struct err *e);
/* What the file says now: the same entries, others' outcomes. False when it is gone or damaged;
 * then every entry counts as done. */
bool journal_reload(struct journal *j);
/* Append; the entry in memory changes too. */
enum status journal_intent(struct journal *j, size_t i, const struct knob_val *want, struct err *e);
enum status journal_outcome(struct journal *j, size_t i, const struct knob_val *now, struct err *e);
enum status journal_done(struct journal *j, size_t i, struct err *e);
enum status journal_abandon(struct journal *j);
/* Remove the file when every entry is done or was never set. True when it is gone. */
bool journal_finish(struct journal *j);

/* Names of the journals in a directory. */
struct sysfs_list;
enum status journal_names(int dir_fd, struct sysfs_list *out);
/* Remove half-made journals whose makers are dead. */
void journal_sweep_tmp(int dir_fd);

#endif
