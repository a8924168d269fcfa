/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/execution/branch.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"
#include "softgpu/driver/context.h"
#include "softgpu/driver/execution/condition.h"
#include "softgpu/driver/execution/graph.h"

int dev_branch_init(struct dev_command_branch *branch, struct dev_condition *condition,
		    CUgraphConditionalNodeType type, unsigned n_bodies)
{
	if (!n_bodies || (type == CU_GRAPH_COND_TYPE_WHILE && n_bodies != 1) ||
	    (type == CU_GRAPH_COND_TYPE_IF && n_bodies > 2))
		return -EINVAL;
	*branch =
		(struct dev_command_branch){ .type = type,
					     .bodies = calloc(n_bodies, sizeof(*branch->bodies)) };
	if (!branch->bodies)
		return slu_error(-ENOMEM);
	branch->condition = dev_condition_ref(condition);
	while (branch->n_bodies < n_bodies) {
		struct dev_graph *body = dev_graph_new();

		if (!body) {
			dev_branch_deinit(branch);
			return slu_error(-ENOMEM);
		}
		body->is_child = true;
		branch->bodies[branch->n_bodies++] = body;
	}
	return 0;
}

int dev_branch_clone(const struct dev_command_branch *branch, struct dev_command_branch *ret_clone)
{
	struct dev_command_branch clone = { .type = branch->type };

	clone.bodies = calloc(branch->n_bodies, sizeof(*clone.bodies));
	if (!clone.bodies)
		return slu_error(-ENOMEM);
	clone.condition = dev_condition_ref(branch->condition);
	while (clone.n_bodies < branch->n_bodies) {
		struct dev_graph *body = dev_graph_clone(branch->bodies[clone.n_bodies]);

		if (!body) {
			dev_branch_deinit(&clone);
			return slu_error(-ENOMEM);
		}
		body->is_child = true;
		clone.bodies[clone.n_bodies++] = body;
	}
	*ret_clone = clone;
	return 0;
}

void dev_branch_deinit(struct dev_command_branch *branch)
{
	for (unsigned i = 0; i < branch->n_bodies; i++)
		dev_graph_free(branch->bodies[i]);
	free(branch->bodies);
	dev_condition_unref(branch->condition);
	*branch = (struct dev_command_branch){ 0 };
}

bool dev_branch_is_sound(const struct dev_graph *graph, bool is_inside,
			 const struct dev_graph_node **ret_wrong)
{
	bool is_sound = true;

	for (size_t i = 0; i < graph->n_nodes && is_sound; i++) {
		const struct dev_command *command = graph->nodes[i]->command;

		switch (command->kind) {
		case DEV_COMMAND_EMPTY:
		case DEV_COMMAND_COPY:
		case DEV_COMMAND_SET:
		case DEV_COMMAND_KERNEL:
			break;
		case DEV_COMMAND_GRAPH:
			is_sound = dev_branch_is_sound(command->graph, is_inside, ret_wrong);
			break;
		case DEV_COMMAND_BRANCH:
			for (unsigned k = 0; k < command->branch.n_bodies && is_sound; k++)
				is_sound = dev_branch_is_sound(command->branch.bodies[k], true,
							       ret_wrong);
			break;
		default:
			is_sound = !is_inside;
			if (!is_sound)
				*ret_wrong = graph->nodes[i];
			break;
		}
	}
	return is_sound;
}

bool dev_branch_is_in(const struct dev_graph *graph)
{
	for (size_t i = 0; i < graph->n_nodes; i++) {
		const struct dev_command *command = graph->nodes[i]->command;

		if (command->kind == DEV_COMMAND_BRANCH ||
		    (command->kind == DEV_COMMAND_GRAPH && dev_branch_is_in(command->graph)))
			return true;
	}
	return false;
}

static bool may_go_on(const struct dev_stream *stream)
{
	return !dev_context_error(stream->context) &&
	       !__atomic_load_n(&stream->context->cancel, __ATOMIC_ACQUIRE);
}

static uint64_t run_graph(struct dev_stream *stream, const struct dev_graph *graph, uint64_t ns)
{
	struct dev_graph_node **order = dev_graph_order(graph);

	if (!order)
		dev_context_break(stream->context, CUDA_ERROR_OUT_OF_MEMORY);
	for (size_t i = 0; order && i < graph->n_nodes && may_go_on(stream); i++) {
		struct dev_command *command = order[i]->command;

		ns = command->kind == DEV_COMMAND_GRAPH ? run_graph(stream, command->graph, ns)
							: dev_command_execute(stream, command, ns);
	}
	free(order);
	return ns;
}

/* Return: which body comes next; n_bodies: none. */
static unsigned branch_choose(const struct dev_command_branch *branch)
{
	unsigned value = dev_condition_value(branch->condition);

	if (branch->type == CU_GRAPH_COND_TYPE_SWITCH)
		return SLU_MIN(value, branch->n_bodies);
	if (value)
		return 0;
	return branch->type == CU_GRAPH_COND_TYPE_IF ? 1 : branch->n_bodies;
}

uint64_t dev_branch_run(struct dev_stream *stream, const struct dev_command_branch *branch,
			uint64_t start_ns)
{
	uint64_t ns = start_ns;

	do {
		unsigned which = branch_choose(branch);

		if (which >= branch->n_bodies || !may_go_on(stream))
			break;
		ns = run_graph(stream, branch->bodies[which], ns);
	} while (branch->type == CU_GRAPH_COND_TYPE_WHILE);
	return ns;
}
