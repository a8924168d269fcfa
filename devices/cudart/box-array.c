/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Copies of arrays in two dimensions. Offsets and widths count bytes here, and elements in the
 * description of a copy in three: so these are described in the driver's words at once. The forms
 * that count bytes from a place on (cudaMemcpyToArray and its kind) go on in the next row.
 */

#include "cudart/array.h"
#include "cudart/box.h"
#include "cudart/runtime.h"

/* One end of a copy: an array from x, y on, or memory. */
struct end {
	cudaArray_t array;
	const void *memory;
	size_t pitch, x, y;
};

static CUmemorytype type_of(const struct end *end, enum cudaMemcpyKind kind, bool is_source)
{
	if (end->array)
		return CU_MEMORYTYPE_ARRAY;
	/* pinned and managed memory may stand on either side: only plain kinds are believed */
	return kind == (is_source ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost) ||
			       kind == cudaMemcpyHostToHost
		       ? CU_MEMORYTYPE_HOST
		       : CU_MEMORYTYPE_UNIFIED;
}

static CUDA_MEMCPY3D box_of(const struct end *to, const struct end *from, size_t width,
			    size_t height, enum cudaMemcpyKind kind)
{
	return (CUDA_MEMCPY3D){
		.srcXInBytes = from->x,
		.srcY = from->y,
		.srcMemoryType = type_of(from, kind, true),
		.srcHost = from->memory,
		.srcDevice = dev_rt_address(from->memory),
		.srcArray = (CUarray)(void *)from->array,
		.srcPitch = from->pitch,
		.dstXInBytes = to->x,
		.dstY = to->y,
		.dstMemoryType = type_of(to, kind, false),
		.dstHost = (void *)(uintptr_t)to->memory,
		.dstDevice = dev_rt_address(to->memory),
		.dstArray = (CUarray)(void *)to->array,
		.dstPitch = to->pitch,
		.WidthInBytes = width,
		.Height = height,
		.Depth = 1,
	};
}

static bool is_wrong(const struct end *end, size_t width, size_t height)
{
	return (!end->array && !end->memory) || (!end->array && height > 1 && end->pitch < width);
}

/* How a call waits: not, or by the legacy or the thread's own stream. */
enum wait { WAIT_LEGACY, WAIT_OWN, WAIT_NOT };

static cudaError_t copy_rows(struct end to, struct end from, size_t width, size_t height,
			     enum cudaMemcpyKind kind, enum wait wait, cudaStream_t stream)
{
	CUDA_MEMCPY3D box = box_of(&to, &from, width, height, kind);

