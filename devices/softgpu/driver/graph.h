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

#include "softgpu/driver/command.h"
#include "softgpu/driver/object.h"

struct slu_graph;

struct slu_graph_node {
	struct slu_object object;
	struct slu_graph *graph;
	struct slu_command *command;  /* owned */
	struct slu_graph_node **deps; /* owned array; the nodes are the graph's */
	size_t n_deps;
	size_t index;			     /* in the graph */
	const struct slu_graph_node *origin; /* what it is a copy of; may be gone */
	bool is_disabled;		     /* of an executable graph */
};

/* Something of the program's that shall live as long as the graphs that use it. */
struct slu_user_object {
	struct slu_object object;
	unsigned n_refs; /* atomic */
	CUhostFn destroy;
	void *pointer;
};

struct slu_graph {
	struct slu_object object;
	struct slu_graph_node **nodes; /* owned */
	size_t n_nodes;
	struct slu_user_object **users; /* owned array; one entry a reference */
	size_t n_users;
	struct slu_condition **conditions; /* owned array; one entry a reference */
	size_t n_conditions;
	bool is_child; /* belongs to a node */
};

struct slu_graph_exec {
	struct slu_object object;
	struct slu_graph *graph;       /* owned */
	struct slu_graph_node **order; /* owned array: one in which the nodes may run */
	unsigned long long flags;
};

struct slu_graph *slu_graph_new(void);
void slu_graph_free(struct slu_graph *graph);
struct slu_graph *slu_graph_get(CUgraph handle);
struct slu_graph_node *slu_graph_get_node(CUgraphNode handle);

/* Adds a node; owns @command afterwards, also when there is no memory (then NULL). */
struct slu_graph_node *slu_graph_add(struct slu_graph *graph, struct slu_command *command,
				     struct slu_graph_node *const *deps, size_t n_deps);
void slu_graph_remove(struct slu_graph_node *node);

/* Whether @later waits, over any number of nodes, for @earlier. */
bool slu_graph_follows(const struct slu_graph_node *later, const struct slu_graph_node *earlier);

/* Return: 0, -EEXIST (it is there), -ELOOP (a ring would arise), -ENOENT (there is none), -ENOMEM
 */
int slu_graph_depend(struct slu_graph_node *later, struct slu_graph_node *earlier);
int slu_graph_undepend(struct slu_graph_node *later, struct slu_graph_node *earlier);

/* A copy that is not changed by later changes of the graph. Return: NULL without memory. */
struct slu_graph *slu_graph_clone(const struct slu_graph *graph);

/* Return: the node of @graph, or of a graph inside of it, that is a copy of @origin, or NULL. */
struct slu_graph_node *slu_graph_find_copy(const struct slu_graph *graph,
					   const struct slu_graph_node *origin);

/* Return: an array, the caller's, in which every node comes after those that it waits for. */
struct slu_graph_node **slu_graph_order(const struct slu_graph *graph);

/* The graph keeps it from now on, and takes over the caller's reference. Return: 0 or -ENOMEM. */
int slu_graph_keep_condition(struct slu_graph *graph, struct slu_condition *condition);

/* -- executable ones ------------------------------------------------------------------------ */
struct slu_graph_exec *slu_graph_instantiate(const struct slu_graph *graph);
void slu_graph_exec_free(struct slu_graph_exec *exec);
struct slu_graph_exec *slu_graph_exec_get(CUgraphExec handle);

CUresult slu_graph_launch(struct slu_graph_exec *exec, struct slu_stream *stream);

/* Takes over the commands of @graph, where that has the same shape. */
CUresult slu_graph_update(struct slu_graph_exec *exec, const struct slu_graph *graph,
			  CUgraphExecUpdateResultInfo *ret_info);

/* -- what graphs keep alive ----------------------------------------------------------------- */
struct slu_user_object *slu_user_object_new(void *pointer, CUhostFn destroy, unsigned n_refs);
struct slu_user_object *slu_user_object_get(CUuserObject handle);
void slu_user_object_ref(struct slu_user_object *user, unsigned n);
void slu_user_object_unref(struct slu_user_object *user, unsigned n);
int slu_graph_retain(struct slu_graph *graph, struct slu_user_object *user, unsigned n);
int slu_graph_release(struct slu_graph *graph, struct slu_user_object *user, unsigned n);
