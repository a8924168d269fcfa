/* SPDX-License-Identifier: Apache-2.0 */

/* Launches, host functions, and the functions' handles. */

#include "cudart/image.h"
#include "cudart/runtime.h"

/* The driver calls a wrong shape an invalid value, the runtime an invalid configuration. */
static cudaError_t check_shape(dim3 grid, dim3 block)
{
	if (!grid.x || !grid.y || !grid.z || !block.x || !block.y || !block.z ||
	    (unsigned long long)block.x * block.y * block.z > 1024)
		return cudaErrorInvalidConfiguration;
	return cudaSuccess;
}

static cudaError_t launch_run(CUfunction function, dim3 grid, dim3 block, void **args,
			      size_t shared_bytes, cudaStream_t stream, bool is_cooperative)
{
	DEV_RT_TRY(check_shape(grid, block));
	if (shared_bytes > UINT32_MAX)
		return cudaErrorInvalidValue;
	if (is_cooperative)
		return DEV_RT_CALL(cuLaunchCooperativeKernel, function, grid.x, grid.y, grid.z,
				   block.x, block.y, block.z, (unsigned)shared_bytes, stream, args);
	return DEV_RT_CALL(cuLaunchKernel, function, grid.x, grid.y, grid.z, block.x, block.y,
			   block.z, (unsigned)shared_bytes, stream, args, NULL);
}

static cudaError_t cudaLaunchKernel_on(const void *host, dim3 grid, dim3 block, void **args,
				       size_t shared_bytes, cudaStream_t stream)
{
	CUfunction function;

	DEV_RT_TRY(dev_rt_function(host, &function));
	return launch_run(function, grid, block, args, shared_bytes, stream, false);
}

DEV_RT_STREAM_CALL(cudaLaunchKernel,
		   (const void *host, dim3 grid, dim3 block, void **args, size_t shared_bytes,
		    cudaStream_t stream),
		   (host, grid, block, args, shared_bytes, stream))

static cudaError_t cudaLaunchCooperativeKernel_on(const void *host, dim3 grid, dim3 block,
						  void **args, size_t shared_bytes,
						  cudaStream_t stream)
{
	CUfunction function;

	DEV_RT_TRY(dev_rt_function(host, &function));
	return launch_run(function, grid, block, args, shared_bytes, stream, true);
}

DEV_RT_STREAM_CALL(cudaLaunchCooperativeKernel,
		   (const void *host, dim3 grid, dim3 block, void **args, size_t shared_bytes,
		    cudaStream_t stream),
		   (host, grid, block, args, shared_bytes, stream))

/* NULL is what __cudaGetKernel() left behind where it failed; it is asked only once. */
static cudaError_t __cudaLaunchKernel_on(cudaKernel_t kernel, dim3 grid, dim3 block, void **args,
					 size_t shared_bytes, cudaStream_t stream)
{
	CUfunction function;

	if (!kernel)
		return dev_rt_kernel_error();
	DEV_RT_TRY(DEV_RT_CALL(cuKernelGetFunction, &function, kernel));
	return launch_run(function, grid, block, args, shared_bytes, stream, false);
}

DEV_RT_STREAM_CALL(__cudaLaunchKernel,
		   (cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared_bytes,
		    cudaStream_t stream),
		   (kernel, grid, block, args, shared_bytes, stream))

static cudaError_t launch_ex(const cudaLaunchConfig_t *c, const void *host, void **args,
			     bool is_own_stream)
{
	CUlaunchConfig config;
	CUfunction function;

	if (!c || c->dynamicSmemBytes > UINT32_MAX)
		return cudaErrorInvalidValue;
	DEV_RT_TRY(check_shape(c->gridDim, c->blockDim));
	DEV_RT_TRY(dev_rt_function(host, &function));
	dev_rt_launch_config(c, &config);
	if (is_own_stream)
		config.hStream = dev_rt_own_stream(config.hStream);
	return DEV_RT_CALL(cuLaunchKernelEx, &config, function, args, NULL);
}

void dev_rt_launch_config(const cudaLaunchConfig_t *c, CUlaunchConfig *ret_config)
{
	*ret_config = (CUlaunchConfig){
		.gridDimX = c->gridDim.x,
		.gridDimY = c->gridDim.y,
		.gridDimZ = c->gridDim.z,
		.blockDimX = c->blockDim.x,
		.blockDimY = c->blockDim.y,
		.blockDimZ = c->blockDim.z,
		.sharedMemBytes = (unsigned)c->dynamicSmemBytes,
		.hStream = c->stream,
		.attrs = c->attrs,
		.numAttrs = c->numAttrs,
	};
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *host, void **args)
{
	return dev_rt_end(launch_ex(config, host, args, false));
}

cudaError_t cudaLaunchKernelExC_ptsz(const cudaLaunchConfig_t *config, const void *host,
				     void **args)
{
	return dev_rt_end(launch_ex(config, host, args, true));
}

cudaError_t cudaGetKernel(cudaKernel_t *ret_kernel, const void *host)
{
	return dev_rt_end(dev_rt_kernel(host, ret_kernel));
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *ret_function, const void *host)
{
	return dev_rt_end(dev_rt_function(host, ret_function));
}
