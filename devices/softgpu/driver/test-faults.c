/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <sys/wait.h>

/*
 * Faults on order, as a program meets them. Each order is a process of its own; what it meets comes
 * back as the number of the step that was not as it should be, 0 if all were.
 */

#define GRANULE (2u << 20)

static CUfunction fill;

#define STEP(condition)           \
	do {                      \
		n++;              \
		if (!(condition)) \
			return n; \
	} while (0)

static int create_fails_once(void)
{
	CUdeviceptr p, q;
	int n = 0;

	STEP(cuMemAlloc_v2(&p, GRANULE) == CUDA_SUCCESS);
	STEP(cuMemAlloc_v2(&q, GRANULE) == CUDA_ERROR_OUT_OF_MEMORY);
	STEP(cuMemAlloc_v2(&q, GRANULE) == CUDA_SUCCESS);
	return 0;
}

static int mapping_fails_once_at_each_call(void)
{
	CUmemAllocationProp prop = { .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	CUmemAccessDesc access = { .location = prop.location,
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle handle;
	CUdeviceptr a;
	int n = 0;

	STEP(cuMemCreate(&handle, GRANULE, &prop, 0) == CUDA_SUCCESS);
	STEP(cuMemAddressReserve(&a, GRANULE, 0, 0, 0) == CUDA_SUCCESS);
	STEP(cuMemMap(a, GRANULE, 0, handle, 0) == CUDA_ERROR_MAP_FAILED);
	STEP(cuMemMap(a, GRANULE, 0, handle, 0) == CUDA_SUCCESS);
	STEP(cuMemSetAccess(a, GRANULE, &access, 1) == CUDA_ERROR_UNKNOWN);
	STEP(cuMemsetD8_v2(a, 0, 1) == CUDA_ERROR_INVALID_VALUE);
	STEP(cuMemSetAccess(a, GRANULE, &access, 1) == CUDA_SUCCESS);
	STEP(cuMemUnmap(a, GRANULE) == CUDA_ERROR_UNMAP_FAILED);
	STEP(cuMemsetD8_v2(a, 0, 1) == CUDA_SUCCESS);
	STEP(cuCtxSynchronize() == CUDA_SUCCESS);
	STEP(cuMemUnmap(a, GRANULE) == CUDA_SUCCESS);
	STEP(cuMemRelease(handle) == CUDA_SUCCESS);
	return 0;
}

static int work_fails_once_and_changes_nothing(void)
{
	unsigned value = 5, out = 0;
	CUdeviceptr p;
	int n = 0;

	STEP(cuMemAlloc_v2(&p, 4096) == CUDA_SUCCESS);
	STEP(cuMemsetD32_v2(p, 1, 1) == CUDA_SUCCESS);
	STEP(cuMemsetD32_v2(p, 2, 1) == CUDA_ERROR_UNKNOWN);
	STEP(cuMemcpyDtoH_v2(&out, p, 4) == CUDA_SUCCESS && out == 1);
	STEP(cuMemcpyHtoD_v2(p, &value, 4) == CUDA_ERROR_UNKNOWN);
	STEP(cuMemcpyDtoH_v2(&out, p, 4) == CUDA_SUCCESS && out == 1);
	STEP(test_fill(fill, p, 1, 9, NULL) == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	STEP(cuMemcpyDtoH_v2(&out, p, 4) == CUDA_SUCCESS && out == 1);
	STEP(test_fill(fill, p, 1, 9, NULL) == CUDA_SUCCESS);
	STEP(cuMemcpyDtoH_v2(&out, p, 4) == CUDA_SUCCESS && out == 9);
	return 0;
}

static int a_hanging_copy_ends_with_its_context(void)
{
	CUcontext own;
	CUstream stream, other;
	CUdeviceptr p;
	void *pinned;
	int n = 0;

	STEP(cuCtxCreate_v2(&own, 0, 0) == CUDA_SUCCESS);
	STEP(cuMemAlloc_v2(&p, 4096) == CUDA_SUCCESS);
	STEP(cuMemAllocHost_v2(&pinned, 4096) == CUDA_SUCCESS);
	STEP(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
	STEP(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
	STEP(cuMemcpyHtoDAsync_v2(p, pinned, 4096, stream) == CUDA_SUCCESS);
	STEP(cuMemcpyHtoDAsync_v2(p, pinned, 4096, other) == CUDA_SUCCESS);
	STEP(cuStreamSynchronize(other) == CUDA_SUCCESS);
	STEP(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
	STEP(cuCtxDestroy_v2(own) == CUDA_SUCCESS);
	return 0;
}

static int a_slow_copy_takes_longer(void)
{
	CUevent a, b;
	CUdeviceptr p;
	void *pinned;
	float ms;
	int n = 0;

	STEP(cuMemAlloc_v2(&p, 4096) == CUDA_SUCCESS);
	STEP(cuMemAllocHost_v2(&pinned, 4096) == CUDA_SUCCESS);
	STEP(cuEventCreate(&a, 0) == CUDA_SUCCESS && cuEventCreate(&b, 0) == CUDA_SUCCESS);
	STEP(cuEventRecord(a, NULL) == CUDA_SUCCESS);
	STEP(cuMemcpyHtoDAsync_v2(p, pinned, 4096, NULL) == CUDA_SUCCESS);
	STEP(cuEventRecord(b, NULL) == CUDA_SUCCESS);
	STEP(cuEventSynchronize(b) == CUDA_SUCCESS);
	STEP(cuEventElapsedTime(&ms, a, b) == CUDA_SUCCESS && ms >= 30.0f);
	return 0;
}

static int a_hanging_launch_ends_with_its_context(void)
{
	CUstream stream, other;
	CUfunction own_fill;
	CUcontext own;
	CUdeviceptr p;
	unsigned out = 0;
	int n = 0;

	STEP(cuCtxCreate_v2(&own, 0, 0) == CUDA_SUCCESS);
	own_fill = test_function(test_ptx_fill, "fill");
	STEP(cuMemAlloc_v2(&p, 4096) == CUDA_SUCCESS);
	STEP(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
	STEP(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS);
	STEP(test_fill(own_fill, p, 1, 7, stream) == CUDA_SUCCESS);
	STEP(test_fill(own_fill, p, 1, 9, other) == CUDA_SUCCESS);
	STEP(cuStreamSynchronize(other) == CUDA_SUCCESS);
	STEP(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
	STEP(cuMemcpyDtoHAsync_v2(&out, p, 4, other) == CUDA_SUCCESS);
	STEP(cuStreamSynchronize(other) == CUDA_SUCCESS && out == 9);
	STEP(cuCtxDestroy_v2(own) == CUDA_SUCCESS);
	return 0;
}

static int a_slow_set_takes_longer(void)
{
	unsigned out = 0;
	CUevent a, b;
	CUdeviceptr p;
	float ms;
	int n = 0;

	STEP(cuMemAlloc_v2(&p, 4096) == CUDA_SUCCESS);
	STEP(cuEventCreate(&a, 0) == CUDA_SUCCESS && cuEventCreate(&b, 0) == CUDA_SUCCESS);
	STEP(cuMemsetD32Async(p, 1, 4, NULL) == CUDA_SUCCESS);
	STEP(cuEventRecord(a, NULL) == CUDA_SUCCESS);
	STEP(cuMemsetD32Async(p, 2, 4, NULL) == CUDA_SUCCESS);
	STEP(cuEventRecord(b, NULL) == CUDA_SUCCESS);
	STEP(cuEventSynchronize(b) == CUDA_SUCCESS);
	STEP(cuEventElapsedTime(&ms, a, b) == CUDA_SUCCESS && ms >= 30.0f);
	STEP(cuMemcpyDtoH_v2(&out, p, 4) == CUDA_SUCCESS && out == 2);
	return 0;
}

static int pinning_fails_once(void)
{
	void *p, *q = NULL, *own;
	int n = 0;

	STEP(cuMemAllocHost_v2(&p, 4096) == CUDA_SUCCESS);
	STEP(cuMemHostAlloc(&q, 4096, 0) == CUDA_ERROR_OUT_OF_MEMORY && !q);
	STEP(cuMemHostAlloc(&q, 4096, 0) == CUDA_SUCCESS);
	STEP(posix_memalign(&own, 4096, 4096) == 0);
	STEP(cuMemHostRegister_v2(own, 4096, 0) == CUDA_ERROR_OUT_OF_MEMORY);
	STEP(cuMemHostRegister_v2(own, 4096, 0) == CUDA_SUCCESS);
	return 0;
}

static void order(const char *text)
{
	const char *path = getenv("SLUICE_SOFTGPU_FAULT_FILE");
	char other[160];
	FILE *file;

	/* whole or not at all */
	snprintf(other, sizeof(other), "%s.new", path);
	file = fopen(other, "we");
	if (!file || fputs(text, file) < 0 || fclose(file) || rename(other, path))
		_exit(101);
}

static int orders_come_while_the_program_runs(void)
{
	const CUmemAllocationProp on_host = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA,
	};
	CUmemGenericAllocationHandle host;
	CUdeviceptr p, q;
	int n = 0;

	STEP(cuMemAlloc_v2(&p, GRANULE) == CUDA_SUCCESS);
	order("create:2,copy:1");
	STEP(cuMemAlloc_v2(&q, 4096) == CUDA_SUCCESS);
	STEP(cuMemAlloc_v2(&q, 4096) == CUDA_ERROR_OUT_OF_MEMORY);
	STEP(cuMemcpyDtoH_v2(&n, p, 4) == CUDA_ERROR_UNKNOWN);
	n = 4;
	order("memory:3M\n");
	STEP(cuMemCreate(&host, GRANULE * 2, &on_host, 0) == CUDA_SUCCESS);
	STEP(cuMemAlloc_v2(&q, GRANULE) == CUDA_SUCCESS);
	STEP(cuMemAlloc_v2(&q, GRANULE) == CUDA_ERROR_OUT_OF_MEMORY);
	STEP(cuMemAlloc_v2(&q, GRANULE / 4) == CUDA_SUCCESS);
	order("this is no order, create:1");
	STEP(cuMemAlloc_v2(&q, GRANULE) == CUDA_SUCCESS);
	return 0;
}

static int run(const char *list, int (*scene)(void))
{
	CUcontext context;
	pid_t pid;
	int status;

	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		setenv("SLUICE_SOFTGPU_FAULT", list, 1);
		if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxSetCurrent(context))
			_exit(100);
		fill = test_function(test_ptx_fill, "fill");
		_exit(scene());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void the_ordered_call_fails_and_the_next_one_works(void **state)
{
	(void)state;
	assert_int_equal(run("create:2", create_fails_once), 0);
	assert_int_equal(run("map:1,access:1,unmap:1", mapping_fails_once_at_each_call), 0);
	assert_int_equal(run("set:2,copy:2,launch:1", work_fails_once_and_changes_nothing), 0);
	assert_int_equal(run("host:2,host:4", pinning_fails_once), 0);
}

static void without_an_order_the_same_scenes_meet_no_fault(void **state)
{
	(void)state;
	/* each stops at the step that waits for its fault */
	assert_int_equal(run("", create_fails_once), 2);
	assert_int_equal(run("", mapping_fails_once_at_each_call), 3);
	assert_int_equal(run("", work_fails_once_and_changes_nothing), 3);
	assert_int_equal(run("", pinning_fails_once), 2);
}

static void work_can_hang_or_be_slow(void **state)
{
	(void)state;
	assert_int_equal(run("hang:copy:1", a_hanging_copy_ends_with_its_context), 0);
	assert_int_equal(run("hang:launch:1", a_hanging_launch_ends_with_its_context), 0);
	assert_int_equal(run("slow:copy:1:30ms", a_slow_copy_takes_longer), 0);
	assert_int_equal(run("slow:set:2:30ms", a_slow_set_takes_longer), 0);
}

static void orders_can_come_from_a_file(void **state)
{
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/orders", test_folder);
	setenv("SLUICE_SOFTGPU_FAULT_FILE", path, 1);
	assert_int_equal(run("", orders_come_while_the_program_runs), 0);
	unsetenv("SLUICE_SOFTGPU_FAULT_FILE");
	unlink(path);
}

static void a_wrong_order_keeps_the_driver_from_starting(void **state)
{
	(void)state;
	assert_int_equal(run("nonsense:1", create_fails_once), 100);
}

static int set_up(void **state)
{
	(void)state;
	test_device_make("32M");
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_ordered_call_fails_and_the_next_one_works),
		cmocka_unit_test(without_an_order_the_same_scenes_meet_no_fault),
		cmocka_unit_test(work_can_hang_or_be_slow),
		cmocka_unit_test(orders_can_come_from_a_file),
		cmocka_unit_test(a_wrong_order_keeps_the_driver_from_starting),
	};

	return cmocka_run_group_tests_name("softgpu-faults", tests, set_up, test_device_tear_down);
}
