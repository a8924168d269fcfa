/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/execution/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "softgpu/driver/execution/condition.h"

static struct dev_objects graphs = DEV_OBJECTS_INIT(struct dev_graph);
static struct dev_objects nodes = DEV_OBJECTS_INIT(struct dev_graph_node);
static struct dev_objects users = DEV_OBJECTS_INIT(struct dev_user_object);

struct dev_graph *dev_graph_new(void)
{
	return dev_object_new(&graphs);
}

static void free_node(struct dev_graph_node *node)
{
	dev_command_free(node->command);
	free(node->deps);
	dev_object_free(&nodes, node);
}

void dev_graph_free(struct dev_graph *graph)
{
	if (!graph)
		return;
	for (size_t i = 0; i < graph->n_nodes; i++)
		free_node(graph->nodes[i]);
	free(graph->nodes);
	for (size_t i = 0; i < graph->n_users; i++)
		dev_graph_object_unref(graph->users[i], 1);
	free(graph->users);
	for (size_t i = 0; i < graph->n_conditions; i++)
		dev_condition_unref(graph->conditions[i]);
	free(graph->conditions);
	dev_object_free(&graphs, graph);
}

struct dev_graph *dev_graph_get(CUgraph handle)
{
	return dev_object_get(&graphs, handle);
}

struct dev_graph_node *dev_graph_get_node(CUgraphNode handle)
{
	return dev_object_get(&nodes, handle);
}

struct dev_graph_node *dev_graph_add(struct dev_graph *graph, struct dev_command *command,
				     struct dev_graph_node *const *deps, size_t n_deps)
{
	struct dev_graph_node *node = dev_object_new(&nodes), **array;

	if (!node) {
		dev_command_free(command);
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

int dev_graph_undepend(struct dev_graph_node *later, struct dev_graph_node *earlier)
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

int dev_graph_depend(struct dev_graph_node *later, struct dev_graph_node *earlier)
{
	struct dev_graph_node **deps;

	for (size_t i = 0; i < later->n_deps; i++)
		if (later->deps[i] == earlier)
			return -EEXIST;
	if (later == earlier || dev_graph_follows(earlier, later))
		return -ELOOP;
	deps = reallocarray(later->deps, later->n_deps + 1, sizeof(*deps));
	if (!deps)
		return slu_error(-ENOMEM);
	later->deps = deps;
	deps[later->n_deps++] = earlier;
	return 0;
}

void dev_graph_remove(struct dev_graph_node *node)
{
	struct dev_graph *graph = node->graph;

	for (size_t i = 0; i < graph->n_nodes; i++)
		(void)dev_graph_undepend(graph->nodes[i], node);
	memmove(&graph->nodes[node->index], &graph->nodes[node->index + 1],
		(graph->n_nodes - node->index - 1) * sizeof(*graph->nodes));
	graph->n_nodes--;
	for (size_t i = node->index; i < graph->n_nodes; i++)
		graph->nodes[i]->index = i;
	free_node(node);
}

bool dev_graph_follows(const struct dev_graph_node *later, const struct dev_graph_node *earlier)
{
	const struct dev_graph *graph = earlier->graph;
	const struct dev_graph_node **stack;
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
		const struct dev_graph_node *node = stack[--n];

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

struct dev_graph *dev_graph_clone(const struct dev_graph *graph)
{
	struct dev_graph *clone = dev_graph_new();
	bool is_whole = clone != NULL;

	for (size_t i = 0; is_whole && i < graph->n_nodes; i++) {
		const struct dev_graph_node *node = graph->nodes[i];
		struct dev_command *command = dev_command_clone(node->command);
		struct dev_graph_node *copy = NULL;

		if (command)
			copy = dev_graph_add(clone, command, node->deps, node->n_deps);
		if (copy)
			copy->origin = node;
		is_whole = copy != NULL;
	}
	for (size_t i = 0; is_whole && i < clone->n_nodes; i++)
		for (size_t j = 0; j < clone->nodes[i]->n_deps; j++)
			clone->nodes[i]->deps[j] = clone->nodes[clone->nodes[i]->deps[j]->index];
	for (size_t i = 0; is_whole && i < graph->n_users; i++) {
		dev_graph_object_ref(graph->users[i], 1);
		is_whole = !dev_graph_retain(clone, graph->users[i], 1);
	}
	if (!is_whole) {
		dev_graph_free(clone);
		return NULL;
	}
	return clone;
}

struct dev_graph_node *dev_graph_find_copy(const struct dev_graph *graph,
					   const struct dev_graph_node *origin)
{
	struct dev_graph_node *found = NULL;

	for (size_t i = 0; i < graph->n_nodes && !found; i++) {
		const struct dev_command *command = graph->nodes[i]->command;

		if (graph->nodes[i]->origin == origin)
			return graph->nodes[i];
		if (command->kind == DEV_COMMAND_GRAPH)
			found = dev_graph_find_copy(command->graph, origin);
		for (unsigned k = 0;
		     command->kind == DEV_COMMAND_BRANCH && !found && k < command->branch.n_bodies;
		     k++)
			found = dev_graph_find_copy(command->branch.bodies[k], origin);
	}
	return found;
}

struct dev_graph_node **dev_graph_order(const struct dev_graph *graph)
{
	struct dev_graph_node **order = calloc(graph->n_nodes + 1, sizeof(*order));
	bool *is_placed = calloc(graph->n_nodes + 1, sizeof(*is_placed));
	size_t n = 0, before;

	while (order && is_placed && n < graph->n_nodes) {
		before = n;
		for (size_t i = 0; i < graph->n_nodes; i++) {
			struct dev_graph_node *node = graph->nodes[i];
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

int dev_graph_keep_condition(struct dev_graph *graph, struct dev_condition *condition)
{
	struct dev_condition **array =
		reallocarray(graph->conditions, graph->n_conditions + 1, sizeof(*array));

	if (!array)
		return slu_error(-ENOMEM);
	graph->conditions = array;
	array[graph->n_conditions++] = condition;
	return 0;
}

/* -- what graphs keep alive ----------------------------------------------------------------- */

struct dev_user_object *dev_graph_object_new(void *pointer, CUhostFn destroy, unsigned n_refs)
{
	struct dev_user_object *user = dev_object_new(&users);

	if (user) {
		user->pointer = pointer;
		user->destroy = destroy;
		user->n_refs = n_refs;
	}
	return user;
}

struct dev_user_object *dev_graph_object_get(CUuserObject handle)
{
	return dev_object_get(&users, handle);
}

void dev_graph_object_ref(struct dev_user_object *user, unsigned n)
{
	__atomic_add_fetch(&user->n_refs, n, __ATOMIC_RELAXED);
}

void dev_graph_object_unref(struct dev_user_object *user, unsigned n)
{
	if (__atomic_sub_fetch(&user->n_refs, n, __ATOMIC_ACQ_REL))
		return;
	user->destroy(user->pointer);
	dev_object_free(&users, user);
}

/* The references themselves come from the caller; without memory they are given up. */
int dev_graph_retain(struct dev_graph *graph, struct dev_user_object *user, unsigned n)
{
	struct dev_user_object **array =
		reallocarray(graph->users, graph->n_users + n, sizeof(*array));

	if (!array) {
		dev_graph_object_unref(user, n);
		return slu_error(-ENOMEM);
	}
	graph->users = array;
	while (n--)
		graph->users[graph->n_users++] = user;
	return 0;
}

int dev_graph_release(struct dev_graph *graph, struct dev_user_object *user, unsigned n)
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
		dev_graph_object_unref(user, 1);
		n--;
	}
	return 0;
}
