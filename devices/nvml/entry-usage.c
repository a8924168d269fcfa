/* SPDX-License-Identifier: Apache-2.0 */

/* How full and how busy a device is, and by whom. */

#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "nvml/device.h"
#include "nvml/usage.h"

static nvmlReturn_t usage_look(nvmlDevice_t device, struct dev_board_view *ret_view)
{
	nvmlReturn_t result = dev_nvml_check(device);

	if (result)
		return result;
	switch (dev_board_look(device->board, ret_view)) {
	case 0:
		return NVML_SUCCESS;
	case DEV_BOARD_E_BUSY:
		return NVML_ERROR_TIMEOUT;
	default:
		return NVML_ERROR_UNKNOWN;
	}
}

/* A view is too large for a stranger's stack. */
static nvmlReturn_t look_new(nvmlDevice_t device, struct dev_board_view **ret_view)
{
	struct dev_board_view *view = malloc(sizeof(*view));
	nvmlReturn_t result = view ? usage_look(device, view) : NVML_ERROR_UNKNOWN;

	if (result)
		free(view);
	else
		*ret_view = view;
	return result;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *ret_memory)
{
	struct dev_board_view *view;
	nvmlReturn_t result;
	uint64_t used;

	if (!ret_memory)
		return NVML_ERROR_INVALID_ARGUMENT;
	result = look_new(device, &view);
	if (result)
		return result;
	/* of a process only its allocations are known, of the device also what contexts take */
	used = view->used_bytes + view->overhead_bytes;
	*ret_memory = (nvmlMemory_t){
		.total = view->capacity_bytes,
		.free = view->capacity_bytes - used,
		.used = used,
	};
	free(view);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
	nvmlMemory_t plain;
	nvmlReturn_t result;

	/* the caller says which form it has: its size, and its number in the highest byte */
	if (!memory || memory->version != (sizeof(*memory) | 2u << 24))
		return memory ? NVML_ERROR_ARGUMENT_VERSION_MISMATCH : NVML_ERROR_INVALID_ARGUMENT;
	result = nvmlDeviceGetMemoryInfo(device, &plain);
	if (!result)
		*memory = (nvmlMemory_v2_t){
			.version = memory->version,
			.total = plain.total,
			.free = plain.free,
			.used = plain.used,
		};
	return result;
}

/* -- Processes */

/* As all calls with a list: @n is the capacity of the list, and becomes the number of entries. */
static nvmlReturn_t usage_list(nvmlDevice_t device, unsigned *n, nvmlProcessInfo_v1_t *ret_old,
			       nvmlProcessInfo_v2_t *ret_new)
{
	struct dev_board_view *view;
	nvmlReturn_t result;
	unsigned capacity;

	if (!n)
		return NVML_ERROR_INVALID_ARGUMENT;
	result = look_new(device, &view);
	if (result)
		return result;
	capacity = ret_old || ret_new ? *n : 0;
	*n = view->n_slots;
	for (unsigned i = 0; i < view->n_slots && i < capacity; i++) {
		unsigned pid = (unsigned)view->slots[i].pid;
		uint64_t bytes = view->slots[i].bytes;

		if (ret_old)
			ret_old[i] = (nvmlProcessInfo_v1_t){ .pid = pid, .usedGpuMemory = bytes };
		else
			ret_new[i] = (nvmlProcessInfo_v2_t){
				.pid = pid,
				.usedGpuMemory = bytes,
				.gpuInstanceId = (unsigned)NVML_VALUE_NOT_AVAILABLE,
				.computeInstanceId = (unsigned)NVML_VALUE_NOT_AVAILABLE,
			};
	}
	if (view->n_slots > capacity)
		result = NVML_ERROR_INSUFFICIENT_SIZE;
	free(view);
	return result;
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned *n,
						  nvmlProcessInfo_v1_t *ret_list)
{
	return usage_list(device, n, ret_list, NULL);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned *n,
						     nvmlProcessInfo_v2_t *ret_list)
{
	return usage_list(device, n, NULL, ret_list);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned *n,
						     nvmlProcessInfo_v2_t *ret_list)
{
	return usage_list(device, n, NULL, ret_list);
}

