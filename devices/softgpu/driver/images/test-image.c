/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <lz4.h>
#include <zstd.h>

#include "base/util.h"

/* Images: fat binaries in all their wrappings, libraries, the linker. */

enum { RAW = 0, LZ4 = 0x2000, ZSTD = 0x8000 };
enum { PTX = 1, ELF = 2 };

struct fatbin {
	unsigned char bytes[16384];
	size_t n;
};

static void put(struct fatbin *f, size_t at, const void *what, size_t n)
{
	memcpy(f->bytes + at, what, n);
}

#define PUT(f, at, type, value)                          \
	do {                                             \
		type _value = (type)(value);             \
		put((f), (at), &_value, sizeof(_value)); \
	} while (0)

static void fatbin_begin(struct fatbin *f)
{
	*f = (struct fatbin){ .n = 16 };
	PUT(f, 0, uint32_t, 0xba55ed50);
	PUT(f, 4, uint16_t, 1);
	PUT(f, 6, uint16_t, 16);
}

static void fatbin_add(struct fatbin *f, unsigned kind, unsigned arch, unsigned packing,
		       const char *text)
{
	size_t bytes = strlen(text), capacity = sizeof(f->bytes) - f->n - 64, n = bytes, padded;
	unsigned char *payload = f->bytes + f->n + 64;

	if (packing == LZ4)
		n = (size_t)LZ4_compress_default(text, (char *)payload, (int)bytes, (int)capacity);
	else if (packing == ZSTD)
		n = ZSTD_compress(payload, capacity, text, bytes, 3);
	else
		memcpy(payload, text, bytes);
	assert_true(n && n <= capacity);
	padded = (n + 8) / 8 * 8;
	PUT(f, f->n, uint16_t, kind);
	PUT(f, f->n + 2, uint16_t, 0x101);
	PUT(f, f->n + 4, uint32_t, 64);
	PUT(f, f->n + 8, uint64_t, padded);
	PUT(f, f->n + 16, uint32_t, packing ? n : 0);
	PUT(f, f->n + 28, uint32_t, arch);
	PUT(f, f->n + 40, uint64_t, 0x11 | packing);
	PUT(f, f->n + 56, uint64_t, packing ? bytes : 0);
	f->n += 64 + padded;
	PUT(f, 8, uint64_t, f->n - 16);
}

struct wrapper {
	uint32_t magic, version;
	const void *fatbin;
	const void *const *extra;
};

static unsigned run(CUfunction f, unsigned argument)
{
	unsigned value = argument;
	CUdeviceptr p;
	void *params[] = { &p };

	assert_cu(cuMemAlloc_v2(&p, 4));
	assert_cu(cuMemcpyHtoD_v2(p, &value, 4));
	assert_cu(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	assert_cu(cuMemcpyDtoH_v2(&value, p, 4));
	assert_cu(cuMemFree_v2(p));
	return value;
}

/* k(p): *p = *p + @n */
#define ADDS(n)                                            \
	TEST_PTX_HEAD ".visible .entry k(.param .u64 p)\n" \
		      "{\n"                                \
		      "	.reg .b32 %r<3>;\n"                \
		      "	.reg .b64 %d<2>;\n"                \
		      "	ld.param.u64 %d1, [p];\n"          \
		      "	ld.global.u32 %r1, [%d1];\n"       \
		      "	add.u32 %r2, %r1, " #n ";\n"       \
		      "	st.global.u32 [%d1], %r2;\n"       \
		      "	ret;\n"                            \
		      "}\n"

static void every_packing_of_a_fat_binary_is_read(void **state)
{
	static const struct {
		const char *what;
		unsigned packing;
	} rows[] = { { "raw", RAW }, { "LZ4", LZ4 }, { "zstd", ZSTD } };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wrapper wrapper = { 0x466243b1, 1, NULL, NULL };
		CUfunction function;
		struct fatbin f;
		CUmodule module;

		printf("# %s\n", rows[i].what);
		fatbin_begin(&f);
		fatbin_add(&f, ELF, 75, RAW, "\177ELF");
		fatbin_add(&f, PTX, 75, rows[i].packing, ADDS(7));
		assert_cu(cuModuleLoadData(&module, f.bytes));
		assert_cu(cuModuleGetFunction(&function, module, "k"));
		assert_int_equal(run(function, 1), 8);
		assert_cu(cuModuleUnload(module));

		wrapper.fatbin = f.bytes;
		assert_cu(cuModuleLoadFatBinary(&module, &wrapper));
		assert_cu(cuModuleUnload(module));
	}
}

