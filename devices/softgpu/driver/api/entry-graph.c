/* SPDX-License-Identifier: Apache-2.0 */

/* Graphs as wholes: made, looked at, changed. Their nodes are in entry-node.c. */

#include <errno.h>

#include "softgpu/driver/api/entry.h"
#include "softgpu/driver/execution/branch.h"
#include "softgpu/driver/execution/graph.h"

static CUgraph handle_of(struct dev_graph *graph)
{
	return (CUgraph)(void *)graph;
}

static CUgraphNode node_handle(const struct dev_graph_node *node)
{
	return (CUgraphNode)(void *)(uintptr_t)node;
}

CUresult cuGraphCreate(CUgraph *ret_graph, unsigned int flags)
{
	struct dev_graph *graph;

	DEV_TRY(dev_driver_enter());
	if (!ret_graph || flags)
		return CUDA_ERROR_INVALID_VALUE;
	graph = dev_graph_new();
	if (!graph)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_graph = handle_of(graph);
	return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph handle)
{
	struct dev_graph *graph;

	DEV_TRY(dev_driver_enter());
	graph = dev_graph_get(handle);
	if (!graph || graph->is_child)
		return CUDA_ERROR_INVALID_VALUE;
	dev_graph_free(graph);
	return CUDA_SUCCESS;
}

CUresult cuGraphClone(CUgraph *ret_clone, CUgraph handle)
{
	struct dev_graph *graph, *clone;

	DEV_TRY(dev_driver_enter());
	graph = dev_graph_get(handle);
	if (!ret_clone || !graph)
		return CUDA_ERROR_INVALID_VALUE;
	if (dev_branch_is_in(graph))
		return CUDA_ERROR_NOT_SUPPORTED;
	clone = dev_graph_clone(graph);
	if (!clone)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_clone = handle_of(clone);
	return CUDA_SUCCESS;
}

CUresult cuGraphNodeFindInClone(CUgraphNode *ret_node, CUgraphNode origin, CUgraph clone)
{
	const struct dev_graph_node *node;
	struct dev_graph *graph;

	DEV_TRY(dev_driver_enter());
	graph = dev_graph_get(clone);
	if (!ret_node || !graph || !dev_graph_get_node(origin))
		return CUDA_ERROR_INVALID_VALUE;
	node = dev_graph_find_copy(graph, dev_graph_get_node(origin));
	if (!node)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_node = node_handle(node);
	return CUDA_SUCCESS;
}

/* -- lists: without one, how many there are; with one, those that fit and NULL after them -- */

struct list {
	CUgraphNode *nodes, *others;
	CUgraphEdgeData *edges;
	size_t capacity, n;
};

static void list_add(struct list *list, const struct dev_graph_node *node,
		     const struct dev_graph_node *other)
{
	if (list->n < list->capacity) {
		if (list->nodes)
			list->nodes[list->n] = node_handle(node);
		if (list->others)
			list->others[list->n] = node_handle(other);
		if (list->edges)
			list->edges[list->n] = (CUgraphEdgeData){ 0 };
	}
	list->n++;
}

static CUresult list_end(struct list *list, size_t *n)
{
	for (size_t i = list->n; i < list->capacity; i++) {
		if (list->nodes)
			list->nodes[i] = NULL;
		if (list->others)
			list->others[i] = NULL;
	}
	*n = list->capacity && list->n > list->capacity ? list->capacity : list->n;
	return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *n)
{
	struct list list = { .nodes = nodes };
	struct dev_graph *graph;

	DEV_TRY(dev_driver_enter());
	graph = dev_graph_get(handle);
	if (!graph || !n)
		return CUDA_ERROR_INVALID_VALUE;
	list.capacity = nodes ? *n : 0;
	for (size_t i = 0; i < graph->n_nodes; i++)
		list_add(&list, graph->nodes[i], NULL);
	return list_end(&list, n);
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode *nodes, size_t *n)
{
	struct list list = { .nodes = nodes };
	struct dev_graph *graph;

	DEV_TRY(dev_driver_enter());
	graph = dev_graph_get(handle);
	if (!graph || !n)
		return CUDA_ERROR_INVALID_VALUE;
	list.capacity = nodes ? *n : 0;
	for (size_t i = 0; i < graph->n_nodes; i++)
		if (!graph->nodes[i]->n_deps)
			list_add(&list, graph->nodes[i], NULL);
	return list_end(&list, n);
}

