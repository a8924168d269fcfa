# SPDX-License-Identifier: Apache-2.0
"""What a monitor reads through pynvml, as JSON. It knows nothing of Sluice."""

import json

import pynvml

pynvml.nvmlInit()
devices = []
for i in range(pynvml.nvmlDeviceGetCount()):
    device = pynvml.nvmlDeviceGetHandleByIndex(i)
    memory = pynvml.nvmlDeviceGetMemoryInfo(device)
    usage = pynvml.nvmlDeviceGetUtilizationRates(device)
    try:
        pynvml.nvmlDeviceGetTemperature(device, pynvml.NVML_TEMPERATURE_GPU)
        heat = "known"
    except pynvml.NVMLError_NotSupported:
        heat = "not supported"
    devices.append({
        "name": pynvml.nvmlDeviceGetName(device), "uuid": pynvml.nvmlDeviceGetUUID(device),
        "bus": pynvml.nvmlDeviceGetPciInfo(device).busId, "total": memory.total, "used": memory.used, "gpu": usage.gpu,
        "processes": {p.pid: p.usedGpuMemory for p in pynvml.nvmlDeviceGetComputeRunningProcesses(device)}, "heat": heat,
        "capability": pynvml.nvmlDeviceGetCudaComputeCapability(device),
    })
print(json.dumps({"driver": pynvml.nvmlSystemGetDriverVersion(), "devices": devices}))
pynvml.nvmlShutdown()
