/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

/* Two devices in one process: copies between them, peer access, batches of copies. */

#define KIB 1024u

static CUcontext first, second;

static CUdeviceptr alloc_in(CUcontext context, size_t bytes)
{
	CUdeviceptr p;

	assert_cu(cuCtxSetCurrent(context));
	assert_cu(cuMemAlloc_v2(&p, bytes));
	return p;
}

static uint32_t word_at(CUdeviceptr p)
{
	uint32_t word;

	assert_cu(cuMemcpyDtoH_v2(&word, p, 4));
	return word;
}

static void copies_go_from_device_to_device(void **state)
{
	CUdeviceptr a = alloc_in(first, 64 * KIB), b = alloc_in(second, 64 * KIB);
	CUDA_MEMCPY3D_PEER box = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
				   .srcDevice = a,
				   .srcContext = first,
				   .srcPitch = 256,
				   .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				   .dstDevice = b,
				   .dstContext = second,
				   .dstPitch = 512,
				   .WidthInBytes = 128,
				   .Height = 4,
				   .Depth = 1 };
	int device;

	(void)state;
	assert_cu(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, b));
	assert_int_equal(device, 1);
	assert_cu(cuCtxSetCurrent(first));
	assert_cu(cuMemsetD32_v2(a, 5, 16 * KIB));
	assert_cu(cuMemcpyPeer(b, second, a, first, 64 * KIB));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(word_at(b + 64 * KIB - 4), 5);
	assert_cu(cuMemsetD32_v2(a, 6, 16 * KIB));
	assert_cu(cuMemcpy3DPeer(&box));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(word_at(b + 3 * 512 + 124), 6);
	assert_int_equal(word_at(b + 3 * 512 + 128), 5);
	assert_cu(cuMemFree_v2(a));
	assert_cu(cuMemFree_v2(b));
}

static void peer_access_is_asked_for(void **state)
{
	CUdeviceptr old = alloc_in(second, 64 * KIB), fresh;
	CUfunction fill;
	int can;

	(void)state;
	assert_cu(cuDeviceCanAccessPeer(&can, 0, 1));
	assert_int_equal(can, 1);
	assert_cu(cuDeviceCanAccessPeer(&can, 0, 0));
	assert_int_equal(can, 0);
	assert_cu(cuCtxSetCurrent(first));
	fill = test_function(test_ptx_fill, "fill");
	assert_int_equal(cuCtxEnablePeerAccess(first, 0), CUDA_ERROR_INVALID_CONTEXT);
	assert_cu(cuCtxEnablePeerAccess(second, 0));
	assert_int_equal(cuCtxEnablePeerAccess(second, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	fresh = alloc_in(second, 64 * KIB);
	assert_cu(cuCtxSetCurrent(first));
	assert_cu(test_fill(fill, old, 1000, 1, NULL));
	assert_cu(test_fill(fill, fresh, 1000, 2, NULL));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(word_at(old + 400), 101);
	assert_int_equal(word_at(fresh + 400), 102);
	assert_cu(cuCtxDisablePeerAccess(second));
	assert_int_equal(cuCtxDisablePeerAccess(second), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
	/* from now on it is an illegal address, which ends the context */
	assert_cu(test_fill(fill, old, 1000, 3, NULL));
	assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_cu(cuCtxDestroy_v2(first));
	assert_cu(cuCtxCreate_v2(&first, 0, 0));
	assert_cu(cuMemFree_v2(old));
	assert_cu(cuMemFree_v2(fresh));
}

static void a_batch_is_all_of_its_copies(void **state)
{
	CUdeviceptr p = alloc_in(first, 4096), dsts[3], srcs[3];
	CUmemcpyAttributes attributes = { .srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM };
	uint32_t from[3] = { 7, 8, 9 }, to[4];
	size_t sizes[3] = { 4, 4, 4 }, begin = 0;
	CUDA_MEMCPY3D_BATCH_OP op = {
		.src = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER },
		.dst = { .type = CU_MEMCPY_OPERAND_TYPE_POINTER },
		.extent = { 4, 2, 1 },
		.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL,
	};
	CUstream stream;

	(void)state;
	assert_cu(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	for (unsigned i = 0; i < 3; i++) {
		dsts[i] = p + 100 * i;
		srcs[i] = (uintptr_t)&from[i];
	}
	assert_int_equal(cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 3, &attributes, &begin, 1, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuMemcpyBatchAsync_v2(dsts, srcs, sizes, 3, &attributes, &begin, 1, stream));
	assert_cu(cuStreamSynchronize(stream));
	assert_int_equal(word_at(p + 200), 9);
	/* two rows of four bytes, 100 apart, become four bytes, 8 apart */
	op.src.op.ptr.ptr = p;
	op.src.op.ptr.rowLength = 100;
	op.dst.op.ptr.ptr = (uintptr_t)to;
	op.dst.op.ptr.rowLength = 8;
	assert_cu(cuMemcpy3DBatchAsync_v2(1, &op, 0, stream));
	assert_int_equal(to[0], 7);
	assert_int_equal(to[2], 8);
	assert_cu(cuStreamDestroy_v2(stream));
	assert_cu(cuMemFree_v2(p));
}

static void operations_on_words_come_in_batches(void **state)
{
	CUdeviceptr p = alloc_in(first, 4096);
	CUstreamBatchMemOpParams ops[3] = {
		{ .writeValue = { CU_STREAM_MEM_OP_WRITE_VALUE_32, p, { .value = 11 }, 0, 0 } },
		{ .waitValue = { CU_STREAM_MEM_OP_WAIT_VALUE_32,
				 p,
				 { .value = 11 },
				 CU_STREAM_WAIT_VALUE_EQ,
				 0 } },
		{ .writeValue = { CU_STREAM_MEM_OP_WRITE_VALUE_64,
				  p + 8,
				  { .value64 = UINT64_C(1) << 40 },
				  0,
				  0 } },
	};

	(void)state;
	assert_cu(cuStreamBatchMemOp_v2(NULL, 3, ops, 0));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(word_at(p), 11);
	assert_int_equal(word_at(p + 12), 256);
	ops[1].operation = 77;
	assert_int_equal(cuStreamBatchMemOp_v2(NULL, 3, ops, 0), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuMemFree_v2(p));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_go_from_device_to_device),
		cmocka_unit_test(peer_access_is_asked_for),
		cmocka_unit_test(a_batch_is_all_of_its_copies),
		cmocka_unit_test(operations_on_words_come_in_batches),
	};
	int r;

	setenv("SLUICE_SOFTGPU_DEVICES", "2", 1);
	test_device_make("16M");
	if (cuInit(0) || cuCtxCreate_v2(&first, 0, 0) || cuCtxCreate_v2(&second, 0, 1))
		return 1;
	r = cmocka_run_group_tests_name("softgpu-peer", tests, NULL, NULL);
	test_device_remove();
	return r;
}
