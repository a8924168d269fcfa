/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls in any order with any arguments that a program may pass: two bytes choose a function, and
 * its arguments are taken from what follows (api-argument.h). Nothing may crash or hang, and what
 * the program gives back at its end is all of the device: as much is free as before.
 */
#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api-argument.h"
#include "base/util.h"

#define RANGES_MAX 256

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef CUresult (*call_fn)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
			    uint64_t, uint64_t, uint64_t, uint64_t);

/* These two take a structure by value. */
static CUresult open_memory(CUdeviceptr *ret_address, const CUipcMemHandle *handle, unsigned flags)
{
	return cuIpcOpenMemHandle_v2(ret_address, *handle, flags);
}

static CUresult open_event(CUevent *ret_event, const CUipcEventHandle *handle)
{
	return cuIpcOpenEventHandle(ret_event, *handle);
}

static const struct {
	const char *name;
	const char *arguments;
	call_fn call;
} calls[] = {
#define CALL(name, arguments) { #name, arguments, (call_fn)(void *)name },
#include "api-calls.def"
#undef CALL
};

unsigned slu_api_find(const char *name)
{
	unsigned i = 0;

	while (strcmp(calls[i].name, name)) {
		i++;
		assert(i < SLU_ARRAY_SIZE(calls));
	}
	return i;
}

/* Addresses belong to the process: contexts come and go. */
struct ranges {
	uint64_t address[RANGES_MAX];
	uint64_t bytes[RANGES_MAX];
	unsigned n;
};

static struct ranges reserved, mapped;

static void remember(struct ranges *r, uint64_t address, uint64_t bytes)
{
	assert(r->n < RANGES_MAX);
	r->address[r->n] = address;
	r->bytes[r->n++] = bytes;
}

static bool is_call(unsigned which, const void *function)
{
	return calls[which].call == (call_fn)function;
}

static void call_one(void)
{
	unsigned which = slu_api_take(), first_handle = slu_api.n_handles;
	int *fd = &slu_api.fds[slu_api.n_fds];
	uint64_t a[11] = { 0 };
	CUresult result;

	which = (which | (unsigned)slu_api_take() << 8) % SLU_ARRAY_SIZE(calls);
	*fd = -1;
	slu_api.allocated = NULL;
	for (unsigned i = 0; calls[which].arguments[i]; i++)
		a[i] = slu_api_argument(calls[which].arguments[i]);
	result = calls[which].call(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9],
				   a[10]);
	if (*fd < 0)
		slu_api.n_fds = (unsigned)(fd - slu_api.fds);
	if (result)
		return;
	if (slu_api.allocated)
		slu_api.handles[slu_api.n_handles++] = *slu_api.allocated;
	if (is_call(which, (void *)cuMemAddressReserve))
		remember(&reserved, slu_api.handles[first_handle], a[1]);
	if (is_call(which, (void *)cuMemMap))
		remember(&mapped, a[0], a[1]);
}

static bool has_capacity(void)
{
	return slu_api.n_handles < SLU_API_HANDLES_MAX - 2 &&
	       slu_api.n_fds < SLU_ARRAY_SIZE(slu_api.fds) - 1 && reserved.n < RANGES_MAX - 1 &&
	       mapped.n < RANGES_MAX - 1;
}

/* What outlives contexts is given back by its owner, who does not know which handle is what. */
static void tidy_up(void)
{
	CUmemoryPool pool;
	uint64_t none = 0;

	for (unsigned i = 0; i < slu_api.n_handles; i++)
		(void)cuGraphExecDestroy((CUgraphExec)(uintptr_t)slu_api.handles[i]);
	for (unsigned i = 0; i < slu_api.n_handles; i++)
		(void)cuGraphDestroy((CUgraph)(uintptr_t)slu_api.handles[i]);
	for (unsigned i = 0; i < slu_api.n_handles; i++)
		while (!cuUserObjectRelease((CUuserObject)(uintptr_t)slu_api.handles[i], 1))
			;
	for (unsigned i = 0; i < slu_api.n_handles; i++)
		(void)cuLibraryUnload((CUlibrary)(uintptr_t)slu_api.handles[i]);
	for (unsigned i = 0; i < slu_api.n_handles; i++)
		if (slu_api.handles[i] && cuIpcCloseMemHandle(slu_api.handles[i]))
			(void)cuMemFree_v2(slu_api.handles[i]);
	for (unsigned i = 0; i < slu_api.n_handles; i++)
		(void)cuMemPoolDestroy((CUmemoryPool)(uintptr_t)slu_api.handles[i]);
	for (unsigned i = 0; i < mapped.n; i++)
		(void)cuMemUnmap(mapped.address[i], mapped.bytes[i]);
	for (unsigned i = 0; i < slu_api.n_handles; i++)
		while (slu_api.handles[i] && !cuMemRelease(slu_api.handles[i]))
			;
	for (unsigned i = 0; i < reserved.n; i++)
		(void)cuMemAddressFree(reserved.address[i], reserved.bytes[i]);
	for (unsigned i = 0; i < slu_api.n_fds; i++)
		close(slu_api.fds[i]);
	for (unsigned i = 0; i < 2; i++)
		(void)cuMemHostUnregister(slu_api_scratch(i));
	while (!cuDevicePrimaryCtxRelease_v2(0))
		;
	if (!cuDeviceGetDefaultMemPool(&pool, 0)) {
		(void)cuDeviceSetMemPool(0, pool);
		(void)cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &none);
		(void)cuMemPoolTrimTo(pool, 0);
	}
	(void)cuDeviceGraphMemTrim(0);
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

/* Return: a context and what is free with it. */
static CUcontext begin(size_t *ret_free)
{
	CUcontext context;
	size_t total;

	if (cuCtxCreate_v2(&context, 0, 0) || cuMemGetInfo_v2(ret_free, &total))
		abort();
	return context;
}

static void end(CUcontext context)
{
	CUcontext top;

	cuCtxDestroy_v2(context);
	while (!cuCtxGetCurrent(&top) && top)
		cuCtxPopCurrent_v2(&top);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	size_t before, after, total;
	CUcontext context, top;

	set_up();
	context = begin(&before);
	slu_api = (struct slu_api){ .data = data, .size = size };
	reserved.n = mapped.n = 0;
	if (cuMemAlloc_v2(&slu_api.signal, 8) ||
	    cuMemcpyHtoD_v2(slu_api.signal, &(uint64_t){ 5 }, 8))
		abort();
	while (slu_api.size && has_capacity()) {
		call_one();
		/* a context that was pushed, or broken, is put aside */
		if (cuCtxGetCurrent(&top) || top != context)
			cuCtxSetCurrent(context);
	}
	cuThreadExchangeStreamCaptureMode(&mode);
	end(context);
	context = begin(&after);
	tidy_up();
	if (cuMemGetInfo_v2(&after, &total))
		abort();
	end(context);
	if (after != before) {
		fprintf(stderr, "%zu bytes were free before and %zu are now\n", before, after);
		abort();
	}
	return 0;
}
