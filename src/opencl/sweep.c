/* SPDX-License-Identifier: Apache-2.0 */

#include "opencl/sweep.h"

#include <stdlib.h>

#include "opencl/command.h"
#include "opencl/fastpath.h"

#define SWEEP_BATCH 64

void slu_sweep_covered(struct slu_queue *queue, uint64_t covers, cl_event last)
{
	unsigned n;

	do {
		cl_event release[SWEEP_BATCH];
		struct slu_command *first;

		n = 0;
		slu_layer_take();
		slu_fastpath_end_runs_locked(queue, covers);
		while (n < SWEEP_BATCH && (first = TAILQ_FIRST(&queue->commands)) &&
		       (first->stamp <= covers || (last && first->event == last))) {
			slu_command_end_locked(first, &release[n]);
			n += release[n] != NULL;
		}
		slu_layer_give();
		for (unsigned i = 0; i < n; i++)
			slu_layer_next.clReleaseEvent(release[i]);
	} while (n == SWEEP_BATCH);
}

static struct slu_command *command_nth_with_ref(struct slu_queue *queue, unsigned n)
{
	struct slu_command *command;

	slu_layer_take();
	TAILQ_FOREACH (command, &queue->commands, link)
		if (n-- == 0)
			break;
	if (command)
		slu_command_ref_locked(command);
	slu_layer_give();
	return command;
}

static void command_unref(struct slu_command *command)
{
	slu_layer_take();
	slu_command_unref_locked(command);
	slu_layer_give();
}

/* An in-order queue: the last command that has ended is sought by halving. */
static void sweep_in_order(struct slu_queue *queue, unsigned n_commands, bool flush)
{
	bool has_ended = false;

	for (; n_commands && !has_ended; n_commands /= 2) {
		struct slu_command *command = command_nth_with_ref(queue, n_commands - 1);

		if (!command)
			return;
		has_ended = !slu_command_look(command, flush);
		if (has_ended)
			slu_sweep_covered(queue, command->covers, NULL);
		command_unref(command);
	}
}

/* Any other: each is asked. Where memory is out, at another time. */
static void sweep_out_of_order(struct slu_queue *queue, unsigned n_commands, bool flush)
{
	struct slu_command **all = malloc((n_commands + 1) * sizeof(*all)), *command;
	unsigned n = 0;

	if (!all)
		return;
	slu_layer_take();
	TAILQ_FOREACH (command, &queue->commands, link) {
		if (n == n_commands)
			break;
		slu_command_ref_locked(command);
		all[n++] = command;
	}
	slu_layer_give();
	for (unsigned i = 0; i < n; i++) {
		slu_command_look(all[i], flush);
		command_unref(all[i]);
	}
	free(all);
}

void slu_sweep_queue(struct slu_queue *queue, bool flush)
{
	unsigned n_commands;
	bool is_out_of_order;

	slu_layer_take();
	n_commands = queue->n_commands;
	is_out_of_order = queue->is_out_of_order;
	slu_layer_give();
	if (is_out_of_order)
		sweep_out_of_order(queue, n_commands, flush);
	else
		sweep_in_order(queue, n_commands, flush);
}
