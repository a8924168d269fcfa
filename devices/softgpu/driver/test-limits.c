/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <stdbool.h>
#include <sys/wait.h>

#include "board/board.h"

/*
 * What a device has of everything, by capability, profile and settings: what it says, what it
 * refuses and what its kernels take. Each device is another one, so that each test is a process.
 */

#define KIB 1024u
#define MIB (1u << 20)

#define must(expression)                                                                         \
	do {                                                                                     \
		if (!(expression)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #expression); \
			_exit(1);                                                                \
		}                                                                                \
	} while (0)

struct setting {
	const char *name, *value;
};

static CUcontext context; /* of the child */

/*
 * Runs @body in a process of its own, on a device of 16 MiB made with @settings. A value of NULL
 * unsets, a name of NULL ends them.
 */
static void on_device(const struct setting *settings, void (*body)(void))
{
	pid_t pid;
	int status;

	test_device_make("16M");
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		for (const struct setting *s = settings; s->name; s++)
			if (s->value)
				setenv(s->name, s->value, 1);
			else
				unsetenv(s->name);
		must(!cuInit(0));
		must(!cuCtxCreate_v2(&context, 0, 0));
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	test_device_remove();
	assert_int_equal(status, 0);
}

static int attribute(CUdevice_attribute which)
{
	int value = -2;

	must(!cuDeviceGetAttribute(&value, which, 0));
	return value;
}

static CUfunction function(const char *ptx, const char *name)
{
	CUfunction f;
	CUmodule m;

	must(!cuModuleLoadData(&m, ptx));
	must(!cuModuleGetFunction(&f, m, name));
	return f;
}

static CUresult launch(CUfunction f, unsigned x, unsigned y)
{
	return cuLaunchKernel(f, 1, 1, 1, x, y, 1, 0, NULL, NULL, NULL);
}

static CUresult cooperate(CUfunction f, unsigned grid, unsigned block, unsigned shared_bytes)
{
	return cuLaunchCooperativeKernel(f, grid, 1, 1, block, 1, 1, shared_bytes, NULL, NULL);
}

static const char ptx_bounds[] = TEST_PTX_HEAD ".visible .entry most() .maxntid 64, 1, 1 { ret; }\n"
					       ".visible .entry flat() .maxntid 32, 2 { ret; }\n"
					       ".visible .entry exact() .reqntid 32 { ret; }\n"
					       ".visible .entry square() .reqntid 8, 4 { ret; }\n"
					       ".visible .entry free() { ret; }\n";

/* -- launches ------------------------------------------------------------------------------- */

static void try_bounds(void)
{
	CUfunction most = function(ptx_bounds, "most"), flat = function(ptx_bounds, "flat"),
		   exact = function(ptx_bounds, "exact"), square = function(ptx_bounds, "square");

	must(launch(most, 64, 1) == CUDA_SUCCESS);
	must(launch(most, 8, 8) == CUDA_SUCCESS);
	must(launch(most, 65, 1) == CUDA_ERROR_INVALID_VALUE);
	must(launch(most, 256, 1) == CUDA_ERROR_INVALID_VALUE);
	/* the extents are multiplied: it is the threads that count */
	must(launch(flat, 64, 1) == CUDA_SUCCESS);
	must(launch(flat, 33, 2) == CUDA_ERROR_INVALID_VALUE);
	must(launch(exact, 32, 1) == CUDA_SUCCESS);
	must(launch(exact, 64, 1) == CUDA_ERROR_INVALID_VALUE);
	must(launch(exact, 31, 1) == CUDA_ERROR_INVALID_VALUE);
	must(launch(square, 8, 4) == CUDA_SUCCESS);
	must(launch(square, 4, 8) == CUDA_ERROR_INVALID_VALUE);
	must(launch(square, 32, 1) == CUDA_ERROR_INVALID_VALUE);
	/* refused means refused: nothing is left behind */
	must(cuCtxSynchronize() == CUDA_SUCCESS);
}

static void a_kernels_own_bounds_are_kept(void **state)
{
	(void)state;
	on_device((struct setting[]){ { NULL } }, try_bounds);
}

