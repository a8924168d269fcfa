/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "softgpu/driver/condition.h"

static struct slu_objects graphs = SLU_OBJECTS_INIT(struct slu_graph);
static struct slu_objects nodes = SLU_OBJECTS_INIT(struct slu_graph_node);
static struct slu_objects users = SLU_OBJECTS_INIT(struct slu_user_object);

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
	for (size_t i = 0; i < graph->n_users; i++)
		slu_user_object_unref(graph->users[i], 1);
	free(graph->users);
	for (size_t i = 0; i < graph->n_conditions; i++)
		slu_condition_unref(graph->conditions[i]);
	free(graph->conditions);
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
	array = reallocarray(graph->nodes, graph->n_nodes + 1, sizeof(*array));
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

int slu_graph_undepend(struct slu_graph_node *later, struct slu_graph_node *earlier)
{
	for (size_t i = 0; i < later->n_deps; i++) {
		if (later->deps[i] != earlier)
			continue;
		memmove(&later->deps[i], &later->deps[i + 1],
			(later->n_deps - i - 1) * sizeof(*later->deps));
		later->n_deps--;
		return 0;
	}
	return -ENOENT;
}

int slu_graph_depend(struct slu_graph_node *later, struct slu_graph_node *earlier)
{
	struct slu_graph_node **deps;

	for (size_t i = 0; i < later->n_deps; i++)
		if (later->deps[i] == earlier)
			return -EEXIST;
	if (later == earlier || slu_graph_follows(earlier, later))
		return -ELOOP;
	deps = reallocarray(later->deps, later->n_deps + 1, sizeof(*deps));
	if (!deps)
		return slu_error(-ENOMEM);
	later->deps = deps;
	deps[later->n_deps++] = earlier;
	return 0;
}

void slu_graph_remove(struct slu_graph_node *node)
{
	struct slu_graph *graph = node->graph;

	for (size_t i = 0; i < graph->n_nodes; i++)
		(void)slu_graph_undepend(graph->nodes[i], node);
	memmove(&graph->nodes[node->index], &graph->nodes[node->index + 1],
		(graph->n_nodes - node->index - 1) * sizeof(*graph->nodes));
	graph->n_nodes--;
	for (size_t i = node->index; i < graph->n_nodes; i++)
		graph->nodes[i]->index = i;
	free_node(node);
}

bool slu_graph_follows(const struct slu_graph_node *later, const struct slu_graph_node *earlier)
{
	const struct slu_graph *graph = earlier->graph;
	const struct slu_graph_node **stack;
	size_t n = 0;
	bool *is_seen, follows = false;

	if (!later)
		return false;
	is_seen = calloc(graph->n_nodes, sizeof(*is_seen));
	stack = calloc(graph->n_nodes, sizeof(*stack));
	if (is_seen && stack) {
		stack[n++] = later;
		is_seen[later->index] = true;
	}
	while (n && !follows) {
		const struct slu_graph_node *node = stack[--n];

		follows = node == earlier;
		for (size_t i = 0; i < node->n_deps; i++)
			if (!is_seen[node->deps[i]->index]) {
				is_seen[node->deps[i]->index] = true;
				stack[n++] = node->deps[i];
			}
	}
	free(is_seen);
	free(stack);
	return follows;
}

struct slu_graph *slu_graph_clone(const struct slu_graph *graph)
{
	struct slu_graph *clone = slu_graph_new();
	bool is_whole = clone != NULL;

	for (size_t i = 0; is_whole && i < graph->n_nodes; i++) {
		const struct slu_graph_node *node = graph->nodes[i];
		struct slu_command *command = slu_command_clone(node->command);
		struct slu_graph_node *copy = NULL;

		if (command)
			copy = slu_graph_add(clone, command, node->deps, node->n_deps);
		if (copy)
			copy->origin = node;
		is_whole = copy != NULL;
	}
	for (size_t i = 0; is_whole && i < clone->n_nodes; i++)
		for (size_t j = 0; j < clone->nodes[i]->n_deps; j++)
			clone->nodes[i]->deps[j] = clone->nodes[clone->nodes[i]->deps[j]->index];
	for (size_t i = 0; is_whole && i < graph->n_users; i++) {
		slu_user_object_ref(graph->users[i], 1);
		is_whole = !slu_graph_retain(clone, graph->users[i], 1);
	}
	if (!is_whole) {
		slu_graph_free(clone);
		return NULL;
	}
	return clone;
}

struct slu_graph_node *slu_graph_find_copy(const struct slu_graph *graph,
					   const struct slu_graph_node *origin)
{
	struct slu_graph_node *found = NULL;

	for (size_t i = 0; i < graph->n_nodes && !found; i++) {
		const struct slu_command *command = graph->nodes[i]->command;

		if (graph->nodes[i]->origin == origin)
			return graph->nodes[i];
		if (command->kind == SLU_COMMAND_GRAPH)
			found = slu_graph_find_copy(command->graph, origin);
		for (unsigned k = 0;
		     command->kind == SLU_COMMAND_BRANCH && !found && k < command->branch.n_bodies;
		     k++)
			found = slu_graph_find_copy(command->branch.bodies[k], origin);
	}
	return found;
}

struct slu_graph_node **slu_graph_order(const struct slu_graph *graph)
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
	if (!is_placed) {
		free(order);
		order = NULL;
	}
	free(is_placed);
	return order;
}

int slu_graph_keep_condition(struct slu_graph *graph, struct slu_condition *condition)
{
	struct slu_condition **array =
		reallocarray(graph->conditions, graph->n_conditions + 1, sizeof(*array));

	if (!array)
		return slu_error(-ENOMEM);
	graph->conditions = array;
	array[graph->n_conditions++] = condition;
	return 0;
}

/* -- what graphs keep alive ----------------------------------------------------------------- */

struct slu_user_object *slu_user_object_new(void *pointer, CUhostFn destroy, unsigned n_refs)
{
	struct slu_user_object *user = slu_objects_new(&users);

	if (user) {
		user->pointer = pointer;
		user->destroy = destroy;
		user->n_refs = n_refs;
	}
	return user;
}

struct slu_user_object *slu_user_object_get(CUuserObject handle)
{
	return slu_objects_get(&users, handle);
}

void slu_user_object_ref(struct slu_user_object *user, unsigned n)
{
	__atomic_add_fetch(&user->n_refs, n, __ATOMIC_RELAXED);
}

void slu_user_object_unref(struct slu_user_object *user, unsigned n)
{
	if (__atomic_sub_fetch(&user->n_refs, n, __ATOMIC_ACQ_REL))
		return;
	user->destroy(user->pointer);
	slu_objects_free(&users, user);
}

/* The references themselves come from the caller; without memory they are given up. */
int slu_graph_retain(struct slu_graph *graph, struct slu_user_object *user, unsigned n)
{
	struct slu_user_object **array =
		reallocarray(graph->users, graph->n_users + n, sizeof(*array));

	if (!array) {
		slu_user_object_unref(user, n);
		return slu_error(-ENOMEM);
	}
	graph->users = array;
	while (n--)
		graph->users[graph->n_users++] = user;
	return 0;
}

int slu_graph_release(struct slu_graph *graph, struct slu_user_object *user, unsigned n)
{
	unsigned found = 0;

	for (size_t i = 0; i < graph->n_users; i++)
		found += graph->users[i] == user;
	if (found < n)
		return -ENOENT;
	for (size_t i = graph->n_users; i-- > 0 && n;) {
		if (graph->users[i] != user)
			continue;
		graph->users[i] = graph->users[--graph->n_users];
		slu_user_object_unref(user, 1);
		n--;
	}
	return 0;
}
