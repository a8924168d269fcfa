/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <semaphore.h>
#include <sys/syscall.h>

/*
 * What the host finds in pinned and managed memory when a call returns. Work is held up in front of
 * each call, by a host function that ends only when the calling thread waits: a call that does not
 * wait returns while nothing has been done yet.
 */

#define WORDS 64

static CUdeviceptr device;

static void until_asleep(void *data)
{
	test_wait_until_asleep(*(const long *)data);
}

static void hold_up(CUstream stream)
{
	static long self;

	self = syscall(SYS_gettid);
	assert_cu(cuLaunchHostFunc(stream, until_asleep, &self));
}

/* Fills @words, which both sides see, by every form that has no stream of its own. */
static void check_blocking_calls(unsigned *words)
{
	CUdeviceptr p = (uintptr_t)words;
	CUDA_MEMCPY2D box = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
			      .srcDevice = device,
			      .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
			      .dstDevice = p,
			      .WidthInBytes = WORDS * 4,
			      .Height = 1 };

	words[WORDS - 1] = 0;
	hold_up(NULL);
	assert_cu(cuMemsetD32_v2(p, 1, WORDS));
	assert_int_equal(words[WORDS - 1], 1);
	hold_up(NULL);
	assert_cu(cuMemsetD8_v2(p, 2, WORDS * 4));
	assert_int_equal(words[WORDS - 1], 0x02020202);
	hold_up(CU_STREAM_PER_THREAD);
	assert_cu(cuMemsetD16_v2_ptds(p, 3, WORDS * 2));
	assert_int_equal(words[WORDS - 1], 0x00030003);
	hold_up(NULL);
	assert_cu(cuMemsetD2D32_v2(p, WORDS * 2, 4, WORDS / 2, 2));
	assert_int_equal(words[WORDS - 1], 4);

	assert_cu(cuMemsetD32_v2(device, 5, WORDS));
	hold_up(NULL);
	assert_cu(cuMemcpyDtoD_v2(p, device, WORDS * 4));
	assert_int_equal(words[WORDS - 1], 5);
	assert_cu(cuMemsetD32_v2(device, 6, WORDS));
	hold_up(NULL);
	assert_cu(cuMemcpy(p, device, WORDS * 4));
	assert_int_equal(words[WORDS - 1], 6);
	assert_cu(cuMemsetD32_v2(device, 7, WORDS));
	hold_up(NULL);
	assert_cu(cuMemcpy2D_v2(&box));
	assert_int_equal(words[WORDS - 1], 7);
}

static void pinned_memory_is_written_when_a_call_returns(void **state)
{
	unsigned *words;

	(void)state;
	assert_cu(cuMemHostAlloc((void **)&words, WORDS * 4, CU_MEMHOSTALLOC_DEVICEMAP));
	check_blocking_calls(words);
	assert_cu(cuMemFreeHost(words));
}

static void managed_memory_is_written_when_a_call_returns(void **state)
{
	CUdeviceptr p;

	(void)state;
	assert_cu(cuMemAllocManaged(&p, WORDS * 4, CU_MEM_ATTACH_GLOBAL));
	check_blocking_calls((unsigned *)(uintptr_t)p);
	assert_cu(cuMemFree_v2(p));
}

static void wait_at(void *data)
{
	while (sem_wait(data))
		;
}

/* The host function ends only after the calls: they would wait for ever. */
static void queued_forms_and_device_memory_are_not_waited_for(void **state)
{
	unsigned *words;
	sem_t leave;

	(void)state;
	assert_cu(cuMemHostAlloc((void **)&words, WORDS * 4, CU_MEMHOSTALLOC_DEVICEMAP));
	sem_init(&leave, 0, 0);
	words[0] = 1;
	assert_cu(cuLaunchHostFunc(NULL, wait_at, &leave));
	assert_cu(cuMemsetD32_v2(device, 8, WORDS));
	assert_cu(cuMemcpyDtoD_v2(device + WORDS * 2, device, WORDS * 2));
	assert_cu(cuMemsetD32Async((uintptr_t)words, 9, WORDS, NULL));
	assert_cu(cuMemcpyDtoDAsync_v2((uintptr_t)words, device, 4, NULL));
	assert_int_equal(words[0], 1);
	sem_post(&leave);
	assert_cu(cuStreamSynchronize(NULL));
	assert_int_equal(words[0], 8);
	assert_int_equal(words[1], 9);
	sem_destroy(&leave);
	assert_cu(cuMemFreeHost(words));
}

static int set_up(void **state)
{
	(void)state;
	test_primary_make("32M");
	assert_cu(cuMemAlloc_v2(&device, WORDS * 4));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	assert_cu(cuDevicePrimaryCtxRelease_v2(0));
	test_device_remove();
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(pinned_memory_is_written_when_a_call_returns),
		cmocka_unit_test(managed_memory_is_written_when_a_call_returns),
		cmocka_unit_test(queued_forms_and_device_memory_are_not_waited_for),
	};

	return cmocka_run_group_tests_name("softgpu-host", tests, set_up, tear_down);
}
