/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <dlfcn.h>
#include <sys/wait.h>

/* One process, one device: modules, launches, allocations, errors, what can be asked. */

#define MIB (1u << 20)

static CUcontext primary;

static const char ptx_add[] = TEST_PTX_HEAD
	".visible .global .align 4 .u32 bias[2] = {100, 7};\n"
	".visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)\n"
	"{\n"
	"	.reg .pred %q<2>;\n"
	"	.reg .f32 %f<4>;\n"
	"	.reg .b32 %r<6>;\n"
	"	.reg .b64 %d<12>;\n"
	"	ld.param.u64 %d1, [a];\n"
	"	ld.param.u64 %d2, [b];\n"
	"	ld.param.u64 %d3, [c];\n"
	"	ld.param.u32 %r1, [n];\n"
	"	mov.u32 %r2, %ctaid.x;\n"
	"	mov.u32 %r3, %ntid.x;\n"
	"	mov.u32 %r4, %tid.x;\n"
	"	mad.lo.s32 %r5, %r2, %r3, %r4;\n"
	"	setp.ge.u32 %q1, %r5, %r1;\n"
	"	@%q1 bra DONE;\n"
	"	cvta.to.global.u64 %d4, %d1;\n"
	"	cvta.to.global.u64 %d5, %d2;\n"
	"	cvta.to.global.u64 %d6, %d3;\n"
	"	mul.wide.u32 %d7, %r5, 4;\n"
	"	add.s64 %d8, %d4, %d7;\n"
	"	add.s64 %d9, %d5, %d7;\n"
	"	add.s64 %d10, %d6, %d7;\n"
	"	ld.global.f32 %f1, [%d8];\n"
	"	ld.global.f32 %f2, [%d9];\n"
	"	add.f32 %f3, %f1, %f2;\n"
	"	st.global.f32 [%d10], %f3;\n"
	"DONE:\n"
	"	ret;\n"
	"}\n"
	".visible .entry wild(.param .u64 p)\n"
	"{\n"
	"	.reg .b32 %r<2>;\n"
	"	.reg .b64 %d<3>;\n"
	"	ld.param.u64 %d1, [p];\n"
	"	mov.u32 %r1, 1;\n"
	"	st.global.u32 [%d1], %r1;\n"
	"	ret;\n"
	"}\n"
	".visible .entry endless()\n"
	"{\n"
	"AGAIN:\n"
	"	bra AGAIN;\n"
	"}\n";

static void vector_addition_is_right(void **state)
{
	enum { N = 10000 };
	static float a[N], b[N], c[N];
	CUfunction add = test_function(ptx_add, "add");
	CUdeviceptr da, db, dc;
	unsigned n = N;
	void *params[] = { &da, &db, &dc, &n };

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		a[i] = (float)i * 0.5f;
		b[i] = (float)(N - i);
	}
	assert_cu(cuMemAlloc_v2(&da, sizeof(a)));
	assert_cu(cuMemAlloc_v2(&db, sizeof(b)));
	assert_cu(cuMemAlloc_v2(&dc, sizeof(c)));
	assert_cu(cuMemcpyHtoD_v2(da, a, sizeof(a)));
	assert_cu(cuMemcpyHtoD_v2(db, b, sizeof(b)));
	assert_cu(cuLaunchKernel(add, (N + 127) / 128, 1, 1, 128, 1, 1, 0, NULL, params, NULL));
	assert_cu(cuMemcpyDtoH_v2(c, dc, sizeof(c)));
	for (unsigned i = 0; i < N; i++)
		if (c[i] != a[i] + b[i])
			fail_msg("c[%u] is %g", i, (double)c[i]);
	assert_cu(cuMemFree_v2(da));
	assert_cu(cuMemFree_v2(db));
	assert_cu(cuMemFree_v2(dc));
}

