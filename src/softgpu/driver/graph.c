/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/graph.h"

#include <stdlib.h>
#include <string.h>

#include "softgpu/driver/module.h"

static struct slu_objects graphs = SLU_OBJECTS_INIT(struct slu_graph);
static struct slu_objects nodes = SLU_OBJECTS_INIT(struct slu_graph_node);
static struct slu_objects execs = SLU_OBJECTS_INIT(struct slu_graph_exec);

struct slu_graph *slu_graph_new(void)
{
	return slu_objects_new(&graphs);
}

static void free_node(struct slu_graph_node *node)
{
	slu_command_free(node->command);
	free(node->deps);
	slu_objects_free(&nodes, node);
}

void slu_graph_free(struct slu_graph *graph)
{
	if (!graph)
		return;
	for (size_t i = 0; i < graph->n_nodes; i++)
		free_node(graph->nodes[i]);
	free(graph->nodes);
	slu_objects_free(&graphs, graph);
}

struct slu_graph *slu_graph_get(CUgraph handle)
{
	return slu_objects_get(&graphs, handle);
}

struct slu_graph_node *slu_graph_get_node(CUgraphNode handle)
{
	return slu_objects_get(&nodes, handle);
}

struct slu_graph_node *slu_graph_add(struct slu_graph *graph, struct slu_command *command,
				     struct slu_graph_node *const *deps, size_t n_deps)
{
	struct slu_graph_node *node = slu_objects_new(&nodes), **array;

	if (!node) {
		slu_command_free(command);
		return NULL;
	}
	node->graph = graph;
	node->command = command;
	node->index = graph->n_nodes;
	node->n_deps = n_deps;
	node->deps = calloc(n_deps + 1, sizeof(*node->deps));
	array = realloc(graph->nodes, (graph->n_nodes + 1) * sizeof(*array));
	if (array)
		graph->nodes = array;
	if (!node->deps || !array) {
		free_node(node);
		return NULL;
	}
	if (n_deps)
		memcpy(node->deps, deps, n_deps * sizeof(*deps));
	graph->nodes[graph->n_nodes++] = node;
	return node;
}

bool slu_graph_follows(const struct slu_graph_node *later, const struct slu_graph_node *earlier)
{
	bool *is_waited_for, follows;

	if (!later || later->index < earlier->index)
		return false;
	is_waited_for = calloc(later->index + 1, sizeof(*is_waited_for));
	if (!is_waited_for)
		return false;
	is_waited_for[later->index] = true;
	for (size_t i = later->index; i > earlier->index; i--) {
		const struct slu_graph_node *node = later->graph->nodes[i];

		for (size_t j = 0; is_waited_for[i] && j < node->n_deps; j++)
			is_waited_for[node->deps[j]->index] = true;
	}
	follows = is_waited_for[earlier->index];
	free(is_waited_for);
	return follows;
}

struct slu_graph *slu_graph_clone(const struct slu_graph *graph)
{
	struct slu_graph *clone = slu_graph_new();

	for (size_t i = 0; clone && i < graph->n_nodes; i++) {
		const struct slu_graph_node *node = graph->nodes[i];
		struct slu_command *command = slu_command_clone(node->command);
		struct slu_graph_node *copy = NULL;

		if (command)
			copy = slu_graph_add(clone, command, node->deps, node->n_deps);
		if (!copy) {
			slu_graph_free(clone);
			return NULL;
		}
		for (size_t j = 0; j < copy->n_deps; j++)
			copy->deps[j] = clone->nodes[copy->deps[j]->index];
	}
	return clone;
}

struct slu_graph_exec *slu_graph_instantiate(const struct slu_graph *graph)
{
	struct slu_graph_exec *exec = slu_objects_new(&execs);

	if (!exec)
		return NULL;
	exec->commands = calloc(graph->n_nodes + 1, sizeof(*exec->commands));
	for (size_t i = 0; exec->commands && i < graph->n_nodes; i++) {
		exec->commands[i] = slu_command_clone(graph->nodes[i]->command);
		if (!exec->commands[i])
			break;
		exec->n_commands++;
	}
	if (!exec->commands || exec->n_commands < graph->n_nodes) {
		slu_graph_exec_free(exec);
		return NULL;
	}
	return exec;
}

void slu_graph_exec_free(struct slu_graph_exec *exec)
{
	for (size_t i = 0; i < exec->n_commands; i++)
		slu_command_free(exec->commands[i]);
	free(exec->commands);
	slu_objects_free(&execs, exec);
}

struct slu_graph_exec *slu_graph_exec_get(CUgraphExec handle)
{
	return slu_objects_get(&execs, handle);
}

static CUresult launch_one(const struct slu_command *command, struct slu_stream *stream)
{
	struct slu_command *clone;
	CUresult result = CUDA_SUCCESS;
	bool is_pageable;

	if (command->kind == SLU_COMMAND_KERNEL)
		result = slu_function_load(command->kernel.function);
	if (result)
		return result;
	clone = slu_command_clone(command);
	if (!clone)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = slu_command_check(stream->context, clone, &is_pageable);
	if (result) {
		slu_command_free(clone);
		return result;
	}
	return slu_stream_submit(stream, clone);
}

CUresult slu_graph_launch(struct slu_graph_exec *exec, struct slu_stream *stream)
{
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; i < exec->n_commands && !result; i++)
		result = launch_one(exec->commands[i], stream);
	return result;
}
