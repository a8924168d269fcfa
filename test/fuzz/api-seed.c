/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that make sense, for fuzz-api.c to begin with, and those that once failed. Written by
 * name, so that they stay what they are when the table of functions grows. A string holds the bytes
 * of the arguments: '\6' is the first handle that the program was given, '\7' the second; sizes are
 * '\4' 512, '\5' 4096, '\7' 2 MiB.
 */
#include <string.h>

#include "api-argument.h"
#include "base/util.h"
#include "seed.h"

struct step {
	const char *name;
	const char *bytes;
	size_t size;
};

#define STEP(name, bytes)                       \
	{                                       \
#name, bytes, sizeof(bytes) - 1 \
	}
#define FOUR(x)	  x x x x
#define NOBODY	  FOUR("\0") "\0" /* no dependencies */
#define PROPS	  "\1\1\1\1\0"	  /* device 0, exported by descriptors */
#define SMALL_BOX "\0\0\0\0\0\0\0\0\0\0\20\1\1"

static const struct step pools[] = {
	STEP(cuMemPoolCreate, "\1\1\1\1\0\0"),
	STEP(cuStreamCreate, "\0"),
	STEP(cuMemAllocFromPoolAsync, "\4\6\7"),
	STEP(cuMemPoolExportPointer, "\10"),
	STEP(cuMemPoolExportToShareableHandle, "\6\1"),
	STEP(cuMemPoolImportFromShareableHandle, "\1\1"),
	STEP(cuMemPoolImportPointer, "\11"),
	STEP(cuMemsetD8_v2, "\10\1\3"),
	STEP(cuMemFreeAsync, "\10\7"),
	STEP(cuDeviceSetMemPool, "\0\6"),
	STEP(cuMemAllocAsync, "\5\7"),
	STEP(cuStreamSynchronize, "\7"),
};

static const struct step virtual_memory[] = {
	STEP(cuMemAddressReserve, "\7\0\0"),
	STEP(cuMemCreate, "\7" PROPS),
	STEP(cuMemMap, "\6\7\0\7\0"),
	STEP(cuMemSetAccess, "\6\7" FOUR("\1\1\3") "\1"),
	STEP(cuMemsetD32_v2, "\6\1\5"),
	STEP(cuMemExportToShareableHandle, "\7\1"),
	STEP(cuMemImportFromShareableHandle, "\1\1"),
	STEP(cuMemRelease, "\7"),
};

static const struct step graph[] = {
	STEP(cuStreamGetCtx, "\0"),
	STEP(cuModuleLoadData, "\4"),
	STEP(cuModuleGetFunction, "\7\1"),
	STEP(cuMemAlloc_v2, "\5"),
	STEP(cuGraphCreate, ""),
	STEP(cuGraphAddKernelNode_v2, "\12" NOBODY "\10\2\1\1\40\1\1\1\0\11\11\0\0\0"),
	STEP(cuGraphAddMemcpyNode, "\12\13\0\0\0\1"
				   "\2\0\11\1\1\0" SMALL_BOX "\6"),
	STEP(cuGraphAddMemsetNode, "\12\13\0\0\0\1\11\0\7\4\4\1\1\6"),
	STEP(cuGraphAddMemAllocNode, "\12" NOBODY "\1\1\1\0\0\0\1\0\5"),
	STEP(cuGraphAddBatchMemOpNode, "\12" NOBODY "\0" FOUR("\1\0\0") "\6\2\0"),
	STEP(cuGraphInstantiateWithFlags, "\12\0"),
	STEP(cuGraphLaunch, "\21\0"),
	STEP(cuGraphExecUpdate_v2, "\21\12\0"),
	STEP(cuGraphLaunch, "\21\1"),
	STEP(cuCtxSynchronize, ""),
};