static void try_cooperative(void)
{
	CUfunction f = function(ptx_bounds, "free"), most = function(ptx_bounds, "most");
	CUlaunchAttribute on = { .id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1 };
	CUlaunchConfig config = { .gridDimX = 65,
				  .gridDimY = 1,
				  .gridDimZ = 1,
				  .blockDimX = 64,
				  .blockDimY = 1,
				  .blockDimZ = 1,
				  .attrs = &on,
				  .numAttrs = 1 };
	CUDA_KERNEL_NODE_PARAMS params = { .func = f,
					   .gridDimX = 65,
					   .gridDimY = 1,
					   .gridDimZ = 1,
					   .blockDimX = 64,
					   .blockDimY = 1,
					   .blockDimZ = 1 };
	CUkernelNodeAttrValue value = { .cooperative = 1 };
	CUgraphNode node;
	CUgraph graph;
	int n;

	/* 16 blocks of 64 threads on each of 4 multiprocessors, one of 1024 */
	must(!cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 64, 0) && n == 16);
	must(cooperate(f, 64, 64, 0) == CUDA_SUCCESS);
	must(cooperate(f, 65, 64, 0) == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	must(cooperate(f, 4, 1024, 0) == CUDA_SUCCESS);
	must(cooperate(f, 5, 1024, 0) == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	/* warps are whole: 65 threads take three of 32 */
	must(!cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 65, 0) && n == 10);
	must(cooperate(f, 40, 65, 0) == CUDA_SUCCESS);
	must(cooperate(f, 41, 65, 0) == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	/* shared memory counts: four blocks of 16 KiB a multiprocessor */
	must(cooperate(f, 16, 32, 16 * KIB) == CUDA_SUCCESS);
	must(cooperate(f, 17, 32, 16 * KIB) == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	must(cooperate(most, 1, 65, 0) == CUDA_ERROR_INVALID_VALUE);
	must(cuLaunchKernelEx(&config, f, NULL, NULL) == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	config.gridDimX = 64;
	must(cuLaunchKernelEx(&config, f, NULL, NULL) == CUDA_SUCCESS);
	must(!cuGraphCreate(&graph, 0));
	must(!cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
	must(cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value) ==
	     CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	/* others may have any grid */
	must(!cuLaunchKernel(f, 1000, 1, 1, 64, 1, 1, 0, NULL, NULL, NULL));
	must(!cuCtxSynchronize());
}

static void a_cooperative_grid_fits_on_the_card_or_is_refused(void **state)
{
	(void)state;
	on_device((struct setting[]){ { NULL } }, try_cooperative);
}

static void try_seven(void)
{
	CUfunction f = function(ptx_bounds, "free");
	int grid, block;

	must(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) == 7);
	must(cooperate(f, 7, 1024, 0) == CUDA_SUCCESS);
	must(cooperate(f, 8, 1024, 0) == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
	must(!cuOccupancyMaxPotentialBlockSize(&grid, &block, f, NULL, 0, 0));
	must(block == 1024 && grid == 7);
}

static void multiprocessors_are_as_many_as_asked_for(void **state)
{
	(void)state;
	on_device((struct setting[]){ { "SLUICE_SOFTGPU_MULTIPROCESSORS", "7" }, { NULL } },
		  try_seven);
}

/* -- capability ----------------------------------------------------------------------------- */

/* tail(p, at): the last word of dynamic shared memory, written and read back */
static const char ptx_tail[] = TEST_PTX_HEAD ".extern .shared .align 16 .b8 space[];\n"
					     ".visible .entry tail(.param .u64 p, .param .u32 at)\n"
					     "{\n"
					     "	.reg .b32 %r<6>;\n"
					     "	.reg .b64 %d<2>;\n"
					     "	ld.param.u64 %d1, [p];\n"
					     "	ld.param.u32 %r1, [at];\n"
					     "	mov.u32 %r2, space;\n"
					     "	add.u32 %r3, %r2, %r1;\n"
					     "	mov.u32 %r4, 4242;\n"
					     "	st.shared.u32 [%r3], %r4;\n"
					     "	ld.shared.u32 %r5, [%r3];\n"
					     "	st.global.u32 [%d1], %r5;\n"
					     "	ret;\n"
					     "}\n";

static void use_all_shared_memory(unsigned bytes)
{
	CUfunction f = function(ptx_tail, "tail");
	unsigned at = bytes - 4, got = 0;
	CUdeviceptr p;
	void *params[] = { &p, &at };

	must(!cuMemAlloc_v2(&p, 4));
	must(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, bytes, NULL, params, NULL) ==
	     CUDA_ERROR_INVALID_VALUE);
	must(cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
				(int)bytes + 1) == CUDA_ERROR_INVALID_VALUE);
	must(!cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes));
	must(!cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, bytes, NULL, params, NULL));
	must(!cuMemcpyDtoH_v2(&got, p, 4) && got == 4242);
	must(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, bytes + 16, NULL, params, NULL) ==
	     CUDA_ERROR_INVALID_VALUE);
}

