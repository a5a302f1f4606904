/* restore.h: putting back what a journal says, shared by leases and by replay. */
#ifndef WATTLAW_HW_RESTORE_H
#define WATTLAW_HW_RESTORE_H

#include "hw/control.h"
#include "hw/journal.h"

/* Open the directory of locks and journals, made with its parents if make. It must be ours: who can
 * write to it can make us set knobs. */
enum status control_dir_open(const char *dir, bool make, int *fd, struct err *e);

/* Are two values the same setting, to within what the hardware rounds? */
bool restore_same(enum knob k, const struct knob_val *a, const struct knob_val *b);
/* "200W", "135MHz-1.38GHz", "no limit", "unset". */
const char *restore_text(enum knob k, const struct knob_val *v, char *buf, size_t size);
/* Put back the entries of the journal that concern a device (NULL = every one), in a safe order,
 * going on after failures, each line into rep. The caller holds the locks of those devices. ST_OK,
 * or ST_PARTIAL when something could not be put back. */
enum status restore_entries(struct hw *hw, struct journal *j, const char *backend, const char *key,
	struct restore_report *rep);
/* Is this holder to be left alone? */
bool restore_holder_alive(const struct journal *j);
/* "pid 17 'wattlaw sweep first' since 12:03:04". */
const char *restore_holder_text(const struct journal *j, char *buf, size_t size);

#endif
