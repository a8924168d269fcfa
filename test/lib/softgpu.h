/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A software GPU of its own for each test program: a folder for its board, made before cuInit()
 * and removed at the end. Kernels are small PTX texts, so that no compiler is needed.
 */

#include "lib/test.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuabi/cuda-calls.h"

#define assert_cu(call) assert_int_equal((call), CUDA_SUCCESS)

static char test_folder[64];

/* @memory as SLUICE_SOFTGPU_MEMORY takes it. */
static inline void test_device_make(const char *memory)
{
	snprintf(test_folder, sizeof(test_folder), "/dev/shm/sluice-test-XXXXXX");
	assert_non_null(mkdtemp(test_folder));
	setenv("SLUICE_BOARDS", test_folder, 1);
	if (memory)
		setenv("SLUICE_SOFTGPU_MEMORY", memory, 1);
}

static inline void test_device_remove(void)
{
	char path[128];

	for (unsigned i = 0; i < 8; i++) {
		snprintf(path, sizeof(path), "%s/softgpu%u", test_folder, i);
		unlink(path);
		snprintf(path, sizeof(path), "%s/softgpu%u.files/memory", test_folder, i);
		unlink(path);
		snprintf(path, sizeof(path), "%s/softgpu%u.files", test_folder, i);
		rmdir(path);
	}
	rmdir(test_folder);
}

/* A device with a context that is current. */
static inline CUcontext test_context_make(const char *memory)
{
	CUcontext context;

	test_device_make(memory);
	assert_cu(cuInit(0));
	assert_cu(cuCtxCreate_v2(&context, 0, 0));
	return context;
}

/* A device whose primary context is current. */
static inline CUcontext test_primary_make(const char *memory)
{
	CUcontext context;

	test_device_make(memory);
	assert_cu(cuInit(0));
	assert_cu(cuDevicePrimaryCtxRetain(&context, 0));
	assert_cu(cuCtxSetCurrent(context));
	return context;
}

/* The end of a group of tests. */
static inline int test_device_tear_down(void **state)
{
	(void)state;
	test_device_remove();
	return 0;
}

#define TEST_PTX_HEAD     \
	".version 6.3\n"  \
	".target sm_75\n" \
	".address_size 64\n"

/* fill(p, n, v): p[i] = v + i for i < n */
#define TEST_PTX_FILL                                                         \
	".visible .entry fill(.param .u64 p, .param .u32 n, .param .u32 v)\n" \
	"{\n"                                                                 \
	"	.reg .pred %q<2>;\n"                                                \
	"	.reg .b32 %r<8>;\n"                                                 \
	"	.reg .b64 %d<5>;\n"                                                 \
	"	ld.param.u64 %d1, [p];\n"                                           \
	"	ld.param.u32 %r1, [n];\n"                                           \
	"	ld.param.u32 %r2, [v];\n"                                           \
	"	mov.u32 %r3, %ctaid.x;\n"                                           \
	"	mov.u32 %r4, %ntid.x;\n"                                            \
	"	mov.u32 %r5, %tid.x;\n"                                             \
	"	mad.lo.s32 %r6, %r3, %r4, %r5;\n"                                   \
	"	setp.ge.u32 %q1, %r6, %r1;\n"                                       \
	"	@%q1 bra DONE;\n"                                                   \
	"	cvta.to.global.u64 %d2, %d1;\n"                                     \
	"	mul.wide.u32 %d3, %r6, 4;\n"                                        \
	"	add.s64 %d4, %d2, %d3;\n"                                           \
	"	add.s32 %r7, %r2, %r6;\n"                                           \
	"	st.global.u32 [%d4], %r7;\n"                                        \
	"DONE:\n"                                                             \
	"	ret;\n"                                                             \
	"}\n"

static const char test_ptx_fill[] = TEST_PTX_HEAD TEST_PTX_FILL;

static inline CUfunction test_function(const char *ptx, const char *name)
{
	CUfunction function;
	CUmodule module;

	assert_cu(cuModuleLoadData(&module, ptx));
	assert_cu(cuModuleGetFunction(&function, module, name));
	return function;
}

static inline CUresult test_fill(CUfunction function, CUdeviceptr p, unsigned n, unsigned v,
				 CUstream stream)
{
	void *params[] = { &p, &n, &v };

	return cuLaunchKernel(function, (n + 255) / 256, 1, 1, 256, 1, 1, 0, stream, params, NULL);
}

/* Until the thread sleeps, waiting for something, whose stat in /proc is at @path. */
static inline void test_wait_until_asleep_at(const char *path)
{
	char line[256];
	const char *state;
	FILE *file;

	do {
		sched_yield();
		file = fopen(path, "re");
		state = file && fgets(line, sizeof(line), file) ? strrchr(line, ')') : NULL;
		if (file)
			fclose(file);
	} while (state && state[2] != 'S');
}

/* The thread @tid of this process. */
static inline void test_wait_until_asleep(long tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/task/%ld/stat", tid);
	test_wait_until_asleep_at(path);
}
