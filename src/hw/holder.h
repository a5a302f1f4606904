/* holder.h: is the process that made this journal still the same, still alive?
 *
 * A pid alone is reused; pid + start time + boot id is not.
 */
#ifndef WATTLAW_HW_HOLDER_H
#define WATTLAW_HW_HOLDER_H

#include <stdbool.h>
#include <stdint.h>

struct holder {
	char boot[40]; /* /proc/sys/kernel/random/boot_id */
	int64_t pid;
	uint64_t start; /* clock ticks after boot, field 22 of /proc/PID/stat */
	int64_t since_ns; /* realtime when the lease was taken */
};

/* pid 0 = the caller. False when there is no such process. */
bool holder_of(int64_t pid, struct holder *out);
bool holder_same_boot(const struct holder *h);
bool holder_alive(const struct holder *h);

#endif
