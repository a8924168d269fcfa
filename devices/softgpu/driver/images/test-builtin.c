/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels say and what they allocate, as a program meets it. */
#include "lib/softgpu.h"

#include <sys/syscall.h>
#include <unistd.h>

static const char text[] =
	".version 7.0\n.target sm_75\n.address_size 64\n"
	".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
	".extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, "
	".param .b64 c);\n"
	".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
	".global .align 1 .b8 format[7] = {110, 32, 37, 100, 33, 10, 0};\n"
	".visible .entry take(.param .u64 out, .param .u64 n)\n{\n.reg .b64 %d<5>;\n"
	"ld.param.u64 %d1, [out]; ld.param.u64 %d2, [n];\n"
	"{ .param .b64 n; .param .b64 p; st.param.b64 [n], %d2; call.uni (p), malloc, (n); "
	"ld.param.b64 %d3, [p]; }\n"
	"st.global.u64 [%d1], %d3; ret;\n}\n"
	".visible .entry say()\n{\n.reg .b64 %d<3>; .local .align 8 .b8 own[8];\n"
	"mov.u64 %d1, format; mov.u64 %d2, own; cvta.local.u64 %d2, %d2; st.local.u32 [own], 42;\n"
	"{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %d1; st.param.b64 [a], "
	"%d2; call.uni (r), vprintf, (f, a); } ret;\n}\n"
	".visible .entry fail()\n{\n.reg .b64 %d<3>; mov.u64 %d1, format;\n"
	"{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;\n"
	"st.param.b64 [a], %d1; st.param.b64 [b], %d1; st.param.b32 [c], 3; st.param.b64 [d], %d1; "
	"st.param.b64 [e], 1;\ncall.uni __assertfail, (a, b, c, d, e); } ret;\n}\n";

/* What is written to a descriptor while @run runs. */
static void overhear(int fd, CUresult (*run)(void), CUresult expected, char *ret_text, size_t size)
{
	int ends[2], old = dup(fd);
	ssize_t n;

	fflush(NULL);
	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], fd);
	close(ends[1]);
	assert_int_equal(run(), expected);
	fflush(NULL);
	dup2(old, fd);
	close(old);
	n = read(ends[0], ret_text, size - 1);
	ret_text[n > 0 ? n : 0] = 0;
	close(ends[0]);
}

static CUresult launch(const char *name, void **params)
{
	CUfunction function = test_function(text, name);
	CUresult r = cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL);

	return r ? r : cuCtxSynchronize();
}

static CUdeviceptr take(uint64_t bytes)
{
	CUdeviceptr out, got = 0;
	void *params[] = { &out, &bytes };

	assert_int_equal(cuMemAlloc_v2(&out, 8), CUDA_SUCCESS);
	assert_int_equal(launch("take", params), CUDA_SUCCESS);
	assert_int_equal(cuMemcpyDtoH_v2(&got, out, 8), CUDA_SUCCESS);
	assert_int_equal(cuMemFree_v2(out), CUDA_SUCCESS);
	return got;
}

static void malloc_takes_from_the_card_up_to_the_limit(void **state)
{
	size_t before, after, total;

	(void)state;
	assert_int_equal(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 4 << 20), CUDA_SUCCESS);
	assert_int_equal(cuMemGetInfo_v2(&before, &total), CUDA_SUCCESS);
	assert_true(take(3 << 20) != 0);
	assert_true(take(3 << 20) == 0);
	assert_true(take(1 << 19) != 0);
	assert_int_equal(cuMemGetInfo_v2(&after, &total), CUDA_SUCCESS);
	assert_true(before - after >= 4 << 20);
	/* too late to change it */
	assert_int_equal(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20),
			 CUDA_ERROR_INVALID_VALUE);
}

static void wait_until_asleep(void *data)
{
	test_wait_until_asleep(*(const long *)data);
}

static void queue_a_kernel_that_allocates(CUfunction function, CUstream stream, CUdeviceptr out)
{
	uint64_t bytes = 64;
	void *params[] = { &out, &bytes };

	assert_cu(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL));
}

