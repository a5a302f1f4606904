/* lock.h: one lock file per device, held by an open descriptor: it dies with the process. */
#ifndef WATTLAW_HW_LOCK_H
#define WATTLAW_HW_LOCK_H

#include <stddef.h>
#include "base/status.h"

/* Lock the device of a back end. ST_OK with *fd; ST_BUSY when somebody has it. */
enum status lock_take(int dir_fd, const char *backend, const char *key, int *fd, struct err *e);
/* Leave the name of our journal in it, for whom it may concern. */
void lock_sign(int fd, const char *journal);
/* Read it: the journal of the holder, "" when unknown. */
void lock_read(int dir_fd, const char *backend, const char *key, char *journal, size_t size);
void lock_drop(int fd);

#endif