static void try_75(void)
{
	must(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) == 7);
	must(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) == 1024);
	must(attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR) == 16);
	must(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) == 64 * KIB);
	must(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) == 64 * KIB);
	must(attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK) == 0);
	use_all_shared_memory(64 * KIB);
}

static void try_80(void)
{
	CUfunction f = function(ptx_bounds, "free");
	size_t bytes;
	int n;

	must(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) == 8);
	must(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) == 0);
	must(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) == 2048);
	must(attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR) == 32);
	must(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) == 48 * KIB);
	must(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) == 164 * KIB);
	must(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) == 163 * KIB);
	must(attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK) == KIB);
	use_all_shared_memory(163 * KIB);
	must(!cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 64, 0) && n == 32);
	must(!cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 1024, 0) && n == 2);
	/* three blocks of 48 KiB and what each has reserved; not four of 41 */
	must(!cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 64, 48 * KIB) && n == 3);
	must(!cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 64, 41 * KIB) && n == 3);
	must(!cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 64, 40 * KIB) && n == 4);
	must(!cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 4, 64) && bytes == 40 * KIB);
	must(!cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 1, 64) && bytes == 163 * KIB);
	must(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, f, 3, 1024) ==
	     CUDA_ERROR_INVALID_VALUE);
	must(cooperate(f, 8, 1024, 0) == CUDA_SUCCESS);
	must(cooperate(f, 9, 1024, 0) == CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

static void try_86(void)
{
	CUfunction f = function(ptx_bounds, "free");
	int n;

	must(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) == 1536);
	must(attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR) == 16);
	must(attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) == 99 * KIB);
	must(!cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 768, 0) && n == 2);
	must(!cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, f, 1024, 0) && n == 1);
}

static void limits_follow_the_capability(void **state)
{
	(void)state;
	on_device((struct setting[]){ { NULL } }, try_75);
	on_device((struct setting[]){ { "SLUICE_SOFTGPU_CAPABILITY", "8.0" }, { NULL } }, try_80);
	on_device((struct setting[]){ { "SLUICE_SOFTGPU_CAPABILITY", "8.6" }, { NULL } }, try_86);
}

/* -- profiles ------------------------------------------------------------------------------- */

static size_t free_bytes(void)
{
	size_t left, all;

	must(!cuMemGetInfo_v2(&left, &all));
	return left;
}

static void check_card(const char *part_of_name, size_t memory, size_t overhead)
{
	char name[64];
	size_t all;

	must(!cuDeviceGetName(name, sizeof(name), 0) && strstr(name, part_of_name));
	must(!cuDeviceTotalMem_v2(&all, 0) && all == memory);
	must(all - free_bytes() == overhead);
}

static void try_rtx5090(void)
{
	check_card("5090", 128 * MIB, 500 * MIB / 256);
}

static void try_rtx3080(void)
{
	check_card("3080", 40 * MIB, 300 * MIB / 256);
}

static void try_rtx3080_by_512(void)
{
	check_card("3080", 20 * MIB, 300 * MIB / 512);
}

static void profiles_have_the_size_of_their_cards(void **state)
{
	(void)state;
	on_device((struct setting[]){ { "SLUICE_SOFTGPU_PROFILE", "rtx5090-x8" },
				      { "SLUICE_SOFTGPU_MEMORY", NULL },
				      { NULL } },
		  try_rtx5090);
	on_device((struct setting[]){ { "SLUICE_SOFTGPU_PROFILE", "rtx3080" },
				      { "SLUICE_SOFTGPU_MEMORY", NULL },
				      { NULL } },
		  try_rtx3080);
	on_device((struct setting[]){ { "SLUICE_SOFTGPU_PROFILE", "rtx3080" },
				      { "SLUICE_SOFTGPU_SCALE", "512" },
				      { "SLUICE_SOFTGPU_MEMORY", NULL },
				      { NULL } },
		  try_rtx3080_by_512);
}

/* How many bytes the touch of one word of managed memory brings; blocks are of 8 KiB here. */
static uint64_t bytes_of_a_touch(void)
{
	CUfunction fill = function(test_ptx_fill, "fill");
	struct dev_board_engine_view before, after;
	struct dev_board *board;
	char path[128];
	CUdeviceptr p;

	snprintf(path, sizeof(path), "%s/softgpu0", test_folder);
	must(!dev_board_open(path, NULL, &board));
	must(!cuMemAllocManaged(&p, 32 * KIB, CU_MEM_ATTACH_GLOBAL));
	memset((void *)(uintptr_t)p, 1, 32 * KIB);
	dev_board_look_engine(board, DEV_BOARD_ENGINE_IN, &before);
	must(!test_fill(fill, p + 8 * KIB, 1, 1, NULL));
	must(!cuCtxSynchronize());
	dev_board_look_engine(board, DEV_BOARD_ENGINE_IN, &after);
	return after.bytes - before.bytes;
}

