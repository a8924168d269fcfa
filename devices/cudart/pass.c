/* SPDX-License-Identifier: Apache-2.0 */

/* The calls of pass.def, and those like them that name two streams. */

#include "cudart/runtime.h"

#define DEV_RTPASS(name, call, params, args)                                             \
	cudaError_t name params                                                          \
	{                                                                                \
		cudaError_t error = dev_rt_enter();                                      \
                                                                                         \
		return dev_rt_end(error ? error : (cudaError_t)dev_rt_driver.call args); \
	}

/* What a driver answers without a context. */
#define DEV_RTPASS_START(name, call, params, args)                                       \
	cudaError_t name params                                                          \
	{                                                                                \
		cudaError_t error = dev_rt_start();                                      \
                                                                                         \
		return dev_rt_end(error ? error : (cudaError_t)dev_rt_driver.call args); \
	}

#define DEV_RTPASS_STREAM(name, call, params, args)                                      \
	DEV_RTPASS(name, call, params, args)                                             \
	cudaError_t name##_ptsz params                                                   \
	{                                                                                \
		cudaError_t error = dev_rt_enter();                                      \
                                                                                         \
		stream = dev_rt_own_stream(stream);                                      \
		return dev_rt_end(error ? error : (cudaError_t)dev_rt_driver.call args); \
	}

#include "cudart/pass.def"

cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from)
{
	return dev_rt_end(DEV_RT_CALL(cuStreamCopyAttributes, to, from));
}

cudaError_t cudaStreamCopyAttributes_ptsz(cudaStream_t to, cudaStream_t from)
{
	return cudaStreamCopyAttributes(dev_rt_own_stream(to), dev_rt_own_stream(from));
}
