/* SPDX-License-Identifier: Apache-2.0 */

/* A graph as a picture for Graphviz: one box a node, with its kind and what it is about. */

#include <inttypes.h>
#include <stdio.h>

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/execution/graph.h"
#include "softgpu/driver/images/module.h"

static const char *const kinds[] = {
	[DEV_COMMAND_EMPTY] = "empty",	      [DEV_COMMAND_COPY] = "memcpy",
	[DEV_COMMAND_SET] = "memset",	      [DEV_COMMAND_KERNEL] = "kernel",
	[DEV_COMMAND_HOST] = "host",	      [DEV_COMMAND_RECORD] = "event record",
	[DEV_COMMAND_AWAIT] = "event wait",   [DEV_COMMAND_GRAPH] = "child graph",
	[DEV_COMMAND_ALLOC] = "mem alloc",    [DEV_COMMAND_FREE] = "mem free",
	[DEV_COMMAND_BRANCH] = "conditional", [DEV_COMMAND_BATCH] = "batch mem op",
	[DEV_COMMAND_WRITE] = "write value",  [DEV_COMMAND_WAIT] = "wait value",
};

static void write_label(FILE *file, const struct dev_command *c)
{
	fprintf(file, "%s",
		c->kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[c->kind] ? kinds[c->kind]
									     : "other");
	if (c->kind == DEV_COMMAND_KERNEL)
		fprintf(file, "\\n%s\\n%ux%ux%u by %ux%ux%u", c->kernel.function->kernel->name,
			c->kernel.grid[0], c->kernel.grid[1], c->kernel.grid[2], c->kernel.block[0],
			c->kernel.block[1], c->kernel.block[2]);
	else if (c->kind == DEV_COMMAND_COPY)
		fprintf(file, "\\n%" PRIu64 "x%" PRIu64 "x%" PRIu64, c->copy.width, c->copy.height,
			c->copy.depth);
	else if (c->kind == DEV_COMMAND_SET)
		fprintf(file, "\\n%" PRIu64 "x%" PRIu64 " of %u", c->set.width, c->set.height,
			c->set.size);
}

/* Nodes of a graph have numbers of their own behind the prefix of theirs: graph_0_3. */
static void write_graph(FILE *file, const struct dev_graph *graph, const char *prefix)
{
	char inner[256];

	for (size_t i = 0; i < graph->n_nodes; i++) {
		const struct dev_graph_node *node = graph->nodes[i];
		const struct dev_command *c = node->command;

		fprintf(file, "\"%s_%zu\" [shape=box, label=\"", prefix, i);
		write_label(file, c);
		fprintf(file, "\"];\n");
		for (size_t j = 0; j < node->n_deps; j++)
			fprintf(file, "\"%s_%zu\" -> \"%s_%zu\";\n", prefix, node->deps[j]->index,
				prefix, i);
		snprintf(inner, sizeof(inner), "%s_%zu", prefix, i);
		if (c->kind == DEV_COMMAND_GRAPH) {
			fprintf(file, "subgraph \"cluster_%s\" {\n", inner);
			write_graph(file, c->graph, inner);
			fprintf(file, "}\n");
		}
		for (unsigned k = 0; c->kind == DEV_COMMAND_BRANCH && k < c->branch.n_bodies; k++) {
			snprintf(inner, sizeof(inner), "%s_%zu_body%u", prefix, i, k);
			fprintf(file, "subgraph \"cluster_%s\" {\n", inner);
			write_graph(file, c->branch.bodies[k], inner);
			fprintf(file, "}\n");
		}
	}
}

/* The flags ask for more or less of the parameters; here there is one measure for all. */
CUresult cuGraphDebugDotPrint(CUgraph handle, const char *path, unsigned int flags)
{
	struct dev_graph *graph;
	FILE *file;
	bool is_whole;

	(void)flags;
	DEV_TRY(dev_driver_enter());
	graph = dev_graph_get(handle);
	if (!graph || !path)
		return CUDA_ERROR_INVALID_VALUE;
	file = fopen(path, "we");
	if (!file)
		return CUDA_ERROR_OPERATING_SYSTEM;
	fprintf(file, "digraph graph_0 {\n");
	write_graph(file, graph, "graph_0");
	fprintf(file, "}\n");
	is_whole = !ferror(file);
	return fclose(file) || !is_whole ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}