static void try_default_prefetch(void)
{
	must(bytes_of_a_touch() == 2 * KIB);
}

static void try_tuned_prefetch(void)
{
	must(bytes_of_a_touch() == 8 * KIB);
}

static void tuned_prefetch_brings_the_whole_block(void **state)
{
	(void)state;
	on_device((struct setting[]){ { "SLUICE_SOFTGPU_PROFILE", "rtx3080" }, { NULL } },
		  try_default_prefetch);
	on_device((struct setting[]){ { "SLUICE_SOFTGPU_PROFILE", "rtx3080" },
				      { "SLUICE_SOFTGPU_PREFETCH", "1" },
				      { NULL } },
		  try_tuned_prefetch);
}

/* -- what kernels take ---------------------------------------------------------------------- */

/* deep: 1 KiB of local memory a thread */
static const char ptx_deep[] =
	TEST_PTX_HEAD ".visible .entry deep() { .local .align 4 .b8 frame[1024]; ret; }\n"
		      ".visible .entry shallow() { .local .align 4 .b8 frame[512]; ret; }\n"
		      ".visible .entry plain() { ret; }\n";

static void try_memory(void)
{
	size_t empty = free_bytes();
	CUfunction deep, shallow, plain;
	CUdeviceptr all;
	CUmodule module;

	must(empty == 60 * MIB);
	must(!cuModuleLoadData(&module, ptx_deep));
	must(!cuModuleGetFunction(&deep, module, "deep"));
	must(!cuModuleGetFunction(&shallow, module, "shallow"));
	must(!cuModuleGetFunction(&plain, module, "plain"));
	must(free_bytes() == empty);

	/* a card that is full to the brim takes no first launch, and every later one */
	must(!cuMemAlloc_v2(&all, empty));
	must(launch(plain, 1, 1) == CUDA_ERROR_OUT_OF_MEMORY);
	must(launch(plain, 1, 1) == CUDA_ERROR_OUT_OF_MEMORY);
	must(!cuMemFree_v2(all));
	must(!launch(plain, 1, 1));
	must(free_bytes() == empty - 2 * MIB);
	must(!cuMemAlloc_v2(&all, free_bytes()));
	must(!launch(plain, 1, 1));
	must(launch(shallow, 1, 1) == CUDA_ERROR_OUT_OF_MEMORY);
	must(!cuMemFree_v2(all));

	/* 1024 threads on each of 4 multiprocessors; who needs less finds it there */
	must(!launch(shallow, 1, 1));
	must(free_bytes() == empty - 2 * MIB - 2 * MIB);
	must(!launch(deep, 1, 1));
	must(free_bytes() == empty - 2 * MIB - 4 * MIB);
	must(!cuCtxSynchronize());
	must(!cuModuleUnload(module));
	must(free_bytes() == empty - 4 * MIB);
	must(!cuCtxDestroy_v2(context));
	must(!cuCtxCreate_v2(&context, 0, 0));
	must(free_bytes() == empty);
}

static void try_full_memory(void)
{
	size_t empty = free_bytes();
	CUdeviceptr all;

	must(empty == 64 * MIB);
	must(!cuMemAlloc_v2(&all, empty));
	must(!launch(function(ptx_deep, "deep"), 1, 1));
	must(!cuCtxSynchronize());
}

static void the_first_launch_of_a_kernel_takes_memory(void **state)
{
	(void)state;
	on_device((struct setting[]){ { "SLUICE_SOFTGPU_MEMORY", "64M" },
				      { "SLUICE_SOFTGPU_CONTEXT_OVERHEAD", "4M" },
				      { NULL } },
		  try_memory);
	/* where contexts take nothing, kernels take nothing either */
	on_device((struct setting[]){ { "SLUICE_SOFTGPU_MEMORY", "64M" }, { NULL } },
		  try_full_memory);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernels_own_bounds_are_kept),
		cmocka_unit_test(a_cooperative_grid_fits_on_the_card_or_is_refused),
		cmocka_unit_test(multiprocessors_are_as_many_as_asked_for),
		cmocka_unit_test(limits_follow_the_capability),
		cmocka_unit_test(profiles_have_the_size_of_their_cards),
		cmocka_unit_test(tuned_prefetch_brings_the_whole_block),
		cmocka_unit_test(the_first_launch_of_a_kernel_takes_memory),
	};

	return cmocka_run_group_tests_name("softgpu-limits", tests, NULL, NULL);
}
