/* SPDX-License-Identifier: Apache-2.0 */

#include "cuda-util.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct cuda_calls cu;
CUcontext cuda_context;
int cuda_device;

void cuda_check(CUresult r, const char *what)
{
	const char *name = NULL;

	if (!r)
		return;
	cu.cuGetErrorName(r, &name);
	fprintf(stderr, "%.*s: %s (%d)\n", 60, what, name ? name : "unknown", (int)r);
	exit(r == CUDA_ERROR_OUT_OF_MEMORY ? CUDA_EXIT_NO_MEMORY : CUDA_EXIT_CUDA);
}

void cuda_open(void)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW);
	CUdevice device;
	CUresult r;

	if (!driver) {
		fprintf(stderr, "no CUDA driver: %s\n", dlerror());
		exit(CUDA_EXIT_NO_DEVICE);
	}
#define X(name)                                                   \
	cu.name = (__typeof__(cu.name))dlsym(driver, #name);      \
	if (!cu.name) {                                           \
		fprintf(stderr, "the driver has no %s\n", #name); \
		exit(CUDA_EXIT_NO_DEVICE);                        \
	}
	CUDA_CALLS(X)
#undef X
	r = cu.cuInit(0);
	if (r) {
		fprintf(stderr, "no CUDA device: error %d\n", (int)r);
		exit(r == CUDA_ERROR_NO_DEVICE ? CUDA_EXIT_NO_DEVICE : CUDA_EXIT_CUDA);
	}
	CHECK(cuDeviceGet(&device, cuda_device));
	CHECK(cuDevicePrimaryCtxRetain(&cuda_context, device));
	CHECK(cuCtxSetCurrent(cuda_context));
}

void cuda_close(void)
{
	CHECK(cuDevicePrimaryCtxRelease_v2(cuda_device));
}

CUfunction cuda_function(const char *ptx, const char *name)
{
	CUfunction function;
	CUmodule module;

	CHECK(cuModuleLoadData(&module, ptx));
	CHECK(cuModuleGetFunction(&function, module, name));
	return function;
}

uint64_t cuda_random(uint64_t *state)
{
	uint64_t x = *state ? *state : UINT64_C(0x9e3779b97f4a7c15);

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x;
}
