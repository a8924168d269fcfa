/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * User events hold commands back. A command is *blocked* while it cannot run before the host does
 * something: it waits, directly or through other commands, for a user event that is not set. Each
 * command carries the unset user events upstream of it: those of its wait list, those of the
 * commands in its wait list, and those that its queue imposes (in order: of everything before it;
 * out of order: of the barriers before it).
 */

#include <stdbool.h>

#include "opencl/layer.h"

struct slu_user_event;

/* A set of user events that were not set when it was made. Guarded by the layer's lock. */
struct slu_blockers {
	struct slu_user_event **items;
	unsigned n_items;
};

/* Whether there is an unset user event at all; without one nothing is blocked. */
bool slu_blockers_exist(void);

/* Adds to @set the unset user events that @wait and @other bring. Where memory is out, fewer. */
void slu_blockers_add_locked(struct slu_blockers *set, cl_uint n_wait, const cl_event *wait,
			     const struct slu_blockers *other);

/* Whether any in @set is still unset. */
bool slu_blockers_hold_locked(const struct slu_blockers *set);

void slu_blockers_clear_locked(struct slu_blockers *set);
