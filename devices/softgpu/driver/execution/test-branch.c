/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/softgpu.h"

/* Conditional nodes of graphs: what kernels decide while a graph runs. */

/* tell(handle, p): the condition becomes *p, which goes down by one if it is not 0 */
static const char text[] =
	TEST_PTX_HEAD ".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"
		      ".visible .entry tell(.param .u64 handle, .param .u64 p)\n"
		      "{\n"
		      "	.reg .pred %q<2>; .reg .b32 %r<3>; .reg .b64 %d<3>;\n"
		      "	ld.param.u64 %d1, [handle];\n"
		      "	ld.param.u64 %d2, [p];\n"
		      "	ld.global.u32 %r1, [%d2];\n"
		      "	{ .param .b64 h; .param .b32 v; st.param.b64 [h], %d1; st.param.b32 [v], "
		      "%r1; call.uni cudaGraphSetConditional, (h, v); }\n"
		      "	setp.eq.u32 %q1, %r1, 0;\n"
		      "	@%q1 ret;\n"
		      "	sub.s32 %r2, %r1, 1;\n"
		      "	st.global.u32 [%d2], %r2;\n"
		      "	ret;\n"
		      "}\n";

static CUcontext context;
static CUfunction tell;
static CUdeviceptr words; /* 64 of them; word 0 is what tell() looks at */

static uint32_t word(unsigned i)
{
	uint32_t value;

	assert_cu(cuMemcpyDtoH_v2(&value, words + 4 * i, 4));
	return value;
}

static CUgraphNode add_tell(CUgraph graph, CUgraphConditionalHandle handle,
			    const CUgraphNode *after)
{
	void *params[] = { &handle, &words };
	CUDA_KERNEL_NODE_PARAMS kernel = { .func = tell,
					   .gridDimX = 1,
					   .gridDimY = 1,
					   .gridDimZ = 1,
					   .blockDimX = 1,
					   .blockDimY = 1,
					   .blockDimZ = 1,
					   .kernelParams = params };
	CUgraphNode node;

	assert_cu(cuGraphAddKernelNode_v2(&node, graph, after, after ? 1 : 0, &kernel));
	return node;
}

static void add_set(CUgraph graph, unsigned i, unsigned value)
{
	CUDA_MEMSET_NODE_PARAMS set = {
		.dst = words + 4 * i, .value = value, .elementSize = 4, .width = 1, .height = 1
	};
	CUgraphNode node;

	assert_cu(cuGraphAddMemsetNode(&node, graph, NULL, 0, &set, context));
}

static CUgraphConditionalHandle handle_of(CUgraph graph, unsigned initial)
{
	CUgraphConditionalHandle handle;

	assert_cu(cuGraphConditionalHandleCreate(&handle, graph, context, initial,
						 CU_GRAPH_COND_ASSIGN_DEFAULT));
	return handle;
}

/* Return: the bodies. */
static CUgraph *add_branch(CUgraph graph, CUgraphConditionalHandle handle,
			   CUgraphConditionalNodeType type, unsigned n, const CUgraphNode *after)
{
	CUgraphNodeParams p = {
		.type = CU_GRAPH_NODE_TYPE_CONDITIONAL,
		.conditional = { .handle = handle, .type = type, .size = n, .ctx = context }
	};
	CUgraphNodeType told;
	CUgraphNode node;

	assert_cu(cuGraphAddNode_v2(&node, graph, after, NULL, after ? 1 : 0, &p));
	assert_cu(cuGraphNodeGetType(node, &told));
	assert_int_equal(told, CU_GRAPH_NODE_TYPE_CONDITIONAL);
	return p.conditional.phGraph_out;
}

/* With a first word of @value. */
static void run(CUgraphExec exec, unsigned value)
{
	assert_cu(cuMemsetD32_v2(words, 0, 64));
	assert_cu(cuMemsetD32_v2(words, value, 1));
	assert_cu(cuGraphLaunch(exec, NULL));
	assert_cu(cuCtxSynchronize());
}