static void the_highest_text_that_the_device_can_run_is_taken(void **state)
{
	CUfunction function;
	struct fatbin f;
	CUmodule module;

	(void)state;
	fatbin_begin(&f);
	fatbin_add(&f, PTX, 52, ZSTD, ADDS(1));
	fatbin_add(&f, PTX, 75, ZSTD, ADDS(2));
	fatbin_add(&f, PTX, 90, ZSTD, ADDS(3));
	fatbin_add(&f, PTX, 61, RAW, ADDS(4));
	assert_cu(cuModuleLoadData(&module, f.bytes));
	assert_cu(cuModuleGetFunction(&function, module, "k"));
	assert_int_equal(run(function, 10), 12);
	assert_cu(cuModuleUnload(module));
}

static CUresult load_with_log(const void *image, char *log, size_t size)
{
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)size };
	CUmodule module;
	CUresult result;

	result = cuModuleLoadDataEx(&module, image, 2, options, values);
	assert_int_equal((size_t)values[1], strlen(log));
	return result;
}

static void machine_code_alone_is_refused_with_a_hint(void **state)
{
	struct fatbin f;
	char log[512];

	(void)state;
	fatbin_begin(&f);
	fatbin_add(&f, ELF, 80, RAW, "\177ELF");
	assert_int_equal(load_with_log(f.bytes, log, sizeof(log)), CUDA_ERROR_NO_BINARY_FOR_GPU);
	assert_non_null(strstr(log, "only machine code (sm_80)"));
	assert_non_null(strstr(log, "-gencode arch=compute_75,code=compute_75"));

	fatbin_begin(&f);
	fatbin_add(&f, PTX, 90, ZSTD, ADDS(1));
	assert_int_equal(load_with_log(f.bytes, log, sizeof(log)), CUDA_ERROR_NO_BINARY_FOR_GPU);
	assert_non_null(strstr(log, "only PTX for compute_90 and higher"));
	assert_int_equal(load_with_log("\177ELF", log, sizeof(log)), CUDA_ERROR_NO_BINARY_FOR_GPU);
}

static void a_text_for_a_higher_device_is_refused_with_a_hint(void **state)
{
	static const struct {
		const char *target;
		CUresult result;
	} rows[] = {
		{ "sm_52", CUDA_SUCCESS },	     { "sm_75", CUDA_SUCCESS },
		{ "sm_80", CUDA_ERROR_INVALID_PTX }, { "sm_120", CUDA_ERROR_INVALID_PTX },
		{ "sm_75a", CUDA_SUCCESS },	     { "sm_72a", CUDA_ERROR_INVALID_PTX },
		{ "sm_72f", CUDA_SUCCESS },	     { "sm_61f", CUDA_ERROR_INVALID_PTX },
	};
	char text[128], log[512], want[64];
	void *image;
	size_t bytes;

	(void)state;
	for (size_t i = 0; i < SLU_ARRAY_SIZE(rows); i++) {
		CUlinkState link;

		snprintf(text, sizeof(text), ".version 8.0\n.target %s\n.address_size 64\n",
			 rows[i].target);
		assert_int_equal(load_with_log(text, log, sizeof(log)), rows[i].result);
		assert_cu(cuLinkCreate_v2(0, NULL, NULL, &link));
		assert_cu(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, text, strlen(text) + 1, NULL, 0,
					   NULL, NULL));
		assert_int_equal(cuLinkComplete(link, &image, &bytes), rows[i].result);
		assert_cu(cuLinkDestroy(link));
		if (!rows[i].result)
			continue;
		snprintf(want, sizeof(want), ".target is %s, the software GPU's", rows[i].target);
		assert_non_null(strstr(log, want));
		assert_non_null(strstr(log, "compile for compute_75"));
	}
}

static void damaged_images_are_refused(void **state)
{
	struct fatbin f;
	char log[512];

	(void)state;
	fatbin_begin(&f);
	fatbin_add(&f, PTX, 75, ZSTD, ADDS(1));
	memset(f.bytes + 80, 0, 16);
	assert_int_equal(load_with_log(f.bytes, log, sizeof(log)), CUDA_ERROR_INVALID_IMAGE);
	fatbin_begin(&f);
	fatbin_add(&f, PTX, 75, LZ4, ADDS(1));
	PUT(&f, 16 + 56, uint64_t, 10);
	assert_int_equal(load_with_log(f.bytes, log, sizeof(log)), CUDA_ERROR_INVALID_IMAGE);
	fatbin_begin(&f);
	fatbin_add(&f, PTX, 75, RAW, ADDS(1));
	PUT(&f, 16 + 8, uint64_t, UINT64_MAX - 100);
	assert_int_equal(load_with_log(f.bytes, log, sizeof(log)), CUDA_ERROR_INVALID_IMAGE);
	assert_int_equal(load_with_log("", log, sizeof(log)), CUDA_ERROR_INVALID_IMAGE);
}

/* Two objects as a compiler makes them: both have a helper of their own of the same name, and the
 * same weak function. */
