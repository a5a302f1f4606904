/* guard.h: a call that may never return, with a deadline.
 *
 * The function runs in a thread of its own. When it is late it is abandoned: the thread lives on
 * with its argument, which it frees when the driver lets go of it. So the argument is on the heap,
 * holds everything the function reads and writes, and after ST_TIMEOUT it is not the caller's any
 * more.
 */
#ifndef WATTLAW_HW_GUARD_H
#define WATTLAW_HW_GUARD_H

#include <stdint.h>
#include "base/status.h"

/* ST_OK: fn returned, arg is the caller's again. ST_TIMEOUT: arg is gone (free_fn will be called on
 * it). Other: fn was not started, arg is the caller's. */
enum status guard_call(
	void (*fn)(void *arg), void *arg, void (*free_fn)(void *arg), int64_t timeout_ns);

#endif
