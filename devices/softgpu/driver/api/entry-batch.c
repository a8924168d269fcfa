/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Batches: several copies, or several operations on words of memory, in one call. They are
 * submitted one after the other; the order among the copies of a batch is nobody's business.
 */

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/execution/operation.h"

/* Attributes say when the source may be read; "in the stream's order" keeps every promise but one.
 */
static CUresult check_attributes(const CUmemcpyAttributes *attributes, const size_t *firsts,
				 size_t n_attributes, size_t n)
{
	if (!attributes || !firsts || !n_attributes || n_attributes > n || firsts[0])
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n_attributes; i++) {
		if (attributes[i].srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
		    attributes[i].srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
			return CUDA_ERROR_INVALID_VALUE;
		if (i && (firsts[i] <= firsts[i - 1] || firsts[i] >= n))
			return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

/* A source that may be read during the call only must have been read when the call returns. */
static bool must_wait(const CUmemcpyAttributes *attributes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (attributes[i].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL)
			return true;
	return false;
}

static bool is_default(CUstream stream)
{
	return !stream || stream == CU_STREAM_LEGACY;
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t n,
			       CUmemcpyAttributes *attributes, size_t *firsts, size_t n_attributes,
			       CUstream stream)
{
	DEV_TRY(dev_driver_enter());
	if (!dsts || !srcs || !sizes || !n || is_default(stream))
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(check_attributes(attributes, firsts, n_attributes, n));
	for (size_t i = 0; i < n; i++)
		if (!dsts[i] || !srcs[i] || !sizes[i])
			return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++)
		DEV_TRY(cuMemcpyAsync(dsts[i], srcs[i], sizes[i], stream));
	return must_wait(attributes, n_attributes) ? cuStreamSynchronize(stream) : CUDA_SUCCESS;
}

CUresult cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t n,
			    CUmemcpyAttributes *attributes, size_t *firsts, size_t n_attributes,
			    size_t *ret_failed, CUstream stream)
{
	CUresult result = cuMemcpyBatchAsync_v2(dsts, srcs, sizes, n, attributes, firsts,
						n_attributes, stream);

	/* which one it was is not told: "none in particular" */
	if (result && ret_failed)
		*ret_failed = SIZE_MAX;
	return result;
}

static CUresult end_of(const CUmemcpy3DOperand *operand, const CUextent3D *extent,
		       uint64_t *ret_address, uint64_t *ret_pitch, uint64_t *ret_slice)
{
	if (operand->type == CU_MEMCPY_OPERAND_TYPE_ARRAY)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (operand->type != CU_MEMCPY_OPERAND_TYPE_POINTER || !operand->op.ptr.ptr)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_address = operand->op.ptr.ptr;
	*ret_pitch = operand->op.ptr.rowLength ? operand->op.ptr.rowLength : extent->width;
	*ret_slice = *ret_pitch *
		     (operand->op.ptr.layerHeight ? operand->op.ptr.layerHeight : extent->height);
	return *ret_pitch < extent->width ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static CUresult make_box(const CUDA_MEMCPY3D_BATCH_OP *op, struct dev_command_copy *ret_box)
{
	struct dev_command_copy box = { .width = op->extent.width,
					.height = op->extent.height,
					.depth = op->extent.depth };

	if (!box.width || !box.height || !box.depth)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(end_of(&op->src, &op->extent, &box.src, &box.src_pitch, &box.src_slice));
	DEV_TRY(end_of(&op->dst, &op->extent, &box.dst, &box.dst_pitch, &box.dst_slice));
	*ret_box = box;
	return CUDA_SUCCESS;
}

CUresult cuMemcpy3DBatchAsync_v2(size_t n, CUDA_MEMCPY3D_BATCH_OP *ops, unsigned long long flags,
				 CUstream stream)
{
	struct dev_command_copy box;

	DEV_TRY(dev_driver_enter());
	if (!n || !ops || flags || is_default(stream))
		return CUDA_ERROR_INVALID_VALUE;
	for (size_t i = 0; i < n; i++)
		DEV_TRY(make_box(&ops[i], &box));
	for (size_t i = 0; i < n; i++) {
		struct dev_command *command = dev_command_new(DEV_COMMAND_COPY);

		DEV_TRY(make_box(&ops[i], &box));
		if (command)
			command->copy = box;
		DEV_TRY(dev_entry_submit(stream, command,
					 ops[i].srcAccessOrder ==
						 CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL));
	}
	return CUDA_SUCCESS;
}

CUresult cuMemcpy3DBatchAsync(size_t n, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *ret_failed,
			      unsigned long long flags, CUstream stream)
{
	CUresult result = cuMemcpy3DBatchAsync_v2(n, ops, flags, stream);

	if (result && ret_failed)
		*ret_failed = SIZE_MAX;
	return result;
}

/* -- words of memory ------------------------------------------------------------------------ */

static CUresult submit_one(CUstream stream, const CUstreamBatchMemOpParams *op)
{
	struct dev_command *command;

	DEV_TRY(dev_operation_command(op, &command));
	return command ? dev_entry_submit(stream, command, false) : CUDA_SUCCESS;
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int n, CUstreamBatchMemOpParams *ops,
			       unsigned int flags)
{
	DEV_TRY(dev_driver_enter());
	if (!n || n > 256 || !ops || flags)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++)
		if (ops[i].operation < CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
		    ops[i].operation > CU_STREAM_MEM_OP_BARRIER)
			return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++)
		DEV_TRY(submit_one(stream, &ops[i]));
	return CUDA_SUCCESS;
}

CUresult cuStreamBatchMemOp(CUstream stream, unsigned int n, CUstreamBatchMemOpParams *ops,
			    unsigned int flags)
{
	return cuStreamBatchMemOp_v2(stream, n, ops, flags);
}
