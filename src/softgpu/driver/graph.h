/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Graphs: commands with dependencies that are launched together, any number of times. A node can
 * only depend on nodes that are there already, so the order in which they were added is an order
 * in which they may run; a launch submits them in that order to one stream. Nodes that could run
 * side by side run one after the other here: slower than on a card at times, never wrong.
 *
 * A graph is guarded by the queues' lock while a capture records into it; otherwise the program
 * sees to it, as the interface demands.
 */

#include <stddef.h>

#include "softgpu/driver/command.h"
#include "softgpu/driver/object.h"

struct slu_graph;

struct slu_graph_node {
	struct slu_object object;
	struct slu_graph *graph;
	struct slu_command *command;  /* owned */
	struct slu_graph_node **deps; /* owned array; the nodes are the graph's */
	size_t n_deps;
	size_t index;
};

struct slu_graph {
	struct slu_object object;
	struct slu_graph_node **nodes; /* owned */
	size_t n_nodes;
};

struct slu_graph_exec {
	struct slu_object object;
	struct slu_command **commands; /* owned */
	size_t n_commands;
	unsigned long long flags;
};

struct slu_graph *slu_graph_new(void);
void slu_graph_free(struct slu_graph *graph);
struct slu_graph *slu_graph_get(CUgraph handle);
struct slu_graph_node *slu_graph_get_node(CUgraphNode handle);

/* Adds a node; owns @command afterwards, also when there is no memory (then NULL). */
struct slu_graph_node *slu_graph_add(struct slu_graph *graph, struct slu_command *command,
				     struct slu_graph_node *const *deps, size_t n_deps);

/* Whether @later waits, over any number of nodes, for @earlier. */
bool slu_graph_follows(const struct slu_graph_node *later, const struct slu_graph_node *earlier);

/* A copy that is not changed by later changes of the graph. Return: NULL without memory. */
struct slu_graph *slu_graph_clone(const struct slu_graph *graph);
struct slu_graph_exec *slu_graph_instantiate(const struct slu_graph *graph);
void slu_graph_exec_free(struct slu_graph_exec *exec);
struct slu_graph_exec *slu_graph_exec_get(CUgraphExec handle);

CUresult slu_graph_launch(struct slu_graph_exec *exec, struct slu_stream *stream);
