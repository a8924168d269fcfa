/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

/*
 * Calls that few programs make, and older or newer forms of others: each is made, and what it did
 * is looked at. There are two devices.
 */

#define N 64u

static CUcontext context; /* on the first device, current */
static CUfunction fill;
static CUdeviceptr words; /* N of them */

static unsigned word(unsigned i)
{
	unsigned value;

	assert_cu(cuMemcpyDtoH_v2(&value, words + 4 * i, 4));
	return value;
}

/* A set of device memory may still run when the call returns, and not every stream waits for it. */
static void clear(void)
{
	assert_cu(cuMemsetD32_v2(words, 0, N));
	assert_cu(cuCtxSynchronize());
}

/* -- contexts and streams ------------------------------------------------------------------- */

static void contexts_are_made_by_every_form(void **state)
{
	CUctxCreateParams params = { 0 };
	int anything[4] = { 0 };
	CUexecAffinityParam *affinity = (void *)anything;
	CUcontext c = NULL;
	unsigned flags;
	CUdevice device;

	(void)state;
	assert_cu(cuCtxCreate_v3(&c, NULL, 0, CU_CTX_SCHED_YIELD, 1));
	assert_cu(cuCtxGetDevice(&device));
	assert_int_equal(device, 1);
	assert_cu(cuCtxGetFlags(&flags));
	assert_int_equal(flags & CU_CTX_SCHED_MASK, CU_CTX_SCHED_YIELD);
	assert_cu(cuCtxDestroy_v2(c));
	assert_int_equal(cuCtxCreate_v3(&c, affinity, 1, 0, 0),
			 CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
	assert_cu(cuCtxCreate_v4(&c, NULL, 0, 1));
	assert_cu(cuCtxGetDevice(&device));
	assert_int_equal(device, 1);
	assert_cu(cuCtxDestroy_v2(c));
	/* parameters that ask for nothing are none */
	assert_cu(cuCtxCreate_v4(&c, &params, 0, 1));
	assert_cu(cuCtxGetDevice(&device));
	assert_int_equal(device, 1);
	assert_cu(cuCtxDestroy_v2(c));
	params.numExecAffinityParams = 1;
	params.execAffinityParams = affinity;
	assert_int_equal(cuCtxCreate_v4(&c, &params, 0, 0), CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY);
	params = (CUctxCreateParams){ .cigParams = (void *)anything };
	assert_int_equal(cuCtxCreate_v4(&c, &params, 0, 0), CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(cuCtxCreate_v4(NULL, NULL, 0, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuCtxCreate_v4(&c, NULL, 0, 2), CUDA_ERROR_INVALID_DEVICE);
	assert_cu(cuCtxGetDevice(&device));
	assert_int_equal(device, 0);
}

static void priorities_are_kept_within_their_range(void **state)
{
	int least = 7, greatest = 7, value, supported;
	CUstream stream;

	(void)state;
	assert_cu(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED,
				       0));
	assert_int_equal(supported, 1);
	assert_cu(cuCtxGetStreamPriorityRange(&least, &greatest));
	assert_int_equal(least, 0);
	assert_true(greatest < least);
	assert_cu(cuCtxGetStreamPriorityRange(NULL, NULL));
	for (int wish = greatest - 2; wish <= least + 2; wish++) {
		int wanted = wish < greatest ? greatest : wish > least ? least : wish;

		assert_cu(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, wish));
		assert_cu(cuStreamGetPriority(stream, &value));
		assert_int_equal(value, wanted);
		/* and it works as any other */
		assert_cu(test_fill(fill, words, N, (unsigned)(100 + wish), stream));
		assert_cu(cuStreamSynchronize(stream));
		assert_int_equal(word(1), 101 + wish);
		assert_cu(cuStreamDestroy_v2(stream));
	}
	assert_int_equal(cuStreamCreateWithPriority(&stream, 8, 0), CUDA_ERROR_INVALID_VALUE);
}

static void long_values_in_memory_order_streams(void **state)
{
	/* the two forms of each call; a value that 32 bits do not hold */
	static CUresult (*const waits[])(CUstream, CUdeviceptr, cuuint64_t,
					 unsigned) = { cuStreamWaitValue64, cuStreamWaitValue64_v2,
						       cuStreamWaitValue64_ptsz,
						       cuStreamWaitValue64_v2_ptsz };
	static CUresult (*const writes[])(CUstream, CUdeviceptr, cuuint64_t, unsigned) = {
		cuStreamWriteValue64, cuStreamWriteValue64_v2, cuStreamWriteValue64_ptsz,
		cuStreamWriteValue64_v2_ptsz
	};
	const uint64_t high = UINT64_C(5) << 32;
	volatile uint64_t *flag;
	CUstream one, two;

	(void)state;
	assert_cu(cuMemAllocHost_v2((void **)&flag, 64));
	assert_cu(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	assert_cu(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		clear();
		*flag = 5;
		assert_cu(waits[i](two, (uintptr_t)flag, high, CU_STREAM_WAIT_VALUE_EQ));
		assert_cu(test_fill(fill, words, 1, 40, two));
		/* the low half alone is not it */
		assert_cu(writes[i](one, (uintptr_t)flag, 0, 0));
		assert_cu(cuStreamSynchronize(one));
		assert_int_equal(cuStreamQuery(two), CUDA_ERROR_NOT_READY);
		assert_cu(writes[i](one, (uintptr_t)flag, high, 0));
		assert_cu(cuStreamSynchronize(two));
		assert_true(*flag == high);
		assert_int_equal(word(0), 40);
	}
	assert_cu(cuStreamDestroy_v2(one));
	assert_cu(cuStreamDestroy_v2(two));
	assert_cu(cuMemFreeHost((void *)flag));
}

/* -- images in files ------------------------------------------------------------------------ */

static const char ptx_twice[] =
	TEST_PTX_HEAD ".visible .func (.param .b32 r) twice(.param .b32 a)\n"
		      "{\n"
		      "	.reg .b32 %r<3>;\n"
		      "	ld.param.b32 %r1, [a];\n"
		      "	add.s32 %r2, %r1, %r1;\n"
		      "	st.param.b32 [r], %r2;\n"
		      "	ret;\n"
		      "}\n";
static const char ptx_caller[] =
	TEST_PTX_HEAD ".extern .func (.param .b32 r) twice(.param .b32 a);\n"
		      ".visible .entry k(.param .u64 p, .param .u32 v)\n"
		      "{\n"
		      "	.reg .b32 %r<3>;\n"
		      "	.reg .b64 %d<2>;\n"
		      "	.param .b32 in;\n"
		      "	.param .b32 out;\n"
		      "	ld.param.u64 %d1, [p];\n"
		      "	ld.param.u32 %r1, [v];\n"
		      "	st.param.b32 [in], %r1;\n"
		      "	call (out), twice, (in);\n"
		      "	ld.param.b32 %r2, [out];\n"
		      "	st.global.u32 [%d1], %r2;\n"
		      "	ret;\n"
		      "}\n";

static void write_file(char path[128], const char *name, const char *text)
{
	FILE *file;

	snprintf(path, 128, "%s/%s", test_folder, name);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void the_linker_reads_files(void **state)
{
	static CUresult (*const add[])(CUlinkState, CUjitInputType, const char *, unsigned,
				       CUjit_option *,
				       void **) = { cuLinkAddFile, cuLinkAddFile_v2 };
	char caller[128], twice[128];

	(void)state;
	write_file(caller, "caller.ptx", ptx_caller);
	write_file(twice, "twice.ptx", ptx_twice);
	for (unsigned i = 0; i < 2; i++) {
		unsigned v = 21 + i;
		void *params[] = { &words, &v }, *image;
		CUlinkState link;
		CUmodule module;
		CUfunction k;
		size_t bytes;

		assert_cu(cuLinkCreate_v2(0, NULL, NULL, &link));
		assert_cu(add[i](link, CU_JIT_INPUT_PTX, caller, 0, NULL, NULL));
		assert_int_equal(add[i](link, CU_JIT_INPUT_PTX, "/nowhere/at/all", 0, NULL, NULL),
				 CUDA_ERROR_FILE_NOT_FOUND);
		assert_cu(add[i](link, CU_JIT_INPUT_PTX, twice, 0, NULL, NULL));
		assert_cu(cuLinkComplete(link, &image, &bytes));
		assert_cu(cuModuleLoadData(&module, image));
		assert_cu(cuLinkDestroy(link));
		assert_cu(cuModuleGetFunction(&k, module, "k"));
		assert_cu(cuLaunchKernel(k, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
		assert_int_equal(word(0), 2 * v);
		assert_cu(cuModuleUnload(module));
	}
	unlink(caller);
	unlink(twice);
}

static void a_module_comes_from_a_file(void **state)
{
	CUfunction f;
	CUmodule module;
	char path[128];

	(void)state;
	write_file(path, "fill.ptx", test_ptx_fill);
	assert_cu(cuModuleLoad(&module, path));
	unlink(path);
	assert_cu(cuModuleGetFunction(&f, module, "fill"));
	assert_cu(test_fill(f, words, N, 500, NULL));
	assert_int_equal(word(7), 507);
	assert_cu(cuModuleUnload(module));
	assert_int_equal(cuModuleLoad(&module, path), CUDA_ERROR_FILE_NOT_FOUND);
	write_file(path, "wrong.ptx", "this is no image");
	assert_int_not_equal(cuModuleLoad(&module, path), CUDA_SUCCESS);
	unlink(path);
}

static const char ptx_variables[] = TEST_PTX_HEAD
	".visible .global .align 4 .u32 plain[3] = {1, 2, 3};\n"
	".visible .global .attribute(.managed) .align 4 .u32 shared_one[2] = {70, 80};\n"
	".visible .entry bump()\n"
	"{\n"
	"	.reg .b32 %r<3>;\n"
	"	ld.global.u32 %r1, [shared_one+4];\n"
	"	ld.global.u32 %r2, [plain+8];\n"
	"	add.s32 %r1, %r1, %r2;\n"
	"	st.global.u32 [shared_one+4], %r1;\n"
	"	ret;\n"
	"}\n";

static void variables_of_a_library_are_found(void **state)
{
	CUdeviceptr plain, managed;
	CUlibrary library;
	CUkernel kernel;
	unsigned values[3];
	size_t bytes;
	char path[128];

	(void)state;
	write_file(path, "variables.ptx", ptx_variables);
	assert_cu(cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0));
	unlink(path);
	assert_cu(cuLibraryGetGlobal(&plain, &bytes, library, "plain"));
	assert_int_equal(bytes, 12);
	assert_cu(cuMemcpyDtoH_v2(values, plain, 12));
	assert_int_equal(values[2], 3);
	assert_cu(cuLibraryGetManaged(&managed, &bytes, library, "shared_one"));
	assert_int_equal(bytes, 8);
	/* the host reads it where it is */
	assert_int_equal(((volatile unsigned *)(uintptr_t)managed)[0], 70);
	assert_int_equal(cuLibraryGetManaged(&managed, &bytes, library, "plain"),
			 CUDA_ERROR_NOT_FOUND);
	assert_int_equal(cuLibraryGetGlobal(&plain, &bytes, library, "none"), CUDA_ERROR_NOT_FOUND);
	assert_cu(cuLibraryGetKernel(&kernel, library, "bump"));
	assert_cu(
		cuLaunchKernel((CUfunction)(void *)kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(((volatile unsigned *)(uintptr_t)managed)[1], 83);
	assert_cu(cuLibraryUnload(library));
	assert_int_equal(cuLibraryLoadFromFile(&library, path, NULL, NULL, 0, NULL, NULL, 0),
			 CUDA_ERROR_FILE_NOT_FOUND);
}

static void wishes_for_a_function_are_kept(void **state)
{
	CUfunction f = test_function(test_ptx_fill, "fill");
	int value;

	(void)state;
	assert_cu(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000));
	assert_cu(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f));
	assert_int_equal(value, 60000);
	assert_cu(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
	assert_cu(
		cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, f));
	assert_int_equal(value, 50);
	assert_int_equal(
		cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101),
		CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS, 8),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuFuncSetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, 8),
			 CUDA_ERROR_INVALID_HANDLE);
}

/* -- graphs --------------------------------------------------------------------------------- */

static void run(CUgraph graph)
{
	CUgraphExec exec;

	clear();
	assert_cu(cuGraphInstantiateWithFlags(&exec, graph, 0));
	assert_cu(cuGraphLaunch(exec, NULL));
	assert_cu(cuStreamSynchronize(NULL));
	assert_cu(cuGraphExecDestroy(exec));
}

static void kernel_nodes_take_new_parameters_by_every_form(void **state)
{
	unsigned n = 1, value = 10;
	void *params[] = { &words, &n, &value };
	CUDA_KERNEL_NODE_PARAMS now = { .func = fill,
					.gridDimX = 1,
					.gridDimY = 1,
					.gridDimZ = 1,
					.blockDimX = 32,
					.blockDimY = 1,
					.blockDimZ = 1,
					.kernelParams = params };
	CUDA_KERNEL_NODE_PARAMS_v1 before = { .func = fill,
					      .gridDimX = 1,
					      .gridDimY = 1,
					      .gridDimZ = 1,
					      .blockDimX = 32,
					      .blockDimY = 1,
					      .blockDimZ = 1,
					      .kernelParams = params };
	CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_KERNEL, .kernel = now };
	CUgraphNode node;
	CUgraphExec exec;
	CUgraph graph;

	(void)state;
	assert_cu(cuGraphCreate(&graph, 0));
	assert_cu(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &now));
	run(graph);
	assert_int_equal(word(0), 10);
	value = 20;
	assert_cu(cuGraphKernelNodeSetParams_v2(node, &now));
	run(graph);
	assert_int_equal(word(0), 20);
	value = 30;
	assert_cu(cuGraphKernelNodeSetParams(node, &before));
	run(graph);
	assert_int_equal(word(0), 30);
	value = 40;
	assert_cu(cuGraphNodeSetParams(node, &any));
	run(graph);
	assert_int_equal(word(0), 40);
	/* what is wrong changes nothing */
	value = 50;
	now.blockDimX = 0;
	assert_int_equal(cuGraphKernelNodeSetParams_v2(node, &now), CUDA_ERROR_INVALID_VALUE);
	any.type = CU_GRAPH_NODE_TYPE_MEMSET;
	assert_int_equal(cuGraphNodeSetParams(node, &any), CUDA_ERROR_INVALID_VALUE);
	run(graph);
	assert_int_equal(word(0), 40);
	/* in an executable one alone */
	any = (CUgraphNodeParams){ .type = CU_GRAPH_NODE_TYPE_KERNEL };
	now.blockDimX = 32;
	any.kernel = now;
	value = 60;
	assert_cu(cuGraphInstantiateWithFlags(&exec, graph, 0));
	assert_cu(cuGraphExecNodeSetParams(exec, node, &any));
	assert_cu(cuGraphLaunch(exec, NULL));
	assert_cu(cuStreamSynchronize(NULL));
	assert_int_equal(word(0), 60);
	assert_cu(cuGraphExecDestroy(exec));
	run(graph);
	assert_int_equal(word(0), 40);
	assert_cu(cuGraphDestroy(graph));
}