static void parameters_may_come_as_one_block(void **state)
{
	CUfunction fill = test_function(test_ptx_fill, "fill");
	struct {
		CUdeviceptr p;
		unsigned n, v;
	} block = { .n = 100, .v = 5 };
	size_t size = sizeof(block);
	void *extra[] = { CU_LAUNCH_PARAM_BUFFER_POINTER, &block, CU_LAUNCH_PARAM_BUFFER_SIZE,
			  &size, CU_LAUNCH_PARAM_END };
	CUlaunchConfig config = { .gridDimX = 1,
				  .gridDimY = 1,
				  .gridDimZ = 1,
				  .blockDimX = 128,
				  .blockDimY = 1,
				  .blockDimZ = 1 };
	unsigned out[100];

	(void)state;
	assert_cu(cuMemAlloc_v2(&block.p, sizeof(out)));
	assert_cu(cuLaunchKernel(fill, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, extra));
	assert_cu(cuMemcpyDtoH_v2(out, block.p, sizeof(out)));
	assert_int_equal(out[99], 104);
	block.v = 50;
	assert_cu(cuLaunchKernelEx(&config, fill, NULL, extra));
	assert_cu(cuMemcpyDtoH_v2(out, block.p, sizeof(out)));
	assert_int_equal(out[99], 149);
	size = 4;
	assert_int_equal(cuLaunchKernel(fill, 1, 1, 1, 128, 1, 1, 0, NULL, NULL, extra),
			 CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuMemFree_v2(block.p));
}

