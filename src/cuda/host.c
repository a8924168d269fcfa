/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host functions of the program, wrapped to know when one runs: a stream behind a host function
 * that waits makes no progress on the device, however busy it looks from outside. Such a program
 * is not idle for want of work, and its turn may end.
 */
#include <errno.h>
#include <stdlib.h>

#include "cuda/bypass.h"
#include "cuda/device.h"
#include "cuda/nodes.h"
#include "cuda/real.h"

struct call {
	struct slu_cuda_host_call seen;
	CUhostFn function; /* one of the two */
	CUstreamCallback callback;
	void *user;
};

static void call_finish(struct call *call)
{
	slu_cuda_streams_host_end(&call->seen);
	free(call);
}

static void call_run_function(void *data)
{
	struct call *call = data;

	slu_cuda_streams_host_begin(&call->seen);
	call->function(call->user);
	call_finish(call);
}

static void call_run_callback(CUstream stream, CUresult status, void *data)
{
	struct call *call = data;

	slu_cuda_streams_host_begin(&call->seen);
	call->callback(stream, status, call->user);
	call_finish(call);
}

static struct call *call_make(CUstream stream, CUhostFn function, CUstreamCallback callback,
			      void *user)
{
	struct slu_cuda_device *d = slu_cuda_device_here();
	struct call *call;
	int saved = errno;

	/* in a capture it may become a node: see nodes.h */
	if (!d || atomic_load(&d->n_capturing) || !(function || callback))
		return NULL;
	call = malloc(sizeof(*call));
	errno = saved;
	if (!call)
		return NULL;
	*call = (struct call){ .function = function, .callback = callback, .user = user };
	slu_cuda_streams_host_add(d, stream, &call->seen);
	return call;
}

#define PER_THREAD (stream ? stream : SLU_STREAM_PER_THREAD)

static void function_wrap_captured(CUhostFn *function, void **user)
{
	struct slu_cuda_device *d = slu_cuda_device_here();

	if (d && atomic_load(&d->n_capturing))
		slu_cuda_nodes_wrap(function, user);
}

/* Without a record the program's own function is passed on: it runs all the same, unseen. */
#define HOST_FUNCTION(name, stream_meant)                                          \
	CUresult name(CUstream stream, CUhostFn function, void *user)              \
	{                                                                          \
		struct call *call = call_make(stream_meant, function, NULL, user); \
		CUresult r;                                                        \
                                                                                   \
		slu_cuda_bypass_begin();                                           \
		if (!call)                                                         \
			function_wrap_captured(&function, &user);                  \
		r = SLU_REAL(name)(stream, call ? call_run_function : function,    \
				   call ? call : user);                            \
		slu_cuda_bypass_end();                                             \
		if (r != CUDA_SUCCESS && call)                                     \
			call_finish(call);                                         \
		return r;                                                          \
	}

#define STREAM_CALLBACK(name, stream_meant)                                                       \
	CUresult name(CUstream stream, CUstreamCallback callback, void *user, unsigned int flags) \
	{                                                                                         \
		struct call *call = call_make(stream_meant, NULL, callback, user);                \
		CUresult r;                                                                       \
                                                                                                  \
		slu_cuda_bypass_begin();                                                          \
		r = SLU_REAL(name)(stream, call ? call_run_callback : callback,                   \
				   call ? call : user, flags);                                    \
		slu_cuda_bypass_end();                                                            \
		if (r != CUDA_SUCCESS && call)                                                    \
			call_finish(call);                                                        \
		return r;                                                                         \
	}

HOST_FUNCTION(cuLaunchHostFunc, stream)
HOST_FUNCTION(cuLaunchHostFunc_ptsz, PER_THREAD)
STREAM_CALLBACK(cuStreamAddCallback, stream)
STREAM_CALLBACK(cuStreamAddCallback_ptsz, PER_THREAD)