static const struct step capture[] = {
	STEP(cuStreamCreate, "\0"),
	STEP(cuModuleLoadData, "\5"),
	STEP(cuModuleGetFunction, "\7\1"),
	STEP(cuMemAlloc_v2, "\5"),
	STEP(cuStreamBeginCapture_v2, "\6\2"),
	STEP(cuLaunchKernelEx, "\3\1\1\10\1\1\1\6\1\0\2\0\0\0\10\11\11\0"),
	STEP(cuMemAllocAsync, "\4\6"),
	STEP(cuStreamWaitValue32_v2, "\6\0\1"),
	STEP(cuStreamEndCapture, "\6"),
	STEP(cuGraphInstantiateWithParams, "\13\0\0"),
	STEP(cuGraphLaunch, "\14\6"),
	STEP(cuStreamWaitValue64_v2, "\6\0\0"),
	STEP(cuStreamWriteValue32_v2, "\6\11\7\0"),
	STEP(cuStreamSynchronize, "\6"),
};

static const struct step boxes[] = {
	STEP(cuMemAlloc_v2, "\6"),
	STEP(cuStreamCreate, "\0"),
	STEP(cuMemcpy2D_v2, "\2\0\6\1\1\0\0\0\0\0\0\0\20\4"),
	STEP(cuMemcpy3DAsync_v2, "\1\0\0\2\0\6" SMALL_BOX "\0"),
	STEP(cuMemcpyBatchAsync_v2,
	     FOUR("\6") FOUR("\372") FOUR("\3") "\2" FOUR("\1\0") FOUR("\0") "\1\7"),
	STEP(cuMemcpy3DBatchAsync_v2, "\1" FOUR("\1\6\0\0\1\372\0\0\20\1\1\1\0") "\7"),
	STEP(cuCtxSynchronize, ""),
};

/* Each of these was a crash. */
static const struct step behind_pinned[] = {
	STEP(cuMemHostRegister_v2, "\0\4\2"),
	STEP(cuMemHostGetDevicePointer_v2, "\0\0"),
	STEP(cuMemcpyDtoD_v2, "\6\6\11"),
	STEP(cuMemcpyDtoH_v2, "\1\6\12"),
};

static const struct step from_nowhere[] = {
	STEP(cuMemAlloc_v2, "\5"),
	STEP(cuMemcpyHtoD_v2, "\6\377\4"),
	/* the same, and beside it */
	STEP(cuMemcpy2D_v2, "\1\377\0\2\0\6\3\2\1\0\0\0\6\1"),
	/* as an address of the device */
	STEP(cuMemcpy2D_v2, "\2\0\5\2\0\6\1\0\1\0\1\0\1\0\1\0\1\0\1\20\1\1"),
};

static const struct {
	const struct step *steps;
	size_t n;
} seeds[] = {
	{ pools, SLU_ARRAY_SIZE(pools) },
	{ virtual_memory, SLU_ARRAY_SIZE(virtual_memory) },
	{ graph, SLU_ARRAY_SIZE(graph) },
	{ capture, SLU_ARRAY_SIZE(capture) },
	{ boxes, SLU_ARRAY_SIZE(boxes) },
	{ behind_pinned, SLU_ARRAY_SIZE(behind_pinned) },
	{ from_nowhere, SLU_ARRAY_SIZE(from_nowhere) },
};

size_t slu_fuzz_seed(unsigned number, uint8_t *ret_data, size_t size)
{
	size_t n = 0;

	if (number >= SLU_ARRAY_SIZE(seeds))
		return 0;
	for (size_t i = 0; i < seeds[number].n; i++) {
		const struct step *step = &seeds[number].steps[i];
		unsigned call = slu_api_find(step->name);

		if (n + 2 + step->size > size)
			return 0;
		ret_data[n++] = (uint8_t)call;
		ret_data[n++] = (uint8_t)(call >> 8);
		memcpy(ret_data + n, step->bytes, step->size);
		n += step->size;
	}
	return n;
}