static void copy_nodes_take_new_parameters(void **state)
{
	static const unsigned first[4] = { 1, 2, 3, 4 }, second[4] = { 5, 6, 7, 8 };
	CUDA_MEMCPY3D box = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			      .srcHost = first,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstDevice = words,
			      .WidthInBytes = 16,
			      .Height = 1,
			      .Depth = 1 },
		      told;
	CUgraphNodeParams any = { .type = CU_GRAPH_NODE_TYPE_MEMCPY };
	CUgraphNode node;
	CUgraph graph;

	(void)state;
	assert_cu(cuGraphCreate(&graph, 0));
	assert_cu(cuGraphAddMemcpyNode(&node, graph, NULL, 0, &box, context));
	run(graph);
	assert_int_equal(word(3), 4);
	box.srcHost = second;
	assert_cu(cuGraphMemcpyNodeSetParams(node, &box));
	assert_cu(cuGraphMemcpyNodeGetParams(node, &told));
	assert_int_equal(told.srcMemoryType, CU_MEMORYTYPE_UNIFIED);
	assert_true(told.srcDevice == (uintptr_t)second);
	run(graph);
	assert_int_equal(word(3), 8);
	box.dstDevice = words + 16;
	any.memcpy.copyCtx = context;
	any.memcpy.copyParams = box;
	assert_cu(cuGraphNodeSetParams(node, &any));
	run(graph);
	assert_int_equal(word(3), 0);
	assert_int_equal(word(7), 8);
	assert_cu(cuGraphDestroy(graph));
}

