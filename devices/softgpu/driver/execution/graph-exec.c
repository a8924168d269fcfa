/* SPDX-License-Identifier: Apache-2.0 */

/* Executable graphs: made, brought up to date, launched. */

#include <stdlib.h>

#include "softgpu/driver/execution/condition.h"
#include "softgpu/driver/execution/event.h"
#include "softgpu/driver/execution/graph.h"
#include "softgpu/driver/execution/graph-memory.h"
#include "softgpu/driver/execution/operation.h"
#include "softgpu/driver/images/module.h"

static struct dev_objects execs = DEV_OBJECTS_INIT(struct dev_graph_exec);

struct dev_graph_exec *dev_graph_instantiate(const struct dev_graph *graph)
{
	struct dev_graph_exec *exec = dev_object_new(&execs);

	if (!exec)
		return NULL;
	exec->graph = dev_graph_clone(graph);
	if (exec->graph)
		exec->order = dev_graph_order(exec->graph);
	if (!exec->order) {
		dev_graph_exec_free(exec);
		return NULL;
	}
	return exec;
}

void dev_graph_exec_free(struct dev_graph_exec *exec)
{
	free(exec->order);
	dev_graph_free(exec->graph);
	dev_object_free(&execs, exec);
}

struct dev_graph_exec *dev_graph_exec_get(CUgraphExec handle)
{
	return dev_object_get(&execs, handle);
}

static CUresult launch_child(const struct dev_graph *graph, struct dev_stream *stream);

static CUresult ready_bodies(const struct dev_command_branch *branch);

/* What a graph inside of a branch needs before it may be entered. */
static CUresult exec_ready(const struct dev_graph *graph)
{
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; i < graph->n_nodes && !result; i++) {
		const struct dev_command *command = graph->nodes[i]->command;

		if (command->kind == DEV_COMMAND_KERNEL)
			result = dev_module_function_load(command->kernel.function);
		else if (command->kind == DEV_COMMAND_GRAPH)
			result = exec_ready(command->graph);
		else if (command->kind == DEV_COMMAND_BRANCH)
			result = ready_bodies(&command->branch);
	}
	return result;
}

static CUresult ready_bodies(const struct dev_command_branch *branch)
{
	CUresult result = CUDA_SUCCESS;

	for (unsigned i = 0; i < branch->n_bodies && !result; i++)
		result = exec_ready(branch->bodies[i]);
	return result;
}

/* Memory of the graph's launch is there before anything of it is submitted, or nothing is. */
static CUresult exec_use_memory(const struct dev_graph *graph, size_t *n_used)
{
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; i < graph->n_nodes && !result; i++) {
		const struct dev_command *command = graph->nodes[i]->command;

		if (command->kind == DEV_COMMAND_GRAPH) {
			result = exec_use_memory(command->graph, n_used);
		} else if (command->kind == DEV_COMMAND_ALLOC) {
			result = dev_graph_memory_use(command->memory);
			*n_used += !result;
		}
	}
	return result;
}

/* The first @n_used of them. */
static void exec_unuse_memory(const struct dev_graph *graph, size_t *n_used)
{
	for (size_t i = 0; i < graph->n_nodes && *n_used; i++) {
		const struct dev_command *command = graph->nodes[i]->command;

		if (command->kind == DEV_COMMAND_GRAPH) {
			exec_unuse_memory(command->graph, n_used);
		} else if (command->kind == DEV_COMMAND_ALLOC) {
			dev_graph_memory_unuse(command->memory);
			--*n_used;
		}
	}
}

static CUresult exec_submit(const struct dev_command *command, struct dev_stream *stream)
{
	struct dev_command *clone = dev_command_clone(command);
	CUresult result;
	bool is_pageable;

	if (!clone)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = dev_command_check(stream->context, clone, stream->capture, &is_pageable);
	if (result) {
		dev_command_free(clone);
		return result;
	}
	/* in a capture it becomes a part of another graph */
	if (!stream->capture)
		dev_graph_memory_launched(clone);
	return dev_stream_submit(stream, clone);
}

static CUresult launch_batch(const struct dev_command_batch *batch, struct dev_stream *stream)
{
	CUresult result = CUDA_SUCCESS;

	for (unsigned i = 0; i < batch->n && !result; i++) {
		struct dev_command *command;

		result = dev_operation_command(&batch->ops[i], &command);
		if (result || !command)
			continue;
		result = exec_submit(command, stream);
		dev_command_free(command);
	}
	return result;
}

static CUresult launch_one(const struct dev_command *command, struct dev_stream *stream)
{
	struct dev_event *event;
	CUresult result;

	switch (command->kind) {
	case DEV_COMMAND_KERNEL:
		result = dev_module_function_load(command->kernel.function);
		return result ? result : exec_submit(command, stream);
	case DEV_COMMAND_RECORD:
	case DEV_COMMAND_AWAIT:
		event = dev_event_get(command->event);
		if (!event)
			return CUDA_ERROR_INVALID_HANDLE;
		return command->kind == DEV_COMMAND_RECORD ? dev_event_record(event, stream)
							   : dev_event_wait_in(event, stream);
	case DEV_COMMAND_GRAPH:
		return launch_child(command->graph, stream);
	case DEV_COMMAND_BRANCH:
		result = ready_bodies(&command->branch);
		return result ? result : exec_submit(command, stream);
	case DEV_COMMAND_BATCH:
		return launch_batch(&command->batch, stream);
	default:
		return exec_submit(command, stream);
	}
}

