/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

/* Pools, and memory in the order of streams. */

#define MIB (1u << 20)

static uint64_t attribute(CUmemoryPool pool, CUmemPool_attribute which)
{
	cuuint64_t value = 0;

	assert_cu(cuMemPoolGetAttribute(pool, which, &value));
	return value;
}

static size_t free_bytes(void)
{
	size_t n, total;

	assert_cu(cuMemGetInfo_v2(&n, &total));
	return n;
}

static void a_block_is_used_again_in_the_stream_that_freed_it(void **state)
{
	CUdeviceptr a, b, c;
	CUstream stream, other;
	CUfunction fill;
	CUmemoryPool pool;
	uint32_t word;

	(void)state;
	fill = test_function(test_ptx_fill, "fill");
	assert_cu(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_cu(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	assert_cu(cuDeviceGetDefaultMemPool(&pool, 0));
	assert_cu(cuMemAllocAsync(&a, 4 * MIB, stream));
	assert_cu(test_fill(fill, a, MIB, 1, stream));
	assert_cu(cuMemFreeAsync(a, stream));
	assert_cu(cuMemAllocAsync(&b, 4 * MIB, stream));
	assert_true(a == b);
	assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4 * MIB);

	assert_cu(test_fill(fill, b, MIB, 2, stream));
	assert_cu(cuMemFreeAsync(b, stream));
	/* another one fits, so nobody has to wait */
	assert_cu(cuMemAllocAsync(&c, 4 * MIB, other));
	assert_cu(test_fill(fill, c, MIB, 3, other));
	assert_cu(cuMemcpyDtoHAsync_v2(&word, c + 4000, 4, other));
	assert_cu(cuStreamSynchronize(other));
	assert_int_equal(word, 1003);
	assert_cu(cuMemFreeAsync(c, other));
	assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
	assert_cu(cuCtxSynchronize());
	assert_int_equal(attribute(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
	assert_true(attribute(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH) >= 4 * MIB);
	assert_cu(cuStreamDestroy_v2(stream));
	assert_cu(cuStreamDestroy_v2(other));
}

static void a_full_device_gets_memory_from_what_is_idle(void **state)
{
	CUdeviceptr a, b;
	CUmemoryPool pool;
	cuuint64_t all = UINT64_MAX, none = 0;
	size_t before = free_bytes();

	(void)state;
	assert_cu(cuDeviceGetMemPool(&pool, 0));
	assert_cu(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
	assert_cu(cuMemAllocAsync(&a, 40 * MIB, NULL));
	assert_cu(cuMemFreeAsync(a, NULL));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(free_bytes(), before - 40 * MIB);
	/* of another size, and by another call */
	assert_cu(cuMemAlloc_v2(&b, 50 * MIB));
	assert_cu(cuMemFree_v2(b));
	assert_cu(cuMemAllocAsync(&a, 16 * MIB, NULL));
	assert_cu(cuMemFreeAsync(a, NULL));
	assert_cu(cuMemAllocAsync(&a, 60 * MIB, NULL));
	/* the plain call frees it as well */
	assert_cu(cuMemFree_v2(a));
	assert_int_equal(cuMemFree_v2(a), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuMemPoolTrimTo(pool, 0));
	assert_int_equal(free_bytes(), before);
	assert_cu(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &none));
	assert_int_equal(cuMemAllocAsync(&a, 65 * MIB, NULL), CUDA_ERROR_OUT_OF_MEMORY);
}

static void a_pool_of_ones_own_has_its_own_limit(void **state)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 },
				 .maxSize = 8 * MIB };
	CUmemoryPool pool, told;
	CUdeviceptr a, b;

	(void)state;
	assert_cu(cuMemPoolCreate(&pool, &props));
	assert_cu(cuMemAllocFromPoolAsync(&a, 6 * MIB, pool, NULL));
	assert_cu(cuPointerGetAttribute(&told, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, a));
	assert_ptr_equal(told, pool);
	assert_int_equal(cuMemAllocFromPoolAsync(&b, 4 * MIB, pool, NULL),
			 CUDA_ERROR_OUT_OF_MEMORY);
	assert_cu(cuDeviceSetMemPool(0, pool));
	assert_cu(cuMemAllocAsync(&b, MIB, NULL));
	/* a pool that is destroyed lives until its last block has come back */
	assert_cu(cuMemPoolDestroy(pool));
	assert_int_equal(cuMemPoolTrimTo(pool, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuMemFreeAsync(a, NULL));
	assert_cu(cuMemFreeAsync(b, NULL));
	assert_int_equal(cuMemFreeAsync(b, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuCtxSynchronize());
	assert_int_equal(free_bytes(), 64 * MIB);
	assert_cu(cuDeviceGetMemPool(&told, 0));
	assert_ptr_not_equal(told, pool);
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
		cmocka_unit_test(a_block_is_used_again_in_the_stream_that_freed_it),
		cmocka_unit_test(a_full_device_gets_memory_from_what_is_idle),
		cmocka_unit_test(a_pool_of_ones_own_has_its_own_limit),
	};

	return cmocka_run_group_tests_name("softgpu-pool", tests, set_up, test_device_tear_down);
}