static void a_kernel_says_which_of_two_is_run(void **state)
{
	CUgraphConditionalHandle handle;
	CUgraph graph, *bodies;
	CUgraphExec exec;
	CUgraphNode node;

	(void)state;
	assert_cu(cuGraphCreate(&graph, 0));
	handle = handle_of(graph, 0);
	node = add_tell(graph, handle, NULL);
	bodies = add_branch(graph, handle, CU_GRAPH_COND_TYPE_IF, 2, &node);
	add_set(bodies[0], 1, 11);
	add_set(bodies[1], 2, 22);
	assert_int_equal(cuGraphDestroy(bodies[0]), CUDA_ERROR_INVALID_VALUE);
	assert_cu(cuGraphInstantiateWithFlags(&exec, graph, 0));
	/* what the graph decided by lives on in its executable copy */
	assert_cu(cuGraphDestroy(graph));
	run(exec, 5);
	assert_int_equal(word(1), 11);
	assert_int_equal(word(2), 0);
	run(exec, 0);
	assert_int_equal(word(1), 0);
	assert_int_equal(word(2), 22);
	assert_cu(cuGraphExecDestroy(exec));
}

static void a_body_is_run_while_its_kernel_wants_it(void **state)
{
	CUgraphConditionalHandle handle;
	CUgraph graph, *bodies;
	CUgraphExec exec;

	(void)state;
	assert_cu(cuGraphCreate(&graph, 0));
	/* without a kernel in front the first value decides, at each launch */
	handle = handle_of(graph, 1);
	bodies = add_branch(graph, handle, CU_GRAPH_COND_TYPE_WHILE, 1, NULL);
	add_tell(bodies[0], handle, NULL);
	assert_cu(cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (unsigned i = 0; i < 3; i++) {
		run(exec, 100);
		assert_int_equal(word(0), 0);
	}
	assert_cu(cuGraphExecDestroy(exec));
	assert_cu(cuGraphDestroy(graph));
}

static void a_switch_takes_the_body_of_the_number(void **state)
{
	CUgraphConditionalHandle handle;
	CUgraph graph, *bodies;
	CUgraphExec exec;
	CUgraphNode node;

	(void)state;
	assert_cu(cuGraphCreate(&graph, 0));
	handle = handle_of(graph, 0);
	node = add_tell(graph, handle, NULL);
	bodies = add_branch(graph, handle, CU_GRAPH_COND_TYPE_SWITCH, 3, &node);
	for (unsigned i = 0; i < 3; i++)
		add_set(bodies[i], 10 + i, 1);
	assert_cu(cuGraphInstantiateWithFlags(&exec, graph, 0));
	for (unsigned value = 0; value < 5; value++) {
		run(exec, value);
		for (unsigned i = 0; i < 3; i++)
			assert_int_equal(word(10 + i), i == value);
	}
	assert_cu(cuGraphExecDestroy(exec));
	assert_cu(cuGraphDestroy(graph));
}

static void branches_stand_in_branches_and_are_captured(void **state)
{
	CUgraphConditionalHandle outer, inner;
	CUgraph graph, told, *bodies, *inside;
	CUgraphExec exec;
	CUgraphNode node;
	CUstream stream;

	(void)state;
	assert_cu(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	assert_cu(cuGraphCreate(&graph, 0));
	outer = handle_of(graph, 1);
	inner = handle_of(graph, 0);
	bodies = add_branch(graph, outer, CU_GRAPH_COND_TYPE_WHILE, 1, NULL);
	node = add_tell(bodies[0], outer, NULL);
	node = add_tell(bodies[0], inner, &node);
	inside = add_branch(bodies[0], inner, CU_GRAPH_COND_TYPE_IF, 1, &node);
	assert_cu(cuStreamBeginCaptureToGraph(stream, inside[0], NULL, NULL, 0,
					      CU_STREAM_CAPTURE_MODE_RELAXED));
	assert_cu(cuMemcpyDtoDAsync_v2(words + 4, words, 4, stream));
	assert_cu(cuStreamEndCapture(stream, &told));
	assert_ptr_equal(told, inside[0]);
	assert_cu(cuGraphInstantiateWithFlags(&exec, graph, 0));
	/* 5, 3 and 1 are told to the outer one, 4 and 2 to the inner one, which saw 3 and 1 */
	run(exec, 5);
	assert_int_equal(word(0), 0);
	assert_int_equal(word(1), 1);
	assert_cu(cuGraphExecDestroy(exec));
	assert_cu(cuGraphDestroy(graph));
	assert_cu(cuStreamDestroy_v2(stream));
}

static void what_is_not_allowed_is_refused(void **state)
{
	CUgraphNodeParams p = { .type = CU_GRAPH_NODE_TYPE_CONDITIONAL };
	CUDA_GRAPH_INSTANTIATE_PARAMS how = { 0 };
	CUgraph graph, other, *bodies;
	CUgraphNode node, event_node;
	CUgraphExec exec;
	CUevent event;

	(void)state;
	assert_cu(cuEventCreate(&event, 0));
	assert_cu(cuGraphCreate(&graph, 0));
	p.conditional.ctx = context;
	p.conditional.size = 1;
	p.conditional.handle = 12345;
	assert_int_equal(cuGraphAddNode(&node, graph, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
	p.conditional.handle = handle_of(graph, 0);
	/* a condition that no node looks at */
	assert_int_equal(cuGraphInstantiateWithParams(&exec, graph, &how),
			 CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(how.result_out, CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED);
	p.conditional.size = 3;
	assert_int_equal(cuGraphAddNode(&node, graph, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
	p.conditional.size = 1;
	assert_cu(cuGraphAddNode(&node, graph, NULL, 0, &p));
	bodies = p.conditional.phGraph_out;
	assert_int_equal(cuGraphAddNode(&node, graph, NULL, 0, &p), CUDA_ERROR_INVALID_VALUE);
	assert_int_equal(cuGraphClone(&other, graph), CUDA_ERROR_NOT_SUPPORTED);
	/* a kind of node that a body may not have */
	assert_cu(cuGraphAddEventRecordNode(&event_node, bodies[0], NULL, 0, event));
	assert_int_equal(cuGraphInstantiateWithParams(&exec, graph, &how),
			 CUDA_ERROR_NOT_SUPPORTED);
	assert_int_equal(how.result_out, CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED);
	assert_ptr_equal(how.hErrNode_out, event_node);
	assert_cu(cuGraphDestroy(graph));
	assert_cu(cuEventDestroy_v2(event));
}

static void an_update_reaches_into_bodies(void **state)
{
	CUDA_MEMSET_NODE_PARAMS set = {
		.dst = words + 4, .value = 3, .elementSize = 4, .width = 1, .height = 1
	};
	CUgraphExecUpdateResultInfo info;
	CUgraph graphs[2], *bodies = NULL;
	CUgraphConditionalHandle handle;
	CUgraphNode inner[2];
	CUgraphExec exec;
	size_t n = 1;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		assert_cu(cuGraphCreate(&graphs[i], 0));
		handle = handle_of(graphs[i], 1);
		bodies = add_branch(graphs[i], handle, CU_GRAPH_COND_TYPE_IF, 1, NULL);
		add_set(bodies[0], 1, 1 + i);
		assert_cu(cuGraphGetNodes(bodies[0], &inner[i], &n));
	}
	assert_cu(cuGraphInstantiateWithFlags(&exec, graphs[0], 0));
	run(exec, 0);
	assert_int_equal(word(1), 1);
	assert_cu(cuGraphExecMemsetNodeSetParams(exec, inner[0], &set, context));
	run(exec, 0);
	assert_int_equal(word(1), 3);
	assert_cu(cuGraphExecUpdate_v2(exec, graphs[1], &info));
	run(exec, 0);
	assert_int_equal(word(1), 2);
	add_set(bodies[0], 2, 1);
	assert_int_equal(cuGraphExecUpdate_v2(exec, graphs[1], &info),
			 CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
	assert_int_equal(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
	assert_cu(cuGraphExecDestroy(exec));
	for (unsigned i = 0; i < 2; i++)
		assert_cu(cuGraphDestroy(graphs[i]));
}

/* The last one: the context is lost by it. */
static void a_condition_that_is_none_is_a_fault(void **state)
{
	CUgraphConditionalHandle handle = 12345;
	void *params[] = { &handle, &words };

	(void)state;
	assert_cu(cuLaunchKernel(tell, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
	assert_int_equal(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_says_which_of_two_is_run),
		cmocka_unit_test(a_body_is_run_while_its_kernel_wants_it),
		cmocka_unit_test(a_switch_takes_the_body_of_the_number),
		cmocka_unit_test(branches_stand_in_branches_and_are_captured),
		cmocka_unit_test(what_is_not_allowed_is_refused),
		cmocka_unit_test(an_update_reaches_into_bodies),
		cmocka_unit_test(a_condition_that_is_none_is_a_fault),
	};
	int r;

	test_device_make("16M");
	if (cuInit(0) || cuCtxCreate_v2(&context, 0, 0) || cuMemAlloc_v2(&words, 256))
		return 1;
	tell = test_function(text, "tell");
	r = cmocka_run_group_tests_name("softgpu-branch", tests, NULL, NULL);
	test_device_remove();
	return r;
}
