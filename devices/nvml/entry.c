/* SPDX-License-Identifier: Apache-2.0 */

/* The library's start and end, and what each device is. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/uuid.h"
#include "nvml/device.h"

/* The series of drivers that came with CUDA 13.0, and none of them: programs compare numbers. */
#define DRIVER_VERSION	    "580.00.00"
#define NVML_VERSION	    "13.580.00.00"
#define CUDA_DRIVER_VERSION 13000

nvmlReturn_t nvmlInit(void)
{
	return dev_nvml_start();
}

nvmlReturn_t nvmlInit_v2(void)
{
	return dev_nvml_start();
}

nvmlReturn_t nvmlInitWithFlags(unsigned flags)
{
	return dev_nvml_start();
}

nvmlReturn_t nvmlShutdown(void)
{
	return dev_nvml_stop();
}

const char *nvmlErrorString(nvmlReturn_t result)
{
	switch (result) {
	case NVML_SUCCESS:
		return "Success";
	case NVML_ERROR_UNINITIALIZED:
		return "Uninitialized";
	case NVML_ERROR_INVALID_ARGUMENT:
		return "Invalid Argument";
	case NVML_ERROR_NOT_SUPPORTED:
		return "Not Supported";
	case NVML_ERROR_NO_PERMISSION:
		return "Insufficient Permissions";
	case NVML_ERROR_NOT_FOUND:
		return "Not Found";
	case NVML_ERROR_INSUFFICIENT_SIZE:
		return "Insufficient Size";
	case NVML_ERROR_DRIVER_NOT_LOADED:
		return "Driver Not Loaded";
	case NVML_ERROR_TIMEOUT:
		return "Timeout";
	case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
		return "Argument Version Mismatch";
	case NVML_ERROR_UNKNOWN:
		break;
	}
	return "Unknown Error";
}

static nvmlReturn_t entry_tell(const char *text, char *ret_text, unsigned size)
{
	if (!ret_text)
		return NVML_ERROR_INVALID_ARGUMENT;
	if (strlen(text) >= size)
		return NVML_ERROR_INSUFFICIENT_SIZE;
	strcpy(ret_text, text);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *ret_text, unsigned size)
{
	return entry_tell(DRIVER_VERSION, ret_text, size);
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *ret_text, unsigned size)
{
	return entry_tell(NVML_VERSION, ret_text, size);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *ret_version)
{
	if (!ret_version)
		return NVML_ERROR_INVALID_ARGUMENT;
	*ret_version = CUDA_DRIVER_VERSION;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *ret_version)
{
	return nvmlSystemGetCudaDriverVersion(ret_version);
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char *ret_name, unsigned size)
{
	slu_cleanup(slu_closep) int fd = -1;
	char path[64], name[4096];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == EACCES ? NVML_ERROR_NO_PERMISSION : NVML_ERROR_NOT_FOUND;
	/* up to the first zero: the program, without its arguments */
	n = read(fd, name, sizeof(name) - 1);
	if (n < 0)
		return NVML_ERROR_NOT_FOUND;
	name[n] = '\0';
	return entry_tell(name, ret_name, size);
}

/* -- Which devices there are */

nvmlReturn_t nvmlDeviceGetCount(unsigned *ret_count)
{
	return dev_nvml_count(ret_count);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *ret_count)
{
	return dev_nvml_count(ret_count);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t *ret_device)
{
	return dev_nvml_find(index, ret_device);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *ret_device)
{
	return dev_nvml_find(index, ret_device);
}

