/* nvml_fake.h: a libnvidia-ml whose every answer a test can set, for faults that a simulator of
 * real boards does not make. The test opens the same file and finds the struct by
 * dlsym("nvml_fake"). */
#ifndef WATTLAW_TESTS_NVML_FAKE_H
#define WATTLAW_TESTS_NVML_FAKE_H

#include <stdint.h>

#define FAKE_GPUS 8

/* What a call returns instead of success; 0 = success. */
enum fake_call {
	FAKE_INIT,
	FAKE_HANDLE,
	FAKE_UUID,
	FAKE_ENERGY,
	FAKE_POWER,
	FAKE_CLOCK,
	FAKE_UTIL,
	FAKE_MEMORY,
	FAKE_TEMP,
	FAKE_REASONS,
	FAKE_VIOLATION,
	FAKE_FIELDS,
	FAKE_LIMIT,
	FAKE_RANGE,
	FAKE_SET_LIMIT,
	FAKE_LOCK,
	FAKE_CLOCK_LIST,
	FAKE_CALLS
};

struct nvml_fake {
	uint32_t n;
	struct fake_gpu {
		int ret[FAKE_CALLS];
		char name[64], uuid[64];
		uint32_t bus;
		int cc_major, cc_minor;
		uint64_t energy_mj;
		uint32_t power_mw, power_average_mw, power_instant_mw, module_mw;
		uint32_t sm_mhz, mem_mhz, util, mem_util, temp;
		uint64_t memory_used, reasons, viol_power_ns, viol_thermal_ns, brake_ns, board_ns;
		uint64_t pcie_tx, nvlink_tx_kib;
		uint32_t limit_mw, limit_min_mw, limit_max_mw, limit_default_mw;
		uint32_t clamp_mw; /* enforced at most; 0 = as set */
		int ignore_set; /* answers success and changes nothing */
		uint32_t lock_min, lock_max; /* MHz, 0 = no lock */
		uint32_t mem_lock;
		int migs;
	} gpu[FAKE_GPUS];
	int init_ret;
	unsigned hang_ms; /* how long the list of supported clocks takes */
	unsigned init_hang_ms;
	int inits, shutdowns, process_lists; /* how often they were called */
};

#endif
