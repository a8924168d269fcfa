/* SPDX-License-Identifier: Apache-2.0 */

/* The calls of pass.def, and those like them that name two streams. */

#include "cudart/runtime.h"

#define SLU_RTPASS(name, call, params, args)                                             \
	cudaError_t name params                                                          \
	{                                                                                \
		cudaError_t error = slu_rt_enter();                                      \
                                                                                         \
		return slu_rt_end(error ? error : (cudaError_t)slu_rt_driver.call args); \
	}

/* What a driver answers without a context. */
#define SLU_RTPASS_START(name, call, params, args)                                       \
	cudaError_t name params                                                          \
	{                                                                                \
		cudaError_t error = slu_rt_start();                                      \
                                                                                         \
		return slu_rt_end(error ? error : (cudaError_t)slu_rt_driver.call args); \
	}

#define SLU_RTPASS_STREAM(name, call, params, args)                                      \
	SLU_RTPASS(name, call, params, args)                                             \
	cudaError_t name##_ptsz params                                                   \
	{                                                                                \
		cudaError_t error = slu_rt_enter();                                      \
                                                                                         \
		stream = slu_rt_own_stream(stream);                                      \
		return slu_rt_end(error ? error : (cudaError_t)slu_rt_driver.call args); \
	}

#include "cudart/pass.def"

cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from)
{
	return slu_rt_end(SLU_RT_CALL(cuStreamCopyAttributes, to, from));
}

cudaError_t cudaStreamCopyAttributes_ptsz(cudaStream_t to, cudaStream_t from)
{
	return cudaStreamCopyAttributes(slu_rt_own_stream(to), slu_rt_own_stream(from));
}
