/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

/* Kernels as the driver sees them: what they do wrong, and the clocks that they read. */

#define MIB (1u << 20)

static CUcontext primary;

static const char ptx_wrong[] = TEST_PTX_HEAD ".func endless(.param .b32 n)\n"
					      "{\n"
					      "	.reg .b32 %r<2>;\n"
					      "	.param .b32 next;\n"
					      "	ld.param.b32 %r1, [n];\n"
					      "	add.s32 %r1, %r1, 1;\n"
					      "	st.param.b32 [next], %r1;\n"
					      "	call endless, (next);\n"
					      "	ret;\n"
					      "}\n"
					      ".visible .entry nowhere(.param .u64 p)\n"
					      "{\n"
					      "	.reg .b32 %r<2>;\n"
					      "	mov.u32 %r1, 1;\n"
					      "	.reg .b64 %d<2>;\n"
					      "	mov.u64 %d1, 64;\n"
					      "	st.global.u32 [%d1], %r1;\n"
					      "	ret;\n"
					      "}\n"
					      ".visible .entry crooked(.param .u64 p)\n"
					      "{\n"
					      "	.reg .b32 %r<2>;\n"
					      "	.reg .b64 %d<2>;\n"
					      "	ld.param.u64 %d1, [p];\n"
					      "	ld.global.u32 %r1, [%d1+2];\n"
					      "	st.global.u32 [%d1], %r1;\n"
					      "	ret;\n"
					      "}\n"
					      ".visible .entry lost(.param .u64 p)\n"
					      "{\n"
					      "	.reg .b64 %d<2>;\n"
					      "	.param .b32 a;\n"
					      "	.reg .b32 %r<2>;\n"
					      "	mov.u32 %r1, 1;\n"
					      "	st.param.b32 [a], %r1;\n"
					      "	mov.u64 %d1, 12345;\n"
					      "	shape: .callprototype _ (.param .b32 _);\n"
					      "	call %d1, (a), shape;\n"
					      "	ret;\n"
					      "}\n"
					      ".visible .entry trapped(.param .u64 p)\n"
					      "{\n"
					      "	trap;\n"
					      "}\n"
					      ".visible .entry deep(.param .u64 p)\n"
					      "{\n"
					      "	.reg .b32 %r<2>;\n"
					      "	.param .b32 a;\n"
					      "	mov.u32 %r1, 1;\n"
					      "	st.param.b32 [a], %r1;\n"
					      "	call endless, (a);\n"
					      "	ret;\n"
					      "}\n";

