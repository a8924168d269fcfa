/* SPDX-License-Identifier: Apache-2.0 */

/* Errors by name, versions, and what is the same on every device. */

#include "cudart/runtime.h"

cudaError_t cudaGetLastError(void)
{
	struct dev_rt_thread *thread = dev_rt_thread();
	cudaError_t error = thread->last_error;

	if (!dev_rt_is_sticky(error))
		thread->last_error = cudaSuccess;
	return error;
}

cudaError_t cudaPeekAtLastError(void)
{
	return dev_rt_thread()->last_error;
}

const char *cudaGetErrorName(cudaError_t error)
{
	switch (error) {
#define DEV_RTERROR(name, number, text) \
	case name:                      \
		return #name;
#include "cudart/errors.def"
#undef DEV_RTERROR
	}
	return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error)
{
	switch (error) {
#define DEV_RTERROR(name, number, text) \
	case name:                      \
		return text;
#include "cudart/errors.def"
#undef DEV_RTERROR
	}
	return "unrecognized error code";
}

cudaError_t cudaDriverGetVersion(int *ret_version)
{
	cudaError_t error;

	if (!ret_version)
		return dev_rt_end(cudaErrorInvalidValue);
	error = dev_rt_start();
	/* no driver is an answer here, not an error; one that has no device still has a version */
	if (error == cudaErrorInsufficientDriver) {
		*ret_version = 0;
		return cudaSuccess;
	}
	return dev_rt_end((cudaError_t)dev_rt_driver.cuDriverGetVersion(ret_version));
}

cudaError_t cudaRuntimeGetVersion(int *ret_version)
{
	if (!ret_version)
		return dev_rt_end(cudaErrorInvalidValue);
	*ret_version = CUDART_VERSION;
	return cudaSuccess;
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w,
						   enum cudaChannelFormatKind kind)
{
	return (struct cudaChannelFormatDesc){ x, y, z, w, kind };
}

static cudaError_t entry_point(const char *name, void **ret_function, unsigned version,
			       unsigned long long flags, CUdriverProcAddressQueryResult *ret_status)
{
	CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
	cudaError_t error;

	if (!name || !ret_function)
		return cudaErrorInvalidValue;
	DEV_RT_TRY(dev_rt_start());
	error = (cudaError_t)dev_rt_driver.cuGetProcAddress_v2(name, ret_function, (int)version,
							       flags, &status);
	if (!ret_status)
		return error;
	/* who asks for the status learns from it that there is no such function */
	*ret_status = status;
	return error == cudaErrorSymbolNotFound ? cudaSuccess : error;
}

static unsigned long long own_streams(unsigned long long flags)
{
	return flags ? flags : CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
}

cudaError_t cudaGetDriverEntryPoint(const char *name, void **ret_function, unsigned long long flags,
				    enum cudaDriverEntryPointQueryResult *ret_status)
{
	return dev_rt_end(entry_point(name, ret_function, CUDART_VERSION, flags, ret_status));
}

cudaError_t cudaGetDriverEntryPoint_ptsz(const char *name, void **ret_function,
					 unsigned long long flags,
					 enum cudaDriverEntryPointQueryResult *ret_status)
{
	return dev_rt_end(
		entry_point(name, ret_function, CUDART_VERSION, own_streams(flags), ret_status));
}

cudaError_t cudaGetDriverEntryPointByVersion(const char *name, void **ret_function,
					     unsigned version, unsigned long long flags,
					     enum cudaDriverEntryPointQueryResult *ret_status)
{
	return dev_rt_end(entry_point(name, ret_function, version, flags, ret_status));
}

cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *name, void **ret_function,
						  unsigned version, unsigned long long flags,
						  enum cudaDriverEntryPointQueryResult *ret_status)
{
	return dev_rt_end(entry_point(name, ret_function, version, own_streams(flags), ret_status));
}
