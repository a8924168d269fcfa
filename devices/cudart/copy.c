/* SPDX-License-Identifier: Apache-2.0 */

/* Copies of a run of bytes; between symbols and memory, too. */

#include "cudart/image.h"
#include "cudart/runtime.h"

static cudaError_t copy_check(const void *to, const void *from, size_t bytes,
			      enum cudaMemcpyKind kind)
{
	if ((unsigned)kind > cudaMemcpyDefault)
		return cudaErrorInvalidMemcpyDirection;
	return bytes && (!to || !from) ? cudaErrorInvalidValue : cudaSuccess;
}

/* Addresses are unified, so where nobody says what they are the driver finds out. */
static cudaError_t copy_now(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
			    bool is_own_stream)
{
	const struct dev_rt_driver *d = &dev_rt_driver;
	CUdeviceptr to_device = dev_rt_address(to), from_device = dev_rt_address(from);

	DEV_RT_TRY(copy_check(to, from, bytes, kind));
	DEV_RT_TRY(dev_rt_enter());
	if (!bytes)
		return cudaSuccess;
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return (cudaError_t)(is_own_stream ? d->cuMemcpyHtoD_v2_ptds
						   : d->cuMemcpyHtoD_v2)(to_device, from, bytes);
	case cudaMemcpyDeviceToHost:
		return (cudaError_t)(is_own_stream ? d->cuMemcpyDtoH_v2_ptds
						   : d->cuMemcpyDtoH_v2)(to, from_device, bytes);
	case cudaMemcpyDeviceToDevice:
		return (cudaError_t)(is_own_stream ? d->cuMemcpyDtoD_v2_ptds : d->cuMemcpyDtoD_v2)(
			to_device, from_device, bytes);
	default:
		return (cudaError_t)(is_own_stream ? d->cuMemcpy_ptds
						   : d->cuMemcpy)(to_device, from_device, bytes);
	}
}

static cudaError_t cudaMemcpyAsync_on(void *to, const void *from, size_t bytes,
				      enum cudaMemcpyKind kind, cudaStream_t stream)
{
	CUdeviceptr to_device = dev_rt_address(to), from_device = dev_rt_address(from);

	DEV_RT_TRY(copy_check(to, from, bytes, kind));
	DEV_RT_TRY(dev_rt_enter());
	if (!bytes)
		return cudaSuccess;
	switch (kind) {
	case cudaMemcpyHostToDevice:
		return (cudaError_t)dev_rt_driver.cuMemcpyHtoDAsync_v2(to_device, from, bytes,
								       stream);
	case cudaMemcpyDeviceToHost:
		return (cudaError_t)dev_rt_driver.cuMemcpyDtoHAsync_v2(to, from_device, bytes,
								       stream);
	case cudaMemcpyDeviceToDevice:
		return (cudaError_t)dev_rt_driver.cuMemcpyDtoDAsync_v2(to_device, from_device,
								       bytes, stream);
	default:
		return (cudaError_t)dev_rt_driver.cuMemcpyAsync(to_device, from_device, bytes,
								stream);
	}
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	return dev_rt_end(copy_now(to, from, bytes, kind, false));
}

cudaError_t cudaMemcpy_ptds(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	return dev_rt_end(copy_now(to, from, bytes, kind, true));
}

DEV_RT_STREAM_CALL(cudaMemcpyAsync,
		   (void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
		    cudaStream_t stream),
		   (to, from, bytes, kind, stream))

/* -- Symbols */

static cudaError_t to_symbol(const void *symbol, const void *from, size_t bytes, size_t offset,
			     enum cudaMemcpyKind kind, bool is_own_stream)
{
	void *to;

	if (kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyHostToHost)
		return cudaErrorInvalidMemcpyDirection;
	DEV_RT_TRY(dev_rt_variable_part(symbol, bytes, offset, &to));
	return copy_now(to, from, bytes, kind, is_own_stream);
}

static cudaError_t from_symbol(void *to, const void *symbol, size_t bytes, size_t offset,
			       enum cudaMemcpyKind kind, bool is_own_stream)
{
	void *from;