/* -- memory --------------------------------------------------------------------------------- */

static void sets_of_boxes_leave_what_is_between_the_rows(void **state)
{
	(void)state;
	/* four rows of 5 elements, 32 bytes apart */
	clear();
	assert_cu(cuMemsetD2D16_v2(words, 32, 0xbeef, 5, 4));
	assert_int_equal(word(0), 0xbeefbeef);
	assert_int_equal(word(2), 0xbeef);
	assert_int_equal(word(3), 0);
	assert_int_equal(word(24 + 2), 0xbeef);
	assert_int_equal(word(32), 0);
	clear();
	assert_cu(cuMemsetD2D32_v2(words, 32, 0xfeedbeef, 5, 4));
	assert_int_equal(word(4), 0xfeedbeef);
	assert_int_equal(word(5), 0);
	assert_int_equal(word(8), 0xfeedbeef);
	assert_int_equal(word(28), 0xfeedbeef);
	assert_int_equal(word(32), 0);
	clear();
	assert_cu(cuMemsetD2D16Async(words, 16, 0x1234, 2, 2, NULL));
	assert_cu(cuMemsetD2D32Async(words + 32, 16, 77, 1, 2, NULL));
	assert_cu(cuStreamSynchronize(NULL));
	assert_int_equal(word(4), 0x12341234);
	assert_int_equal(word(5), 0);
	assert_int_equal(word(12), 77);
	/* rows that reach into each other, and elements that are not aligned */
	assert_int_equal(cuMemsetD2D32_v2(words, 16, 1, 5, 4), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuMemsetD2D32_v2(words + 2, 32, 1, 1, 1), CUDA_ERROR_INVALID_VALUE);
}

