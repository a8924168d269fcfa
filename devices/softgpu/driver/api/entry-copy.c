/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Copies. Every form ends in a box of bytes from one address to another. What the two ends are is
 * told by the addresses alone (unified addressing). Blocking forms wait when memory that the host
 * sees takes part; between two places on the device they only queue, as the genuine driver's do.
 * An array is a box at an address that only we know.
 */

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/memory/array.h"
#include "softgpu/driver/memory/memory.h"

static CUresult copy_box(const struct dev_command_copy *box, CUstream stream, bool wait)
{
	struct dev_command *command;

	DEV_TRY(dev_driver_enter());
	if (!box->width || !box->height || !box->depth)
		return CUDA_SUCCESS;
	if (!box->dst || !box->src)
		return CUDA_ERROR_INVALID_VALUE;
	command = dev_command_new(DEV_COMMAND_COPY);
	if (command)
		command->copy = *box;
	return dev_entry_submit(stream, command, wait);
}

static CUresult copy_plain(uint64_t dst, uint64_t src, size_t bytes, CUstream stream, bool wait)
{
	return copy_box(
		&(struct dev_command_copy){
			.dst = dst, .src = src, .width = bytes, .height = 1, .depth = 1 },
		stream, wait);
}

static bool is_on_device(uint64_t address)
{
	return dev_window_has(&dev_driver.window, address);
}

static CUresult copy_blocking(uint64_t dst, uint64_t src, size_t bytes, CUstream stream)
{
	return copy_plain(dst, src, bytes, stream,
			  dev_entry_host_sees(dst) || dev_entry_host_sees(src));
}

static uint64_t address_of(const void *pointer)
{
	return (uintptr_t)pointer;
}

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copy_blocking(dst, src, bytes, CU_STREAM_LEGACY);
}

CUresult cuMemcpy_ptds(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copy_blocking(dst, src, bytes, CU_STREAM_PER_THREAD);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy_plain(dst, src, bytes, stream, false);
}

/* A pinned address is a device address as well; pageable memory, also behind it, has none. */
static bool is_device_range(uint64_t address, uint64_t bytes)
{
	const struct dev_host *h;
	bool is_inside;

	if (is_on_device(address))
		return true;
	dev_driver_lock();
	h = dev_memory_find_host_locked(address);
	is_inside = h && bytes <= h->base + h->bytes - address;
	dev_driver_unlock();
	return is_inside;
}

