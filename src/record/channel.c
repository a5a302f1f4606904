#include "record/channel.h"

#include <string.h>

static const struct channel_info channels[CH_COUNT] = {
	[CH_ENERGY] = {"energy", UNIT_ENERGY, true},
	[CH_POWER] = {"power", UNIT_POWER, false},
	[CH_POWER_AVERAGE] = {"power_average", UNIT_POWER, false},
	[CH_POWER_INSTANT] = {"power_instant", UNIT_POWER, false},
	[CH_POWER_MODULE] = {"power_module", UNIT_POWER, false},
	[CH_CLOCK] = {"clock", UNIT_FREQ, false},
	[CH_MEM_CLOCK] = {"memory_clock", UNIT_FREQ, false},
	[CH_UTIL] = {"utilisation", UNIT_RATIO, false},
	[CH_MEM_UTIL] = {"memory_utilisation", UNIT_RATIO, false},
	[CH_MEM_USED] = {"memory_used", UNIT_BYTES, false},
	[CH_TEMP] = {"temperature", UNIT_TEMP, false},
	[CH_THROTTLE] = {"throttle", UNIT_NONE, false},
	[CH_VIOL_POWER] = {"violation_power", UNIT_TIME, true},
	[CH_VIOL_THERMAL] = {"violation_thermal", UNIT_TIME, true},
	[CH_VIOL_HW] = {"violation_hw", UNIT_TIME, true},
	[CH_PCIE_TX] = {"pcie_tx", UNIT_BYTES, true},
	[CH_PCIE_RX] = {"pcie_rx", UNIT_BYTES, true},
	[CH_NVLINK_TX] = {"nvlink_tx", UNIT_BYTES, true},
	[CH_NVLINK_RX] = {"nvlink_rx", UNIT_BYTES, true},
	[CH_CPU_TIME] = {"cpu_time", UNIT_TIME, true},
	[CH_RSS] = {"rss", UNIT_BYTES, false},
	[CH_IO_READ] = {"io_read", UNIT_BYTES, true},
	[CH_IO_WRITE] = {"io_write", UNIT_BYTES, true},
};

const struct channel_info *channel_info(enum channel ch)
{
	static const struct channel_info unknown = {"unknown", UNIT_NONE, false};

	return (unsigned)ch < CH_COUNT ? &channels[ch] : &unknown;
}

enum channel channel_from_name(const char *name)
{
	int ch = 0;

	while (ch < CH_COUNT && strcmp(channels[ch].name, name))
		ch++;
	return (enum channel)ch;
}
