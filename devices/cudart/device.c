/* SPDX-License-Identifier: Apache-2.0 */

/* Devices: which one a thread uses, and what they are. */

#include "cudart/runtime.h"

#include <string.h>

cudaError_t cudaGetDeviceCount(int *ret_count)
{
	cudaError_t error;

	if (!ret_count)
		return dev_rt_end(cudaErrorInvalidValue);
	*ret_count = 0;
	error = dev_rt_start();
	if (!error)
		error = (cudaError_t)dev_rt_driver.cuDeviceGetCount(ret_count);
	if (!error && !*ret_count)
		error = cudaErrorNoDevice;
	return dev_rt_end(error);
}

static cudaError_t check_device(int device)
{
	int count = 0;

	DEV_RT_TRY(dev_rt_start());
	DEV_RT_TRY((cudaError_t)dev_rt_driver.cuDeviceGetCount(&count));
	return device < 0 || device >= count ? cudaErrorInvalidDevice : cudaSuccess;
}

static cudaError_t set_device(int device)
{
	CUcontext context;

	DEV_RT_TRY(check_device(device));
	DEV_RT_TRY(dev_rt_primary(device, &context));
	DEV_RT_TRY((cudaError_t)dev_rt_driver.cuCtxSetCurrent(context));
	dev_rt_thread()->device = device;
	return cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
	return dev_rt_end(set_device(device));
}

cudaError_t cudaGetDevice(int *ret_device)
{
	return dev_rt_end(ret_device ? dev_rt_device(ret_device) : cudaErrorInvalidValue);
}

cudaError_t cudaInitDevice(int device, unsigned flags, unsigned which)
{
	enum { FLAGS_ARE_VALID = 1 };
	CUcontext context;
	cudaError_t error = check_device(device);

	if (!error && which & FLAGS_ARE_VALID)
		error = (cudaError_t)dev_rt_driver.cuDevicePrimaryCtxSetFlags_v2(device, flags);
	if (!error)
		error = dev_rt_primary(device, &context);
	return dev_rt_end(error);
}

cudaError_t cudaSetDeviceFlags(unsigned flags)
{
	int device;
	cudaError_t error = dev_rt_device(&device);

	if (!error)
		error = (cudaError_t)dev_rt_driver.cuDevicePrimaryCtxSetFlags_v2(device, flags);
	return dev_rt_end(error);
}

cudaError_t cudaGetDeviceFlags(unsigned *ret_flags)
{
	int device, is_active;
	cudaError_t error = dev_rt_device(&device);

	if (!error)
		error = (cudaError_t)dev_rt_driver.cuDevicePrimaryCtxGetState(device, ret_flags,
									      &is_active);
	return dev_rt_end(error);
}

static cudaError_t device_reset(void)
{
	int device;

	DEV_RT_TRY(dev_rt_device(&device));
	dev_rt_forget_primary(device);
	DEV_RT_TRY((cudaError_t)dev_rt_driver.cuCtxSetCurrent(NULL));
	return (cudaError_t)dev_rt_driver.cuDevicePrimaryCtxReset_v2(device);
}

cudaError_t cudaDeviceReset(void)
{
	cudaError_t error = dev_rt_end(device_reset());

	/* a lost context is not lost any more */
	if (!error)
		dev_rt_thread()->last_error = cudaSuccess;
	return error;
}

static cudaError_t get_attribute(int *ret_value, CUdevice_attribute attribute, int device)
{
	if (!ret_value)
		return cudaErrorInvalidValue;
	DEV_RT_TRY(check_device(device));
	return (cudaError_t)dev_rt_driver.cuDeviceGetAttribute(ret_value, attribute, device);
}

cudaError_t cudaDeviceGetAttribute(int *ret_value, enum cudaDeviceAttr attribute, int device)
{
	return dev_rt_end(get_attribute(ret_value, attribute, device));
}

static cudaError_t get_properties(struct cudaDeviceProp *ret_properties, int device)
{
	struct cudaDeviceProp p;
	int value;

	if (!ret_properties)
		return cudaErrorInvalidValue;
	DEV_RT_TRY(check_device(device));
	memset(&p, 0, sizeof(p));
	DEV_RT_TRY((cudaError_t)dev_rt_driver.cuDeviceGetName(p.name, sizeof(p.name), device));
	DEV_RT_TRY((cudaError_t)dev_rt_driver.cuDeviceGetUuid(&p.uuid, device));
	DEV_RT_TRY((cudaError_t)dev_rt_driver.cuDeviceTotalMem_v2(&p.totalGlobalMem, device));
/* what a driver does not know stays zero */
#define DEV_RTPROPERTY(field, attribute)                                                          \
	if (!dev_rt_driver.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_##attribute, device)) \
		p.field = (__typeof__(p.field))value;
#include "cudart/properties.def"
#undef DEV_RTPROPERTY
	*ret_properties = p;
	return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *ret_properties, int device)
{
	return dev_rt_end(get_properties(ret_properties, device));
}

/* How many of the things that were asked for a device has. */
static int device_match(const struct cudaDeviceProp *wanted, const struct cudaDeviceProp *has)
{
	int n = 0;

	n += has->major > wanted->major ||
	     (has->major == wanted->major && has->minor >= wanted->minor);
	n += has->totalGlobalMem >= wanted->totalGlobalMem;
	n += has->multiProcessorCount >= wanted->multiProcessorCount;
	n += has->sharedMemPerBlock >= wanted->sharedMemPerBlock;
	return n;
}

cudaError_t cudaChooseDevice(int *ret_device, const struct cudaDeviceProp *wanted)
{
	int count = 0, best = -1;
	cudaError_t error;

	if (!ret_device || !wanted)
		return dev_rt_end(cudaErrorInvalidValue);
	error = cudaGetDeviceCount(&count);
	for (int i = 0; !error && i < count; i++) {
		struct cudaDeviceProp p;

		error = get_properties(&p, i);
		if (!error && device_match(wanted, &p) > best) {
			best = device_match(wanted, &p);
			*ret_device = i;
		}
	}
	return dev_rt_end(error);
}

static cudaError_t set_peer(int peer, bool is_allowed)
{
	CUcontext context;

	DEV_RT_TRY(check_device(peer));
	DEV_RT_TRY(dev_rt_enter());
	DEV_RT_TRY(dev_rt_primary(peer, &context));
	return (cudaError_t)(is_allowed ? dev_rt_driver.cuCtxEnablePeerAccess(context, 0)
					: dev_rt_driver.cuCtxDisablePeerAccess(context));
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
	return dev_rt_end(flags ? cudaErrorInvalidValue : set_peer(peer, true));
}

cudaError_t cudaDeviceDisablePeerAccess(int peer)
{
	return dev_rt_end(set_peer(peer, false));
}