	if (kind == cudaMemcpyHostToDevice || kind == cudaMemcpyHostToHost)
		return cudaErrorInvalidMemcpyDirection;
	DEV_RT_TRY(dev_rt_variable_part(symbol, bytes, offset, &from));
	return copy_now(to, from, bytes, kind, is_own_stream);
}

cudaError_t cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes, size_t offset,
			       enum cudaMemcpyKind kind)
{
	return dev_rt_end(to_symbol(symbol, from, bytes, offset, kind, false));
}

cudaError_t cudaMemcpyToSymbol_ptds(const void *symbol, const void *from, size_t bytes,
				    size_t offset, enum cudaMemcpyKind kind)
{
	return dev_rt_end(to_symbol(symbol, from, bytes, offset, kind, true));
}

cudaError_t cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
				 enum cudaMemcpyKind kind)
{
	return dev_rt_end(from_symbol(to, symbol, bytes, offset, kind, false));
}

cudaError_t cudaMemcpyFromSymbol_ptds(void *to, const void *symbol, size_t bytes, size_t offset,
				      enum cudaMemcpyKind kind)
{
	return dev_rt_end(from_symbol(to, symbol, bytes, offset, kind, true));
}

static cudaError_t cudaMemcpyToSymbolAsync_on(const void *symbol, const void *from, size_t bytes,
					      size_t offset, enum cudaMemcpyKind kind,
					      cudaStream_t stream)
{
	void *to;

	DEV_RT_TRY(dev_rt_variable_part(symbol, bytes, offset, &to));
	return cudaMemcpyAsync_on(to, from, bytes, kind, stream);
}

DEV_RT_STREAM_CALL(cudaMemcpyToSymbolAsync,
		   (const void *symbol, const void *from, size_t bytes, size_t offset,
		    enum cudaMemcpyKind kind, cudaStream_t stream),
		   (symbol, from, bytes, offset, kind, stream))

static cudaError_t cudaMemcpyFromSymbolAsync_on(void *to, const void *symbol, size_t bytes,
						size_t offset, enum cudaMemcpyKind kind,
						cudaStream_t stream)
{
	void *from;

	DEV_RT_TRY(dev_rt_variable_part(symbol, bytes, offset, &from));
	return cudaMemcpyAsync_on(to, from, bytes, kind, stream);
}

DEV_RT_STREAM_CALL(cudaMemcpyFromSymbolAsync,
		   (void *to, const void *symbol, size_t bytes, size_t offset,
		    enum cudaMemcpyKind kind, cudaStream_t stream),
		   (to, symbol, bytes, offset, kind, stream))

cudaError_t cudaGetSymbolAddress(void **ret_pointer, const void *symbol)
{
	size_t bytes;

	return dev_rt_end(ret_pointer ? dev_rt_variable(symbol, (CUdeviceptr *)ret_pointer, &bytes)
				      : cudaErrorInvalidValue);
}

cudaError_t cudaGetSymbolSize(size_t *ret_bytes, const void *symbol)
{
	CUdeviceptr address;

	return dev_rt_end(ret_bytes ? dev_rt_variable(symbol, &address, ret_bytes)
				    : cudaErrorInvalidValue);
}

/* -- Between devices */

static cudaError_t copy_contexts(int to_device, int from_device, CUcontext *ret_to,
				 CUcontext *ret_from)
{
	DEV_RT_TRY(dev_rt_primary(to_device, ret_to));
	return dev_rt_primary(from_device, ret_from);
}

cudaError_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device,
				size_t bytes, cudaStream_t stream)
{
	CUcontext to_context, from_context;
	cudaError_t error = copy_contexts(to_device, from_device, &to_context, &from_context);

	if (!error)
		error = DEV_RT_CALL(cuMemcpyPeerAsync, dev_rt_address(to), to_context,
				    dev_rt_address(from), from_context, bytes, stream);
	return dev_rt_end(error);
}

cudaError_t cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t bytes)
{
	CUcontext to_context, from_context;
	cudaError_t error = copy_contexts(to_device, from_device, &to_context, &from_context);

	if (!error)
		error = DEV_RT_CALL(cuMemcpyPeer, dev_rt_address(to), to_context,
				    dev_rt_address(from), from_context, bytes);
	return dev_rt_end(error);
}
