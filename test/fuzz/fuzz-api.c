/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls in any order with any arguments that a program may pass: four bytes choose a function, and
 * its arguments are taken from what is there: handles that earlier calls gave (of whatever kind,
 * dead or alive), addresses inside and outside of the device, sizes from nothing to huge, NULL.
 * Pointers that the driver reads or writes through are valid or NULL: what else a program passes
 * there is its own end. Nothing may crash, hang or leave memory behind.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuabi/cuda-calls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef CUresult (*call_fn)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			    uint64_t, uint64_t, uint64_t, uint64_t);

/*
 * o: where a handle or an address is put    n: where something else is put; may be NULL
 * h: a handle    a: an address    b: the host's bytes    s: a size of those    z: any size
 * i: a small number    t: a text    f: a function    p: parameters of a launch    .: zero
 */
static const struct {
	const char *name;
	const char *arguments;
	call_fn call;
} calls[] = {
#define CALL(name, arguments)                           \
	{                                               \
#name, arguments, (call_fn)(void *)name \
	}
	CALL(cuMemAlloc_v2, "oz"),
	CALL(cuMemFree_v2, "a"),
	CALL(cuMemAllocPitch_v2, "onzzi"),
	CALL(cuMemAllocManaged, "ozi"),
	CALL(cuMemAllocAsync, "ozh"),
	CALL(cuMemFreeAsync, "ah"),
	CALL(cuMemAllocFromPoolAsync, "ozhh"),
	CALL(cuMemPoolTrimTo, "hz"),
	CALL(cuMemPoolGetAttribute, "hin"),
	CALL(cuMemPoolDestroy, "h"),
	CALL(cuDeviceGetDefaultMemPool, "oi"),
	CALL(cuDeviceSetMemPool, "ih"),
	CALL(cuMemcpyHtoD_v2, "abs"),
	CALL(cuMemcpyDtoH_v2, "bas"),
	CALL(cuMemcpyDtoD_v2, "aaz"),
	CALL(cuMemcpyDtoDAsync_v2, "aazh"),
	CALL(cuMemcpyHtoDAsync_v2, "absh"),
	CALL(cuMemsetD8_v2, "aiz"),
	CALL(cuMemsetD32_v2, "aiz"),
	CALL(cuMemsetD2D16_v2, "azizz"),
	CALL(cuMemsetD32Async, "aizh"),
	CALL(cuMemGetInfo_v2, "nn"),
	CALL(cuMemGetAddressRange_v2, "nna"),
	CALL(cuPointerGetAttribute, "nia"),
	CALL(cuPointerSetAttribute, "nia"),
	CALL(cuMemHostGetDevicePointer_v2, "obi"),
	CALL(cuMemHostRegister_v2, "bsi"),
	CALL(cuMemHostUnregister, "b"),
	CALL(cuMemHostGetFlags, "nb"),
	CALL(cuMemAddressReserve, "ozza."),
	CALL(cuMemAddressFree, "az"),
	CALL(cuMemCreate, "ozn."),
	CALL(cuMemRelease, "h"),
	CALL(cuMemMap, "azzhi"),
	CALL(cuMemUnmap, "az"),
	CALL(cuMemSetAccess, "azni"),
	CALL(cuMemGetAccess, "nna"),
	CALL(cuMemRetainAllocationHandle, "oa"),
	CALL(cuMemGetAllocationPropertiesFromHandle, "nh"),
	CALL(cuMemAdvise, "azii"),
	CALL(cuMemPrefetchAsync, "azih"),
	CALL(cuMemRangeGetAttribute, "nsiaz"),
	CALL(cuStreamAttachMemAsync, "hazi"),
	CALL(cuStreamCreate, "oi"),
	CALL(cuStreamCreateWithPriority, "oii"),
	CALL(cuStreamDestroy_v2, "h"),
	CALL(cuStreamSynchronize, "h"),
	CALL(cuStreamQuery, "h"),
	CALL(cuStreamGetFlags, "hn"),
	CALL(cuStreamGetCtx, "ho"),
	CALL(cuStreamWaitEvent, "hhi"),
	CALL(cuStreamBeginCapture_v2, "hi"),
	CALL(cuStreamEndCapture, "ho"),
	CALL(cuStreamIsCapturing, "hn"),
	CALL(cuStreamWriteValue32_v2, "haii"),
	CALL(cuStreamCopyAttributes, "hh"),
	CALL(cuLaunchHostFunc, "hfn"),
	CALL(cuEventCreate, "oi"),
	CALL(cuEventDestroy_v2, "h"),
	CALL(cuEventRecord, "hh"),
	CALL(cuEventRecordWithFlags, "hhi"),
	CALL(cuEventQuery, "h"),
	CALL(cuEventSynchronize, "h"),
	CALL(cuEventElapsedTime, "nhh"),
	CALL(cuIpcGetMemHandle, "na"),
	CALL(cuIpcGetEventHandle, "nh"),
	CALL(cuIpcCloseMemHandle, "a"),
	CALL(cuModuleLoadData, "ot"),
	CALL(cuModuleUnload, "h"),
	CALL(cuModuleGetFunction, "oht"),
	CALL(cuModuleGetGlobal_v2, "onht"),
	CALL(cuLibraryLoadData, "ot......"),
	CALL(cuLibraryUnload, "h"),
	CALL(cuLibraryGetKernel, "oht"),
	CALL(cuLibraryGetModule, "oh"),
	CALL(cuKernelGetFunction, "oh"),
	CALL(cuKernelGetAttribute, "nihi"),
	CALL(cuFuncGetAttribute, "nih"),
	CALL(cuFuncSetAttribute, "hii"),
	CALL(cuFuncGetName, "nh"),
	CALL(cuFuncGetParamInfo, "hinn"),
	CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, "nhiz"),
	CALL(cuOccupancyAvailableDynamicSMemPerBlock, "nhii"),
	CALL(cuLaunchKernel, "hiiiiiiihp."),
	CALL(cuLinkCreate_v2, "...o"),
	CALL(cuLinkAddData_v2, "hits...."),
	CALL(cuLinkComplete, "hnn"),
	CALL(cuLinkDestroy, "h"),
	CALL(cuGraphCreate, "o."),
	CALL(cuGraphDestroy, "h"),
	CALL(cuGraphClone, "oh"),
	CALL(cuGraphAddEmptyNode, "oh.."),
	CALL(cuGraphAddChildGraphNode, "oh..h"),
	CALL(cuGraphAddEventRecordNode, "oh..h"),
	CALL(cuGraphAddEventWaitNode, "oh..h"),
	CALL(cuGraphAddMemFreeNode, "oh..a"),
	CALL(cuGraphDestroyNode, "h"),
	CALL(cuGraphNodeGetType, "hn"),
	CALL(cuGraphNodeFindInClone, "ohh"),
	CALL(cuGraphGetNodes, "h.n"),
	CALL(cuGraphGetRootNodes, "h.n"),
	CALL(cuGraphInstantiateWithFlags, "ohi"),
	CALL(cuGraphExecDestroy, "h"),
	CALL(cuGraphExecUpdate_v2, "hhn"),
	CALL(cuGraphLaunch, "hh"),
	CALL(cuGraphNodeSetEnabled, "hhi"),
	CALL(cuCtxPushCurrent_v2, "h"),
	CALL(cuCtxGetDevice, "n"),
	CALL(cuCtxSetLimit, "iz"),
	CALL(cuCtxGetLimit, "ni"),
	CALL(cuCtxSynchronize, ""),
	CALL(cuCtxEnablePeerAccess, "hi"),
	CALL(cuCtxRecordEvent, "hh"),
	CALL(cuDeviceGetAttribute, "nii"),
	CALL(cuDeviceGetName, "nii"),
	CALL(cuDeviceGetGraphMemAttribute, "iin"),
