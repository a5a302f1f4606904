/* readback.h: what knobs stand at while a job runs that had them set by the site's own command.
 *
 * We set nothing then and know nothing of when the command does it, or undoes it: a thread with
 * hardware of its own looks ten times a second, and what stood longest is what was in force. A
 * driver that hangs holds up that thread alone; it is left behind, and the process must then leave
 * with _exit.
 */
#ifndef WATTLAW_EXEC_READBACK_H
#define WATTLAW_EXEC_READBACK_H

#include "hw/hw.h"

struct readback;

/* devices: --devices or NULL; only: back ends or NULL; knobs: bits of enum knob. Texts borrowed for
 * good. */
enum status readback_start(const char *devices, const char *only, unsigned knobs,
	struct readback **out, struct err *e);
/* The job has ended: what a knob stands at from now on says nothing of it. */
void readback_end(struct readback *r);
/* Hand fn every selected device and knob that was read at least once before the end. Fails where no
 * device could be looked at, with the reason in e (not NULL). */
enum status readback_tell(struct readback *r,
	void (*fn)(void *arg, const struct device *d, enum knob k, int64_t value), void *arg,
	struct err *e);

#endif
