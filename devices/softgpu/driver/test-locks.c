/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <pthread.h>
#include <sys/syscall.h>

#include "softgpu/driver/execution/stream.h"

/* Who waits for a stream keeps no lock that others need to let it go on. */

#define MIB (1u << 20)

static CUcontext context;
static uint32_t *word; /* that streams wait for; atomic */

/* A call that waits, on a thread of its own. */
struct waiter {
	CUresult (*call)(struct waiter *waiter);
	CUcontext context;
	CUstream stream;
	CUdeviceptr address;
	CUlibrary library;
	CUresult result;
	pthread_t thread;
	long tid; /* atomic */
};

static void *waiter_main(void *data)
{
	struct waiter *w = data;

	assert_cu(cuCtxSetCurrent(w->context));
	__atomic_store_n(&w->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	w->result = w->call(w);
	return NULL;
}

static void start_waiter(struct waiter *w)
{
	long tid;

	assert_int_equal(pthread_create(&w->thread, NULL, waiter_main, w), 0);
	while (!(tid = __atomic_load_n(&w->tid, __ATOMIC_ACQUIRE)))
		sched_yield();
	test_wait_until_asleep(tid);
}

static void stop_stream(CUstream stream)
{
	__atomic_store_n(word, 0, __ATOMIC_RELEASE);
	assert_cu(cuStreamWaitValue32_v2(stream, (uintptr_t)word, 1, CU_STREAM_WAIT_VALUE_GEQ));
}

static void let_go(struct waiter *w)
{
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	pthread_join(w->thread, NULL);
	assert_cu(w->result);
}

static CUresult allocate(struct waiter *w)
{
	return cuMemAllocAsync(&w->address, 60 * MIB, w->stream);
}

static void a_stream_that_is_full_keeps_nobody_from_allocating(void **state)
{
	struct waiter w = { .call = allocate, .context = context };
	CUdeviceptr big, small;
	CUstream other;

	(void)state;
	assert_cu(cuStreamCreate(&w.stream, CU_STREAM_NON_BLOCKING));
	assert_cu(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	assert_cu(cuMemAllocAsync(&big, 60 * MIB, other));
	stop_stream(other);
	assert_cu(cuMemFreeAsync(big, other));
	stop_stream(w.stream);
	for (unsigned i = 1; i < DEV_STREAM_DEPTH; i++)
		assert_cu(cuStreamWriteValue32_v2(w.stream, (uintptr_t)&word[1], i, 0));
	/* it gets what the other stream frees, and waits until its own takes one more command */
	start_waiter(&w);
	assert_cu(cuMemAllocAsync(&small, MIB, NULL));
	assert_cu(cuMemFreeAsync(small, NULL));
	let_go(&w);
	assert_true(w.address == big);
	assert_cu(cuMemFreeAsync(big, w.stream));
	assert_cu(cuStreamDestroy_v2(w.stream));
	assert_cu(cuStreamDestroy_v2(other));
	assert_cu(cuCtxSynchronize());
}

static CUresult unload(struct waiter *w)
{
	return cuLibraryUnload(w->library);
}

static void load_library(CUlibrary *ret_library, CUfunction *ret_function)
{
	CUkernel kernel;

	assert_cu(cuLibraryLoadData(ret_library, test_ptx_fill, NULL, NULL, 0, NULL, NULL, 0));
	assert_cu(cuLibraryGetKernel(&kernel, *ret_library, "fill"));
	assert_cu(cuKernelGetFunction(ret_function, kernel));
}

static void a_library_that_waits_for_its_context_keeps_no_other_from_loading(void **state)
{
	struct waiter w = { .call = unload, .context = context };
	CUfunction function;
	CUlibrary library;
	CUcontext second;

	(void)state;
	assert_cu(cuStreamCreate(&w.stream, CU_STREAM_NON_BLOCKING));
	load_library(&w.library, &function);
	stop_stream(w.stream);
	start_waiter(&w);
	assert_cu(cuCtxCreate_v2(&second, 0, 0));
	load_library(&library, &function);
	assert_cu(cuLibraryUnload(library));
	assert_cu(cuCtxDestroy_v2(second));
	let_go(&w);
	assert_cu(cuStreamDestroy_v2(w.stream));
}

static int set_up(void **state)
{
	(void)state;
	context = test_context_make("64M");
	assert_cu(cuMemHostAlloc((void **)&word, 64, 0));
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stream_that_is_full_keeps_nobody_from_allocating),
		cmocka_unit_test(a_library_that_waits_for_its_context_keeps_no_other_from_loading),
	};

	return cmocka_run_group_tests_name("softgpu-locks", tests, set_up, test_device_tear_down);
}