static const char *format_uuid(char buf[static SLU_UUID_STRING_MAX],
			       const struct nvmlDevice_st *device)
{
	return slu_uuid_format(buf, dev_board_identity(device->board)->uuid);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *ret_device)
{
	nvmlDevice_t device;
	nvmlReturn_t result;
	char text[SLU_UUID_STRING_MAX];

	if (!uuid || !ret_device)
		return NVML_ERROR_INVALID_ARGUMENT;
	for (unsigned i = 0; !(result = dev_nvml_find(i, &device)); i++) {
		if (strcasecmp(format_uuid(text, device), uuid))
			continue;
		*ret_device = device;
		return NVML_SUCCESS;
	}
	return result == NVML_ERROR_UNINITIALIZED ? result : NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *id, nvmlDevice_t *ret_device)
{
	unsigned domain = 0, bus, index;
	nvmlReturn_t result;

	if (!id || (sscanf(id, "%x:%x:%x", &domain, &bus, &index) != 3 &&
		    (domain = 0, sscanf(id, "%x:%x", &bus, &index)) != 2))
		return NVML_ERROR_INVALID_ARGUMENT;
	if (domain || bus)
		return NVML_ERROR_NOT_FOUND;
	result = dev_nvml_find(index, ret_device);
	return result == NVML_ERROR_INVALID_ARGUMENT && ret_device ? NVML_ERROR_NOT_FOUND : result;
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *ret_device)
{
	return nvmlDeviceGetHandleByPciBusId(id, ret_device);
}

/* -- What a device is */

#define CHECK(device, ret)                                     \
	do {                                                   \
		nvmlReturn_t _result = dev_nvml_check(device); \
		if (_result)                                   \
			return _result;                        \
		if (!(ret))                                    \
			return NVML_ERROR_INVALID_ARGUMENT;    \
	} while (0)

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned *ret_index)
{
	CHECK(device, ret_index);
	*ret_index = device->index;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned *ret_number)
{
	return nvmlDeviceGetIndex(device, ret_number);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *ret_name, unsigned size)
{
	CHECK(device, ret_name);
	return entry_tell(dev_board_identity(device->board)->name, ret_name, size);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *ret_uuid, unsigned size)
{
	char text[SLU_UUID_STRING_MAX];

	CHECK(device, ret_uuid);
	return entry_tell(format_uuid(text, device), ret_uuid, size);
}

nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, nvmlBrandType_t *ret_brand)
{
	CHECK(device, ret_brand);
	*ret_brand = NVML_BRAND_UNKNOWN;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *ret_pci)
{
	CHECK(device, ret_pci);
	*ret_pci = (nvmlPciInfo_t){ .device = device->index };
	snprintf(ret_pci->busIdLegacy, sizeof(ret_pci->busIdLegacy), "0000:00:%02X.0",
		 device->index & 0xff);
	snprintf(ret_pci->busId, sizeof(ret_pci->busId), "00000000:00:%02X.0",
		 device->index & 0xff);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *ret_pci)
{
	return nvmlDeviceGetPciInfo_v3(device, ret_pci);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_v2_t *ret_pci)
{
	CHECK(device, ret_pci);
	*ret_pci = (nvmlPciInfo_v2_t){ .device = device->index };
	snprintf(ret_pci->busId, sizeof(ret_pci->busId), "0000:00:%02X.0", device->index & 0xff);
	return NVML_SUCCESS;
}

/* The driver of each process may report another one, if it is told to; this is what it does untold.
 */
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *ret_major, int *ret_minor)
{
	const char *said = secure_getenv("SLUICE_SOFTGPU_CAPABILITY");

	CHECK(device, ret_major && ret_minor);
	*ret_major = 7;
	*ret_minor = 5;
	if (said && sscanf(said, "%2d.%1d", ret_major, ret_minor) != 2)
		return NVML_ERROR_INVALID_ARGUMENT;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, nvmlComputeMode_t *ret_mode)
{
	CHECK(device, ret_mode);
	*ret_mode = NVML_COMPUTEMODE_DEFAULT;
	return NVML_SUCCESS;
}

/* The device's memory and accounts outlive its programs. */
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, nvmlEnableState_t *ret_mode)
{
	CHECK(device, ret_mode);
	*ret_mode = NVML_FEATURE_ENABLED;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t device, nvmlEnableState_t *ret_mode)
{
	CHECK(device, ret_mode);
	*ret_mode = NVML_FEATURE_DISABLED;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t device, nvmlEnableState_t *ret_mode)
{
	return nvmlDeviceGetDisplayMode(device, ret_mode);
}