static void what_a_kernel_does_wrong_stays_with_its_context(void **state)
{
	static const struct {
		const char *kernel;
		CUresult error;
	} table[] = {
		{ "nowhere", CUDA_ERROR_ILLEGAL_ADDRESS },
		{ "crooked", CUDA_ERROR_MISALIGNED_ADDRESS },
		{ "lost", CUDA_ERROR_INVALID_PC },
		{ "trapped", CUDA_ERROR_LAUNCH_FAILED },
		{ "deep", CUDA_ERROR_HARDWARE_STACK_ERROR },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		CUcontext own;
		CUfunction f;
		CUdeviceptr p, q;
		void *params[] = { &p };
		CUresult error;
		size_t left, all;

		assert_cu(cuCtxCreate_v2(&own, 0, 0));
		assert_cu(cuMemAlloc_v2(&p, MIB));
		f = test_function(ptx_wrong, table[i].kernel);
		assert_cu(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
		error = cuCtxSynchronize();
		if (error != table[i].error)
			fail_msg("%s gives %d", table[i].kernel, error);
		/* every later call in it says the same */
		assert_int_equal(cuMemAlloc_v2(&q, 4), error);
		assert_int_equal(cuMemcpyDtoH_v2(&left, p, 4), error);
		assert_int_equal(cuStreamSynchronize(NULL), error);
		assert_int_equal(cuCtxSynchronize(), error);
		/* its end helps, and gives back what it had */
		assert_cu(cuCtxDestroy_v2(own));
		assert_cu(cuCtxSetCurrent(primary));
		assert_cu(cuMemGetInfo_v2(&left, &all));
		assert_int_equal(left, all);
		assert_cu(cuCtxSynchronize());
	}
}

/* times(p): each thread's clock64, globaltimer, clock and globaltimer_lo, before and after work */
static const char ptx_times[] = TEST_PTX_HEAD ".visible .entry times(.param .u64 p)\n"
					      "{\n"
					      "	.reg .pred %q<2>;\n"
					      "	.reg .b32 %r<8>;\n"
					      "	.reg .b64 %d<10>;\n"
					      "	ld.param.u64 %d1, [p];\n"
					      "	mov.u32 %r1, %tid.x;\n"
					      "	mul.wide.u32 %d2, %r1, 48;\n"
					      "	add.s64 %d1, %d1, %d2;\n"
					      "	mov.u64 %d3, %clock64;\n"
					      "	mov.u64 %d4, %globaltimer;\n"
					      "	mov.u32 %r2, %clock;\n"
					      "	mov.u32 %r3, %globaltimer_lo;\n"
					      "	mov.u32 %r4, 2000;\n"
					      "AGAIN:\n"
					      "	sub.s32 %r4, %r4, 1;\n"
					      "	setp.ne.s32 %q1, %r4, 0;\n"
					      "	@%q1 bra AGAIN;\n"
					      "	mov.u64 %d5, %clock64;\n"
					      "	mov.u64 %d6, %globaltimer;\n"
					      "	mov.u32 %r5, %clock;\n"
					      "	mov.u32 %r6, %globaltimer_lo;\n"
					      "	st.global.u64 [%d1], %d3;\n"
					      "	st.global.u64 [%d1+8], %d5;\n"
					      "	st.global.u64 [%d1+16], %d4;\n"
					      "	st.global.u64 [%d1+24], %d6;\n"
					      "	st.global.u32 [%d1+32], %r2;\n"
					      "	st.global.u32 [%d1+36], %r5;\n"
					      "	st.global.u32 [%d1+40], %r3;\n"
					      "	st.global.u32 [%d1+44], %r6;\n"
					      "	ret;\n"
					      "}\n";

struct times {
	uint64_t clock64[2], globaltimer[2];
	uint32_t clock[2], globaltimer_lo[2];
};

static void clocks_go_on_while_a_kernel_works(void **state)
{
	enum { N = 64, N_LAUNCHES = 3 };
	CUfunction f = test_function(ptx_times, "times");
	struct times times[N_LAUNCHES][N];
	CUdeviceptr p;
	void *params[] = { &p };

	(void)state;
	assert_cu(cuMemAlloc_v2(&p, sizeof(times[0])));
	for (unsigned i = 0; i < N_LAUNCHES; i++) {
		assert_cu(cuLaunchKernel(f, 1, 1, 1, N, 1, 1, 0, NULL, params, NULL));
		assert_cu(cuMemcpyDtoH_v2(times[i], p, sizeof(times[i])));
	}
	for (unsigned i = 0; i < N_LAUNCHES; i++)
		for (unsigned j = 0; j < N; j++) {
			const struct times *t = &times[i][j];

			/* some 4000 instructions are in between */
			assert_true(t->clock64[1] > t->clock64[0]);
			assert_true(t->globaltimer[1] > t->globaltimer[0]);
			assert_int_not_equal(t->clock[1], t->clock[0]);
			/* the short ones are the low halves, read a moment later */
			assert_true(t->clock[0] - (uint32_t)t->clock64[0] <
				    (uint32_t)(t->clock64[1] - t->clock64[0]));
			assert_true(t->globaltimer_lo[0] - (uint32_t)t->globaltimer[0] <
				    (uint32_t)(t->globaltimer[1] - t->globaltimer[0]));
			/* and they go on from launch to launch */
			if (i) {
				assert_true(t->clock64[0] > times[i - 1][j].clock64[1]);
				assert_true(t->globaltimer[0] > times[i - 1][j].globaltimer[1]);
			}
		}
	assert_cu(cuMemFree_v2(p));
}

static int set_up(void **state)
{
	(void)state;
	primary = test_primary_make("16M");
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_kernel_does_wrong_stays_with_its_context),
		cmocka_unit_test(clocks_go_on_while_a_kernel_works),
	};

	return cmocka_run_group_tests_name("softgpu-kernel", tests, set_up, test_device_tear_down);
}
