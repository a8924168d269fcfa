/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the software GPU's driver takes to begin: a module of 11 MB of PTX text, as large
 * libraries have them, and an empty launch with its synchronisation, on a device without a
 * profile. One JSON object a figure; the launch's is the median.
 */
#include "lib/softgpu.h"

#include <time.h>

#include "base/util.h"

#define MODULE_BYTES (11u << 20)
#define N_LOADS	     5
#define N_LAUNCHES   20000

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static const char head[] = TEST_PTX_HEAD;
static const char kernel[] = ".visible .entry k%u(.param .u64 a, .param .u64 b, .param .u32 n)\n"
			     "{\n"
			     "	.reg .pred %%q<2>;\n"
			     "	.reg .f32 %%f<36>;\n"
			     "	.reg .b32 %%r<6>;\n"
			     "	.reg .b64 %%d<9>;\n"
			     "	ld.param.u64 %%d1, [a];\n"
			     "	ld.param.u64 %%d2, [b];\n"
			     "	ld.param.u32 %%r1, [n];\n"
			     "	mov.u32 %%r2, %%ctaid.x;\n"
			     "	mov.u32 %%r3, %%ntid.x;\n"
			     "	mov.u32 %%r4, %%tid.x;\n"
			     "	mad.lo.s32 %%r5, %%r2, %%r3, %%r4;\n"
			     "	setp.ge.u32 %%q1, %%r5, %%r1;\n"
			     "	@%%q1 bra DONE;\n"
			     "	cvta.to.global.u64 %%d4, %%d1;\n"
			     "	cvta.to.global.u64 %%d5, %%d2;\n"
			     "	mul.wide.u32 %%d6, %%r5, 4;\n"
			     "	add.s64 %%d7, %%d4, %%d6;\n"
			     "	add.s64 %%d8, %%d5, %%d6;\n";

/* as many kernels as fill @bytes, of some fifty instructions each */
static char *make_module(size_t bytes)
{
	char *text = malloc(bytes + 8192), *at = text;

	assert_non_null(text);
	at += sprintf(at, "%s", head);
	for (unsigned k = 0; (size_t)(at - text) < bytes; k++) {
		at += sprintf(at, kernel, k);
		for (unsigned i = 1; i < 33; i += 2)
			at += sprintf(at,
				      "	ld.global.nc.f32 %%f%u, [%%d7+%u];\n"
				      "	fma.rn.f32 %%f%u, %%f%u, 0f3F800000, %%f%u;\n",
				      i, i * 4, i + 1, i, i - (i > 1));
		at += sprintf(at, "	st.global.f32 [%%d8], %%f32;\nDONE:\n	ret;\n}\n");
	}
	return text;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void measure_loading(void)
{
	char *text = make_module(MODULE_BYTES);
	uint64_t best = UINT64_MAX;

	for (unsigned i = 0; i < N_LOADS; i++) {
		uint64_t start = now_ns();
		CUmodule module;

		assert_cu(cuModuleLoadData(&module, text));
		best = SLU_MIN(best, now_ns() - start);
		assert_cu(cuModuleUnload(module));
	}
	printf("{\"name\": \"softgpu-load.module_s\", \"value\": %.3f, \"unit\": \"s\", "
	       "\"bound\": null, \"goal\": 1, \"valid\": true, \"module_bytes\": %zu}\n",
	       (double)best / 1e9, strlen(text));
	free(text);
}

static void measure_launches(void)
{
	static uint64_t times[N_LAUNCHES];
	CUfunction empty = test_function(TEST_PTX_HEAD ".visible .entry empty()\n{\n	ret;\n}\n",
					 "empty");

	for (unsigned i = 0; i < N_LAUNCHES; i++) {
		uint64_t start = now_ns();

		assert_cu(cuLaunchKernel(empty, 1, 1, 1, 32, 1, 1, 0, NULL, NULL, NULL));
		assert_cu(cuStreamSynchronize(NULL));
		times[i] = now_ns() - start;
	}
	qsort(times, N_LAUNCHES, sizeof(*times), by_value);
	printf("{\"name\": \"softgpu-load.launch_us\", \"value\": %.2f, \"unit\": \"us\", "
	       "\"bound\": null, \"goal\": 10, \"valid\": true, \"p10\": %.2f, \"p90\": %.2f}\n",
	       (double)times[N_LAUNCHES / 2] / 1e3, (double)times[N_LAUNCHES / 10] / 1e3,
	       (double)times[N_LAUNCHES * 9 / 10] / 1e3);
}

static void measure(void **state)
{
	CUcontext context;
	CUdevice device;

	(void)state;
	test_device_make("64M");
	assert_cu(cuInit(0));
	assert_cu(cuDeviceGet(&device, 0));
	assert_cu(cuDevicePrimaryCtxRetain(&context, device));
	assert_cu(cuCtxSetCurrent(context));
	measure_loading();
	measure_launches();
	assert_cu(cuDevicePrimaryCtxRelease_v2(device));
	test_device_remove();
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(measure) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
