/* channel.h: the quantities a device can report, by number, name and unit.
 *
 * The numbers appear in shards and in the store's samples: new ones are added before CH_COUNT, none
 * is ever renumbered.
 */
#ifndef WATTLAW_RECORD_CHANNEL_H
#define WATTLAW_RECORD_CHANNEL_H

#include <stdbool.h>
#include "base/units.h"

enum channel {
	CH_ENERGY, /* uJ, counter since some past moment; may wrap at info.energy_wrap */
	CH_POWER, /* mW, the device's default reading; info.power_kind says which */
	CH_POWER_AVERAGE, /* mW, averaged (1 s on recent NVIDIA) */
	CH_POWER_INSTANT, /* mW, latest short window */
	CH_POWER_MODULE, /* mW, whole module (Grace Hopper), contains the GPU */
	CH_CLOCK, /* kHz, compute clock now */
	CH_MEM_CLOCK, /* kHz */
	CH_UTIL, /* ppm of time busy */
	CH_MEM_UTIL, /* ppm of time the memory controller was busy */
	CH_MEM_USED, /* bytes */
	CH_TEMP, /* mdegC */
	CH_THROTTLE, /* bits of enum throttle_bit */
	CH_VIOL_POWER, /* ns spent limited by the power cap, counter */
	CH_VIOL_THERMAL, /* ns, counter */
	CH_VIOL_HW, /* ns, board limit or power brake, counter */
	CH_PCIE_TX,
	CH_PCIE_RX, /* bytes, counters, from the device's side */
	CH_NVLINK_TX,
	CH_NVLINK_RX, /* bytes, counters */
	CH_CPU_TIME, /* ns of CPU used by the job, counter */
	CH_RSS, /* bytes resident in the job */
	CH_IO_READ,
	CH_IO_WRITE, /* bytes, counters of the job */
	CH_COUNT
};

/* Static description of a channel: name ("energy"), unit, whether it is a counter. */
struct channel_info {
	const char *name;
	enum unit unit;
	bool counter;
};
/* Static, never NULL: a number that is no channel is called "unknown". */
const struct channel_info *channel_info(enum channel ch);
/* The channel of that name, or CH_COUNT. */
enum channel channel_from_name(const char *name);

#endif
