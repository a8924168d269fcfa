/* SPDX-License-Identifier: Apache-2.0 */

/* Memory: what a program allocates, and what a pointer points to. */

#include "cudart/runtime.h"

#include "base/util.h"

static cudaError_t memory_allocate(void **ret_pointer, size_t bytes)
{
	if (!ret_pointer)
		return cudaErrorInvalidValue;
	if (!bytes) {
		DEV_RT_TRY(dev_rt_enter());
		*ret_pointer = NULL;
		return cudaSuccess;
	}
	return DEV_RT_CALL(cuMemAlloc_v2, (CUdeviceptr *)ret_pointer, bytes);
}

cudaError_t cudaMalloc(void **ret_pointer, size_t bytes)
{
	return dev_rt_end(memory_allocate(ret_pointer, bytes));
}

/* Of nothing it is the customary way to get a context. */
cudaError_t cudaFree(void *pointer)
{
	return dev_rt_end(pointer ? DEV_RT_CALL(cuMemFree_v2, dev_rt_address(pointer))
				  : dev_rt_enter());
}

cudaError_t cudaMallocHost(void **ret_pointer, size_t bytes)
{
	return cudaHostAlloc(ret_pointer, bytes, 0);
}

cudaError_t cudaHostAlloc(void **ret_pointer, size_t bytes, unsigned flags)
{
	if (!ret_pointer)
		return dev_rt_end(cudaErrorInvalidValue);
	if (!bytes) {
		*ret_pointer = NULL;
		return dev_rt_end(dev_rt_enter());
	}
	/* with unified addresses all pinned memory is portable and mapped */
	return dev_rt_end(
		DEV_RT_CALL(cuMemHostAlloc, ret_pointer, bytes,
			    flags | CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
}

cudaError_t cudaFreeHost(void *pointer)
{
	return dev_rt_end(pointer ? DEV_RT_CALL(cuMemFreeHost, pointer) : dev_rt_enter());
}

/* Rows are aligned for any element. */
enum { ELEMENT_BYTES = 4 };

static cudaError_t allocate_rows(void **ret_pointer, size_t *ret_pitch, size_t width, size_t rows)
{
	if (!ret_pointer || !ret_pitch)
		return cudaErrorInvalidValue;
	if (!width || !rows) {
		DEV_RT_TRY(dev_rt_enter());
		*ret_pointer = NULL;
		*ret_pitch = 0;
		return cudaSuccess;
	}
	return DEV_RT_CALL(cuMemAllocPitch_v2, (CUdeviceptr *)ret_pointer, ret_pitch, width, rows,
			   ELEMENT_BYTES);
}

cudaError_t cudaMallocPitch(void **ret_pointer, size_t *ret_pitch, size_t width, size_t height)
{
	return dev_rt_end(allocate_rows(ret_pointer, ret_pitch, width, height));
}

cudaError_t cudaMalloc3D(struct cudaPitchedPtr *ret_box, struct cudaExtent extent)
{
	struct cudaPitchedPtr box = { .xsize = extent.width, .ysize = extent.height };
	cudaError_t error;
	size_t rows;

	if (!ret_box || __builtin_mul_overflow(extent.height, extent.depth, &rows))
		return dev_rt_end(cudaErrorInvalidValue);
	error = allocate_rows(&box.ptr, &box.pitch, extent.width, rows);
	if (!error)
		*ret_box = box;
	return dev_rt_end(error);
}

static cudaError_t memory_describe(struct cudaPointerAttributes *ret_attributes,
				   const void *pointer)
{
	unsigned memory = 0, is_managed = 0;
	int device = CU_DEVICE_INVALID;
	void *on_device = NULL, *on_host = NULL;
	CUpointer_attribute which[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE,    CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
		CU_POINTER_ATTRIBUTE_HOST_POINTER,
	};
	void *values[] = { &memory, &is_managed, &device, &on_device, &on_host };

	if (!ret_attributes)
		return cudaErrorInvalidValue;
	DEV_RT_TRY(DEV_RT_CALL(cuPointerGetAttributes, SLU_ARRAY_SIZE(which), which, values,
			       dev_rt_address(pointer)));
	*ret_attributes = (struct cudaPointerAttributes){
		.device = device,
		.devicePointer = on_device,
		.hostPointer = on_host,
	};
	if (is_managed) {
		ret_attributes->type = cudaMemoryTypeManaged;
	} else if (memory == CU_MEMORYTYPE_DEVICE) {
		ret_attributes->type = cudaMemoryTypeDevice;
	} else if (memory == CU_MEMORYTYPE_HOST) {
		ret_attributes->type = cudaMemoryTypeHost;
	} else {
		ret_attributes->type = cudaMemoryTypeUnregistered;
		ret_attributes->device = CU_DEVICE_INVALID;
		ret_attributes->hostPointer = (void *)(uintptr_t)pointer;
	}
	return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *ret_attributes,
				     const void *pointer)
{
	return dev_rt_end(memory_describe(ret_attributes, pointer));
}