CUresult cuGraphGetEdges_v2(CUgraph handle, CUgraphNode *from, CUgraphNode *to,
			    CUgraphEdgeData *edges, size_t *n)
{
	struct list list = { .nodes = from, .others = to, .edges = edges };
	struct dev_graph *graph;

	DEV_TRY(dev_driver_enter());
	graph = dev_graph_get(handle);
	if (!graph || !n || !from != !to)
		return CUDA_ERROR_INVALID_VALUE;
	list.capacity = from ? *n : 0;
	for (size_t i = 0; i < graph->n_nodes; i++)
		for (size_t j = 0; j < graph->nodes[i]->n_deps; j++)
			list_add(&list, graph->nodes[i]->deps[j], graph->nodes[i]);
	return list_end(&list, n);
}

CUresult cuGraphGetEdges(CUgraph handle, CUgraphNode *from, CUgraphNode *to, size_t *n)
{
	return cuGraphGetEdges_v2(handle, from, to, NULL, n);
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode handle, CUgraphNode *deps,
				       CUgraphEdgeData *edges, size_t *n)
{
	struct list list = { .nodes = deps, .edges = edges };
	struct dev_graph_node *node;

	DEV_TRY(dev_driver_enter());
	node = dev_graph_get_node(handle);
	if (!node || !n)
		return CUDA_ERROR_INVALID_VALUE;
	list.capacity = deps ? *n : 0;
	for (size_t i = 0; i < node->n_deps; i++)
		list_add(&list, node->deps[i], NULL);
	return list_end(&list, n);
}

CUresult cuGraphNodeGetDependencies(CUgraphNode handle, CUgraphNode *deps, size_t *n)
{
	return cuGraphNodeGetDependencies_v2(handle, deps, NULL, n);
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode handle, CUgraphNode *nodes,
					 CUgraphEdgeData *edges, size_t *n)
{
	struct list list = { .nodes = nodes, .edges = edges };
	struct dev_graph_node *node;

	DEV_TRY(dev_driver_enter());
	node = dev_graph_get_node(handle);
	if (!node || !n)
		return CUDA_ERROR_INVALID_VALUE;
	list.capacity = nodes ? *n : 0;
	for (size_t i = 0; i < node->graph->n_nodes; i++)
		for (size_t j = 0; j < node->graph->nodes[i]->n_deps; j++)
			if (node->graph->nodes[i]->deps[j] == node)
				list_add(&list, node->graph->nodes[i], NULL);
	return list_end(&list, n);
}

CUresult cuGraphNodeGetDependentNodes(CUgraphNode handle, CUgraphNode *nodes, size_t *n)
{
	return cuGraphNodeGetDependentNodes_v2(handle, nodes, NULL, n);
}

/* -- dependencies --------------------------------------------------------------------------- */

static CUresult graph_change(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
			     const CUgraphEdgeData *edges, size_t n,
			     int (*apply)(struct dev_graph_node *later,
					  struct dev_graph_node *earlier))
{
	struct dev_graph *graph;

	DEV_TRY(dev_driver_enter());
	graph = dev_graph_get(handle);
	if (!graph)
		return CUDA_ERROR_INVALID_VALUE;
	DEV_TRY(dev_entry_nodes(graph, from, n));
	DEV_TRY(dev_entry_nodes(graph, to, n));
	DEV_TRY(dev_entry_edges(edges, n));
	for (size_t i = 0; i < n; i++) {
		int r = apply(dev_graph_get_node(to[i]), dev_graph_get_node(from[i]));

		if (r)
			return r == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				   const CUgraphEdgeData *edges, size_t n)
{
	return graph_change(graph, from, to, edges, n, dev_graph_depend);
}

CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				size_t n)
{
	return graph_change(graph, from, to, NULL, n, dev_graph_depend);
}

CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				      const CUgraphEdgeData *edges, size_t n)
{
	return graph_change(graph, from, to, edges, n, dev_graph_undepend);
}

CUresult cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				   size_t n)
{
	return graph_change(graph, from, to, NULL, n, dev_graph_undepend);
}

CUresult cuGraphDestroyNode(CUgraphNode handle)
{
	struct dev_graph_node *node;

	DEV_TRY(dev_driver_enter());
	node = dev_graph_get_node(handle);
	if (!node)
		return CUDA_ERROR_INVALID_VALUE;
	/* memory that a graph owns is tied to both of its nodes */
	if (node->command->kind == DEV_COMMAND_ALLOC || node->command->kind == DEV_COMMAND_FREE)
		return CUDA_ERROR_NOT_SUPPORTED;
	dev_graph_remove(node);
	return CUDA_SUCCESS;
}
