/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

/* The rules of virtual memory management, as the genuine driver's manual states them. */

#define GRANULE (2u << 20)

static CUmemAllocationProp prop_of(CUmemLocationType type)
{
	return (CUmemAllocationProp){ .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .location = { .type = type, .id = 0 } };
}

static CUmemGenericAllocationHandle create(CUmemLocationType type, size_t bytes)
{
	CUmemAllocationProp prop = prop_of(type);
	CUmemGenericAllocationHandle handle;

	assert_cu(cuMemCreate(&handle, bytes, &prop, 0));
	return handle;
}

static CUresult set_access(CUdeviceptr address, size_t bytes, CUmemLocationType type,
			   CUmemAccess_flags flags)
{
	CUmemAccessDesc desc = { .location = { .type = type, .id = 0 }, .flags = flags };

	return cuMemSetAccess(address, bytes, &desc, 1);
}

static size_t free_bytes(void)
{
	size_t free, total;

	assert_cu(cuMemGetInfo_v2(&free, &total));
	return free;
}

static void the_granule_is_two_mebibytes_in_both_places(void **state)
{
	CUmemAllocationProp device = prop_of(CU_MEM_LOCATION_TYPE_DEVICE);
	CUmemAllocationProp host = prop_of(CU_MEM_LOCATION_TYPE_HOST_NUMA);
	size_t bytes;

	(void)state;
	assert_cu(cuMemGetAllocationGranularity(&bytes, &device, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	assert_int_equal(bytes, GRANULE);
	assert_cu(cuMemGetAllocationGranularity(&bytes, &host, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	assert_int_equal(bytes, GRANULE);
}

static void sizes_that_are_not_whole_granules_are_refused(void **state)
{
	CUmemAllocationProp prop = prop_of(CU_MEM_LOCATION_TYPE_DEVICE);
	CUmemGenericAllocationHandle handle;
	CUdeviceptr address;

	(void)state;
	assert_int_equal(cuMemCreate(&handle, GRANULE / 2, &prop, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemCreate(&handle, 0, &prop, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemAddressReserve(&address, GRANULE + 1, 0, 0, 0),
			 CUDA_ERROR_INVALID_VALUE);
}

static void locations_that_are_not_memory_are_refused(void **state)
{
	CUmemAllocationProp prop = prop_of(CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT);
	CUmemGenericAllocationHandle handle;

	(void)state;
	assert_int_equal(cuMemCreate(&handle, GRANULE, &prop, 0), CUDA_ERROR_INVALID_VALUE);
	prop = prop_of(CU_MEM_LOCATION_TYPE_HOST_NUMA);
	prop.location.id = -1;
	assert_int_equal(cuMemCreate(&handle, GRANULE, &prop, 0), CUDA_ERROR_INVALID_VALUE);
	prop = prop_of(CU_MEM_LOCATION_TYPE_DEVICE);
	prop.location.id = 7;
	assert_int_equal(cuMemCreate(&handle, GRANULE, &prop, 0), CUDA_ERROR_INVALID_DEVICE);
}

static void a_mapping_is_a_whole_handle_at_offset_zero(void **state)
{
	CUmemGenericAllocationHandle handle = create(CU_MEM_LOCATION_TYPE_DEVICE, 2 * GRANULE);
	CUdeviceptr a;

	(void)state;
	assert_cu(cuMemAddressReserve(&a, 4 * GRANULE, 0, 0, 0));
	assert_int_equal(cuMemMap(a, GRANULE, GRANULE, handle, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemMap(a, GRANULE, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemMap(a + 3 * GRANULE, 2 * GRANULE, 0, handle, 0),
			 CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuMemMap(a + GRANULE, 2 * GRANULE, 0, handle, 0));
	assert_int_equal(cuMemMap(a, 2 * GRANULE, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuMemUnmap(a + GRANULE, 2 * GRANULE));
	assert_cu(cuMemRelease(handle));
	assert_int_equal(cuMemMap(a, 2 * GRANULE, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuMemAddressFree(a, 4 * GRANULE));
}

static void a_part_of_a_mapping_cannot_be_unmapped(void **state)
{
	CUmemGenericAllocationHandle one = create(CU_MEM_LOCATION_TYPE_DEVICE, 2 * GRANULE);
	CUmemGenericAllocationHandle two = create(CU_MEM_LOCATION_TYPE_DEVICE, GRANULE);
	CUdeviceptr a;

	(void)state;
	assert_cu(cuMemAddressReserve(&a, 3 * GRANULE, 0, 0, 0));
	assert_cu(cuMemMap(a, 2 * GRANULE, 0, one, 0));
	assert_cu(cuMemMap(a + 2 * GRANULE, GRANULE, 0, two, 0));
	assert_int_equal(cuMemUnmap(a, GRANULE), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemUnmap(a + GRANULE, GRANULE), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemUnmap(a + GRANULE, 2 * GRANULE), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemAddressFree(a, 3 * GRANULE), CUDA_ERROR_INVALID_VALUE);
	/* several whole ones in one call are fine */
	assert_cu(cuMemUnmap(a, 3 * GRANULE));
	assert_cu(cuMemRelease(one));
	assert_cu(cuMemRelease(two));
	assert_cu(cuMemAddressFree(a, 3 * GRANULE));
}

static void access_starts_from_none_at_every_map(void **state)
{
	CUmemGenericAllocationHandle handle = create(CU_MEM_LOCATION_TYPE_DEVICE, GRANULE);
	CUmemLocation where = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 };
	unsigned long long flags;
	CUdeviceptr a;

	(void)state;
	assert_cu(cuMemAddressReserve(&a, GRANULE, 0, 0, 0));
	for (unsigned i = 0; i < 2; i++) {
		assert_cu(cuMemMap(a, GRANULE, 0, handle, 0));
		assert_cu(cuMemGetAccess(&flags, &where, a));
		assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_NONE);
		assert_int_equal(cuMemsetD8_v2(a, 1, GRANULE), CUDA_ERROR_INVALID_VALUE);
		assert_cu(set_access(a, GRANULE, CU_MEM_LOCATION_TYPE_DEVICE,
				     CU_MEM_ACCESS_FLAGS_PROT_READ));
		assert_int_equal(cuMemsetD8_v2(a, 1, GRANULE), CUDA_ERROR_INVALID_VALUE);
		assert_cu(set_access(a, GRANULE, CU_MEM_LOCATION_TYPE_DEVICE,
				     CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
		assert_cu(cuMemsetD8_v2(a, 1, GRANULE));
		assert_cu(cuCtxSynchronize());
		assert_cu(cuMemUnmap(a, GRANULE));
	}
	assert_int_equal(
		set_access(a, GRANULE, CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_ACCESS_FLAGS_PROT_READ),
		CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuMemRelease(handle));
	assert_cu(cuMemAddressFree(a, GRANULE));
}

static void the_host_has_no_access_to_device_handles(void **state)
{
	CUmemGenericAllocationHandle handle = create(CU_MEM_LOCATION_TYPE_DEVICE, GRANULE);
	CUdeviceptr a;

	(void)state;
	assert_cu(cuMemAddressReserve(&a, GRANULE, 0, 0, 0));
	assert_cu(cuMemMap(a, GRANULE, 0, handle, 0));
	assert_int_equal(set_access(a, GRANULE, CU_MEM_LOCATION_TYPE_HOST_NUMA,
				    CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
			 CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuMemUnmap(a, GRANULE));
	assert_cu(cuMemRelease(handle));
	assert_cu(cuMemAddressFree(a, GRANULE));
}

static void a_host_handle_takes_a_former_device_address(void **state)
{
	CUmemGenericAllocationHandle device = create(CU_MEM_LOCATION_TYPE_DEVICE, GRANULE);
	CUmemGenericAllocationHandle host = create(CU_MEM_LOCATION_TYPE_HOST_NUMA, GRANULE);
	size_t before;
	unsigned value;
	CUdeviceptr a;

	(void)state;
	assert_cu(cuMemAddressReserve(&a, GRANULE, 0, 0, 0));
	assert_cu(cuMemMap(a, GRANULE, 0, device, 0));
	assert_cu(set_access(a, GRANULE, CU_MEM_LOCATION_TYPE_DEVICE,
			     CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
	assert_cu(cuMemsetD32_v2(a, 1111, GRANULE / 4));
	assert_cu(cuCtxSynchronize());
	before = free_bytes();
	assert_cu(cuMemUnmap(a, GRANULE));
	assert_cu(cuMemRelease(device));
	assert_int_equal(free_bytes(), before + GRANULE);

	assert_cu(cuMemMap(a, GRANULE, 0, host, 0));
	assert_cu(set_access(a, GRANULE, CU_MEM_LOCATION_TYPE_DEVICE,
			     CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
	assert_cu(set_access(a, GRANULE, CU_MEM_LOCATION_TYPE_HOST_NUMA,
			     CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
	/* the processor and the device use the same bytes at the same address */
	*(volatile unsigned *)(uintptr_t)(a + 64) = 77;
	assert_cu(cuMemcpyDtoH_v2(&value, a + 64, 4));
	assert_int_equal(value, 77);
	assert_cu(cuMemsetD32_v2(a, 2222, GRANULE / 4));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(*(volatile unsigned *)(uintptr_t)a, 2222);
	assert_int_equal(free_bytes(), before + GRANULE);
	assert_cu(cuMemUnmap(a, GRANULE));
	assert_cu(cuMemRelease(host));
	assert_cu(cuMemAddressFree(a, GRANULE));
}

static void contents_move_with_the_handle_and_addresses_stay(void **state)
{
	CUmemGenericAllocationHandle handle = create(CU_MEM_LOCATION_TYPE_DEVICE, GRANULE);
	CUdeviceptr a, b;
	unsigned value;

	(void)state;
	assert_cu(cuMemAddressReserve(&a, GRANULE, 0, 0, 0));
	assert_cu(cuMemAddressReserve(&b, GRANULE, 0, 0, 0));
	assert_true(a != b);
	for (unsigned i = 0; i < 5; i++) {
		CUdeviceptr here = i % 2 ? b : a;

		assert_cu(cuMemMap(here, GRANULE, 0, handle, 0));
		assert_cu(set_access(here, GRANULE, CU_MEM_LOCATION_TYPE_DEVICE,
				     CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
		if (i) {
			assert_cu(cuMemcpyDtoH_v2(&value, here + 4096, 4));
			assert_int_equal(value, i - 1);
		}
		assert_cu(cuMemcpyHtoD_v2(here + 4096, &i, 4));
		assert_cu(cuMemUnmap(here, GRANULE));
	}
	assert_cu(cuMemRelease(handle));
	assert_cu(cuMemAddressFree(a, GRANULE));
	assert_cu(cuMemAddressFree(b, GRANULE));
}

static void memory_lives_until_handle_and_mappings_are_gone(void **state)
{
	CUmemGenericAllocationHandle handle = create(CU_MEM_LOCATION_TYPE_DEVICE, GRANULE);
	CUmemGenericAllocationHandle again;
	size_t before = free_bytes();
	CUdeviceptr a;

	(void)state;
	assert_cu(cuMemAddressReserve(&a, GRANULE, 0, 0, 0));
	assert_cu(cuMemMap(a, GRANULE, 0, handle, 0));
	assert_cu(cuMemRelease(handle));
	assert_int_equal(cuMemRelease(handle), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(free_bytes(), before);
	assert_cu(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(a + 100)));
	assert_int_equal(again, handle);
	assert_cu(cuMemUnmap(a, GRANULE));
	assert_int_equal(free_bytes(), before);
	assert_cu(cuMemRelease(again));
	assert_int_equal(free_bytes(), before + GRANULE);
	assert_cu(cuMemAddressFree(a, GRANULE));
}

static void new_memory_is_always_zero(void **state)
{
	unsigned char *bytes = malloc(GRANULE);
	CUdeviceptr a;

	(void)state;
	assert_cu(cuMemAlloc_v2(&a, GRANULE));
	assert_cu(cuMemsetD8_v2(a, 0xaa, GRANULE));
	assert_cu(cuMemFree_v2(a));
	/* all of the device, so the same granule must be among them */
	assert_cu(cuMemAlloc_v2(&a, free_bytes()));
	for (unsigned i = 0; i < 8; i++) {
		assert_cu(cuMemcpyDtoH_v2(bytes, a + (size_t)i * GRANULE, GRANULE));
		for (unsigned j = 0; j < GRANULE; j++)
			if (bytes[j])
				fail_msg("granule %u has %02x at %u", i, bytes[j], j);
	}
	assert_cu(cuMemFree_v2(a));
	free(bytes);
}

static void an_unmap_under_a_queued_copy_is_an_illegal_address(void **state)
{
	CUmemGenericAllocationHandle handle;
	CUstream stream;
	CUdeviceptr a, flag;
	CUcontext own, old;
	void *pinned;

	(void)state;
	/* the error is for good, so in a context of its own */
	assert_cu(cuCtxGetCurrent(&old));
	assert_cu(cuCtxCreate_v2(&own, 0, 0));
	handle = create(CU_MEM_LOCATION_TYPE_DEVICE, GRANULE);
	assert_cu(cuMemAddressReserve(&a, GRANULE, 0, 0, 0));
	assert_cu(cuMemMap(a, GRANULE, 0, handle, 0));
	assert_cu(set_access(a, GRANULE, CU_MEM_LOCATION_TYPE_DEVICE,
			     CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
	assert_cu(cuMemAllocHost_v2(&pinned, GRANULE));
	assert_cu(cuMemHostGetDevicePointer_v2(&flag, pinned, 0));
	assert_cu(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_cu(cuStreamWaitValue32_v2(stream, flag, 1, CU_STREAM_WAIT_VALUE_EQ));
	assert_cu(cuMemcpyDtoHAsync_v2((char *)pinned + 4096, a, 4096, stream));
	/* the unmap does not wait for it */
	assert_cu(cuMemUnmap(a, GRANULE));
	__atomic_store_n((unsigned *)pinned, 1, __ATOMIC_SEQ_CST);
	assert_int_equal(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(cuMemAlloc_v2(&flag, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_cu(cuCtxDestroy_v2(own));
	assert_cu(cuMemRelease(handle));
	assert_cu(cuMemAddressFree(a, GRANULE));
	assert_cu(cuCtxSetCurrent(old));
	assert_cu(cuMemAlloc_v2(&flag, 4));
	assert_cu(cuMemFree_v2(flag));
}

/* Whether the wait has begun or not; mostly it has. */
static void unmap_under_a_wait(volatile unsigned *begun)
{
	CUmemGenericAllocationHandle handle;
	CUdeviceptr a;
	CUstream stream;

	handle = create(CU_MEM_LOCATION_TYPE_DEVICE, GRANULE);
	assert_cu(cuMemAddressReserve(&a, GRANULE, 0, 0, 0));
	assert_cu(cuMemMap(a, GRANULE, 0, handle, 0));
	assert_cu(set_access(a, GRANULE, CU_MEM_LOCATION_TYPE_DEVICE,
			     CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
	assert_cu(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_cu(cuStreamWriteValue32_v2(stream, (uintptr_t)begun, 1, 0));
	assert_cu(cuStreamWaitValue32_v2(stream, a, 1, CU_STREAM_WAIT_VALUE_EQ));
	while (!__atomic_load_n(begun, __ATOMIC_ACQUIRE))
		sched_yield();
	assert_cu(cuMemUnmap(a, GRANULE));
	assert_int_equal(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_cu(cuMemRelease(handle));
	assert_cu(cuMemAddressFree(a, GRANULE));
}

static void an_unmap_under_a_wait_is_an_illegal_address(void **state)
{
	CUcontext own, old;
	unsigned *begun;

	(void)state;
	assert_cu(cuCtxGetCurrent(&old));
	for (unsigned i = 0; i < 20; i++) {
		assert_cu(cuCtxCreate_v2(&own, 0, 0));
		assert_cu(cuMemHostAlloc((void **)&begun, 4, 0));
		*begun = 0;
		unmap_under_a_wait(begun);
		assert_cu(cuCtxDestroy_v2(own));
	}
	assert_cu(cuCtxSetCurrent(old));
}

static int set_up(void **state)
{
	(void)state;
	test_primary_make("16M");
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_granule_is_two_mebibytes_in_both_places),
		cmocka_unit_test(sizes_that_are_not_whole_granules_are_refused),
		cmocka_unit_test(locations_that_are_not_memory_are_refused),
		cmocka_unit_test(a_mapping_is_a_whole_handle_at_offset_zero),
		cmocka_unit_test(a_part_of_a_mapping_cannot_be_unmapped),
		cmocka_unit_test(access_starts_from_none_at_every_map),
		cmocka_unit_test(the_host_has_no_access_to_device_handles),
		cmocka_unit_test(a_host_handle_takes_a_former_device_address),
		cmocka_unit_test(contents_move_with_the_handle_and_addresses_stay),
		cmocka_unit_test(memory_lives_until_handle_and_mappings_are_gone),
		cmocka_unit_test(new_memory_is_always_zero),
		cmocka_unit_test(an_unmap_under_a_queued_copy_is_an_illegal_address),
		cmocka_unit_test(an_unmap_under_a_wait_is_an_illegal_address),
	};

	return cmocka_run_group_tests_name("softgpu-vmm", tests, set_up, test_device_tear_down);
}