/* A device on the CPU draws nothing and has no server between. */
static nvmlReturn_t list_nobody(nvmlDevice_t device, unsigned *n)
{
	nvmlReturn_t result = dev_nvml_check(device);

	if (result || !n)
		return result ? result : NVML_ERROR_INVALID_ARGUMENT;
	*n = 0;
	return NVML_SUCCESS;
}

#define LIST_NOBODY(name, type)                                             \
	nvmlReturn_t name(nvmlDevice_t device, unsigned *n, type *ret_list) \
	{                                                                   \
		return list_nobody(device, n);                              \
	}

LIST_NOBODY(nvmlDeviceGetGraphicsRunningProcesses, nvmlProcessInfo_v1_t)
LIST_NOBODY(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlProcessInfo_v2_t)
LIST_NOBODY(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlProcessInfo_v2_t)
LIST_NOBODY(nvmlDeviceGetMPSComputeRunningProcesses, nvmlProcessInfo_v1_t)
LIST_NOBODY(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvmlProcessInfo_v2_t)
LIST_NOBODY(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlProcessInfo_v2_t)

/* -- Utilisation */

static nvmlReturn_t look_jobs(nvmlDevice_t device, struct dev_board_job **ret_jobs, size_t *ret_n)
{
	nvmlReturn_t result = dev_nvml_check(device);
	struct dev_board_job *jobs;

	if (result)
		return result;
	jobs = malloc(DEV_BOARD_JOBS_MAX * sizeof(*jobs));
	if (!jobs)
		return NVML_ERROR_UNKNOWN;
	*ret_n = dev_board_look_jobs(device->board, jobs, DEV_BOARD_JOBS_MAX);
	*ret_jobs = jobs;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *ret_usage)
{
	struct dev_nvml_usage usage;
	struct dev_board_job *jobs;
	nvmlReturn_t result;
	size_t n;

	if (!ret_usage)
		return NVML_ERROR_INVALID_ARGUMENT;
	result = look_jobs(device, &jobs, &n);
	if (result)
		return result;
	usage = dev_nvml_usage(jobs, n, slu_clock_now_ns(), 0);
	*ret_usage =
		(nvmlUtilization_t){ .gpu = usage.compute_percent, .memory = usage.bus_percent };
	free(jobs);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
					     nvmlProcessUtilizationSample_t *ret_list, unsigned *n,
					     unsigned long long since)
{
	struct dev_board_view *view;
	struct dev_board_job *jobs;
	struct timespec now;
	nvmlReturn_t result;
	size_t n_jobs;
	unsigned capacity;

	if (!n)
		return NVML_ERROR_INVALID_ARGUMENT;
	result = look_new(device, &view);
	if (result)
		return result;
	result = look_jobs(device, &jobs, &n_jobs);
	if (result) {
		free(view);
		return result;
	}
	clock_gettime(CLOCK_REALTIME, &now);
	capacity = ret_list ? *n : 0;
	*n = view->n_slots;
	for (unsigned i = 0; i < view->n_slots && i < capacity; i++) {
		struct dev_nvml_usage usage =
			dev_nvml_usage(jobs, n_jobs, slu_clock_now_ns(), view->slots[i].who);

		ret_list[i] = (nvmlProcessUtilizationSample_t){
			.pid = (unsigned)view->slots[i].pid,
			.timeStamp = (unsigned long long)now.tv_sec * 1000000 +
				     (unsigned long long)now.tv_nsec / 1000,
			.smUtil = usage.compute_percent,
			.memUtil = usage.bus_percent,
		};
	}
	if (view->n_slots > capacity)
		result = NVML_ERROR_INSUFFICIENT_SIZE;
	free(view);
	free(jobs);
	return result;
}