static CUresult launch_child(const struct dev_graph *graph, struct dev_stream *stream)
{
	struct dev_graph_node **order = dev_graph_order(graph);
	CUresult result = order ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	for (size_t i = 0; i < graph->n_nodes && !result; i++)
		result = launch_one(order[i]->command, stream);
	free(order);
	return result;
}

static CUresult submit_first_value(struct dev_condition *condition, struct dev_stream *stream)
{
	struct dev_command *command;

	if (!condition->is_assigned)
		return CUDA_SUCCESS;
	command = dev_command_new(DEV_COMMAND_ARM);
	if (!command)
		return CUDA_ERROR_OUT_OF_MEMORY;
	command->condition = dev_condition_ref(condition);
	return dev_stream_submit(stream, command);
}

/* Conditions get their first value when the graph starts, those of inner branches as well. */
static CUresult exec_arm(const struct dev_graph *graph, struct dev_stream *stream)
{
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; i < graph->n_nodes && !result; i++) {
		const struct dev_command *command = graph->nodes[i]->command;

		if (command->kind != DEV_COMMAND_BRANCH)
			continue;
		/* a capture would make it a part of another graph */
		if (stream->capture)
			return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		result = submit_first_value(command->branch.condition, stream);
		for (unsigned k = 0; k < command->branch.n_bodies && !result; k++)
			result = exec_arm(command->branch.bodies[k], stream);
	}
	return result;
}

static CUresult exec_launch(struct dev_graph_exec *exec, struct dev_stream *stream)
{
	CUresult result = exec_arm(exec->graph, stream);

	for (size_t i = 0; i < exec->graph->n_nodes && !result; i++)
		if (!exec->order[i]->is_disabled)
			result = launch_one(exec->order[i]->command, stream);
	return result;
}

CUresult dev_graph_launch(struct dev_graph_exec *exec, struct dev_stream *stream)
{
	CUresult result = CUDA_SUCCESS;
	size_t n_used = 0;

	if (!stream->capture)
		result = exec_use_memory(exec->graph, &n_used);
	if (!result)
		result = exec_launch(exec, stream);
	exec_unuse_memory(exec->graph, &n_used);
	return result;
}

CUresult dev_graph_upload(struct dev_graph_exec *exec)
{
	size_t n_used = 0;
	CUresult result = exec_use_memory(exec->graph, &n_used);

	exec_unuse_memory(exec->graph, &n_used);
	return result;
}

/* Return: what keeps the commands of @fresh from taking the places of those of @graph, and where
 * that is. */
static CUgraphExecUpdateResult compare_all(const struct dev_graph *graph,
					   const struct dev_graph *fresh, CUgraphNode *ret_node);

static CUgraphExecUpdateResult compare_branches(const struct dev_command_branch *branch,
						const struct dev_command_branch *fresh)
{
	CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
	CUgraphNode inner;

	if (branch->type != fresh->type || branch->n_bodies != fresh->n_bodies)
		return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
	for (unsigned i = 0; i < branch->n_bodies && !result; i++)
		result = compare_all(branch->bodies[i], fresh->bodies[i], &inner);
	return result;
}

static CUgraphExecUpdateResult exec_compare(const struct dev_graph_node *node,
					    const struct dev_graph_node *fresh)
{
	if (node->command->kind != fresh->command->kind)
		return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
	if (node->n_deps != fresh->n_deps)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	for (size_t i = 0; i < node->n_deps; i++)
		if (node->deps[i]->index != fresh->deps[i]->index)
			return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	/* memory that a graph owns has its address for good */
	if (node->command->kind == DEV_COMMAND_ALLOC &&
	    node->command->memory != fresh->command->memory)
		return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
	if (node->command->kind == DEV_COMMAND_BRANCH)
		return compare_branches(&node->command->branch, &fresh->command->branch);
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static CUgraphExecUpdateResult compare_all(const struct dev_graph *graph,
					   const struct dev_graph *fresh, CUgraphNode *ret_node)
{
	CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;

	*ret_node = NULL;
	if (graph->n_nodes != fresh->n_nodes)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	for (size_t i = 0; i < graph->n_nodes && !result; i++) {
		result = exec_compare(graph->nodes[i], fresh->nodes[i]);
		if (result)
			*ret_node = (CUgraphNode)(void *)fresh->nodes[i];
	}
	return result;
}

CUresult dev_graph_update(struct dev_graph_exec *exec, const struct dev_graph *graph,
			  CUgraphExecUpdateResultInfo *ret_info)
{
	struct dev_graph *clone;

	*ret_info = (CUgraphExecUpdateResultInfo){ .result = CU_GRAPH_EXEC_UPDATE_SUCCESS };
	ret_info->result = compare_all(exec->graph, graph, &ret_info->errorNode);
	if (ret_info->result)
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	/* all of it or nothing */
	clone = dev_graph_clone(graph);
	if (!clone) {
		ret_info->result = CU_GRAPH_EXEC_UPDATE_ERROR;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	for (size_t i = 0; i < graph->n_nodes; i++) {
		struct dev_command *old = exec->graph->nodes[i]->command;

		exec->graph->nodes[i]->command = clone->nodes[i]->command;
		clone->nodes[i]->command = old;
	}
	dev_graph_free(clone);
	return CUDA_SUCCESS;
}