/* The first launch of a kernel, a free and an unload wait for the context and keep others out. */
static void a_kernel_that_allocates_may_be_queued_while_others_wait_for_it(void **state)
{
	CUfunction take, other;
	CUmodule module;
	CUcontext own;
	CUstream stream;
	CUdeviceptr out, spare, got;
	long self = syscall(SYS_gettid);

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		assert_cu(cuCtxCreate_v2(&own, 0, 0));
		assert_cu(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
		assert_cu(cuMemAlloc_v2(&out, 8));
		assert_cu(cuMemAlloc_v2(&spare, 8));
		assert_cu(cuModuleLoadData(&module, text));
		take = test_function(text, "take");
		other = test_function(test_ptx_fill, "fill");
		assert_cu(cuFuncLoad(take));
		assert_cu(cuLaunchHostFunc(stream, wait_until_asleep, &self));
		queue_a_kernel_that_allocates(take, stream, out);
		if (i == 0)
			assert_cu(test_fill(other, spare, 1, 7, stream));
		else if (i == 1)
			assert_cu(cuMemFree_v2(spare));
		else
			assert_cu(cuModuleUnload(module));
		assert_cu(cuCtxSynchronize());
		assert_cu(cuMemcpyDtoH_v2(&got, out, 8));
		assert_true(got != 0);
		assert_cu(cuCtxDestroy_v2(own));
	}
}

/* As with code and local memory, whoever has the card's memory is asked to give some back. */
static void a_heap_that_does_not_fit_is_refused_by_the_first_launch(void **state)
{
	uint64_t bytes = 64;
	CUfunction take;
	CUcontext own;
	CUdeviceptr out, big, got;
	void *params[] = { &out, &bytes };
	size_t left, total;

	(void)state;
	assert_cu(cuCtxCreate_v2(&own, 0, 0));
	assert_cu(cuMemAlloc_v2(&out, 8));
	assert_cu(cuMemGetInfo_v2(&left, &total));
	assert_cu(cuMemAlloc_v2(&big, left - (4 << 20)));
	take = test_function(text, "take");
	assert_int_equal(cuLaunchKernel(take, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
			 CUDA_ERROR_OUT_OF_MEMORY);
	assert_cu(cuMemFree_v2(big));
	assert_cu(cuLaunchKernel(take, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	assert_cu(cuMemcpyDtoH_v2(&got, out, 8));
	assert_true(got != 0);
	assert_cu(cuCtxDestroy_v2(own));
}

static CUresult say(void)
{
	return launch("say", NULL);
}

static CUresult fail_assertion(void)
{
	return launch("fail", NULL);
}

static void printf_goes_to_standard_output(void **state)
{
	char heard[256];

	(void)state;
	overhear(STDOUT_FILENO, say, CUDA_SUCCESS, heard, sizeof(heard));
	assert_string_equal(heard, "n 42!\n");
}

/* the last one, because the context is broken by it */
static void a_failed_assertion_is_told_and_stays(void **state)
{
	char heard[256];

	(void)state;
	overhear(STDERR_FILENO, fail_assertion, CUDA_ERROR_ASSERT, heard, sizeof(heard));
	assert_non_null(strstr(heard, ":3: "));
	assert_non_null(strstr(heard, "block: [0,0,0], thread: [0,0,0] Assertion `"));
	assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ASSERT);
}

static int set_up(void **state)
{
	(void)state;
	test_context_make("64M");
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(malloc_takes_from_the_card_up_to_the_limit),
		cmocka_unit_test(a_kernel_that_allocates_may_be_queued_while_others_wait_for_it),
		cmocka_unit_test(a_heap_that_does_not_fit_is_refused_by_the_first_launch),
		cmocka_unit_test(printf_goes_to_standard_output),
		cmocka_unit_test(a_failed_assertion_is_told_and_stays),
	};

	return cmocka_run_group_tests_name("softgpu-builtin", tests, set_up, test_device_tear_down);
}
