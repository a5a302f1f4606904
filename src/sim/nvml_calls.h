/* nvml_calls.h: every NVML function of the look-alike, once, without its version suffix.
 *
 * The scenario reader accepts these names; the library counts calls by them. One list, so
 * that a name the scenario accepts is one the library asks about.
 */
#ifndef WATTLAW_SIM_NVML_CALLS_H
#define WATTLAW_SIM_NVML_CALLS_H

/* clang-format off */
#define NVML_CALLS(X) \
	X(Init) X(Shutdown) X(SystemGetDriverVersion) X(SystemGetNVMLVersion) \
	X(SystemGetCudaDriverVersion) X(SystemGetProcessName) X(UnitGetCount) \
	X(DeviceGetCount) X(DeviceGetHandleByIndex) X(DeviceGetHandleByUUID) \
	X(DeviceGetHandleByPciBusId) X(DeviceGetHandleBySerial) X(DeviceGetName) \
	X(DeviceGetUUID) X(DeviceGetSerial) X(DeviceGetPciInfo) X(DeviceGetMinorNumber) \
	X(DeviceGetIndex) X(DeviceGetBoardId) X(DeviceGetMultiGpuBoard) \
	X(DeviceGetBrand) X(DeviceGetArchitecture) X(DeviceGetNumGpuCores) \
	X(DeviceGetCudaComputeCapability) X(DeviceGetAttributes) \
	X(DeviceGetVbiosVersion) X(DeviceGetDisplayMode) X(DeviceGetDisplayActive) \
	X(DeviceGetCpuAffinity) X(DeviceGetMemoryAffinity) \
	X(DeviceGetTopologyCommonAncestor) X(DeviceGetNvLinkState) \
	X(DeviceGetNvLinkRemotePciInfo) X(DeviceGetEccMode) X(DeviceGetTotalEccErrors) \
	X(DeviceGetPowerUsage) X(DeviceGetTotalEnergyConsumption) \
	X(DeviceGetPowerManagementMode) X(DeviceGetPowerManagementLimit) \
	X(DeviceGetPowerManagementLimitConstraints) \
	X(DeviceGetPowerManagementDefaultLimit) X(DeviceGetEnforcedPowerLimit) \
	X(DeviceSetPowerManagementLimit) X(DeviceGetPowerState) \
	X(DeviceGetPerformanceState) X(DeviceGetClockInfo) X(DeviceGetMaxClockInfo) \
	X(DeviceGetClock) X(DeviceGetMaxCustomerBoostClock) \
	X(DeviceGetSupportedMemoryClocks) X(DeviceGetSupportedGraphicsClocks) \
	X(DeviceSetGpuLockedClocks) X(DeviceResetGpuLockedClocks) \
	X(DeviceSetMemoryLockedClocks) X(DeviceResetMemoryLockedClocks) \
	X(DeviceGetApplicationsClock) X(DeviceGetDefaultApplicationsClock) \
	X(DeviceSetApplicationsClocks) X(DeviceResetApplicationsClocks) \
	X(DeviceGetAutoBoostedClocksEnabled) X(DeviceGetUtilizationRates) \
	X(DeviceGetEncoderUtilization) X(DeviceGetDecoderUtilization) \
	X(DeviceGetMemoryInfo) X(DeviceGetBAR1MemoryInfo) X(DeviceGetTemperature) \
	X(DeviceGetTemperatureThreshold) X(DeviceGetFanSpeed) X(DeviceGetNumFans) \
	X(DeviceGetCurrentClocksThrottleReasons) \
	X(DeviceGetSupportedClocksThrottleReasons) \
	X(DeviceGetCurrentClocksEventReasons) X(DeviceGetSupportedClocksEventReasons) \
	X(DeviceGetFieldValues) X(DeviceGetViolationStatus) X(DeviceGetSamples) \
	X(DeviceGetPersistenceMode) X(DeviceSetPersistenceMode) X(DeviceGetComputeMode) \
	X(DeviceSetComputeMode) X(DeviceGetMigMode) X(DeviceSetMigMode) \
	X(DeviceGetMaxMigDeviceCount) X(DeviceGetMigDeviceHandleByIndex) \
	X(DeviceGetDeviceHandleFromMigDeviceHandle) X(DeviceIsMigDeviceHandle) \
	X(DeviceGetGpuInstanceId) X(DeviceGetComputeInstanceId) \
	X(DeviceGetPcieThroughput) X(DeviceGetCurrPcieLinkGeneration) \
	X(DeviceGetCurrPcieLinkWidth) X(DeviceGetMaxPcieLinkGeneration) \
	X(DeviceGetMaxPcieLinkWidth) X(DeviceGetPcieReplayCounter) \
	X(DeviceGetComputeRunningProcesses) X(DeviceGetGraphicsRunningProcesses) \
	X(DeviceGetMPSComputeRunningProcesses) X(DeviceGetProcessUtilization) \
	X(DeviceGetAccountingMode) X(DeviceGetDriverModel) X(EventSetCreate)

enum nvml_call {
#define X(name) CALL_##name,
	NVML_CALLS(X)
#undef X
	CALL_COUNT
};
/* clang-format on */

#endif
