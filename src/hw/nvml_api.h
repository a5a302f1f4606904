/* nvml_api.h: the part of NVIDIA's management library we call, declared by ourselves.
 *
 * The library is found at run time; nothing of it is needed to build. One list names every
 * function, whether we can do without it, and its names from newest to oldest. Layouts follow
 * the published API; those that grew carry their version.
 */
#ifndef WATTLAW_HW_NVML_API_H
#define WATTLAW_HW_NVML_API_H

#include <stdbool.h>
#include <stdint.h>
#include "base/status.h"

struct hw_notes;
typedef struct nvml_device_opaque *nvml_device; /* the library's own handle type */

enum nvml_ret {
	NVML_SUCCESS = 0,
	NVML_UNINITIALIZED = 1,
	NVML_INVALID_ARGUMENT = 2,
	NVML_NOT_SUPPORTED = 3,
	NVML_NO_PERMISSION = 4,
	NVML_NOT_FOUND = 6,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_INSUFFICIENT_POWER = 8,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_TIMEOUT = 10,
	NVML_FUNCTION_NOT_FOUND = 13,
	NVML_GPU_IS_LOST = 15,
	NVML_RESET_REQUIRED = 16,
	NVML_LIB_RM_VERSION_MISMATCH = 18,
	NVML_IN_USE = 19,
	NVML_MEMORY = 20,
	NVML_NO_DATA = 21,
	NVML_ARGUMENT_VERSION_MISMATCH = 25,
	NVML_DEPRECATED = 26,
	NVML_NOT_READY = 27,
	NVML_GPU_NOT_FOUND = 28,
	NVML_UNKNOWN = 999
};

enum { NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };
enum { NVML_POLICY_POWER = 0, NVML_POLICY_THERMAL = 1, NVML_POLICY_BOARD_LIMIT = 3 };
enum { NVML_TEMPERATURE_GPU = 0 };

/* field values */
enum {
	NVML_FI_POLICY_POWER = 74, /* ns, = clocks event reason "SW power cap" */
	NVML_FI_POLICY_THERMAL = 75, /* ns */
	NVML_FI_POLICY_BOARD = 77, /* ns */
	NVML_FI_NVLINK_TX = 138, /* KiB, scope UINT_MAX = all links */
	NVML_FI_NVLINK_RX = 139, /* KiB */
	NVML_FI_POWER_AVERAGE = 185, /* mW, scope 0 GPU, 1 module, 2 memory */
	NVML_FI_POWER_INSTANT = 186, /* mW, likewise */
	NVML_FI_PCIE_TX = 197, /* bytes */
	NVML_FI_PCIE_RX = 198, /* bytes */
	NVML_FI_SW_THERMAL = 251, /* ns */
	NVML_FI_HW_THERMAL = 252, /* ns */
	NVML_FI_HW_POWER_BRAKE = 253 /* ns */
};
#define NVML_SCOPE_GPU       0u
#define NVML_SCOPE_MODULE    1u
#define NVML_SCOPE_ALL_LINKS UINT32_MAX

enum nvml_value_type {
	NVML_VALUE_DOUBLE,
	NVML_VALUE_UINT,
	NVML_VALUE_ULONG,
	NVML_VALUE_ULLONG,
	NVML_VALUE_SLLONG,
	NVML_VALUE_SINT,
	NVML_VALUE_USHORT
};

struct nvml_field {
	uint32_t id, scope;
	int64_t timestamp_us, latency_us;
	int32_t type, ret;
	union {
		double d;
		int32_t si;
		uint32_t ui;
		uint64_t u64;
		int64_t s64;
		uint16_t us;
	} value;
};

/* Every version of the PCI structure begins like this; the newest is 68 bytes. */
struct nvml_pci {
	char bus_id_legacy[16];
	uint32_t domain, bus, device;
	uint8_t rest[128];
};

struct nvml_memory {
	uint64_t total, free, used;
};
struct nvml_memory_v2 {
	uint32_t version; /* NVML_MEMORY_V2 */
	uint64_t total, reserved, free, used;
};
#define NVML_MEMORY_V2 ((uint32_t)(sizeof(struct nvml_memory_v2) | 2u << 24))

struct nvml_utilization {
	uint32_t gpu, memory; /* percent */
};
struct nvml_violation {
	uint64_t reference_us, violation_ns;
};

/* clocks event ("throttle") reasons */
#define NVML_REASON_IDLE        UINT64_C(0x001)
#define NVML_REASON_APP_CLOCKS  UINT64_C(0x002)
#define NVML_REASON_SW_POWER    UINT64_C(0x004)
#define NVML_REASON_HW_SLOWDOWN UINT64_C(0x008)
#define NVML_REASON_SYNC_BOOST  UINT64_C(0x010)
#define NVML_REASON_SW_THERMAL  UINT64_C(0x020)
#define NVML_REASON_HW_THERMAL  UINT64_C(0x040)
#define NVML_REASON_HW_BRAKE    UINT64_C(0x080)
#define NVML_REASON_DISPLAY     UINT64_C(0x100)

/* X(need, member, arguments, names...): need 1 = the library is useless without it. The last
 * argument of each row lists its names, newest first. */