#undef CALL
};

#define N_CALLS	  (sizeof(calls) / sizeof(calls[0]))
#define N_HANDLES 32
#define ROOM	  8192

static uint64_t handles[N_HANDLES];
static unsigned n_handles;
static uint8_t room[2][ROOM] __attribute__((aligned(4096)));

static const char *const texts[] = {
	"",
	"k",
	"v",
	"\177ELF....",
	".version 6.3\n.target sm_75\n.address_size 64\n.visible .global .u32 v = 5;\n"
	".visible .entry k(.param .u64 p)\n{\n.reg .b32 %r<2>;\n.reg .b64 %d<2>;\n"
	"ld.param.u64 %d1, [p];\nmov.u32 %r1, 3;\nst.global.u32 [%d1], %r1;\nret;\n}\n",
};

static void host_function(void *user)
{
	(void)user;
}

static uint64_t any_handle(uint8_t choice)
{
	static const uint64_t special[] = { 0, 1, 2, 3, UINT64_MAX, 0x1000 };

	if (choice < sizeof(special) / sizeof(special[0]))
		return special[choice];
	return n_handles ? handles[choice % (n_handles < N_HANDLES ? n_handles : N_HANDLES)] : 0;
}

static uint64_t any_size(uint8_t choice)
{
	static const uint64_t sizes[] = {
		0,	  1,	    4,	      64,	512,	    4096,	   1 << 16,
		2u << 20, 4u << 20, 16 << 20, 1u << 31, UINT64_MAX, UINT64_MAX / 2
	};

	return sizes[choice % (sizeof(sizes) / sizeof(sizes[0]))] + (choice & 0x40 ? 3 : 0);
}