#define HELPER(n)                                       \
	".func (.param .b32 r) helper(.param .b32 x)\n" \
	"{\n"                                           \
	"	.reg .b32 %r<3>;\n"                           \
	"	ld.param.u32 %r1, [x];\n"                     \
	"	mul.lo.u32 %r2, %r1, " #n ";\n"         \
	"	st.param.b32 [r], %r2;\n"                     \
	"	ret;\n"                                       \
	"}\n"
#define CALL(out, name, in)                     \
	"	{\n"                                  \
	"	.param .b32 a;\n"                     \
	"	.param .b32 b;\n"                     \
	"	st.param.b32 [a], " in ";\n"    \
	"	call.uni (b), " name ", (a);\n" \
	"	ld.param.b32 " out ", [b];\n"   \
	"	}\n"
#define WEAK                                                    \
	".weak .func (.param .b32 r) plus_one(.param .b32 x)\n" \
	"{\n"                                                   \
	"	.reg .b32 %r<3>;\n"                                   \
	"	ld.param.u32 %r1, [x];\n"                             \
	"	add.u32 %r2, %r1, 1;\n"                               \
	"	st.param.b32 [r], %r2;\n"                             \
	"	ret;\n"                                               \
	"}\n"

static const char first_object[] =
	TEST_PTX_HEAD ".extern .func (.param .b32 r) other(.param .b32 x);\n"
		      ".extern .global .align 4 .u32 bias;\n" HELPER(2) WEAK
	".visible .entry k(.param .u64 p)\n"
	"{\n"
	"	.reg .b32 %r<8>;\n"
	"	.reg .b64 %d<2>;\n"
	"	ld.param.u64 %d1, [p];\n"
	"	ld.global.u32 %r1, [%d1];\n" CALL("%r2", "helper", "%r1")
		CALL("%r3", "other", "%r2")
			CALL("%r4", "plus_one", "%r3") "	ld.global.u32 %r5, [bias];\n"
						       "	add.u32 %r6, %r4, %r5;\n"
						       "	st.global.u32 [%d1], %r6;\n"
						       "	ret;\n"
						       "}\n";

static const char second_object[] = ".version 7.0\n.target sm_61\n.address_size 64\n"
				    "/* { */ // }\n"
				    ".weak .func (.param .b32 r) plus_one(.param .b32 x);\n"
				    ".visible .global .align 4 .u32 bias = 1000;\n" HELPER(10) WEAK
	".visible .func (.param .b32 r) other(.param .b32 x)\n"
	"{\n"
	"	.reg .b32 %r<4>;\n"
	"	ld.param.u32 %r1, [x];\n" CALL("%r2", "helper", "%r1")
		CALL("%r3", "plus_one", "%r2") "	st.param.b32 [r], %r3;\n"
					       "	ret;\n"
					       "}\n"
					       "	.section	.debug_str\n"
					       "	{\n"
					       "info: .b8 1,2,3\n"
					       "	}\n";

/* helper of the first: 2x; other: 10y + 1; plus_one; bias */
#define LINKED(x) ((x)*2 * 10 + 1 + 1 + 1000)

static void objects_of_one_program_are_merged(void **state)
{
	struct fatbin linked, first, second;
	const void *objects[] = { first.bytes, second.bytes, NULL };
	struct wrapper wrapper = { 0x466243b1, 2, linked.bytes, objects };
	CUfunction function;
	CUmodule module;

	(void)state;
	fatbin_begin(&linked);
	fatbin_add(&linked, ELF, 75, RAW, "\177ELF");
	fatbin_begin(&first);
	fatbin_add(&first, PTX, 75, ZSTD, first_object);
	fatbin_begin(&second);
	fatbin_add(&second, PTX, 61, LZ4, second_object);
	assert_cu(cuModuleLoadData(&module, &wrapper));
	assert_cu(cuModuleGetFunction(&function, module, "k"));
	assert_int_equal(run(function, 3), LINKED(3));
	assert_cu(cuModuleUnload(module));
}

static CUresult link_texts(const char *const *texts, size_t n, CUmodule *ret_module, char *log,
			   size_t size)
{
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { log, (void *)size }, *image;
	CUlinkState link;
	CUresult result;
	size_t bytes;

	assert_cu(cuLinkCreate_v2(2, options, values, &link));
	for (size_t i = 0; i < n; i++)
		assert_cu(cuLinkAddData_v2(link, CU_JIT_INPUT_PTX, (void *)(uintptr_t)texts[i],
					   strlen(texts[i]) + 1, NULL, 0, NULL, NULL));
	result = cuLinkComplete(link, &image, &bytes);
	if (!result)
		assert_cu(cuModuleLoadData(ret_module, image));
	assert_cu(cuLinkDestroy(link));
	return result;
}