#define NVML_SYMBOLS(X)                                                                            \
	X(1, init, (void), "nvmlInit_v2", "nvmlInit")                                              \
	X(0, shutdown, (void), "nvmlShutdown")                                                     \
	X(1, count, (uint32_t *), "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount")                   \
	X(1, by_index, (uint32_t, nvml_device *), "nvmlDeviceGetHandleByIndex_v2",                 \
		"nvmlDeviceGetHandleByIndex")                                                      \
	X(0, name, (nvml_device, char *, uint32_t), "nvmlDeviceGetName")                           \
	X(0, uuid, (nvml_device, char *, uint32_t), "nvmlDeviceGetUUID")                           \
	X(0, pci, (nvml_device, struct nvml_pci *), "nvmlDeviceGetPciInfo_v3",                     \
		"nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo")                                 \
	X(0, cuda_cc, (nvml_device, int *, int *), "nvmlDeviceGetCudaComputeCapability")           \
	X(0, energy, (nvml_device, uint64_t *), "nvmlDeviceGetTotalEnergyConsumption")             \
	X(0, power, (nvml_device, uint32_t *), "nvmlDeviceGetPowerUsage")                          \
	X(0, clock, (nvml_device, int, uint32_t *), "nvmlDeviceGetClockInfo")                      \
	X(0, max_clock, (nvml_device, int, uint32_t *), "nvmlDeviceGetMaxClockInfo")               \
	X(0, util, (nvml_device, struct nvml_utilization *), "nvmlDeviceGetUtilizationRates")      \
	X(0, memory_v2, (nvml_device, struct nvml_memory_v2 *), "nvmlDeviceGetMemoryInfo_v2")      \
	X(0, memory, (nvml_device, struct nvml_memory *), "nvmlDeviceGetMemoryInfo")               \
	X(0, temperature, (nvml_device, int, uint32_t *), "nvmlDeviceGetTemperature")              \
	X(0, reasons, (nvml_device, uint64_t *), "nvmlDeviceGetCurrentClocksEventReasons",         \
		"nvmlDeviceGetCurrentClocksThrottleReasons")                                       \
	X(0, violation, (nvml_device, int, struct nvml_violation *),                               \
		"nvmlDeviceGetViolationStatus")                                                    \
	X(0, fields, (nvml_device, int, struct nvml_field *), "nvmlDeviceGetFieldValues")          \
	X(0, limit, (nvml_device, uint32_t *), "nvmlDeviceGetPowerManagementLimit")                \
	X(0, limit_range, (nvml_device, uint32_t *, uint32_t *),                                   \
		"nvmlDeviceGetPowerManagementLimitConstraints")                                    \
	X(0, limit_default, (nvml_device, uint32_t *), "nvmlDeviceGetPowerManagementDefaultLimit") \
	X(0, limit_enforced, (nvml_device, uint32_t *), "nvmlDeviceGetEnforcedPowerLimit")         \
	X(0, set_limit, (nvml_device, uint32_t), "nvmlDeviceSetPowerManagementLimit")              \
	X(0, memory_clocks, (nvml_device, uint32_t *, uint32_t *),                                 \
		"nvmlDeviceGetSupportedMemoryClocks")                                              \
	X(0, graphics_clocks, (nvml_device, uint32_t, uint32_t *, uint32_t *),                     \
		"nvmlDeviceGetSupportedGraphicsClocks")                                            \
	X(0, lock_clocks, (nvml_device, uint32_t, uint32_t), "nvmlDeviceSetGpuLockedClocks")       \
	X(0, reset_clocks, (nvml_device), "nvmlDeviceResetGpuLockedClocks")                        \
	X(0, lock_memory, (nvml_device, uint32_t, uint32_t), "nvmlDeviceSetMemoryLockedClocks")    \
	X(0, reset_memory, (nvml_device), "nvmlDeviceResetMemoryLockedClocks")                     \
	X(0, mig_mode, (nvml_device, uint32_t *, uint32_t *), "nvmlDeviceGetMigMode")              \
	X(0, mig_max, (nvml_device, uint32_t *), "nvmlDeviceGetMaxMigDeviceCount")                 \
	X(0, mig_by_index, (nvml_device, uint32_t, nvml_device *),                                 \
		"nvmlDeviceGetMigDeviceHandleByIndex")

struct backend_env;

struct nvml_api {
	void *lib;
	bool simulated;
#define X(need, member, args, ...) int(*member) args;
	NVML_SYMBOLS(X)
#undef X
	const char *(*error_string)(int ret);
};

/* Call a function of the table: NVML_FUNCTION_NOT_FOUND when the library lacks it. Fault point
 * "nvml". */
#define NVML_CALL(api, member, ...)                                                                \
	(!(api)->member               ? (int)NVML_FUNCTION_NOT_FOUND                               \
		: fault_point("nvml") ? (int)NVML_UNKNOWN                                          \
				      : (api)->member(__VA_ARGS__))

/* Load and initialise. path NULL = by the loader's search. A failure leaves why and fix in notes
 * and gives ST_UNSUPPORTED (no such library: a machine without NVIDIA GPUs) or another status. */
enum status nvml_load(struct nvml_api *api, const struct backend_env *env, struct err *e);
void nvml_unload(struct nvml_api *api);
enum status nvml_status(int ret);
/* The library's own words where it has them. */
const char *nvml_text(const struct nvml_api *api, int ret);
/* Number of a field value whatever its type; its status. */
enum status nvml_field_value(const struct nvml_field *f, int64_t *out);

#endif
