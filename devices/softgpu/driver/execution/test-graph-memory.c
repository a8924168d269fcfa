/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

#include <stdbool.h>

/* Memory of graphs: when it comes, how long it stays, and to whom it belongs. */

#define MIB	(1u << 20)
#define GRANULE (2 * MIB)

static CUcontext context;

static size_t free_bytes(void)
{
	size_t n, total;

	assert_cu(cuMemGetInfo_v2(&n, &total));
	return n;
}

static uint64_t figure(CUgraphMem_attribute which)
{
	cuuint64_t value = 0;

	assert_cu(cuDeviceGetGraphMemAttribute(0, which, &value));
	return value;
}

static uint32_t read_word(CUdeviceptr p)
{
	uint32_t word;

	assert_cu(cuMemcpyDtoH_v2(&word, p, 4));
	return word;
}

static void a_graph_may_allocate_and_free(void **state)
{
	CUgraphNodeType type;
	CUgraphNode nodes[8];
	CUdeviceptr p, out;
	CUstream stream;
	CUgraphExec exec;
	CUgraph graph;
	CUfunction fill = test_function(test_ptx_fill, "fill");
	size_t n = 8;

	(void)state;
	assert_cu(cuMemAlloc_v2(&out, 4));
	assert_cu(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_cu(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	assert_cu(cuMemAllocAsync(&p, MIB, stream));
	assert_cu(test_fill(fill, p, 1000, 5, stream));
	assert_cu(cuMemcpyDtoDAsync_v2(out, p + 400, 4, stream));
	assert_cu(cuMemFreeAsync(p, stream));
	assert_cu(cuStreamEndCapture(stream, &graph));
	assert_cu(cuGraphGetNodes(graph, nodes, &n));
	assert_int_equal(n, 4);
	assert_cu(cuGraphNodeGetType(nodes[0], &type));
	assert_int_equal(type, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
	assert_cu(cuGraphNodeGetType(nodes[3], &type));
	assert_int_equal(type, CU_GRAPH_NODE_TYPE_MEM_FREE);
	assert_cu(cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (unsigned i = 0; i < 3; i++) {
		assert_cu(cuMemsetD32_v2(out, 0, 1));
		assert_cu(cuCtxSynchronize());
		assert_cu(cuGraphLaunch(exec, stream));
		assert_cu(cuStreamSynchronize(stream));
		assert_int_equal(read_word(out), 105);
	}
	assert_int_equal(figure(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), GRANULE);
	assert_cu(cuGraphExecDestroy(exec));
	assert_cu(cuGraphDestroy(graph));
	assert_int_equal(figure(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0);
	assert_cu(cuStreamDestroy_v2(stream));
	assert_cu(cuMemFree_v2(out));
}

static void memory_that_a_graph_leaves_is_the_programs(void **state)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = {
		.poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			       .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } },
		.bytesize = 4096,
	};
	CUDA_MEMSET_NODE_PARAMS set = { .elementSize = 4, .width = 1024, .height = 1, .value = 77 };
	CUgraphNode alloc, node;
	CUgraphExec exec;
	CUgraph graph;

	(void)state;
	assert_cu(cuGraphCreate(&graph, 0));
	assert_cu(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &params));
	set.dst = params.dptr;
	assert_cu(cuGraphAddMemsetNode(&node, graph, &alloc, 1, &set, context));
	assert_cu(cuGraphInstantiateWithFlags(&exec, graph, 0));
	assert_int_equal(cuMemFreeAsync(params.dptr, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuGraphLaunch(exec, NULL));
	assert_cu(cuGraphExecDestroy(exec));
	assert_cu(cuGraphDestroy(graph));
	assert_int_equal(read_word(params.dptr + 4092), 77);
	assert_cu(cuMemFreeAsync(params.dptr, NULL));
	assert_cu(cuCtxSynchronize());
	assert_int_equal(cuMemFree_v2(params.dptr), CUDA_ERROR_INVALID_VALUE);
}

/* A graph of one allocation, a set of all its words, and a free where @frees. */
static CUdeviceptr make_graph(size_t bytes, unsigned value, bool frees, CUgraph *ret_graph,
			      CUgraphExec *ret_exec)
{
	CUDA_MEM_ALLOC_NODE_PARAMS params = {
		.poolProps = { .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
			       .location = { CU_MEM_LOCATION_TYPE_DEVICE, 0 } },
		.bytesize = bytes,
	};
	CUDA_MEMSET_NODE_PARAMS set = {
		.elementSize = 4, .width = bytes / 4, .height = 1, .value = value
	};
	CUgraphNode alloc, node;

	assert_cu(cuGraphCreate(ret_graph, 0));
	assert_cu(cuGraphAddMemAllocNode(&alloc, *ret_graph, NULL, 0, &params));
	set.dst = params.dptr;
	assert_cu(cuGraphAddMemsetNode(&node, *ret_graph, &alloc, 1, &set, context));
	if (frees)
		assert_cu(cuGraphAddMemFreeNode(&alloc, *ret_graph, &node, 1, params.dptr));
	assert_cu(cuGraphInstantiateWithFlags(ret_exec, *ret_graph, 0));
	return params.dptr;
}

static void end_graph(CUgraph graph, CUgraphExec exec)
{
	assert_cu(cuGraphExecDestroy(exec));
	assert_cu(cuGraphDestroy(graph));
}

static void memory_comes_with_the_launch_and_stays_until_a_trim(void **state)
{
	size_t before = free_bytes();
	CUgraphExec exec;
	CUgraph graph;
	CUdeviceptr p;

	(void)state;
	p = make_graph(5 * MIB, 7, true, &graph, &exec);
	assert_int_equal(free_bytes(), before);
	assert_int_equal(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
	assert_int_equal(cuMemsetD32_v2(p, 0, 1), CUDA_ERROR_INVALID_VALUE);
	for (unsigned i = 0; i < 2; i++) {
		assert_cu(cuGraphLaunch(exec, NULL));
		assert_cu(cuCtxSynchronize());
		assert_int_equal(free_bytes(), before - 6 * MIB);
		assert_int_equal(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 6 * MIB);
		assert_cu(cuDeviceGraphMemTrim(0));
		assert_int_equal(free_bytes(), before);
		assert_int_equal(figure(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT), 0);
	}
	/* an upload makes the memory early */
	assert_cu(cuGraphUpload(exec, NULL));
	assert_int_equal(free_bytes(), before - 6 * MIB);
	end_graph(graph, exec);
	assert_int_equal(free_bytes(), before);
}

static void a_trim_leaves_what_is_queued_and_what_the_program_has(void **state)
{
	CUgraphExec exec, other_exec;
	CUgraph graph, other;
	CUdeviceptr p, out;
	uint32_t *word;
	CUstream stream;

	(void)state;
	assert_cu(cuMemAlloc_v2(&out, 4));
	assert_cu(cuMemHostAlloc((void **)&word, 4, CU_MEMHOSTALLOC_DEVICEMAP));
	*word = 0;
	assert_cu(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	make_graph(4 * MIB, 7, true, &graph, &exec);
	p = make_graph(4 * MIB, 8, false, &other, &other_exec);
	assert_cu(cuStreamWaitValue32_v2(stream, (uintptr_t)word, 1, CU_STREAM_WAIT_VALUE_GEQ));
	assert_cu(cuGraphLaunch(exec, stream));
	assert_cu(cuGraphLaunch(other_exec, stream));
	assert_cu(cuDeviceGraphMemTrim(0));
	assert_int_equal(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 8 * MIB);
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	assert_cu(cuStreamSynchronize(stream));
	assert_cu(cuDeviceGraphMemTrim(0));
	assert_int_equal(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 4 * MIB);
	assert_int_equal(read_word(p + 4 * MIB - 4), 8);

	/* a free that is queued is not done */
	*word = 0;
	assert_cu(cuStreamWaitValue32_v2(stream, (uintptr_t)word, 1, CU_STREAM_WAIT_VALUE_GEQ));
	assert_cu(cuMemcpyDtoDAsync_v2(out, p, 4, stream));
	assert_cu(cuMemFreeAsync(p, stream));
	assert_cu(cuDeviceGraphMemTrim(0));
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	assert_cu(cuStreamSynchronize(stream));
	assert_int_equal(read_word(out), 8);
	assert_cu(cuDeviceGraphMemTrim(0));
	assert_int_equal(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
	end_graph(graph, exec);
	end_graph(other, other_exec);
	assert_cu(cuStreamDestroy_v2(stream));
	assert_cu(cuMemFreeHost(word));
	assert_cu(cuMemFree_v2(out));
}

static void a_launch_without_memory_fails_and_submits_nothing(void **state)
{
	CUdeviceptr p, q, large;
	CUgraphExec exec;
	CUgraph graph;

	(void)state;
	assert_cu(cuMemAlloc_v2(&large, free_bytes() - 8 * MIB));
	assert_cu(cuMemAlloc_v2(&q, 2 * MIB));
	p = make_graph(8 * MIB, 9, false, &graph, &exec);
	assert_int_equal(cuGraphLaunch(exec, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
	assert_int_equal(cuMemFreeAsync(p, NULL), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuMemFree_v2(q));
	assert_cu(cuGraphLaunch(exec, NULL));
	assert_int_equal(read_word(p + 4), 9);
	assert_cu(cuMemFree_v2(p));
	end_graph(graph, exec);
	assert_cu(cuMemFree_v2(large));
}

static void a_launch_takes_what_another_graph_keeps(void **state)
{
	CUgraphExec exec, other_exec;
	CUdeviceptr p, large;
	CUgraph graph, other;

	(void)state;
	assert_cu(cuMemAlloc_v2(&large, free_bytes() - 8 * MIB));
	make_graph(6 * MIB, 1, true, &graph, &exec);
	p = make_graph(6 * MIB, 2, false, &other, &other_exec);
	assert_cu(cuGraphLaunch(exec, NULL));
	assert_cu(cuCtxSynchronize());
	assert_cu(cuGraphLaunch(other_exec, NULL));
	assert_int_equal(read_word(p), 2);
	/* the program has it now: the first graph finds nothing */
	assert_int_equal(cuGraphLaunch(exec, NULL), CUDA_ERROR_OUT_OF_MEMORY);
	assert_cu(cuMemFree_v2(p));
	assert_cu(cuGraphLaunch(exec, NULL));
	assert_cu(cuCtxSynchronize());
	end_graph(graph, exec);
	end_graph(other, other_exec);
	assert_cu(cuMemFree_v2(large));
}

static void another_graph_may_free_what_a_graph_left(void **state)
{
	CUgraphExec exec, free_exec;
	CUgraph graph, freeing;
	CUgraphNode node;
	CUdeviceptr p;

	(void)state;
	p = make_graph(2 * MIB, 3, false, &graph, &exec);
	assert_cu(cuGraphCreate(&freeing, 0));
	assert_cu(cuGraphAddMemFreeNode(&node, freeing, NULL, 0, p));
	assert_cu(cuGraphInstantiateWithFlags(&free_exec, freeing, 0));
	for (unsigned i = 0; i < 2; i++) {
		assert_cu(cuGraphLaunch(exec, NULL));
		assert_cu(cuCtxSynchronize());
		assert_cu(cuDeviceGraphMemTrim(0));
		assert_int_equal(read_word(p), 3);
		assert_cu(cuGraphLaunch(free_exec, NULL));
		assert_cu(cuCtxSynchronize());
		assert_cu(cuDeviceGraphMemTrim(0));
		assert_int_equal(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), 0);
		assert_int_equal(cuMemFree_v2(p), CUDA_ERROR_INVALID_VALUE);
	}
	end_graph(freeing, free_exec);
	end_graph(graph, exec);
}

static void small_ones_share_a_granule(void **state)
{
	enum { N = 6 };
	CUgraphExec execs[N];
	CUgraph graphs[N];
	CUdeviceptr p[N];

	(void)state;
	for (unsigned i = 0; i < N; i++) {
		p[i] = make_graph(1000, i, false, &graphs[i], &execs[i]);
		assert_cu(cuGraphLaunch(execs[i], NULL));
	}
	assert_int_equal(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT), GRANULE);
	for (unsigned i = 0; i < N; i++) {
		assert_int_equal(read_word(p[i] + 996), i);
		assert_cu(cuMemFree_v2(p[i]));
		assert_cu(cuDeviceGraphMemTrim(0));
		/* the others have their contents in it */
		assert_int_equal(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT),
				 i + 1 < N ? GRANULE : 0);
		end_graph(graphs[i], execs[i]);
	}
}

static void each_high_mark_begins_anew_by_itself(void **state)
{
	cuuint64_t zero = 0;
	CUgraphExec exec;
	CUgraph graph;

	(void)state;
	make_graph(16 * MIB, 0, true, &graph, &exec);
	assert_cu(cuGraphLaunch(exec, NULL));
	assert_cu(cuCtxSynchronize());
	end_graph(graph, exec);
	assert_cu(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
	assert_int_equal(figure(CU_GRAPH_MEM_ATTR_USED_MEM_HIGH), 0);
	assert_int_equal(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), 16 * MIB);
	assert_cu(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &zero));
	assert_int_equal(figure(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), 0);
}

static int set_up(void **state)
{
	(void)state;
	context = test_context_make("64M");
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_graph_may_allocate_and_free),
		cmocka_unit_test(memory_that_a_graph_leaves_is_the_programs),
		cmocka_unit_test(memory_comes_with_the_launch_and_stays_until_a_trim),
		cmocka_unit_test(a_trim_leaves_what_is_queued_and_what_the_program_has),
		cmocka_unit_test(a_launch_without_memory_fails_and_submits_nothing),
		cmocka_unit_test(a_launch_takes_what_another_graph_keeps),
		cmocka_unit_test(another_graph_may_free_what_a_graph_left),
		cmocka_unit_test(small_ones_share_a_granule),
		cmocka_unit_test(each_high_mark_begins_anew_by_itself),
	};

	return cmocka_run_group_tests_name("softgpu-graph-memory", tests, set_up,
					   test_device_tear_down);
}
