/* SPDX-License-Identifier: Apache-2.0 */

/* What a kernel needs, what it may use, and how many of its blocks fit. */

#include "base/util.h"
#include "cudart/image.h"
#include "cudart/runtime.h"

static cudaError_t get_attributes(struct cudaFuncAttributes *ret_attributes, const void *host)
{
	struct cudaFuncAttributes a = { 0 };
	int shared, constant, local;
	const struct {
		CUfunction_attribute which;
		int *place;
		bool is_required; /* else: a driver that does not know it leaves zero */
	} rows[] = {
		{ CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, &shared, true },
		{ CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES, &constant, true },
		{ CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, &local, true },
		{ CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &a.maxThreadsPerBlock, true },
		{ CU_FUNC_ATTRIBUTE_NUM_REGS, &a.numRegs, true },
		{ CU_FUNC_ATTRIBUTE_PTX_VERSION, &a.ptxVersion, true },
		{ CU_FUNC_ATTRIBUTE_BINARY_VERSION, &a.binaryVersion, true },
		{ CU_FUNC_ATTRIBUTE_CACHE_MODE_CA, &a.cacheModeCA, true },
		{ CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, &a.maxDynamicSharedSizeBytes,
		  true },
		{ CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, &a.preferredShmemCarveout,
		  true },
		{ CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, &a.clusterDimMustBeSet, false },
		{ CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, &a.requiredClusterWidth, false },
		{ CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, &a.requiredClusterHeight, false },
		{ CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, &a.requiredClusterDepth, false },
		{ CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
		  &a.clusterSchedulingPolicyPreference, false },
		{ CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED,
		  &a.nonPortableClusterSizeAllowed, false },
	};
	CUfunction function;

	if (!ret_attributes)
		return cudaErrorInvalidValue;
	DEV_RT_TRY(dev_rt_function(host, &function));
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		cudaError_t error =
			DEV_RT_CALL(cuFuncGetAttribute, rows[i].place, rows[i].which, function);

		if (error && rows[i].is_required)
			return error;
	}
	a.sharedSizeBytes = (size_t)shared;
	a.constSizeBytes = (size_t)constant;
	a.localSizeBytes = (size_t)local;
	*ret_attributes = a;
	return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *ret_attributes, const void *host)
{
	return dev_rt_end(get_attributes(ret_attributes, host));
}

/* A call of the driver with the current context's function for @host as `function`. */
#define WITH_FUNCTION(host, call, ...)                                        \
	({                                                                    \
		CUfunction function;                                          \
		cudaError_t _error = dev_rt_function(host, &function);        \
		dev_rt_end(_error ? _error : DEV_RT_CALL(call, __VA_ARGS__)); \
	})

cudaError_t cudaFuncSetAttribute(const void *host, enum cudaFuncAttribute attribute, int value)
{
	return WITH_FUNCTION(host, cuFuncSetAttribute, function, attribute, value);
}

cudaError_t cudaFuncSetCacheConfig(const void *host, enum cudaFuncCache config)
{
	return WITH_FUNCTION(host, cuFuncSetCacheConfig, function, config);
}

cudaError_t cudaFuncSetSharedMemConfig(const void *host, enum cudaSharedMemConfig config)
{
	return WITH_FUNCTION(host, cuFuncSetSharedMemConfig, function, config);
}

cudaError_t cudaFuncGetName(const char **ret_name, const void *host)
{
	return WITH_FUNCTION(host, cuFuncGetName, ret_name, function);
}

cudaError_t cudaFuncGetParamInfo(const void *host, size_t index, size_t *ret_offset,
				 size_t *ret_bytes)
{
	return WITH_FUNCTION(host, cuFuncGetParamInfo, function, index, ret_offset, ret_bytes);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *ret_blocks, const void *host,
							  int threads, size_t shared_bytes)
{
	return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(ret_blocks, host, threads,
								      shared_bytes, 0);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *ret_blocks,
								   const void *host, int threads,
								   size_t shared_bytes,
								   unsigned flags)
{
	return WITH_FUNCTION(host, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, ret_blocks,
			     function, threads, shared_bytes, flags);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t *ret_bytes, const void *host,
						      int blocks, int threads)
{
	return WITH_FUNCTION(host, cuOccupancyAvailableDynamicSMemPerBlock, ret_bytes, function,
			     blocks, threads);
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *ret_size, const void *host,
						 const cudaLaunchConfig_t *config)
{
	CUlaunchConfig c;

	if (!config)
		return dev_rt_end(cudaErrorInvalidValue);
	dev_rt_launch_config(config, &c);
	return WITH_FUNCTION(host, cuOccupancyMaxPotentialClusterSize, ret_size, function, &c);
}

cudaError_t cudaOccupancyMaxActiveClusters(int *ret_clusters, const void *host,
					   const cudaLaunchConfig_t *config)
{
	CUlaunchConfig c;

	if (!config)
		return dev_rt_end(cudaErrorInvalidValue);
	dev_rt_launch_config(config, &c);
	return WITH_FUNCTION(host, cuOccupancyMaxActiveClusters, ret_clusters, function, &c);
}

/* -- Libraries that the program loads itself */

cudaError_t cudaLibraryGetKernel(cudaKernel_t *ret_kernel, cudaLibrary_t library, const char *name)
{
	cudaError_t error = DEV_RT_CALL(cuLibraryGetKernel, ret_kernel, library, name);

	if (!error)
		dev_rt_kernel_add(*ret_kernel);
	return dev_rt_end(error);
}

cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t *ret_kernels, unsigned n,
					cudaLibrary_t library)
{
	unsigned count = 0;
	cudaError_t error = DEV_RT_CALL(cuLibraryGetKernelCount, &count, library);

	if (!error)
		error = DEV_RT_CALL(cuLibraryEnumerateKernels, ret_kernels, n, library);
	for (unsigned i = 0; !error && i < n && i < count; i++)
		dev_rt_kernel_add(ret_kernels[i]);
	return dev_rt_end(error);
}
