"""What sampling with python3-pynvml costs: the same channels at the same rate as bench/sampler.c.

    python3 sampler_pynvml.py HZ SECONDS [empty]      one JSON line
"""

import json
import sys
import time


def main():
    hz, seconds = float(sys.argv[1]), float(sys.argv[2])
    empty = len(sys.argv) > 3 and sys.argv[3] == "empty"
    handles = []
    if not empty:
        import pynvml as nv
        nv.nvmlInit()
        handles = [nv.nvmlDeviceGetHandleByIndex(i) for i in range(nv.nvmlDeviceGetCount())]
    period = 1 / hz
    kept = []
    ticks = samples = 0
    cpu, start = time.process_time(), time.monotonic()
    deadline, end = start, start + seconds
    while deadline < end:
        for h in handles:
            kept.append((nv.nvmlDeviceGetTotalEnergyConsumption(h), nv.nvmlDeviceGetPowerUsage(h),
                         nv.nvmlDeviceGetClockInfo(h, nv.NVML_CLOCK_SM),
                         nv.nvmlDeviceGetUtilizationRates(h).gpu,
                         nv.nvmlDeviceGetCurrentClocksThrottleReasons(h)))
            samples += 5
            if ticks % 10 == 0:
                kept.append((nv.nvmlDeviceGetTemperature(h, nv.NVML_TEMPERATURE_GPU), nv.nvmlDeviceGetMemoryInfo(h).used,
                             nv.nvmlDeviceGetClockInfo(h, nv.NVML_CLOCK_MEM)))
                samples += 3
        if len(kept) > 100000:
            kept.clear()
        ticks += 1
        deadline += period
        time.sleep(max(0, deadline - time.monotonic()))
    cpu, wall = time.process_time() - cpu, time.monotonic() - start
    print(json.dumps({"bench": "sampler_pynvml", "empty": empty, "gpus": len(handles), "hz": hz, "seconds": round(wall, 2),
                      "ticks": ticks, "samples": samples, "cpu_us_per_tick": round(cpu / ticks * 1e6, 2),
                      "core_pct": round(cpu / wall * 100, 4)}))


main()
