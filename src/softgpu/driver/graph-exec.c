/* SPDX-License-Identifier: Apache-2.0 */

/* Executable graphs: made, brought up to date, launched. */

#include <stdlib.h>

#include "softgpu/driver/event.h"
#include "softgpu/driver/graph-memory.h"
#include "softgpu/driver/graph.h"
#include "softgpu/driver/module.h"

static struct slu_objects execs = SLU_OBJECTS_INIT(struct slu_graph_exec);

/* An order in which every node comes after those that it waits for. */
static struct slu_graph_node **make_order(const struct slu_graph *graph)
{
	struct slu_graph_node **order = calloc(graph->n_nodes + 1, sizeof(*order));
	bool *is_placed = calloc(graph->n_nodes + 1, sizeof(*is_placed));
	size_t n = 0, before;

	while (order && is_placed && n < graph->n_nodes) {
		before = n;
		for (size_t i = 0; i < graph->n_nodes; i++) {
			struct slu_graph_node *node = graph->nodes[i];
			bool is_ready = !is_placed[i];

			for (size_t j = 0; j < node->n_deps; j++)
				is_ready = is_ready && is_placed[node->deps[j]->index];
			if (!is_ready)
				continue;
			is_placed[i] = true;
			order[n++] = node;
		}
		/* no ring can have been made, so each round places one at least */
		if (n == before)
			break;
	}
	free(is_placed);
	return order;
}

struct slu_graph_exec *slu_graph_instantiate(const struct slu_graph *graph)
{
	struct slu_graph_exec *exec = slu_objects_new(&execs);

	if (!exec)
		return NULL;
	exec->graph = slu_graph_clone(graph);
	if (exec->graph)
		exec->order = make_order(exec->graph);
	if (!exec->order) {
		slu_graph_exec_free(exec);
		return NULL;
	}
	return exec;
}

void slu_graph_exec_free(struct slu_graph_exec *exec)
{
	free(exec->order);
	slu_graph_free(exec->graph);
	slu_objects_free(&execs, exec);
}

struct slu_graph_exec *slu_graph_exec_get(CUgraphExec handle)
{
	return slu_objects_get(&execs, handle);
}

static CUresult launch_child(const struct slu_graph *graph, struct slu_stream *stream);

static CUresult submit(const struct slu_command *command, struct slu_stream *stream)
{
	struct slu_command *clone = slu_command_clone(command);
	CUresult result;
	bool is_pageable;

	if (!clone)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = slu_command_check(stream->context, clone, &is_pageable);
	if (result) {
		slu_command_free(clone);
		return result;
	}
	return slu_stream_submit(stream, clone);
}

static CUresult launch_one(const struct slu_command *command, struct slu_stream *stream)
{
	struct slu_event *event;
	CUresult result;

	switch (command->kind) {
	case SLU_COMMAND_KERNEL:
		result = slu_function_load(command->kernel.function);
		return result ? result : submit(command, stream);
	case SLU_COMMAND_RECORD:
	case SLU_COMMAND_AWAIT:
		event = slu_event_get(command->event);
		if (!event)
			return CUDA_ERROR_INVALID_HANDLE;
		return command->kind == SLU_COMMAND_RECORD ? slu_event_record(event, stream)
							   : slu_event_wait_in(event, stream);
	case SLU_COMMAND_GRAPH:
		return launch_child(command->graph, stream);
	case SLU_COMMAND_ALLOC:
		slu_graph_memory_launched(command->memory);
		return submit(command, stream);
	default:
		return submit(command, stream);
	}
}

static CUresult launch_child(const struct slu_graph *graph, struct slu_stream *stream)
{
	struct slu_graph_node **order = make_order(graph);
	CUresult result = order ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;

	for (size_t i = 0; i < graph->n_nodes && !result; i++)
		result = launch_one(order[i]->command, stream);
	free(order);
	return result;
}

CUresult slu_graph_launch(struct slu_graph_exec *exec, struct slu_stream *stream)
{
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; i < exec->graph->n_nodes && !result; i++)
		if (!exec->order[i]->is_disabled)
			result = launch_one(exec->order[i]->command, stream);
	return result;
}

/* Return: what keeps @fresh from taking the place of @node. */
static CUgraphExecUpdateResult compare(const struct slu_graph_node *node,
				       const struct slu_graph_node *fresh)
{
	if (node->command->kind != fresh->command->kind)
		return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
	if (node->n_deps != fresh->n_deps)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	for (size_t i = 0; i < node->n_deps; i++)
		if (node->deps[i]->index != fresh->deps[i]->index)
			return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	/* memory that a graph owns has its address for good */
	if (node->command->kind == SLU_COMMAND_ALLOC &&
	    node->command->memory != fresh->command->memory)
		return CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
	return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

CUresult slu_graph_update(struct slu_graph_exec *exec, const struct slu_graph *graph,
			  CUgraphExecUpdateResultInfo *ret_info)
{
	struct slu_graph *clone;

	*ret_info = (CUgraphExecUpdateResultInfo){ .result = CU_GRAPH_EXEC_UPDATE_SUCCESS };
	if (exec->graph->n_nodes != graph->n_nodes) {
		ret_info->result = CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
		return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
	}
	for (size_t i = 0; i < graph->n_nodes; i++) {
		ret_info->result = compare(exec->graph->nodes[i], graph->nodes[i]);
		if (ret_info->result) {
			ret_info->errorNode = (CUgraphNode)(void *)graph->nodes[i];
			return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
		}
	}
	/* all of it or nothing */
	clone = slu_graph_clone(graph);
	if (!clone) {
		ret_info->result = CU_GRAPH_EXEC_UPDATE_ERROR;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	for (size_t i = 0; i < graph->n_nodes; i++) {
		struct slu_command *old = exec->graph->nodes[i]->command;

		exec->graph->nodes[i]->command = clone->nodes[i]->command;
		clone->nodes[i]->command = old;
	}
	slu_graph_free(clone);
	return CUDA_SUCCESS;
}