static void the_linker_merges_in_either_order(void **state)
{
	const char *texts[] = { first_object, second_object, first_object };
	CUfunction function;
	CUmodule module;
	char log[256];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_cu(link_texts(texts + i, 2, &module, log, sizeof(log)));
		assert_cu(cuModuleGetFunction(&function, module, "k"));
		assert_int_equal(run(function, 5), LINKED(5));
		assert_cu(cuModuleUnload(module));
	}
}

static void the_linker_says_what_is_wrong(void **state)
{
	const char *twice[] = { ADDS(1), ADDS(2) };
	const char *wrong[] = { TEST_PTX_HEAD ".visible .entry k() { nonsense; }" };
	CUlinkState link;
	CUmodule module;
	char log[256];

	(void)state;
	assert_int_equal(link_texts(twice, 2, &module, log, sizeof(log)), CUDA_ERROR_INVALID_IMAGE);
	assert_non_null(strstr(log, "'k' is defined twice"));
	assert_int_equal(link_texts(wrong, 1, &module, log, sizeof(log)), CUDA_ERROR_INVALID_PTX);
	assert_non_null(strstr(log, "line 4"));
	assert_cu(cuLinkCreate_v2(0, NULL, NULL, &link));
	assert_int_equal(cuLinkAddData_v2(link, CU_JIT_INPUT_CUBIN, (void *)"\177ELF....", 8, NULL,
					  0, NULL, NULL),
			 CUDA_ERROR_NO_BINARY_FOR_GPU);
	assert_int_equal(cuLinkAddData_v2(link, CU_JIT_INPUT_OBJECT, (void *)"\177ELF....", 8, NULL,
					  0, NULL, NULL),
			 CUDA_ERROR_INVALID_IMAGE);
	assert_cu(cuLinkDestroy(link));
	assert_int_equal(cuLinkDestroy(link), CUDA_ERROR_INVALID_HANDLE);
}

static void a_library_serves_every_context(void **state)
{
	CUcontext first, second, old;
	CUfunction here, there;
	CUlibrary library;
	CUkernel kernel, same;
	unsigned n;
	int value;

	(void)state;
	assert_cu(cuCtxGetCurrent(&old));
	assert_cu(cuLibraryLoadData(&library, test_ptx_fill, NULL, NULL, 0, NULL, NULL, 0));
	assert_cu(cuLibraryGetKernelCount(&n, library));
	assert_int_equal(n, 1);
	assert_cu(cuLibraryEnumerateKernels(&same, 1, library));
	assert_cu(cuLibraryGetKernel(&kernel, library, "fill"));
	assert_ptr_equal(kernel, same);
	assert_cu(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000,
				       kernel, 0));
	for (unsigned i = 0; i < 2; i++) {
		CUcontext *context = i ? &second : &first;
		unsigned words[64];
		CUdeviceptr p;

		assert_cu(cuCtxCreate_v2(context, 0, 0));
		assert_cu(cuMemAlloc_v2(&p, sizeof(words)));
		/* a kernel is a function wherever one is wanted */
		assert_cu(test_fill((CUfunction)(void *)kernel, p, 64, 5 + i, NULL));
		assert_cu(cuMemcpyDtoH_v2(words, p, sizeof(words)));
		assert_int_equal(words[63], 68 + i);
		assert_cu(cuKernelGetFunction(i ? &there : &here, kernel));
		assert_cu(cuFuncGetAttribute(
			&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, i ? there : here));
		assert_int_equal(value, 60000);
	}
	assert_ptr_not_equal(here, there);
	assert_cu(cuCtxDestroy_v2(second));
	assert_cu(cuLibraryUnload(library));
	assert_int_equal(cuLibraryUnload(library), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuKernelGetFunction(&here, kernel), CUDA_ERROR_INVALID_HANDLE);
	assert_cu(cuCtxDestroy_v2(first));
	assert_cu(cuCtxSetCurrent(old));
}

static int set_up(void **state)
{
	(void)state;
	test_context_make("16M");
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_packing_of_a_fat_binary_is_read),
		cmocka_unit_test(the_highest_text_that_the_device_can_run_is_taken),
		cmocka_unit_test(machine_code_alone_is_refused_with_a_hint),
		cmocka_unit_test(a_text_for_a_higher_device_is_refused_with_a_hint),
		cmocka_unit_test(damaged_images_are_refused),
		cmocka_unit_test(objects_of_one_program_are_merged),
		cmocka_unit_test(the_linker_merges_in_either_order),
		cmocka_unit_test(the_linker_says_what_is_wrong),
		cmocka_unit_test(a_library_serves_every_context),
	};

	return cmocka_run_group_tests_name("softgpu-image", tests, set_up, test_device_tear_down);
}
