/* SPDX-License-Identifier: Apache-2.0 */

#include "softgpu/driver/branch.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/util.h"
#include "softgpu/driver/condition.h"
#include "softgpu/driver/context.h"
#include "softgpu/driver/graph.h"

int slu_branch_init(struct slu_command_branch *branch, struct slu_condition *condition,
		    CUgraphConditionalNodeType type, unsigned n_bodies)
{
	if (!n_bodies || (type == CU_GRAPH_COND_TYPE_WHILE && n_bodies != 1) ||
	    (type == CU_GRAPH_COND_TYPE_IF && n_bodies > 2))
		return -EINVAL;
	*branch =
		(struct slu_command_branch){ .type = type,
					     .bodies = calloc(n_bodies, sizeof(*branch->bodies)) };
	if (!branch->bodies)
		return slu_error(-ENOMEM);
	branch->condition = slu_condition_ref(condition);
	while (branch->n_bodies < n_bodies) {
		struct slu_graph *body = slu_graph_new();

		if (!body) {
			slu_branch_deinit(branch);
			return slu_error(-ENOMEM);
		}
		body->is_child = true;
		branch->bodies[branch->n_bodies++] = body;
	}
	return 0;
}

int slu_branch_clone(const struct slu_command_branch *branch, struct slu_command_branch *ret_clone)
{
	struct slu_command_branch clone = { .type = branch->type };

	clone.bodies = calloc(branch->n_bodies, sizeof(*clone.bodies));
	if (!clone.bodies)
		return slu_error(-ENOMEM);
	clone.condition = slu_condition_ref(branch->condition);
	while (clone.n_bodies < branch->n_bodies) {
		struct slu_graph *body = slu_graph_clone(branch->bodies[clone.n_bodies]);

		if (!body) {
			slu_branch_deinit(&clone);
			return slu_error(-ENOMEM);
		}
		body->is_child = true;
		clone.bodies[clone.n_bodies++] = body;
	}
	*ret_clone = clone;
	return 0;
}

void slu_branch_deinit(struct slu_command_branch *branch)
{
	for (unsigned i = 0; i < branch->n_bodies; i++)
		slu_graph_free(branch->bodies[i]);
	free(branch->bodies);
	slu_condition_unref(branch->condition);
	*branch = (struct slu_command_branch){ 0 };
}

bool slu_branch_is_sound(const struct slu_graph *graph, bool is_inside,
			 const struct slu_graph_node **ret_wrong)
{
	bool is_sound = true;

	for (size_t i = 0; i < graph->n_nodes && is_sound; i++) {
		const struct slu_command *command = graph->nodes[i]->command;

		switch (command->kind) {
		case SLU_COMMAND_EMPTY:
		case SLU_COMMAND_COPY:
		case SLU_COMMAND_SET:
		case SLU_COMMAND_KERNEL:
			break;
		case SLU_COMMAND_GRAPH:
			is_sound = slu_branch_is_sound(command->graph, is_inside, ret_wrong);
			break;
		case SLU_COMMAND_BRANCH:
			for (unsigned k = 0; k < command->branch.n_bodies && is_sound; k++)
				is_sound = slu_branch_is_sound(command->branch.bodies[k], true,
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

bool slu_branch_is_in(const struct slu_graph *graph)
{
	for (size_t i = 0; i < graph->n_nodes; i++) {
		const struct slu_command *command = graph->nodes[i]->command;

		if (command->kind == SLU_COMMAND_BRANCH ||
		    (command->kind == SLU_COMMAND_GRAPH && slu_branch_is_in(command->graph)))
			return true;
	}
	return false;
}

static bool may_go_on(const struct slu_stream *stream)
{
	return !slu_context_error(stream->context) &&
	       !__atomic_load_n(&stream->context->cancel, __ATOMIC_ACQUIRE);
}

static uint64_t run_graph(struct slu_stream *stream, const struct slu_graph *graph, uint64_t ns)
{
	struct slu_graph_node **order = slu_graph_order(graph);

	if (!order)
		slu_context_break(stream->context, CUDA_ERROR_OUT_OF_MEMORY);
	for (size_t i = 0; order && i < graph->n_nodes && may_go_on(stream); i++) {
		struct slu_command *command = order[i]->command;

		ns = command->kind == SLU_COMMAND_GRAPH ? run_graph(stream, command->graph, ns)
							: slu_command_execute(stream, command, ns);
	}
	free(order);
	return ns;
}

/* Return: which body comes next; n_bodies: none. */
static unsigned choose(const struct slu_command_branch *branch)
{
	unsigned value = slu_condition_value(branch->condition);

	if (branch->type == CU_GRAPH_COND_TYPE_SWITCH)
		return SLU_MIN(value, branch->n_bodies);
	if (value)
		return 0;
	return branch->type == CU_GRAPH_COND_TYPE_IF ? 1 : branch->n_bodies;
}

uint64_t slu_branch_run(struct slu_stream *stream, const struct slu_command_branch *branch,
			uint64_t start_ns)
{
	uint64_t ns = start_ns;

	do {
		unsigned which = choose(branch);

		if (which >= branch->n_bodies || !may_go_on(stream))
			break;
		ns = run_graph(stream, branch->bodies[which], ns);
	} while (branch->type == CU_GRAPH_COND_TYPE_WHILE);
	return ns;
}
