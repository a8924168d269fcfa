/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host functions of the program, wrapped to know when one runs: a stream behind a host function
 * that waits makes no progress on the device, however busy it looks from outside. Such a program
 * is not idle for want of work, and its turn may end.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "cuda/device.h"
#include "cuda/real.h"

struct call {
	struct slu_cuda_device *device;
	CUhostFn function; /* one of the two */
	CUstreamCallback callback;
	void *user;
};

static void begin(struct slu_cuda_device *d)
{
	if (atomic_fetch_add(&d->n_host_waits, 1) == 0)
		atomic_store(&d->host_since_ns, slu_clock_now_ns());
}

static void end(struct slu_cuda_device *d)
{
	atomic_fetch_sub(&d->n_host_waits, 1);
}

static void run_function(void *data)
{
	struct call call = *(struct call *)data;

	free(data);
	begin(call.device);
	call.function(call.user);
	end(call.device);
}

static void run_callback(CUstream stream, CUresult status, void *data)
{
	struct call call = *(struct call *)data;

	free(data);
	begin(call.device);
	call.callback(stream, status, call.user);
	end(call.device);
}

static struct call *make(CUhostFn function, CUstreamCallback callback, void *user)
{
	struct slu_cuda_device *d = slu_cuda_device_here();
	struct call *call;
	int saved = errno;

	/* in a capture the node keeps the pointer and may run it many times: it is not ours to free
	 */
	if (!d || atomic_load(&d->n_capturing) || !(function || callback))
		return NULL;
	call = malloc(sizeof(*call));
	errno = saved;
	if (call)
		*call = (struct call){ d, function, callback, user };
	return call;
}

/* Without a record the program's own function is passed on: it runs all the same, unseen. */
#define HOST_FUNCTION(name)                                            \
	CUresult name(CUstream stream, CUhostFn function, void *user)  \
	{                                                              \
		struct call *call = make(function, NULL, user);        \
		CUresult r;                                            \
                                                                       \
		if (!call)                                             \
			return SLU_REAL(name)(stream, function, user); \
		r = SLU_REAL(name)(stream, run_function, call);        \
		if (r != CUDA_SUCCESS)                                 \
			free(call);                                    \
		return r;                                              \
	}

#define STREAM_CALLBACK(name)                                                                     \
	CUresult name(CUstream stream, CUstreamCallback callback, void *user, unsigned int flags) \
	{                                                                                         \
		struct call *call = make(NULL, callback, user);                                   \
		CUresult r;                                                                       \
                                                                                                  \
		if (!call)                                                                        \
			return SLU_REAL(name)(stream, callback, user, flags);                     \
		r = SLU_REAL(name)(stream, run_callback, call, flags);                            \
		if (r != CUDA_SUCCESS)                                                            \
			free(call);                                                               \
		return r;                                                                         \
	}

HOST_FUNCTION(cuLaunchHostFunc)
HOST_FUNCTION(cuLaunchHostFunc_ptsz)
STREAM_CALLBACK(cuStreamAddCallback)
STREAM_CALLBACK(cuStreamAddCallback_ptsz)
