/* SPDX-License-Identifier: Apache-2.0 */

#include "cudart/runtime.h"

#include <pthread.h>

#include "cudart/absent.h"

/* So that a program that has our archive linked in can be told from one with NVIDIA's. */
static const char mark[] __attribute__((used)) = "Sluice CUDA runtime";

static struct {
	pthread_once_t once;
	cudaError_t error; /* constant after the once */

	pthread_mutex_t lock;
	CUcontext primary[DEV_RT_DEVICES_MAX]; /* guarded by lock; NULL: not retained */
} runtime = { .once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER };

static __thread struct dev_rt_thread thread;

struct dev_rt_thread *dev_rt_thread(void)
{
	return &thread;
}

static void runtime_start(void)
{
	int version = 0;

	if (dev_rt_driver_load() || dev_rt_driver.cuDriverGetVersion(&version))
		runtime.error = cudaErrorInsufficientDriver;
	else
		runtime.error = (cudaError_t)dev_rt_driver.cuInit(0);
}

cudaError_t dev_rt_start(void)
{
	pthread_once(&runtime.once, runtime_start);
	return runtime.error;
}

cudaError_t dev_rt_primary(int device, CUcontext *ret_context)
{
	CUcontext context;
	CUdevice handle;
	bool is_ours = false;

	DEV_RT_TRY(dev_rt_start());
	if (device < 0 || device >= DEV_RT_DEVICES_MAX)
		return cudaErrorInvalidDevice;
	pthread_mutex_lock(&runtime.lock);
	context = runtime.primary[device];
	pthread_mutex_unlock(&runtime.lock);
	if (context) {
		*ret_context = context;
		return cudaSuccess;
	}

	DEV_RT_TRY((cudaError_t)dev_rt_driver.cuDeviceGet(&handle, device));
	DEV_RT_TRY((cudaError_t)dev_rt_driver.cuDevicePrimaryCtxRetain(&context, handle));
	pthread_mutex_lock(&runtime.lock);
	if (!runtime.primary[device]) {
		runtime.primary[device] = context;
		is_ours = true;
	}
	pthread_mutex_unlock(&runtime.lock);
	/* somebody was faster: one reference is enough */
	if (!is_ours)
		dev_rt_driver.cuDevicePrimaryCtxRelease_v2(handle);
	*ret_context = context;
	return cudaSuccess;
}

void dev_rt_forget_primary(int device)
{
	pthread_mutex_lock(&runtime.lock);
	runtime.primary[device] = NULL;
	pthread_mutex_unlock(&runtime.lock);
}

cudaError_t dev_rt_enter(void)
{
	CUcontext context = NULL;

	DEV_RT_TRY(dev_rt_start());
	DEV_RT_TRY((cudaError_t)dev_rt_driver.cuCtxGetCurrent(&context));
	if (context)
		return cudaSuccess;
	DEV_RT_TRY(dev_rt_primary(thread.device, &context));
	return (cudaError_t)dev_rt_driver.cuCtxSetCurrent(context);
}

cudaError_t dev_rt_device(int *ret_device)
{
	CUcontext context = NULL;
	CUdevice device;

	DEV_RT_TRY(dev_rt_start());
	DEV_RT_TRY((cudaError_t)dev_rt_driver.cuCtxGetCurrent(&context));
	if (!context) {
		*ret_device = thread.device;
		return cudaSuccess;
	}
	DEV_RT_TRY((cudaError_t)dev_rt_driver.cuCtxGetDevice(&device));
	*ret_device = device;
	return cudaSuccess;
}

bool dev_rt_is_sticky(cudaError_t error)
{
	switch (error) {
	case cudaErrorECCUncorrectable:
	case cudaErrorNvlinkUncorrectable:
	case cudaErrorIllegalAddress:
	case cudaErrorLaunchTimeout:
	case cudaErrorAssert:
	case cudaErrorHardwareStackError:
	case cudaErrorIllegalInstruction:
	case cudaErrorMisalignedAddress:
	case cudaErrorInvalidAddressSpace:
	case cudaErrorInvalidPc:
	case cudaErrorLaunchFailure:
		return true;
	default:
		return false;
	}
}

cudaError_t dev_rt_end(cudaError_t error)
{
	if (error)
		thread.last_error = error;
	return error;
}

int dev_rt_absent(void)
{
	return dev_rt_end(cudaErrorNotSupported);
}
