/* nvml_abi.h: the binary interface of libnvidia-ml.so.1 as far as the look-alike serves it.
 *
 * Written from the public NVML API reference: names are ours, layouts and numbers are NVML's
 * (tests/unit/nvml_abi checks sizes and offsets). Only src/sim/nvml_*.c include it.
 */
#ifndef WATTLAW_SIM_NVML_ABI_H
#define WATTLAW_SIM_NVML_ABI_H

#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

enum nv_ret {
	NV_OK = 0,
	NV_UNINITIALIZED = 1,
	NV_INVALID = 2,
	NV_NOT_SUPPORTED = 3,
	NV_NO_PERMISSION = 4,
	NV_NOT_FOUND = 6,
	NV_SMALL = 7,
	NV_NO_DRIVER = 9,
	NV_LOST = 15,
	NV_VERSION = 25,
	NV_UNKNOWN = 999
};

typedef int nv_ret_t; /* nvmlReturn_t is an int-sized enum */
typedef struct nv_handle *nv_dev_t;

struct nv_pci {
	char legacy[16];
	unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
	char id[32];
};

struct nv_pci_v1 {
	char legacy[16];
	unsigned domain, bus, device, pci_device_id, pci_subsystem_id;
	unsigned reserved[4];
};

struct nv_util {
	unsigned gpu, memory;
};

struct nv_memory {
	unsigned long long total, free, used;
};

struct nv_memory_v2 {
	unsigned version;
	unsigned long long total, reserved, free, used;
};

struct nv_temperature {
	unsigned version, sensor;
	int deg_c;
};

struct nv_bar1 {
	unsigned long long total, free, used;
};

struct nv_process_v1 {
	unsigned pid;
	unsigned long long mem;
};

struct nv_process {
	unsigned pid;
	unsigned long long mem;
	unsigned gpu_instance, compute_instance;
};

struct nv_process_util {
	unsigned pid;
	unsigned long long time_us;
	unsigned sm, mem, enc, dec;
};

struct nv_attributes {
	unsigned sms, copy, dec, enc, jpeg, ofa, gpu_slices, compute_slices;
	unsigned long long mem_mb;
};

struct nv_violation {
	unsigned long long reference_us, violation_ns;
};

union nv_value {
	double d;
	unsigned ui;
	unsigned long ul;
	unsigned long long ull;
	long long sll;
};

struct nv_field {
	unsigned id, scope;
	long long time_us, latency_us;
	unsigned type; /* enum nv_type */
	nv_ret_t ret;
	union nv_value v;
};

enum nv_type { NV_DOUBLE, NV_UINT, NV_ULONG, NV_ULL, NV_SLL };

/* nvmlDeviceGetClockInfo kinds */
enum nv_clock { NV_CLOCK_GRAPHICS, NV_CLOCK_SM, NV_CLOCK_MEM, NV_CLOCK_VIDEO, NV_CLOCK_KINDS };

/* Clock event reasons */
#define NV_THR_IDLE        0x001ull
#define NV_THR_APP         0x002ull
#define NV_THR_POWER       0x004ull
#define NV_THR_HW          0x008ull
#define NV_THR_SYNC        0x010ull
#define NV_THR_THERMAL_SW  0x020ull
#define NV_THR_THERMAL_HW  0x040ull
#define NV_THR_POWER_BRAKE 0x080ull
#define NV_THR_ALL         0x1ffull

/* Fields served by nvmlDeviceGetFieldValues */
enum nv_field_id {
	NV_FI_POLICY_POWER = 74,
	NV_FI_POLICY_THERMAL = 75,
	NV_FI_POLICY_SYNC = 76,
	NV_FI_POLICY_BOARD = 77,
	NV_FI_POLICY_LOW_UTIL = 78,
	NV_FI_POLICY_RELIABILITY = 79,
	NV_FI_POLICY_APP = 80,
	NV_FI_POLICY_BASE = 81,
	NV_FI_MEMORY_TEMP = 82,
	NV_FI_ENERGY = 83,
	NV_FI_POWER_AVERAGE = 185,
	NV_FI_POWER_INSTANT = 186,
	NV_FI_LIMIT_MIN = 187,
	NV_FI_LIMIT_MAX = 188,
	NV_FI_LIMIT_DEFAULT = 189,
	NV_FI_LIMIT_CURRENT = 190,
	NV_FI_LIMIT_REQUESTED = 192,
	NV_FI_EVENT_THERMAL_SW = 251,
	NV_FI_EVENT_THERMAL_HW = 252,
	NV_FI_EVENT_BRAKE = 253
};

#endif