static void many_attributes_of_a_range_come_at_once(void **state)
{
	CUmem_range_attribute which[] = { CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
					  CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
					  CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY };
	int read_mostly = -9, preferred = -9, by[2] = { -9, -9 };
	void *data[] = { &read_mostly, &preferred, by };
	size_t sizes[] = { sizeof(int), sizeof(int), sizeof(by) };
	CUmemLocation second = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 };
	CUdeviceptr p;

	(void)state;
	assert_cu(cuMemAllocManaged(&p, 1 << 20, CU_MEM_ATTACH_GLOBAL));
	assert_cu(cuMemAdvise_v2(p, 1 << 20, CU_MEM_ADVISE_SET_READ_MOSTLY, second));
	assert_cu(cuMemAdvise_v2(p, 1 << 20, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, second));
	assert_cu(cuMemAdvise_v2(p, 1 << 20, CU_MEM_ADVISE_SET_ACCESSED_BY, second));
	assert_cu(cuMemRangeGetAttributes(data, sizes, which, 3, p, 1 << 20));
	assert_int_equal(read_mostly, 1);
	assert_int_equal(preferred, 1);
	assert_int_equal(by[0], 1);
	assert_int_equal(by[1], CU_DEVICE_INVALID);
	assert_int_equal(cuMemRangeGetAttributes(data, sizes, which, 0, p, 1 << 20),
			 CUDA_ERROR_INVALID_VALUE);
	sizes[0] = 3;
	assert_int_equal(cuMemRangeGetAttributes(data, sizes, which, 3, p, 1 << 20),
			 CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuMemFree_v2(p));
}

