/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

/* Graphs: nodes of all kinds, changes, copies, what they keep alive. */

static CUcontext context;
static CUdeviceptr words; /* 64 of them */

static uint32_t word(unsigned i)
{
	uint32_t value;

	assert_cu(cuMemcpyDtoH_v2(&value, words + 4 * i, 4));
	return value;
}

static CUDA_MEMSET_NODE_PARAMS set_of(unsigned i, unsigned value)
{
	return (CUDA_MEMSET_NODE_PARAMS){
		.dst = words + 4 * i, .value = value, .elementSize = 4, .width = 1, .height = 1
	};
}

static void run(CUgraphExec exec)
{
	assert_cu(cuMemsetD32_v2(words, 0, 64));
	assert_cu(cuGraphLaunch(exec, NULL));
	assert_cu(cuCtxSynchronize());
}

static void dependencies_decide_not_the_order_of_adding(void **state)
{
	CUDA_MEMSET_NODE_PARAMS first = set_of(0, 1), last = set_of(0, 2);
	CUgraphNode a, b, from[2], to[2];
	CUgraphExec exec;
	CUgraph graph;
	size_t n = 2;

	(void)state;
	assert_cu(cuGraphCreate(&graph, 0));
	assert_cu(cuGraphAddMemsetNode(&a, graph, NULL, 0, &last, context));
	assert_cu(cuGraphAddMemsetNode(&b, graph, NULL, 0, &first, context));
	assert_cu(cuGraphAddDependencies(graph, &b, &a, 1));
	assert_int_equal(cuGraphAddDependencies(graph, &a, &b, 1), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGraphAddDependencies(graph, &b, &a, 1), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuGraphInstantiateWithFlags(&exec, graph, 0));
	run(exec);
	assert_int_equal(word(0), 2);
	assert_cu(cuGraphGetEdges(graph, from, to, &n));
	assert_int_equal(n, 1);
	assert_ptr_equal(from[0], b);
	assert_ptr_equal(to[0], a);
	n = 2;
	assert_cu(cuGraphGetRootNodes(graph, from, &n));
	assert_int_equal(n, 1);
	assert_ptr_equal(from[0], b);
	n = 2;
	assert_cu(cuGraphNodeGetDependentNodes(b, to, &n));
	assert_int_equal(n, 1);
	assert_ptr_equal(to[0], a);
	assert_cu(cuGraphRemoveDependencies(graph, &b, &a, 1));
	assert_cu(cuGraphDestroyNode(b));
	assert_int_equal(cuGraphDestroyNode(b), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuGraphExecDestroy(exec));
	assert_cu(cuGraphDestroy(graph));
}

static void parameters_change_in_the_graph_and_in_its_copy_alone(void **state)
{
	CUDA_MEMSET_NODE_PARAMS set = set_of(1, 10), told;
	CUfunction fill = test_function(test_ptx_fill, "fill");
	unsigned n_words = 4, value = 100, enabled;
	CUdeviceptr where = words + 40;
	void *params[] = { &where, &n_words, &value };
	CUDA_KERNEL_NODE_PARAMS kernel = { .func = fill,
					   .gridDimX = 1,
					   .gridDimY = 1,
					   .gridDimZ = 1,
					   .blockDimX = 32,
					   .blockDimY = 1,
					   .blockDimZ = 1,
					   .kernelParams = params },
				kernel_told;
	CUgraphNode node, k, copy;
	CUgraphExec exec;
	CUgraph graph, clone;

	(void)state;
	assert_cu(cuGraphCreate(&graph, 0));
	assert_cu(cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, context));
	assert_cu(cuGraphAddKernelNode_v2(&k, graph, &node, 1, &kernel));
	assert_cu(cuGraphInstantiateWithFlags(&exec, graph, 0));
	assert_cu(cuGraphClone(&clone, graph));
	assert_cu(cuGraphNodeFindInClone(&copy, node, clone));
	set.value = 20;
	assert_cu(cuGraphMemsetNodeSetParams(node, &set));
	assert_cu(cuGraphMemsetNodeGetParams(copy, &told));
	assert_int_equal(told.value, 10);
	assert_cu(cuGraphKernelNodeGetParams_v2(k, &kernel_told));
	assert_int_equal(*(unsigned *)kernel_told.kernelParams[2], 100);
	run(exec);
	assert_int_equal(word(1), 10);
	assert_int_equal(word(13), 103);

	set.value = 30;
	value = 200;
	assert_cu(cuGraphExecMemsetNodeSetParams(exec, node, &set, context));
	assert_cu(cuGraphExecKernelNodeSetParams_v2(exec, k, &kernel));
	run(exec);
	assert_int_equal(word(1), 30);
	assert_int_equal(word(13), 203);
	assert_int_equal(cuGraphExecMemsetNodeSetParams(exec, k, &set, context),
			 CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuGraphNodeSetEnabled(exec, k, 0));
	assert_cu(cuGraphNodeGetEnabled(exec, k, &enabled));
	assert_int_equal(enabled, 0);
	run(exec);
	assert_int_equal(word(13), 0);
	assert_cu(cuGraphExecDestroy(exec));
	assert_cu(cuGraphDestroy(clone));
	assert_cu(cuGraphDestroy(graph));
}

