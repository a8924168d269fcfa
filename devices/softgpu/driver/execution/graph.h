/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Graphs: commands with dependencies that are launched together, any number of times. A launch
 * submits them, in an order that their dependencies allow, to one stream. Nodes that could run side
 * by side run one after the other here: slower than on a card at times, never wrong.
 *
 * An executable graph is a copy that later changes of its graph do not touch; its nodes know which
 * ones they are copies of.
 *
 * A graph is guarded by the queues' lock while a capture records into it; otherwise the program
 * sees to it, as the interface demands.
 */

#include <stddef.h>

#include "softgpu/driver/execution/command.h"
#include "softgpu/driver/object.h"

struct dev_graph;

struct dev_graph_node {
	struct dev_object object;
	struct dev_graph *graph;
	struct dev_command *command;  /* owned */
	struct dev_graph_node **deps; /* owned array; the nodes are the graph's */
	size_t n_deps;
	size_t index;			     /* in the graph */
	const struct dev_graph_node *origin; /* what it is a copy of; may be gone */
	bool is_disabled;		     /* of an executable graph */
};

/* Something of the program's that shall live as long as the graphs that use it. */
struct dev_user_object {
	struct dev_object object;
	unsigned n_refs; /* atomic */
	CUhostFn destroy;
	void *pointer;
};

struct dev_graph {
	struct dev_object object;
	struct dev_graph_node **nodes; /* owned */
	size_t n_nodes;
	struct dev_user_object **users; /* owned array; one entry a reference */
	size_t n_users;
	struct dev_condition **conditions; /* owned array; one entry a reference */
	size_t n_conditions;
	bool is_child; /* belongs to a node */
};

struct dev_graph_exec {
	struct dev_object object;
	struct dev_graph *graph;       /* owned */
	struct dev_graph_node **order; /* owned array: one in which the nodes may run */
	unsigned long long flags;
};

struct dev_graph *dev_graph_new(void);
void dev_graph_free(struct dev_graph *graph);
struct dev_graph *dev_graph_get(CUgraph handle);
struct dev_graph_node *dev_graph_get_node(CUgraphNode handle);

/* Adds a node; owns @command afterwards, also when there is no memory (then NULL). */
struct dev_graph_node *dev_graph_add(struct dev_graph *graph, struct dev_command *command,
				     struct dev_graph_node *const *deps, size_t n_deps);
void dev_graph_remove(struct dev_graph_node *node);

/* Whether @later waits, over any number of nodes, for @earlier. */
bool dev_graph_follows(const struct dev_graph_node *later, const struct dev_graph_node *earlier);

/* Return: 0, -EEXIST (it is there), -ELOOP (a ring would arise), -ENOENT (there is none), -ENOMEM
 */
int dev_graph_depend(struct dev_graph_node *later, struct dev_graph_node *earlier);
int dev_graph_undepend(struct dev_graph_node *later, struct dev_graph_node *earlier);

/* A copy that is not changed by later changes of the graph. Return: NULL without memory. */
struct dev_graph *dev_graph_clone(const struct dev_graph *graph);

/* Return: the node of @graph, or of a graph inside of it, that is a copy of @origin, or NULL. */
struct dev_graph_node *dev_graph_find_copy(const struct dev_graph *graph,
					   const struct dev_graph_node *origin);

/* Return: an array, the caller's, in which every node comes after those that it waits for. */
struct dev_graph_node **dev_graph_order(const struct dev_graph *graph);

/* The graph keeps it from now on, and takes over the caller's reference. Return: 0 or -ENOMEM. */
int dev_graph_keep_condition(struct dev_graph *graph, struct dev_condition *condition);

/* -- executable ones ------------------------------------------------------------------------ */
struct dev_graph_exec *dev_graph_instantiate(const struct dev_graph *graph);
void dev_graph_exec_free(struct dev_graph_exec *exec);
struct dev_graph_exec *dev_graph_exec_get(CUgraphExec handle);

CUresult dev_graph_launch(struct dev_graph_exec *exec, struct dev_stream *stream);

/* Makes the memory that a launch will need. */
CUresult dev_graph_upload(struct dev_graph_exec *exec);

/* Takes over the commands of @graph, where that has the same shape. */
CUresult dev_graph_update(struct dev_graph_exec *exec, const struct dev_graph *graph,
			  CUgraphExecUpdateResultInfo *ret_info);

/* -- what graphs keep alive ----------------------------------------------------------------- */
struct dev_user_object *dev_graph_object_new(void *pointer, CUhostFn destroy, unsigned n_refs);
struct dev_user_object *dev_graph_object_get(CUuserObject handle);
void dev_graph_object_ref(struct dev_user_object *user, unsigned n);
void dev_graph_object_unref(struct dev_user_object *user, unsigned n);
int dev_graph_retain(struct dev_graph *graph, struct dev_user_object *user, unsigned n);
int dev_graph_release(struct dev_graph *graph, struct dev_user_object *user, unsigned n);