	if ((unsigned)kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	if (!width || !height)
		return cudaSuccess;
	if (is_wrong(&to, width, height) || is_wrong(&from, width, height))
		return cudaErrorInvalidValue;
	DEV_RT_TRY(dev_rt_enter());
	if (wait == WAIT_NOT)
		return (cudaError_t)dev_rt_driver.cuMemcpy3DAsync_v2(&box, stream);
	return (cudaError_t)(wait == WAIT_OWN ? dev_rt_driver.cuMemcpy3D_v2_ptds
					      : dev_rt_driver.cuMemcpy3D_v2)(&box);
}

/* How many bytes its row still has; memory has one row without an end. */
static cudaError_t rest_of_row(const struct end *end, size_t *ret_bytes, size_t *ret_width)
{
	struct cudaExtent extent;
	size_t texel;

	*ret_bytes = *ret_width = SIZE_MAX;
	if (!end->array)
		return cudaSuccess;
	DEV_RT_TRY(cudaArrayGetInfo(NULL, &extent, NULL, end->array));
	DEV_RT_TRY(dev_rt_texel_bytes(end->array, &texel));
	*ret_width = extent.width * texel;
	*ret_bytes = end->x < *ret_width ? *ret_width - end->x : 0;
	return cudaSuccess;
}

static void go_on(struct end *end, size_t bytes, size_t width)
{
	if (!end->array) {
		end->memory = (const char *)end->memory + bytes;
		return;
	}
	end->x += bytes;
	if (end->x == width) {
		end->x = 0;
		end->y++;
	}
}

static cudaError_t copy_run(struct end to, struct end from, size_t bytes, enum cudaMemcpyKind kind,
			    enum wait wait, cudaStream_t stream)
{
	while (bytes) {
		size_t n, n_from, width, from_width;

		DEV_RT_TRY(rest_of_row(&to, &n, &width));
		DEV_RT_TRY(rest_of_row(&from, &n_from, &from_width));
		n = n < n_from ? n : n_from;
		n = n < bytes ? n : bytes;
		if (!n)
			return cudaErrorInvalidValue;
		DEV_RT_TRY(copy_rows(to, from, n, 1, kind, wait, stream));
		go_on(&to, n, width);
		go_on(&from, n, from_width);
		bytes -= n;
	}
	return cudaSuccess;
}

#define ARRAY(a, right, down) \
	((struct end){ .array = (cudaArray_t)(uintptr_t)(a), .x = (right), .y = (down) })
#define MEMORY(p, bytes) ((struct end){ .memory = (p), .pitch = (bytes) })

/* NAME and NAME_ptds of a call that waits. */
#define BLOCKING_CALL(name, params, call, ...)                                 \
	cudaError_t name params                                                \
	{                                                                      \
		return dev_rt_end(call(__VA_ARGS__, kind, WAIT_LEGACY, NULL)); \
	}                                                                      \
	cudaError_t name##_ptds params                                         \
	{                                                                      \
		return dev_rt_end(call(__VA_ARGS__, kind, WAIT_OWN, NULL));    \
	}
/* NAME and NAME_ptsz of one that does not. */
#define QUEUED_CALL(name, params, call, ...)                                  \
	cudaError_t name params                                               \
	{                                                                     \
		return dev_rt_end(call(__VA_ARGS__, kind, WAIT_NOT, stream)); \
	}                                                                     \
	cudaError_t name##_ptsz params                                        \
	{                                                                     \
		stream = dev_rt_own_stream(stream);                           \
		return dev_rt_end(call(__VA_ARGS__, kind, WAIT_NOT, stream)); \
	}

BLOCKING_CALL(cudaMemcpy2DToArray,
	      (cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
	       size_t height, enum cudaMemcpyKind kind),
	      copy_rows, ARRAY(to, x, y), MEMORY(from, pitch), width, height)
QUEUED_CALL(cudaMemcpy2DToArrayAsync,
	    (cudaArray_t to, size_t x, size_t y, const void *from, size_t pitch, size_t width,
	     size_t height, enum cudaMemcpyKind kind, cudaStream_t stream),
	    copy_rows, ARRAY(to, x, y), MEMORY(from, pitch), width, height)
BLOCKING_CALL(cudaMemcpy2DFromArray,
	      (void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
	       size_t height, enum cudaMemcpyKind kind),
	      copy_rows, MEMORY(to, pitch), ARRAY(from, x, y), width, height)
QUEUED_CALL(cudaMemcpy2DFromArrayAsync,
	    (void *to, size_t pitch, cudaArray_const_t from, size_t x, size_t y, size_t width,
	     size_t height, enum cudaMemcpyKind kind, cudaStream_t stream),
	    copy_rows, MEMORY(to, pitch), ARRAY(from, x, y), width, height)
BLOCKING_CALL(cudaMemcpy2DArrayToArray,
	      (cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
	       size_t from_y, size_t width, size_t height, enum cudaMemcpyKind kind),
	      copy_rows, ARRAY(to, to_x, to_y), ARRAY(from, from_x, from_y), width, height)
BLOCKING_CALL(cudaMemcpyToArray,
	      (cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,
	       enum cudaMemcpyKind kind),
	      copy_run, ARRAY(to, x, y), MEMORY(from, bytes), bytes)
QUEUED_CALL(cudaMemcpyToArrayAsync,
	    (cudaArray_t to, size_t x, size_t y, const void *from, size_t bytes,
	     enum cudaMemcpyKind kind, cudaStream_t stream),
	    copy_run, ARRAY(to, x, y), MEMORY(from, bytes), bytes)
BLOCKING_CALL(cudaMemcpyFromArray,
	      (void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
	       enum cudaMemcpyKind kind),
	      copy_run, MEMORY(to, bytes), ARRAY(from, x, y), bytes)
QUEUED_CALL(cudaMemcpyFromArrayAsync,
	    (void *to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
	     enum cudaMemcpyKind kind, cudaStream_t stream),
	    copy_run, MEMORY(to, bytes), ARRAY(from, x, y), bytes)
BLOCKING_CALL(cudaMemcpyArrayToArray,
	      (cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from, size_t from_x,
	       size_t from_y, size_t bytes, enum cudaMemcpyKind kind),
	      copy_run, ARRAY(to, to_x, to_y), ARRAY(from, from_x, from_y), bytes)
