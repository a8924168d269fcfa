/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

/* Calls of the first years, as old programs make them. */

static CUcontext context;
static CUfunction fill;
static CUdeviceptr words;

static uint32_t word(unsigned i)
{
	uint32_t value;

	assert_cu(cuMemcpyDtoH_v2(&value, words + 4 * i, 4));
	return value;
}

static void a_launch_is_put_together_piece_by_piece(void **state)
{
	(void)state;
	assert_cu(cuFuncSetBlockShape(fill, 16, 1, 1));
	assert_cu(cuFuncSetSharedSize(fill, 0));
	assert_cu(cuParamSetSize(fill, 16));
	assert_cu(cuParamSetv(fill, 0, &words, 8));
	assert_cu(cuParamSeti(fill, 8, 40));
	assert_cu(cuParamSeti(fill, 12, 5));
	assert_cu(cuLaunchGrid(fill, 3, 1));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(word(0), 5);
	assert_int_equal(word(39), 44);
	assert_int_equal(word(40), 0);
	/* what is not set again stays; one block is 16 threads */
	assert_cu(cuParamSeti(fill, 12, 100));
	assert_cu(cuLaunch(fill));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(word(15), 115);
	assert_int_equal(word(16), 21);
	assert_cu(cuParamSetf(fill, 12, 1.0f));
	assert_cu(cuLaunchGridAsync(fill, 1, 1, NULL));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(word(0), 0x3f800000);
}

static void what_is_wrong_with_it_is_said(void **state)
{
	int value = 1;

	(void)state;
	assert_int_equal(cuFuncSetBlockShape(fill, 0, 1, 1), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuParamSetSize(fill, 5000), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuParamSetv(fill, -4, &value, 4), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuParamSetv(fill, 4094, &value, 4), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuParamSetv(fill, 0, NULL, 4), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuLaunchGrid(fill, 0, 1), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuLaunch((CUfunction)(void *)&value), CUDA_ERROR_INVALID_HANDLE);
}

static void a_context_ends_with_its_last_user(void **state)
{
	CUcontext mine, again;
	unsigned version;

	(void)state;
	assert_cu(cuCtxCreate_v2(&mine, 0, 0));
	assert_cu(cuCtxAttach(&again, 0));
	assert_ptr_equal(again, mine);
	assert_cu(cuCtxDetach(mine));
	assert_cu(cuCtxGetApiVersion(mine, &version));
	assert_int_equal(cuCtxDetach(context), CUDA_ERROR_INVALID_CONTEXT);
	assert_cu(cuCtxDetach(mine));
	assert_int_equal(cuCtxGetApiVersion(mine, &version), CUDA_ERROR_INVALID_CONTEXT);
}

static void a_stream_tells_its_context_in_every_form(void **state)
{
	CUgreenCtx green = (CUgreenCtx)(void *)&context;
	CUcontext told;

	(void)state;
	assert_cu(cuStreamGetCtx_v2(NULL, &told, &green));
	assert_ptr_equal(told, context);
	assert_null(green);
	assert_cu(cuStreamGetCtx_v2_ptsz(NULL, &told, NULL));
	assert_ptr_equal(told, context);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_launch_is_put_together_piece_by_piece),
		cmocka_unit_test(what_is_wrong_with_it_is_said),
		cmocka_unit_test(a_context_ends_with_its_last_user),
		cmocka_unit_test(a_stream_tells_its_context_in_every_form),
	};
	int r;

	test_device_make("16M");
	if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuMemAlloc_v2(&words, 256) ||
	    cuMemsetD32_v2(words, 0, 64))
		return 1;
	fill = test_function(test_ptx_fill, "fill");
	r = cmocka_run_group_tests_name("softgpu-legacy", tests, NULL, NULL);
	test_device_remove();
	return r;
}