static void shapes_that_cannot_run_are_refused(void **state)
{
	CUfunction fill = test_function(test_ptx_fill, "fill");
	CUdeviceptr p = 0;
	unsigned n = 0, v = 0;
	void *params[] = { &p, &n, &v };

	(void)state;
	assert_int_equal(cuLaunchKernel(fill, 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuLaunchKernel(fill, 1, 1, 1, 2000, 1, 1, 0, NULL, params, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuLaunchKernel(fill, 1, 1, 1, 64, 64, 1, 0, NULL, params, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 1 << 20, NULL, params, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(
		cuLaunchKernel((CUfunction)(void *)params, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
		CUDA_ERROR_INVALID_HANDLE);
}

static void variables_of_a_module_have_their_initial_bytes(void **state)
{
	CUmodule module;
	CUdeviceptr address;
	unsigned value[2];
	size_t bytes;

	(void)state;
	assert_cu(cuModuleLoadData(&module, ptx_add));
	assert_cu(cuModuleGetGlobal_v2(&address, &bytes, module, "bias"));
	assert_int_equal(bytes, 8);
	assert_cu(cuMemcpyDtoH_v2(value, address, 8));
	assert_int_equal(value[0], 100);
	assert_int_equal(value[1], 7);
	assert_int_equal(cuModuleGetGlobal_v2(&address, &bytes, module, "nothing"),
			 CUDA_ERROR_NOT_FOUND);
	assert_cu(cuModuleUnload(module));
	assert_int_equal(cuModuleUnload(module), CUDA_ERROR_INVALID_HANDLE);
}

static void a_bad_text_is_refused_with_its_place_in_the_log(void **state)
{
	static const char bad[] = TEST_PTX_HEAD ".visible .entry k()\n{\n	"
						"frobnicate.u32;\n}\n";
	char log[256] = "x";
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)sizeof(log) };
	CUmodule module;

	(void)state;
	assert_int_equal(cuModuleLoadDataEx(&module, bad, 2, options, values),
			 CUDA_ERROR_INVALID_PTX);
	assert_non_null(strstr(log, "line 6"));
	assert_int_equal((size_t)values[1], strlen(log));
	assert_int_equal(cuModuleLoadData(&module, "\177ELF\2\1\1"), CUDA_ERROR_NO_BINARY_FOR_GPU);
	assert_int_equal(cuModuleLoadData(&module, ""), CUDA_ERROR_INVALID_IMAGE);
}

static void a_wild_store_breaks_its_context_for_good_and_no_other(void **state)
{
	CUdeviceptr nowhere = 64, p;
	void *params[] = { &nowhere };
	CUfunction wild;
	CUcontext own;

	(void)state;
	assert_cu(cuCtxCreate_v2(&own, 0, 0));
	wild = test_function(ptx_add, "wild");
	assert_cu(cuLaunchKernel(wild, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(cuMemAlloc_v2(&p, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(cuLaunchKernel(wild, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL),
			 CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_cu(cuCtxDestroy_v2(own));
	assert_cu(cuCtxSetCurrent(primary));
	assert_cu(cuMemAlloc_v2(&p, 4));
	assert_cu(cuMemFree_v2(p));
}

static void who_asks_is_told_which_line_ended_a_kernel(void **state)
{
	static const char text[] = TEST_PTX_HEAD ".visible .entry astray()\n{\n"
						 "	.reg .b32 %r<2>; .reg .b64 %d<2>;\n"
						 "	mov.u32 %r1, 1;\n"
						 "	.loc 1 17 3\n"
						 "	mov.u64 %d1, 64;\n"
						 "	st.global.u32 [%d1], %r1;\n"
						 "	ret;\n}\n"
						 ".file 1 \"astray.cu\"\n";
	char path[] = "/tmp/sluice-log-XXXXXX", log[1024] = "";
	CUcontext own;
	FILE *file;
	int fd;

	(void)state;
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	setenv("SLUICE_LOG", path, 1);
	assert_cu(cuCtxCreate_v2(&own, 0, 0));
	assert_cu(cuLaunchKernel(test_function(text, "astray"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL,
				 NULL));
	assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_cu(cuCtxDestroy_v2(own));
	assert_cu(cuCtxSetCurrent(primary));
	unsetenv("SLUICE_LOG");
	file = fopen(path, "r");
	assert_non_null(file);
	assert_non_null(fgets(log, sizeof(log), file));
	fclose(file);
	unlink(path);
	assert_non_null(strstr(log, "kernel 'astray' was ended: illegal address"));
	assert_non_null(strstr(log, "a write of 4 bytes at 0x40"));
	assert_non_null(strstr(log, "(astray.cu:17): st.global.u32"));
}

/* One kernel that could run does not save the others: a compiler would not have taken the text. */
static void what_can_never_be_launched_is_not_loaded(void **state)
{
	static const struct {
		const char *text;
		const char *why;
	} table[] = {
		{ TEST_PTX_HEAD ".extern .func elsewhere();\n"
				".visible .entry fine() { ret; }\n"
				".visible .entry k()\n{\n	call elsewhere, ();\n	ret;\n}\n",
		  "line 8, column 2: function 'elsewhere' is not defined" },
		{ TEST_PTX_HEAD ".extern .func elsewhere();\n"
				".func deeper()\n{\n	call elsewhere, ();\n	ret;\n}\n"
				".visible .entry k() { call deeper, (); ret; }\n",
		  "line 7, column 2: function 'elsewhere' is not defined" },
		{ TEST_PTX_HEAD ".global .u32 there;\n"
				".visible .entry k()\n{\n	.reg .b32 %r<2>;\n"
				"	ld.shared.u32 %r1, [there];\n	ret;\n}\n",
		  "line 8, column 2: 'ld.shared.u32' does not name the space of its variable" },
		{ TEST_PTX_HEAD ".extern .func (.param .b64 r) malloc();\n"
				".visible .entry k()\n{\n	.param .b64 r;\n"
				"	call (r), malloc, ();\n	ret;\n}\n",
		  "function 'malloc' is declared with too few or too small parameters" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		char log[512];
		CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER,
					   CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
		void *values[] = { log, (void *)(uintptr_t)sizeof(log) };
		CUmodule module;

		assert_int_equal(cuModuleLoadDataEx(&module, table[i].text, 2, options, values),
				 CUDA_ERROR_INVALID_PTX);
		if (!strstr(log, table[i].why))
			fail_msg("'%s', not '%s'", log, table[i].why);
		assert_int_equal(cuModuleLoadData(&module, table[i].text), CUDA_ERROR_INVALID_PTX);
	}
}

static void a_context_with_an_endless_kernel_can_be_destroyed(void **state)
{
	CUfunction endless;
	CUcontext own;

	(void)state;
	assert_cu(cuCtxCreate_v2(&own, 0, 0));
	endless = test_function(ptx_add, "endless");
	assert_cu(cuLaunchKernel(endless, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	assert_int_equal(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	assert_cu(cuCtxDestroy_v2(own));
	assert_int_equal(cuCtxPushCurrent_v2(own), CUDA_ERROR_INVALID_CONTEXT);
	assert_cu(cuCtxSetCurrent(primary));
}

static void small_allocations_share_granules_and_come_back(void **state)
{
	size_t before, after, total;
	CUdeviceptr p[600], base;
	size_t bytes;

	(void)state;
	assert_cu(cuMemGetInfo_v2(&before, &total));
	for (unsigned i = 0; i < 600; i++) {
		assert_cu(cuMemAlloc_v2(&p[i], 100 + i));
		assert_int_equal(p[i] % 256, 0);
		assert_cu(cuMemGetAddressRange_v2(&base, &bytes, p[i] + 50));
		assert_int_equal(base, p[i]);
		assert_int_equal(bytes, 100 + i);
	}
	assert_cu(cuMemGetInfo_v2(&after, &total));
	assert_true(before - after <= 2 * MIB);
	for (unsigned i = 0; i < 600; i++)
		assert_cu(cuMemFree_v2(p[(i * 7) % 600]));
	assert_cu(cuMemGetInfo_v2(&after, &total));
	assert_int_equal(before, after);
	assert_int_equal(cuMemFree_v2(p[0]), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuMemFree_v2(0));
}

static void more_than_is_free_is_out_of_memory(void **state)
{
	size_t available, total;
	CUdeviceptr p, q;

	(void)state;
	assert_cu(cuMemGetInfo_v2(&available, &total));
	assert_int_equal(total, 32 * MIB);
	assert_int_equal(cuMemAlloc_v2(&p, available + 1), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(cuMemAlloc_v2(&p, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
	assert_cu(cuMemAlloc_v2(&p, available));
	assert_int_equal(cuMemAlloc_v2(&q, 2 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
	assert_cu(cuMemFree_v2(p));
	assert_cu(cuMemAlloc_v2(&q, 2 * MIB));
	assert_cu(cuMemFree_v2(q));
}

static void boxes_are_copied_row_by_row(void **state)
{
	unsigned char host[8][16], back[8][16] = { { 0 } };
	CUDA_MEMCPY2D copy;
	CUdeviceptr p;
	size_t pitch;

	(void)state;
	for (unsigned i = 0; i < sizeof(host); i++)
		((unsigned char *)host)[i] = (unsigned char)i;
	assert_cu(cuMemAllocPitch_v2(&p, &pitch, 16, 8, 4));
	assert_true(pitch >= 16 && pitch % 16 == 0);
	copy = (CUDA_MEMCPY2D){ .srcMemoryType = CU_MEMORYTYPE_HOST,
				.srcHost = host,
				.srcPitch = 16,
				.dstMemoryType = CU_MEMORYTYPE_DEVICE,
				.dstDevice = p,
				.dstPitch = pitch,
				.WidthInBytes = 16,
				.Height = 8 };
	assert_cu(cuMemcpy2D_v2(&copy));
	copy = (CUDA_MEMCPY2D){ .srcMemoryType = CU_MEMORYTYPE_DEVICE,
				.srcDevice = p,
				.srcPitch = pitch,
				.srcXInBytes = 4,
				.srcY = 2,
				.dstMemoryType = CU_MEMORYTYPE_HOST,
				.dstHost = back,
				.dstPitch = 16,
				.WidthInBytes = 8,
				.Height = 3 };
	assert_cu(cuMemcpy2D_v2(&copy));
	for (unsigned y = 0; y < 3; y++)
		assert_memory_equal(back[y], &host[y + 2][4], 8);
	assert_int_equal(back[0][8], 0);
	assert_cu(cuMemsetD2D8_v2(p + 1, pitch, 0xee, 2, 8));
	assert_cu(cuMemcpyDtoH_v2(back, p + 7 * pitch, 4));
	assert_int_equal(back[0][0], host[7][0]);
	assert_int_equal(back[0][1], 0xee);
	assert_int_equal(back[0][2], 0xee);
	assert_int_equal(back[0][3], host[7][3]);
	copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
	assert_int_equal(cuMemcpy2D_v2(&copy), CUDA_ERROR_INVALID_HANDLE);
	assert_cu(cuMemFree_v2(p));
}

static void sets_write_elements_of_each_size(void **state)
{
	union {
		unsigned char b[64];
		unsigned short h[32];
		unsigned w[16];
	} out;
	CUdeviceptr p;

	(void)state;
	assert_cu(cuMemAlloc_v2(&p, 64));
	assert_cu(cuMemsetD8_v2(p, 0x5a, 64));
	assert_cu(cuMemsetD16_v2(p + 4, 0x1234, 2));
	assert_cu(cuMemsetD32_v2(p + 8, 0xdeadbeef, 2));
	assert_cu(cuMemcpyDtoH_v2(&out, p, 64));
	assert_int_equal(out.b[3], 0x5a);
	assert_int_equal(out.h[2], 0x1234);
	assert_int_equal(out.h[3], 0x1234);
	assert_int_equal(out.w[2], 0xdeadbeef);
	assert_int_equal(out.w[3], 0xdeadbeef);
	assert_int_equal(out.b[16], 0x5a);
	assert_int_equal(cuMemsetD32_v2(p + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemsetD8_v2(p, 0, 64 * MIB), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuMemFree_v2(p));
}

static void copies_from_nowhere_are_refused(void **state)
{
	CUdeviceptr p;

	(void)state;
	assert_cu(cuMemAlloc_v2(&p, 64));
	assert_int_equal(cuMemcpyHtoD_v2(p, NULL, 16), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemcpyDtoHAsync_v2(NULL, p, 16, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemcpyHtoD_v2(p, NULL, 0), CUDA_SUCCESS);
	assert_cu(cuMemFree_v2(p));
}

static void kernels_reach_pinned_host_memory(void **state)
{
	CUfunction fill = test_function(test_ptx_fill, "fill");
	unsigned *pinned, *plain = aligned_alloc(4096, 4096);
	CUdeviceptr p;

	(void)state;
	assert_cu(cuMemHostAlloc((void **)&pinned, 4096, CU_MEMHOSTALLOC_DEVICEMAP));
	assert_cu(cuMemHostGetDevicePointer_v2(&p, pinned, 0));
	assert_cu(test_fill(fill, p, 1024, 3, NULL));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(pinned[1023], 1026);
	assert_cu(cuMemFreeHost(pinned));
	assert_int_equal(cuMemFreeHost(pinned), CUDA_ERROR_INVALID_VALUE);

	assert_cu(cuMemHostRegister_v2(plain, 4096, 0));
	assert_int_equal(cuMemHostRegister_v2(plain + 8, 64, 0),
			 CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	assert_cu(test_fill(fill, (uintptr_t)plain, 1024, 9, NULL));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(plain[0], 9);
	assert_cu(cuMemHostUnregister(plain));
	assert_int_equal(cuMemHostUnregister(plain), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	free(plain);
}

static void pointers_are_known_for_what_they_are(void **state)
{
	CUpointer_attribute which[] = { CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL };
	CUmemorytype type;
	CUcontext context;
	int ordinal = 0, on_stack = 0;
	void *data[] = { &type, &ordinal }, *host;
	CUdeviceptr p;

	(void)state;
	assert_cu(cuMemAlloc_v2(&p, 3 * MIB));
	assert_cu(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + MIB));
	assert_int_equal(type, CU_MEMORYTYPE_DEVICE);
	assert_cu(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, p));
	assert_ptr_equal(context, primary);
	assert_int_equal(cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, p),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					       (uintptr_t)&on_stack),
			 CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuPointerGetAttributes(2, which, data, (uintptr_t)&on_stack));
	assert_int_equal(type, 0);
	assert_int_equal(ordinal, CU_DEVICE_INVALID);
	assert_cu(cuMemFree_v2(p));
	assert_int_equal(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p),
			 CUDA_ERROR_INVALID_VALUE);
}

static void the_device_says_what_it_is(void **state)
{
	CUuuid one, two;
	char name[64];
	size_t total;
	int value, n;

	(void)state;
	assert_cu(cuDeviceGetCount(&n));
	assert_int_equal(n, 1);
	assert_cu(cuDeviceGetName(name, sizeof(name), 0));
	assert_true(strlen(name) > 4);
	assert_cu(cuDeviceGetUuid_v2(&one, 0));
	assert_cu(cuDeviceGetUuid(&two, 0));
	assert_memory_equal(&one, &two, sizeof(one));
	assert_cu(cuDeviceTotalMem_v2(&total, 0));
	assert_int_equal(total, 32 * MIB);
	assert_cu(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
	assert_int_equal(value, 7);
	assert_cu(cuDeviceGetAttribute(
		&value, CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
	assert_int_equal(value, 1);
	for (int i = 1; i < CU_DEVICE_ATTRIBUTE_MAX; i++)
		assert_cu(cuDeviceGetAttribute(&value, (CUdevice_attribute)i, 0));
	assert_int_equal(cuDeviceGetAttribute(&value, (CUdevice_attribute)9999, 0),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuDeviceGetName(name, sizeof(name), 1), CUDA_ERROR_INVALID_DEVICE);
}

static void symbols_are_found_by_version_and_flag(void **state)
{
	CUdriverProcAddressQueryResult status;
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), *function;

	(void)state;
	assert_non_null(driver);
	assert_cu(cuGetProcAddress_v2("cuMemAlloc", &function, 13000, 0, &status));
	assert_ptr_equal(function, dlsym(driver, "cuMemAlloc_v2"));
	assert_cu(cuGetProcAddress_v2("cuLaunchKernel", &function, 13000, 2, &status));
	assert_ptr_equal(function, dlsym(driver, "cuLaunchKernel_ptsz"));
	assert_cu(cuGetProcAddress_v2("cuGLInit", &function, 13000, 0, &status));
	assert_null(function);
	assert_int_equal(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	assert_int_equal(cuGetProcAddress("cuGLInit", &function, 13000, 0), CUDA_ERROR_NOT_FOUND);
	dlclose(driver);
}

static void every_public_name_is_exported(void **state)
{
	static const char *const names[] = {
#define SLU_CUNAME(symbol, base, version, thread) #symbol,
#include "cuabi/names.def"
#undef SLU_CUNAME
	};
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);

	(void)state;
	assert_non_null(driver);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!dlsym(driver, names[i]))
			fail_msg("%s is not there", names[i]);
	dlclose(driver);
}

static void what_is_not_there_says_so(void **state)
{
	const void *table = &table;
	CUuuid any = { { 1, 2, 3 } };
	CUarray array;

	(void)state;
	assert_int_equal(cuArrayGetPlane(&array, NULL, 0), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_not_equal(cuGetExportTable(&table, &any), CUDA_SUCCESS);
	assert_null(table);
}

static void a_forked_child_has_no_driver(void **state)
{
	CUdeviceptr p;
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (!pid)
		_exit(cuMemAlloc_v2(&p, 4) == CUDA_ERROR_NOT_INITIALIZED &&
				      cuInit(0) == CUDA_ERROR_NOT_INITIALIZED
			      ? 0
			      : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_cu(cuMemAlloc_v2(&p, 4));
	assert_cu(cuMemFree_v2(p));
}

static void nothing_works_before_the_start(void)
{
	CUcontext context;
	int n;

	assert_int_equal(cuDeviceGetCount(&n), CUDA_ERROR_NOT_INITIALIZED);
	assert_int_equal(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
	assert_int_equal(cuInit(1), CUDA_ERROR_INVALID_VALUE);
}

static int set_up(void **state)
{
	CUdeviceptr p;

	(void)state;
	test_device_make("32M");
	nothing_works_before_the_start();
	assert_cu(cuInit(0));
	assert_int_equal(cuMemAlloc_v2(&p, 4), CUDA_ERROR_INVALID_CONTEXT);
	assert_cu(cuDevicePrimaryCtxRetain(&primary, 0));
	assert_cu(cuCtxSetCurrent(primary));
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(vector_addition_is_right),
		cmocka_unit_test(parameters_may_come_as_one_block),
		cmocka_unit_test(shapes_that_cannot_run_are_refused),
		cmocka_unit_test(variables_of_a_module_have_their_initial_bytes),
		cmocka_unit_test(a_bad_text_is_refused_with_its_place_in_the_log),
		cmocka_unit_test(a_wild_store_breaks_its_context_for_good_and_no_other),
		cmocka_unit_test(who_asks_is_told_which_line_ended_a_kernel),
		cmocka_unit_test(what_can_never_be_launched_is_not_loaded),
		cmocka_unit_test(a_context_with_an_endless_kernel_can_be_destroyed),
		cmocka_unit_test(small_allocations_share_granules_and_come_back),
		cmocka_unit_test(more_than_is_free_is_out_of_memory),
		cmocka_unit_test(boxes_are_copied_row_by_row),
		cmocka_unit_test(sets_write_elements_of_each_size),
		cmocka_unit_test(copies_from_nowhere_are_refused),
		cmocka_unit_test(kernels_reach_pinned_host_memory),
		cmocka_unit_test(pointers_are_known_for_what_they_are),
		cmocka_unit_test(the_device_says_what_it_is),
		cmocka_unit_test(symbols_are_found_by_version_and_flag),
		cmocka_unit_test(every_public_name_is_exported),
		cmocka_unit_test(what_is_not_there_says_so),
		cmocka_unit_test(a_forked_child_has_no_driver),
	};

	return cmocka_run_group_tests_name("softgpu-driver", tests, set_up, test_device_tear_down);
}