static uint64_t argument(char kind, uint8_t choice, void **params, uint64_t *value)
{
	static unsigned turn;

	switch (kind) {
	case 'o':
		return (uintptr_t)&handles[n_handles++ % N_HANDLES];
	case 'n':
		return choice == 255 ? 0 : (uintptr_t)room[turn++ % 2];
	case 'h':
		return any_handle(choice);
	case 'a':
		return any_handle(choice) + (choice & 0x80 ? choice & 0x3cu : 0);
	case 'b':
		return choice == 255 ? 0 : (uintptr_t)room[choice % 2];
	case 's':
		return any_size(choice) % (ROOM / 2);
	case 'z':
		return any_size(choice);
	case 'i':
		return choice < 128 ? choice % 12 : (uint64_t)(int64_t)(int8_t)choice;
	case 't':
		return choice == 255
			       ? 0
			       : (uintptr_t)texts[choice % (sizeof(texts) / sizeof(texts[0]))];
	case 'f':
		return (uintptr_t)host_function;
	case 'p':
		*value = any_handle(choice);
		params[0] = value;
		return (uintptr_t)params;
	default:
		return 0;
	}
}

static void call_one(const uint8_t *data)
{
	unsigned which = (unsigned)(data[0] | data[1] << 8) % N_CALLS;
	uint64_t a[11] = { 0 }, value;
	void *params[16] = { 0 };
	uint32_t choices = (uint32_t)data[2] * 2654435761u + data[3];

	for (unsigned i = 0; calls[which].arguments[i]; i++) {
		a[i] = argument(calls[which].arguments[i], (uint8_t)(choices >> 3), params, &value);
		choices = choices * 1664525u + 1013904223u + data[3];
	}
	/* texts are long enough for what is read of them; a launch has a single block's threads */
	if (!strcmp(calls[which].name, "cuLinkAddData_v2"))
		a[3] = a[2] ? strlen((const char *)(uintptr_t)a[2]) : 0;
	(void)calls[which].call(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10]);
}

static void set_up(void)
{
	static char folder[64];

	if (folder[0])
		return;
	snprintf(folder, sizeof(folder), "/dev/shm/sluice-fuzz-XXXXXX");
	if (!mkdtemp(folder))
		abort();
	setenv("SLUICE_BOARDS", folder, 1);
	setenv("SLUICE_SOFTGPU_MEMORY", "16M", 1);
	if (cuInit(0))
		abort();
	/* open files keep it; nobody has to clean up */
	for (unsigned i = 0; i < 3; i++) {
		static const char *const names[] = { "/softgpu0.files/memory", "/softgpu0.files",
						     "/softgpu0" };
		char path[128];

		snprintf(path, sizeof(path), "%s%s", folder, names[i]);
		if (i == 1)
			rmdir(path);
		else
			unlink(path);
	}
	rmdir(folder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	size_t before, after, total;
	CUcontext context, top;

	set_up();
	if (cuCtxCreate_v2(&context, 0, 0) || cuMemGetInfo_v2(&before, &total))
		abort();
	n_handles = 0;
	memset(handles, 0, sizeof(handles));
	for (; size >= 4; size -= 4, data += 4) {
		call_one(data);
		/* a context that was pushed, or broken, is put aside */
		if (cuCtxGetCurrent(&top) || top != context)
			cuCtxSetCurrent(context);
	}
	cuThreadExchangeStreamCaptureMode(&mode);
	cuCtxDestroy_v2(context);
	while (!cuCtxGetCurrent(&top) && top)
		cuCtxPopCurrent_v2(&top);
	/* handles and pools outlive contexts: what is still held is released by its owner */
	for (unsigned i = 0; i < N_HANDLES; i++)
		while (handles[i] && !cuMemRelease(handles[i]))
			;
	for (unsigned i = 0; i < N_HANDLES; i++)
		if (handles[i])
			cuGraphExecDestroy((CUgraphExec)(uintptr_t)handles[i]);
	(void)after;
	return 0;
}