/* Return: what a kernel on the second device meets at @p. */
static CUresult fill_from_the_second(CUdeviceptr p, unsigned value)
{
	CUcontext there;
	CUresult result;
	CUfunction f;

	assert_cu(cuCtxCreate_v2(&there, 0, 1));
	f = test_function(test_ptx_fill, "fill");
	assert_cu(test_fill(f, p, 4, value, NULL));
	result = cuCtxSynchronize();
	assert_cu(cuCtxDestroy_v2(there));
	return result;
}

static void a_pool_can_be_opened_to_another_device(void **state)
{
	CUmemPoolProps props = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				 .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 },
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemAccess_flags flags;
	CUmemoryPool pool;
	unsigned value;
	CUdeviceptr p;

	(void)state;
	assert_cu(cuMemPoolCreate(&pool, &props));
	assert_cu(cuMemAllocFromPoolAsync(&p, 4096, pool, NULL));
	assert_cu(cuStreamSynchronize(NULL));
	assert_int_equal(fill_from_the_second(p, 5), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_cu(cuMemPoolSetAccess(pool, &access, 1));
	assert_cu(cuMemPoolGetAccess(&flags, pool, &access.location));
	assert_int_equal(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	assert_cu(fill_from_the_second(p, 6));
	assert_cu(cuMemcpyDtoH_v2(&value, p, 4));
	assert_int_equal(value, 6);
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
	assert_cu(cuMemPoolSetAccess(pool, &access, 1));
	assert_int_equal(fill_from_the_second(p, 7), CUDA_ERROR_ILLEGAL_ADDRESS);
	/* its own device cannot be shut out */
	access.location.id = 0;
	assert_int_equal(cuMemPoolSetAccess(pool, &access, 1), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuMemFreeAsync(p, NULL));
	assert_cu(cuStreamSynchronize(NULL));
	assert_cu(cuMemPoolDestroy(pool));
}

static void managed_memory_is_attached_whole(void **state)
{
	CUstream stream;
	CUdeviceptr p;

	(void)state;
	assert_cu(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_cu(cuMemAllocManaged(&p, 8192, CU_MEM_ATTACH_HOST));
	assert_cu(cuStreamAttachMemAsync(stream, p, 0, CU_MEM_ATTACH_SINGLE));
	assert_cu(cuStreamAttachMemAsync(stream, p, 8192, CU_MEM_ATTACH_GLOBAL));
	assert_cu(test_fill(fill, p, 16, 3, stream));
	assert_cu(cuStreamSynchronize(stream));
	assert_int_equal(((volatile unsigned *)(uintptr_t)p)[15], 18);
	assert_int_equal(cuStreamAttachMemAsync(stream, p, 4096, CU_MEM_ATTACH_SINGLE),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuStreamAttachMemAsync(stream, p + 4096, 0, CU_MEM_ATTACH_SINGLE),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuStreamAttachMemAsync(stream, p, 0, 0), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuStreamAttachMemAsync(stream, words, 0, CU_MEM_ATTACH_GLOBAL),
			 CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuStreamDestroy_v2(stream));
	assert_cu(cuMemFree_v2(p));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(contexts_are_made_by_every_form),
		cmocka_unit_test(priorities_are_kept_within_their_range),
		cmocka_unit_test(long_values_in_memory_order_streams),
		cmocka_unit_test(the_linker_reads_files),
		cmocka_unit_test(a_module_comes_from_a_file),
		cmocka_unit_test(variables_of_a_library_are_found),
		cmocka_unit_test(wishes_for_a_function_are_kept),
		cmocka_unit_test(kernel_nodes_take_new_parameters_by_every_form),
		cmocka_unit_test(copy_nodes_take_new_parameters),
		cmocka_unit_test(sets_of_boxes_leave_what_is_between_the_rows),
		cmocka_unit_test(many_attributes_of_a_range_come_at_once),
		cmocka_unit_test(a_pool_can_be_opened_to_another_device),
		cmocka_unit_test(managed_memory_is_attached_whole),
	};
	int r;

	setenv("SLUICE_SOFTGPU_DEVICES", "2", 1);
	test_device_make("16M");
	if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0))
		return 1;
	fill = test_function(test_ptx_fill, "fill");
	if (cuMemAlloc_v2(&words, 4 * N))
		return 1;
	r = cmocka_run_group_tests_name("softgpu-corners", tests, NULL, NULL);
	test_device_remove();
	return r;
}