static CUresult to_device(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream,
			  bool wait)
{
	DEV_TRY(dev_driver_enter());
	if (bytes && !is_device_range(dst, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	return copy_plain(dst, address_of(src), bytes, stream, wait);
}

static CUresult to_host(void *dst, CUdeviceptr src, size_t bytes, CUstream stream, bool wait)
{
	DEV_TRY(dev_driver_enter());
	if (bytes && !is_device_range(src, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	return copy_plain(address_of(dst), src, bytes, stream, wait);
}

static CUresult copy_inside(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream,
			    bool blocking)
{
	DEV_TRY(dev_driver_enter());
	if (bytes && (!is_device_range(dst, bytes) || !is_device_range(src, bytes)))
		return CUDA_ERROR_INVALID_VALUE;
	return blocking ? copy_blocking(dst, src, bytes, stream)
			: copy_plain(dst, src, bytes, stream, false);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t bytes)
{
	return to_device(dst, src, bytes, CU_STREAM_LEGACY, true);
}

CUresult cuMemcpyHtoD_v2_ptds(CUdeviceptr dst, const void *src, size_t bytes)
{
	return to_device(dst, src, bytes, CU_STREAM_PER_THREAD, true);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t bytes, CUstream stream)
{
	return to_device(dst, src, bytes, stream, false);
}

CUresult cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t bytes)
{
	return to_host(dst, src, bytes, CU_STREAM_LEGACY, true);
}

CUresult cuMemcpyDtoH_v2_ptds(void *dst, CUdeviceptr src, size_t bytes)
{
	return to_host(dst, src, bytes, CU_STREAM_PER_THREAD, true);
}

CUresult cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return to_host(dst, src, bytes, stream, false);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copy_inside(dst, src, bytes, CU_STREAM_LEGACY, true);
}

CUresult cuMemcpyDtoD_v2_ptds(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
	return copy_inside(dst, src, bytes, CU_STREAM_PER_THREAD, true);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t bytes, CUstream stream)
{
	return copy_inside(dst, src, bytes, stream, false);
}

static CUresult copy_peer(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
			  CUcontext src_context, size_t bytes, CUstream stream, bool blocking)
{
	DEV_TRY(dev_driver_enter());
	if (!dev_context_get(dst_context) || !dev_context_get(src_context))
		return CUDA_ERROR_INVALID_CONTEXT;
	return copy_inside(dst, src, bytes, stream, blocking);
}

CUresult cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
		      CUcontext src_context, size_t bytes)
{
	return copy_peer(dst, dst_context, src, src_context, bytes, CU_STREAM_LEGACY, true);
}

CUresult cuMemcpyPeer_ptds(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
			   CUcontext src_context, size_t bytes)
{
	return copy_peer(dst, dst_context, src, src_context, bytes, CU_STREAM_PER_THREAD, true);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_context, CUdeviceptr src,
			   CUcontext src_context, size_t bytes, CUstream stream)
{
	return copy_peer(dst, dst_context, src, src_context, bytes, stream, false);
}

/* -- boxes ---------------------------------------------------------------------------------- */

/* Where one end of a copy lies: the box begins at x, y, z of what is at an address. */
struct end {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	uint64_t x, y, z;
	uint64_t pitch;	 /* 0: rows without gaps */
	uint64_t height; /* 0: slices without gaps */
	CUarray array;
};

/* Whether a part of an array is inside it. */
static bool is_part(uint64_t first, uint64_t n, uint64_t size)
{
	return first <= size && n <= size - first;
}

/* An array says itself how it lies in memory. */
static CUresult end_of_array(const struct dev_command_copy *box, struct end *end, uint64_t *ret)
{
	const struct dev_array *array = dev_array_get(end->array);
	const struct dev_interp_image *m;

	if (!array)
		return CUDA_ERROR_INVALID_HANDLE;
	m = &array->image;
	if (!is_part(end->x, box->width, m->size[0] * m->texel_bytes) ||
	    !is_part(end->y, box->height, m->size[1]) || !is_part(end->z, box->depth, m->size[2]))
		return CUDA_ERROR_INVALID_VALUE;
	end->pitch = m->pitch;
	end->height = m->size[1];
	*ret = m->address;
	return CUDA_SUCCESS;
}

static CUresult end_of(const struct dev_command_copy *box, struct end *end, uint64_t *ret)
{
	switch (end->type) {
	case CU_MEMORYTYPE_HOST:
		*ret = address_of(end->host);
		return CUDA_SUCCESS;
	case CU_MEMORYTYPE_DEVICE:
	case CU_MEMORYTYPE_UNIFIED:
		*ret = end->device;
		return CUDA_SUCCESS;
	case CU_MEMORYTYPE_ARRAY:
		return end_of_array(box, end, ret);
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

/* Numbers that go round the end of all addresses would end up anywhere. */
static bool lay_out(const struct dev_command_copy *box, const struct end *end, uint64_t *at,
		    uint64_t *ret_pitch, uint64_t *ret_slice)
{
	uint64_t row, pitch, rows, slice, y, z, last, bytes = 0;

	if (__builtin_add_overflow(end->x, box->width, &row) ||
	    __builtin_add_overflow(end->y, box->height, &rows))
		return false;
	pitch = end->pitch ? end->pitch : row;
	rows = end->height ? end->height : rows;
	if (pitch < row || __builtin_mul_overflow(pitch, rows, &slice) ||
	    __builtin_mul_overflow(end->y, pitch, &y) ||
	    __builtin_mul_overflow(end->z, slice, &z) || __builtin_add_overflow(y, z, &y) ||
	    __builtin_add_overflow(y, end->x, &y))
		return false;
	*ret_pitch = pitch;
	*ret_slice = slice;
	if (!*at || !box->width || !box->height || !box->depth)
		return true;
	if (__builtin_mul_overflow(box->height - 1, pitch, &bytes) ||
	    __builtin_mul_overflow(box->depth - 1, slice, &z) ||
	    __builtin_add_overflow(bytes, z, &bytes) ||
	    __builtin_add_overflow(bytes, box->width, &bytes) ||
	    __builtin_add_overflow(*at, y, at) || __builtin_add_overflow(*at, bytes - 1, &last))
		return false;
	if (end->type == CU_MEMORYTYPE_DEVICE && !is_device_range(*at, bytes))
		return false;
	return is_on_device(*at) == is_on_device(last);
}

CUresult dev_entry_box(const CUDA_MEMCPY3D *c, struct dev_command_copy *ret_box)
{
	struct end src = { c->srcMemoryType, c->srcHost,  c->srcDevice, c->srcXInBytes, c->srcY,
			   c->srcZ,	     c->srcPitch, c->srcHeight, c->srcArray };
	struct end dst = { c->dstMemoryType, c->dstHost,  c->dstDevice, c->dstXInBytes, c->dstY,
			   c->dstZ,	     c->dstPitch, c->dstHeight, c->dstArray };
	struct dev_command_copy box = { .width = c->WidthInBytes,
					.height = c->Height,
					.depth = c->Depth };

	DEV_TRY(end_of(&box, &src, &box.src));
	DEV_TRY(end_of(&box, &dst, &box.dst));
	if (c->srcLOD || c->dstLOD)
		return CUDA_ERROR_INVALID_VALUE;
	if (!lay_out(&box, &src, &box.src, &box.src_pitch, &box.src_slice) ||
	    !lay_out(&box, &dst, &box.dst, &box.dst_pitch, &box.dst_slice))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_box = box;
	return CUDA_SUCCESS;
}

CUresult dev_entry_copy(const CUDA_MEMCPY3D *c, CUstream stream, bool blocking)
{
	struct dev_command_copy box;

	DEV_TRY(dev_driver_enter());
	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_entry_box(c, &box));
	return copy_box(&box, stream,
			blocking && (dev_entry_host_sees(box.dst) || dev_entry_host_sees(box.src)));
}

static CUresult copy_2d(const CUDA_MEMCPY2D *c, CUstream stream, bool blocking)
{
	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	return dev_entry_copy(&(CUDA_MEMCPY3D){ .srcXInBytes = c->srcXInBytes,
						.srcY = c->srcY,
						.srcMemoryType = c->srcMemoryType,
						.srcHost = c->srcHost,
						.srcDevice = c->srcDevice,
						.srcArray = c->srcArray,
						.srcPitch = c->srcPitch,
						.dstXInBytes = c->dstXInBytes,
						.dstY = c->dstY,
						.dstMemoryType = c->dstMemoryType,
						.dstHost = c->dstHost,
						.dstDevice = c->dstDevice,
						.dstArray = c->dstArray,
						.dstPitch = c->dstPitch,
						.WidthInBytes = c->WidthInBytes,
						.Height = c->Height,
						.Depth = 1 },
			      stream, blocking);
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *c)
{
	return copy_2d(c, CU_STREAM_LEGACY, true);
}

CUresult cuMemcpy2D_v2_ptds(const CUDA_MEMCPY2D *c)
{
	return copy_2d(c, CU_STREAM_PER_THREAD, true);
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *c)
{
	return copy_2d(c, CU_STREAM_LEGACY, true);
}

CUresult cuMemcpy2DUnaligned_v2_ptds(const CUDA_MEMCPY2D *c)
{
	return copy_2d(c, CU_STREAM_PER_THREAD, true);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream stream)
{
	return copy_2d(c, stream, false);
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *c)
{
	return dev_entry_copy(c, CU_STREAM_LEGACY, true);
}

CUresult cuMemcpy3D_v2_ptds(const CUDA_MEMCPY3D *c)
{
	return dev_entry_copy(c, CU_STREAM_PER_THREAD, true);
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *c, CUstream stream)
{
	return dev_entry_copy(c, stream, false);
}

/* The two contexts say what the addresses say already. */
static CUresult copy_3d_peer(const CUDA_MEMCPY3D_PEER *c, CUstream stream, bool blocking)
{
	DEV_TRY(dev_driver_enter());
	if (!c)
		return CUDA_ERROR_INVALID_VALUE;
	if ((c->srcMemoryType == CU_MEMORYTYPE_DEVICE && !dev_context_get(c->srcContext)) ||
	    (c->dstMemoryType == CU_MEMORYTYPE_DEVICE && !dev_context_get(c->dstContext)))
		return CUDA_ERROR_INVALID_CONTEXT;
	return dev_entry_copy(&(CUDA_MEMCPY3D){ .srcXInBytes = c->srcXInBytes,
						.srcY = c->srcY,
						.srcZ = c->srcZ,
						.srcLOD = c->srcLOD,
						.srcMemoryType = c->srcMemoryType,
						.srcHost = c->srcHost,
						.srcDevice = c->srcDevice,
						.srcArray = c->srcArray,
						.srcPitch = c->srcPitch,
						.srcHeight = c->srcHeight,
						.dstXInBytes = c->dstXInBytes,
						.dstY = c->dstY,
						.dstZ = c->dstZ,
						.dstLOD = c->dstLOD,
						.dstMemoryType = c->dstMemoryType,
						.dstHost = c->dstHost,
						.dstDevice = c->dstDevice,
						.dstArray = c->dstArray,
						.dstPitch = c->dstPitch,
						.dstHeight = c->dstHeight,
						.WidthInBytes = c->WidthInBytes,
						.Height = c->Height,
						.Depth = c->Depth },
			      stream, blocking);
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *c)
{
	return copy_3d_peer(c, CU_STREAM_LEGACY, true);
}

CUresult cuMemcpy3DPeer_ptds(const CUDA_MEMCPY3D_PEER *c)
{
	return copy_3d_peer(c, CU_STREAM_PER_THREAD, true);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *c, CUstream stream)
{
	return copy_3d_peer(c, stream, false);
}
