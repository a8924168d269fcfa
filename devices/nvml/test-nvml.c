/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <unistd.h>

#include "nvml/nvml-min.h"

#define assert_nvml(call) assert_int_equal((call), NVML_SUCCESS)

static void nothing_answers_before_the_start(void **state)
{
	nvmlDevice_t device;
	unsigned n;

	(void)state;
	assert_int_equal(nvmlDeviceGetCount_v2(&n), NVML_ERROR_UNINITIALIZED);
	assert_int_equal(nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_ERROR_UNINITIALIZED);
	assert_int_equal(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
}

static void devices_are_there_when_a_program_has_made_them(void **state)
{
	unsigned n = 9;

	(void)state;
	assert_nvml(nvmlInit_v2());
	assert_nvml(nvmlDeviceGetCount_v2(&n));
	assert_int_equal(n, 0);
	assert_cu(cuInit(0));
	assert_nvml(nvmlDeviceGetCount_v2(&n));
	assert_int_equal(n, 2);
	assert_nvml(nvmlShutdown());
}

static void a_device_is_found_by_number_uuid_and_address_as_the_driver_tells_them(void **state)
{
	char uuid[96], name[96], driver_name[96], address[32];
	nvmlDevice_t device, found;
	nvmlPciInfo_t pci;
	CUuuid of_driver;
	unsigned index;

	(void)state;
	assert_nvml(nvmlInit_v2());
	assert_int_equal(nvmlDeviceGetHandleByIndex_v2(2, &device), NVML_ERROR_INVALID_ARGUMENT);
	assert_nvml(nvmlDeviceGetHandleByIndex_v2(1, &device));
	assert_nvml(nvmlDeviceGetIndex(device, &index));
	assert_int_equal(index, 1);
	assert_nvml(nvmlDeviceGetName(device, name, sizeof(name)));
	assert_cu(cuDeviceGetName(driver_name, sizeof(driver_name), 1));
	assert_string_equal(name, driver_name);
	assert_int_equal(nvmlDeviceGetName(device, name, 3), NVML_ERROR_INSUFFICIENT_SIZE);

	assert_nvml(nvmlDeviceGetUUID(device, uuid, sizeof(uuid)));
	assert_cu(cuDeviceGetUuid_v2(&of_driver, 1));
	assert_int_equal(strtoul((char[]){ uuid[4], uuid[5], 0 }, NULL, 16),
			 (unsigned char)of_driver.bytes[0]);
	assert_nvml(nvmlDeviceGetHandleByUUID(uuid, &found));
	assert_ptr_equal(found, device);
	assert_int_equal(nvmlDeviceGetHandleByUUID("GPU-none", &found), NVML_ERROR_NOT_FOUND);

	assert_nvml(nvmlDeviceGetPciInfo_v3(device, &pci));
	assert_cu(cuDeviceGetPCIBusId(address, sizeof(address), 1));
	assert_string_equal(pci.busIdLegacy, address);
	assert_nvml(nvmlDeviceGetHandleByPciBusId_v2(address, &found));
	assert_ptr_equal(found, device);
	assert_nvml(nvmlDeviceGetHandleByPciBusId_v2(pci.busId, &found));
	assert_ptr_equal(found, device);
	assert_int_equal(nvmlDeviceGetHandleByPciBusId_v2("0000:00:07.0", &found),
			 NVML_ERROR_NOT_FOUND);
	assert_nvml(nvmlShutdown());
	assert_int_equal(nvmlDeviceGetIndex(device, &index), NVML_ERROR_UNINITIALIZED);
}

static void memory_with_what_contexts_take_and_processes_are_the_boards(void **state)
{
	nvmlProcessInfo_v2_t processes[4];
	nvmlMemory_v2_t v2 = { .version = sizeof(v2) | 2u << 24 };
	nvmlUtilization_t usage;
	nvmlMemory_t memory;
	nvmlDevice_t device;
	CUcontext context;
	CUdeviceptr p;
	char name[256];
	unsigned n;

	(void)state;
	assert_nvml(nvmlInit_v2());
	assert_nvml(nvmlDeviceGetHandleByIndex_v2(0, &device));
	assert_cu(cuDevicePrimaryCtxRetain(&context, 0));
	assert_cu(cuCtxSetCurrent(context));
	assert_cu(cuMemAlloc_v2(&p, 8 << 20));
	assert_nvml(nvmlDeviceGetMemoryInfo(device, &memory));
	assert_int_equal(memory.total, 64 << 20);
	assert_int_equal(memory.used, 11 << 20);
	assert_int_equal(memory.free, 53 << 20);
	assert_nvml(nvmlDeviceGetMemoryInfo_v2(device, &v2));
	assert_int_equal(v2.used, 11 << 20);
	v2.version = 1;
	assert_int_equal(nvmlDeviceGetMemoryInfo_v2(device, &v2),
			 NVML_ERROR_ARGUMENT_VERSION_MISMATCH);

	n = 0;
	assert_int_equal(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, NULL),
			 NVML_ERROR_INSUFFICIENT_SIZE);
	assert_int_equal(n, 1);
	n = 4;
	assert_nvml(nvmlDeviceGetComputeRunningProcesses_v3(device, &n, processes));
	assert_int_equal(n, 1);
	assert_int_equal(processes[0].pid, getpid());
	assert_int_equal(processes[0].usedGpuMemory, 8 << 20);
	assert_nvml(nvmlSystemGetProcessName(processes[0].pid, name, sizeof(name)));
	assert_non_null(strstr(name, "test-nvml"));
	assert_nvml(nvmlDeviceGetUtilizationRates(device, &usage));
	assert_true(usage.gpu <= 100 && usage.memory <= 100);

	assert_cu(cuMemFree_v2(p));
	assert_nvml(nvmlDeviceGetMemoryInfo(device, &memory));
	assert_int_equal(memory.used, 3 << 20);
	assert_cu(cuDevicePrimaryCtxRelease_v2(0));
	assert_nvml(nvmlDeviceGetMemoryInfo(device, &memory));
	assert_int_equal(memory.used, 0);
	assert_nvml(nvmlShutdown());
}

static void what_a_cpu_does_not_have_is_not_supported(void **state)
{
	nvmlReturn_t nvmlDeviceGetTemperature(void);

	(void)state;
	assert_int_equal(nvmlDeviceGetTemperature(), NVML_ERROR_NOT_SUPPORTED);
	assert_string_equal(nvmlErrorString(NVML_ERROR_NOT_SUPPORTED), "Not Supported");
}

static int make(void **state)
{
	(void)state;
	test_device_make("64M");
	setenv("SLUICE_SOFTGPU_DEVICES", "2", 1);
	setenv("SLUICE_SOFTGPU_CONTEXT_OVERHEAD", "3M", 1);
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_answers_before_the_start),
		cmocka_unit_test(devices_are_there_when_a_program_has_made_them),
		cmocka_unit_test(
			a_device_is_found_by_number_uuid_and_address_as_the_driver_tells_them),
		cmocka_unit_test(memory_with_what_contexts_take_and_processes_are_the_boards),
		cmocka_unit_test(what_a_cpu_does_not_have_is_not_supported),
	};

	return cmocka_run_group_tests_name("nvml", tests, make, test_device_tear_down);
}
