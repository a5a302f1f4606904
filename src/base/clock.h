/* clock.h: time as a parameter.
 *
 * Everything that waits or stamps gets a struct clock, so tests and the simulator run in
 * virtual time. Nanoseconds, CLOCK_MONOTONIC for the system clock.
 */
#ifndef WATTLAW_BASE_CLOCK_H
#define WATTLAW_BASE_CLOCK_H

#include <stdint.h>

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)
#define NS_PER_US INT64_C(1000)

struct clock {
	int64_t (*now)(struct clock *c); /* monotonic ns */
	/* Sleep until the absolute time; returns 0, or EINTR when interrupted. */
	int (*sleep_until)(struct clock *c, int64_t t_ns);
	int64_t (*realtime)(struct clock *c); /* ns since the epoch, for pairs and stamps */
};

/* The system clock; borrowed, valid for ever. */
struct clock *clock_system(void);

/* A clock that moves only when told (or when somebody sleeps on it, which returns at once). Any
 * thread may read or move it. */
struct clock_virtual {
	struct clock clock;
	int64_t t_ns;
	int64_t real_offset_ns;
};
void clock_virtual_init(struct clock_virtual *c, int64_t t_ns);
void clock_virtual_advance(struct clock_virtual *c, int64_t dt_ns);

#endif