static CUgraph capture(unsigned n, unsigned value, CUstream stream)
{
	CUgraph graph;

	assert_cu(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	for (unsigned i = 0; i < n; i++)
		assert_cu(cuMemsetD32Async(words + 4 * i, value + i, 1, stream));
	assert_cu(cuStreamEndCapture(stream, &graph));
	return graph;
}

static void an_update_takes_the_same_shape_only(void **state)
{
	CUgraphExecUpdateResultInfo info;
	CUgraph first, second, longer, other;
	CUgraphNode node;
	CUgraphExec exec;
	CUstream stream;

	(void)state;
	assert_cu(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	first = capture(3, 10, stream);
	second = capture(3, 20, stream);
	longer = capture(4, 30, stream);
	assert_cu(cuGraphInstantiateWithFlags(&exec, first, 0));
	assert_cu(cuGraphExecUpdate_v2(exec, second, &info));
	assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
	run(exec);
	assert_int_equal(word(2), 22);
	assert_int_equal(cuGraphExecUpdate_v2(exec, longer, &info),
			 CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	other = capture(2, 30, stream);
	assert_cu(cuGraphAddEmptyNode(&node, other, NULL, 0));
	assert_int_equal(cuGraphExecUpdate_v2(exec, other, &info),
			 CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
	assert_ptr_equal(info.errorNode, node);
	run(exec);
	assert_int_equal(word(2), 22);
	assert_cu(cuGraphExecDestroy(exec));
	assert_cu(cuGraphDestroy(first));
	assert_cu(cuGraphDestroy(second));
	assert_cu(cuGraphDestroy(longer));
	assert_cu(cuGraphDestroy(other));
	assert_cu(cuStreamDestroy_v2(stream));
}

static void count_call(void *user)
{
	++*(unsigned *)user;
}

static void children_events_and_host_functions_are_nodes(void **state)
{
	CUDA_HOST_NODE_PARAMS host = { 0 };
	unsigned n_calls = 0;
	CUgraph graph, child;
	CUgraphNode nodes[4];
	CUgraphNodeType type;
	CUgraphExec exec;
	CUevent event;
	CUstream stream;

	(void)state;
	host = (CUDA_HOST_NODE_PARAMS){ count_call, &n_calls };
	assert_cu(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_cu(cuEventCreate(&event, 0));
	child = capture(2, 50, stream);
	assert_cu(cuGraphCreate(&graph, 0));
	assert_cu(cuGraphAddChildGraphNode(&nodes[0], graph, NULL, 0, child));
	/* the child was copied */
	assert_cu(cuGraphDestroy(child));
	assert_cu(cuGraphAddEventRecordNode(&nodes[1], graph, &nodes[0], 1, event));
	assert_cu(cuGraphAddEventWaitNode(&nodes[2], graph, &nodes[1], 1, event));
	assert_cu(cuGraphAddHostNode(&nodes[3], graph, &nodes[2], 1, &host));
	assert_cu(cuGraphNodeGetType(nodes[0], &type));
	assert_int_equal(type, CU_GRAPH_NODE_TYPE_GRAPH);
	assert_cu(cuGraphChildGraphNodeGetGraph(nodes[0], &child));
	assert_int_equal(cuGraphDestroy(child), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuGraphInstantiateWithFlags(&exec, graph, 0));
	run(exec);
	assert_int_equal(word(1), 51);
	assert_cu(cuEventSynchronize(event));
	assert_int_equal(n_calls, 1);
	assert_cu(cuGraphExecDestroy(exec));
	assert_cu(cuGraphDestroy(graph));
	assert_cu(cuEventDestroy_v2(event));
	assert_cu(cuStreamDestroy_v2(stream));
}

static void user_objects_live_as_long_as_graphs(void **state)
{
	unsigned n_destroyed = 0;
	CUgraph graph, clone;
	CUuserObject user;

	(void)state;
	assert_cu(cuGraphCreate(&graph, 0));
	assert_cu(cuUserObjectCreate(&user, &n_destroyed, count_call, 1, 1));
	assert_cu(cuGraphRetainUserObject(graph, user, 1, 1));
	assert_cu(cuGraphClone(&clone, graph));
	assert_cu(cuGraphDestroy(graph));
	assert_int_equal(n_destroyed, 0);
	assert_cu(cuGraphReleaseUserObject(clone, user, 1));
	assert_int_equal(n_destroyed, 1);
	assert_int_equal(cuUserObjectRetain(user, 1), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuGraphDestroy(clone));
}

static void a_capture_can_go_on_in_a_given_graph(void **state)
{
	CUstreamCaptureStatus status;
	const CUgraphNode *tail;
	CUgraphNode extra;
	CUgraph graph, told;
	CUgraphExec exec;
	CUstream stream;
	cuuint64_t id;
	size_t n;

	(void)state;
	assert_cu(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	graph = capture(1, 60, stream);
	assert_cu(cuStreamBeginCaptureToGraph(stream, graph, NULL, NULL, 0,
					      CU_STREAM_CAPTURE_MODE_RELAXED));
	assert_cu(cuMemsetD32Async(words + 20, 70, 1, stream));
	assert_cu(cuStreamGetCaptureInfo_v2(stream, &status, &id, &told, &tail, &n));
	assert_ptr_equal(told, graph);
	assert_int_equal(n, 1);
	assert_cu(cuGraphAddEmptyNode(&extra, graph, tail, n));
	assert_cu(cuStreamUpdateCaptureDependencies(stream, &extra, 1, 1));
	assert_cu(cuMemsetD32Async(words + 20, 80, 1, stream));
	assert_cu(cuStreamEndCapture(stream, &told));
	assert_ptr_equal(told, graph);
	assert_cu(cuGraphGetNodes(graph, NULL, &n));
	assert_int_equal(n, 4);
	assert_cu(cuGraphInstantiateWithFlags(&exec, graph, 0));
	run(exec);
	assert_int_equal(word(0), 60);
	assert_int_equal(word(5), 80);
	assert_cu(cuGraphExecDestroy(exec));
	assert_cu(cuGraphDestroy(graph));
	assert_cu(cuStreamDestroy_v2(stream));
}

static void values_are_written_and_waited_for_in_a_graph(void **state)
{
	CUstreamBatchMemOpParams ops[3] = {
		{ .writeValue = { CU_STREAM_MEM_OP_WRITE_VALUE_32, words + 8, { .value = 6 } } },
		{ .operation = CU_STREAM_MEM_OP_BARRIER },
		{ .waitValue = { CU_STREAM_MEM_OP_WAIT_VALUE_64, words + 8, { .value64 = 6 } } },
	};
	CUDA_BATCH_MEM_OP_NODE_PARAMS p = { context, 3, ops, 0 }, told;
	CUgraphNodeType type;
	CUgraphNode node;
	CUgraphExec exec;
	CUgraph graph;

	(void)state;
	assert_cu(cuGraphCreate(&graph, 0));
	assert_cu(cuGraphAddBatchMemOpNode(&node, graph, NULL, 0, &p));
	assert_cu(cuGraphNodeGetType(node, &type));
	assert_int_equal(type, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
	assert_cu(cuGraphInstantiateWithFlags(&exec, graph, 0));
	run(exec);
	assert_int_equal(word(2), 6);
	ops[0].writeValue.value = 8;
	ops[2].waitValue.value64 = 8;
	assert_cu(cuGraphBatchMemOpNodeGetParams(node, &told));
	assert_int_equal(told.count, 3);
	assert_int_equal(told.paramArray[0].writeValue.value, 6);
	assert_cu(cuGraphExecBatchMemOpNodeSetParams(exec, node, &p));
	run(exec);
	assert_int_equal(word(2), 8);
	ops[1].operation = (CUstreamBatchMemOpType)99;
	assert_int_equal(cuGraphBatchMemOpNodeSetParams(node, &p), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuGraphExecDestroy(exec));
	assert_cu(cuGraphDestroy(graph));
}

static void a_graph_can_be_drawn(void **state)
{
	char path[128], text[2048];
	CUgraphNode child;
	CUstream stream;
	CUgraph graph;
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "%s/dot", test_folder);
	assert_cu(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	graph = capture(2, 1, stream);
	assert_cu(cuGraphAddChildGraphNode(&child, graph, NULL, 0, graph));
	assert_cu(cuGraphDebugDotPrint(graph, path, 0));
	file = fopen(path, "r");
	assert_non_null(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	unlink(path);
	assert_non_null(strstr(text, "\"graph_0_0\" -> \"graph_0_1\""));
	assert_non_null(strstr(text, "\"graph_0_2\" [shape=box, label=\"child graph\"]"));
	assert_non_null(strstr(text, "\"graph_0_2_0\" [shape=box, label=\"memset"));
	assert_int_equal(cuGraphDebugDotPrint(graph, "/nowhere/dot", 0),
			 CUDA_ERROR_OPERATING_SYSTEM);
	assert_cu(cuGraphDestroy(graph));
	assert_cu(cuStreamDestroy_v2(stream));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(dependencies_decide_not_the_order_of_adding),
		cmocka_unit_test(parameters_change_in_the_graph_and_in_its_copy_alone),
		cmocka_unit_test(an_update_takes_the_same_shape_only),
		cmocka_unit_test(children_events_and_host_functions_are_nodes),
		cmocka_unit_test(user_objects_live_as_long_as_graphs),
		cmocka_unit_test(a_capture_can_go_on_in_a_given_graph),
		cmocka_unit_test(values_are_written_and_waited_for_in_a_graph),
		cmocka_unit_test(a_graph_can_be_drawn),
	};
	int r;

	test_device_make("16M");
	if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuMemAlloc_v2(&words, 256))
		return 1;
	r = cmocka_run_group_tests_name("softgpu-graph", tests, NULL, NULL);
	test_device_remove();
	return r;
}
