/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What the small CUDA programs have in common. They are ordinary programs: they open libcuda.so.1
 * as a runtime does, know nothing of Sluice, and end with an exit status that says what happened.
 * Their kernels are PTX texts, so that no compiler is needed.
 */

#include <stdint.h>

#include "client.h"
#include "cuabi/cuda-calls.h"

enum cuda_exit {
	CUDA_EXIT_RIGHT = CLIENT_EXIT_RIGHT,
	CUDA_EXIT_WRONG = CLIENT_EXIT_WRONG,
	CUDA_EXIT_CUDA = 3,	 /* a CUDA call failed */
	CUDA_EXIT_NO_MEMORY = 4, /* a CUDA call failed for want of memory */
	CUDA_EXIT_NO_DEVICE = 5, /* there is no driver or no device */
};

#define CUDA_EXIT_TEXT                                                                 \
	"Exit status: 0 right, 1 wrong contents, 2 usage, 3 a CUDA call failed, 4 it " \
	"failed for want of memory, 5 no device.\n"

/* The driver's functions that they use, found by dlsym(). */
#define CUDA_CALLS(X)                        \
	X(cuInit)                            \
	X(cuGetErrorName)                    \
	X(cuDeviceGet)                       \
	X(cuDevicePrimaryCtxRetain)          \
	X(cuDevicePrimaryCtxRelease_v2)      \
	X(cuCtxSetCurrent)                   \
	X(cuCtxSynchronize)                  \
	X(cuMemAlloc_v2)                     \
	X(cuMemAllocManaged)                 \
	X(cuMemAdvise)                       \
	X(cuMemPrefetchAsync)                \
	X(cuMemAllocAsync)                   \
	X(cuMemAllocFromPoolAsync)           \
	X(cuMemPoolCreate)                   \
	X(cuMemPoolDestroy)                  \
	X(cuMemPoolSetAttribute)             \
	X(cuMemFreeAsync)                    \
	X(cuMemFree_v2)                      \
	X(cuMemAllocHost_v2)                 \
	X(cuMemFreeHost)                     \
	X(cuIpcGetMemHandle)                 \
	X(cuIpcOpenMemHandle_v2)             \
	X(cuIpcCloseMemHandle)               \
	X(cuMemGetAddressRange_v2)           \
	X(cuMemGetInfo_v2)                   \
	X(cuMemAddressReserve)               \
	X(cuMemAddressFree)                  \
	X(cuMemCreate)                       \
	X(cuMemRelease)                      \
	X(cuMemMap)                          \
	X(cuMemUnmap)                        \
	X(cuMemSetAccess)                    \
	X(cuMemGetAllocationGranularity)     \
	X(cuMemcpyHtoD_v2)                   \
	X(cuMemcpyDtoH_v2)                   \
	X(cuMemcpyDtoHAsync_v2)              \
	X(cuMemcpyHtoDAsync_v2)              \
	X(cuMemcpyDtoDAsync_v2)              \
	X(cuMemsetD8Async)                   \
	X(cuModuleLoadData)                  \
	X(cuModuleGetFunction)               \
	X(cuModuleGetGlobal_v2)              \
	X(cuModuleUnload)                    \
	X(cuStreamCreate)                    \
	X(cuStreamDestroy_v2)                \
	X(cuStreamSynchronize)               \
	X(cuStreamQuery)                     \
	X(cuCtxCreate_v2)                    \
	X(cuCtxDestroy_v2)                   \
	X(cuStreamWaitEvent)                 \
	X(cuEventCreate)                     \
	X(cuEventRecord)                     \
	X(cuEventDestroy_v2)                 \
	X(cuStreamBeginCapture_v2)           \
	X(cuStreamEndCapture)                \
	X(cuGraphInstantiateWithFlags)       \
	X(cuGraphLaunch)                     \
	X(cuGraphExecDestroy)                \
	X(cuGraphDestroy)                    \
	X(cuGraphCreate)                     \
	X(cuGraphAddKernelNode_v2)           \
	X(cuGraphAddMemsetNode)              \
	X(cuGraphAddMemcpyNode)              \
	X(cuGraphExecUpdate_v2)              \
	X(cuGraphExecMemsetNodeSetParams)    \
	X(cuGraphExecKernelNodeSetParams_v2) \
	X(cuLaunchKernel)                    \
	X(cuLaunchHostFunc)

struct cuda_calls {
#define X(name) __typeof__(&name) name;
	CUDA_CALLS(X)
#undef X
};

extern struct cuda_calls cu;
extern CUcontext cuda_context;
extern int cuda_device; /* which one cuda_open() opens; 0 unless set before */

/* Ends the program with a line on stderr where @r is an error. */
void cuda_check(CUresult r, const char *what);
#define CHECK(call) cuda_check(cu.call, #call)

/* Opens the driver and the device; its primary context is current afterwards. */
void cuda_open(void);
void cuda_close(void);

CUfunction cuda_function(const char *ptx, const char *name);

/* xorshift: the same numbers on every machine. */
uint64_t cuda_random(uint64_t *state);
