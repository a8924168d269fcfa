/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The heart of our CUDA runtime (libcudart.so.13): a thin layer that turns the runtime's calls into
 * calls of whatever libcuda.so.1 is loaded, be it the software GPU's, the shim's or a genuine one.
 * It knows the driver's public interface only.
 *
 * Nothing happens before the first call that needs the driver:
 *
 *   (nothing) ──dev_rt_start()──▶ the driver is loaded and initialised     once a process
 *             ──dev_rt_enter()──▶ the thread has a current context:        once a thread and device
 *                                 its device's primary one, unless the
 *                                 program made another one current
 *
 * Every call of the interface ends in dev_rt_end(), which remembers the thread's last error. A
 * result of the driver is a result of the runtime: the numbers are the same.
 */

#include <stdbool.h>

#include "cudart/cudart-calls.h"
#include "cudart/driver.h"

enum {
	DEV_RT_DEVICES_MAX = 64,
	DEV_RT_CONFIGURATIONS_MAX = 16,
};

/* What `<<<…>>>` says about a launch, until the launch fetches it. */
struct dev_rt_configuration {
	dim3 grid;
	dim3 block;
	size_t shared_bytes;
	cudaStream_t stream;
};

/* What the runtime knows about a thread. */
struct dev_rt_thread {
	cudaError_t last_error;
	int device; /* as cudaSetDevice() said */
	unsigned n_configurations;
	struct dev_rt_configuration configurations[DEV_RT_CONFIGURATIONS_MAX];
};

struct dev_rt_thread *dev_rt_thread(void);

/* Loads and initialises the driver. Return: what that gave, always the same. */
cudaError_t dev_rt_start(void);

/* dev_rt_start(), and the thread has a context. */
cudaError_t dev_rt_enter(void);

/* The number of the thread's device; the context's own where one is current. */
cudaError_t dev_rt_device(int *ret_device);

/* The primary context of a device; made on first use. */
cudaError_t dev_rt_primary(int device, CUcontext *ret_context);

/* The primary context is gone: the next use makes a new one. */
void dev_rt_forget_primary(int device);

/* Remembers @error as the thread's last one, unless it is none, and returns it. */
cudaError_t dev_rt_end(cudaError_t error);

/* Whether the context is lost after @error: then it stays, and every later call repeats it. */
bool dev_rt_is_sticky(cudaError_t error);

/* The driver's form of a launch's configuration. */
void dev_rt_launch_config(const cudaLaunchConfig_t *config, CUlaunchConfig *ret_config);

/* A call of the driver in the thread's context; the value is a cudaError_t. */
#define DEV_RT_CALL(call, ...)                                                          \
	({                                                                              \
		cudaError_t _dev_error = dev_rt_enter();                                \
		_dev_error ? _dev_error : (cudaError_t)dev_rt_driver.call(__VA_ARGS__); \
	})

#define DEV_RT_TRY(expression)                       \
	do {                                         \
		cudaError_t _dev_try = (expression); \
		if (_dev_try)                        \
			return _dev_try;             \
	} while (0)

/*
 * A call on a stream in its two forms: as written, and with stream 0 as the thread's own stream.
 * @params names the stream `stream`; NAME_on is a static function with the same parameters.
 */
#define DEV_RT_STREAM_CALL(name, params, args)      \
	cudaError_t name params                     \
	{                                           \
		return dev_rt_end(name##_on args);  \
	}                                           \
	cudaError_t name##_ptsz params              \
	{                                           \
		stream = dev_rt_own_stream(stream); \
		return dev_rt_end(name##_on args);  \
	}

static inline cudaStream_t dev_rt_own_stream(cudaStream_t stream)
{
	return stream ? stream : cudaStreamPerThread;
}

static inline CUdeviceptr dev_rt_address(const void *pointer)
{
	return (CUdeviceptr)(uintptr_t)pointer;
}
