/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A conditional node: graphs that are run, or not, or again and again, as a condition says when
 * their turn comes. All other nodes of a graph are submitted when it is launched; those in a branch
 * are carried out one after the other by whoever carries out the branch, which is why they may be
 * of the kinds only that need nothing but the stream: kernels, copies, sets, graphs, branches.
 *
 *   IF      body 0 where the value is not 0; body 1, if there is one, where it is
 *   WHILE   body 0 while it is not 0
 *   SWITCH  the body of that number, if there is one
 */

#include "softgpu/driver/execution/command.h"

struct dev_graph;

/* Makes the bodies, empty, and takes a reference to @condition. Return: 0, -EINVAL, -ENOMEM. */
int dev_branch_init(struct dev_command_branch *branch, struct dev_condition *condition,
		    CUgraphConditionalNodeType type, unsigned n_bodies);
int dev_branch_clone(const struct dev_command_branch *branch, struct dev_command_branch *ret_clone);
void dev_branch_deinit(struct dev_command_branch *branch);

/* Whether a graph with branches has none but allowed nodes in them; *ret_wrong: the first other. */
bool dev_branch_is_sound(const struct dev_graph *graph, bool is_inside,
			 const struct dev_graph_node **ret_wrong);

/* Whether some node of @graph, or of a graph inside of it, is a branch. */
bool dev_branch_is_in(const struct dev_graph *graph);

/* Return: when it ended, in the device's time. */
uint64_t dev_branch_run(struct dev_stream *stream, const struct dev_command_branch *branch,
			uint64_t start_ns);
