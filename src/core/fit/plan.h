/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Who fits (rule 20): whether a set of groups can have their turns at the same time, and how many
 * bytes each of their seats then gets.
 *
 * On each device that the set uses
 *
 *     sum of needs <= capacity - floors of everybody outside the set
 *
 * where a need is all units in mode ALL, and never less than what an open seat holds; beside others
 * it is the most of the last moments, so that programs which allocate and free in a loop do not
 * change between sharing and taking turns (rule 21). A LAUNCH seat needs the largest waiting
 * command, and beside others its working set: with less it would move the same bytes for ever.
 * Where its group has the device alone it takes what is left, so it may be larger than the device
 * (docs/decisions/0003-launch-working-set.md). A MAPPED
 * seat counts as ALL beside other groups, for at the end of the bus it would be slower than waiting
 * for its turn; where its group has the device alone it takes what is left, and its rest and one
 * unit (rule 11) must find pinned memory.
 *
 * What the driver pages (docs/decisions/0013-paged-bytes-yield.md) counts beside others, so that
 * they do not push each other's pages out for ever. A group that has the device alone fits without
 * it, and others give up as many bytes for it as they can.
 *
 * Floors are what cannot leave now: what clients at rest say, and all that is charged to an orphan,
 * a lost, silent or stuck client. They are summed up once by slu_core_plan_refresh(), so that a
 * plan costs as much as its set is large.
 *
 * What is left after all needs is slack: LAUNCH seats get it as a larger window, the others a part
 * of it to spend on allocations without a message.
 *
 * A group that is_overgrown wants more than there is; it counts with what it holds, and alone on a
 * device it always fits: closing it would give nobody anything.
 */

#include <stdbool.h>
#include <stddef.h>

#include "core/state.h"

/* Which set; and what is assumed of the rest of the world. */
struct slu_core_plan {
	struct slu_core_group *const *groups;
	size_t n_groups;
	struct slu_core_group *plus; /* one more, or NULL */
	unsigned percent;	     /* of each device may be used */
	bool is_alone;		     /* as if nobody else were there: no floors */
	bool is_ideal;		     /* as if nothing had ever been refused, nor outsiders seen */
};

#define SLU_CORE_PLAN_PINNED (-1)

/* Where it does not fit. */
struct slu_core_shortage {
	int device;	     /* or SLU_CORE_PLAN_PINNED */
	uint64_t need_bytes; /* of the whole set there */
	uint64_t free_bytes;
};

enum { _SLU_CORE_PLAN_E_SUCCESS, SLU_CORE_PLAN_E_UNFIT };

/* Sums up floors anew: at the start of a step, and when a group was closed. */
void slu_core_plan_refresh(struct slu_core *core);

/*
 * As if all accounts of which @may_leave is true could give up all that they hold, until floors are
 * summed up anew.
 */
void slu_core_plan_forget_floors(struct slu_core *core,
				 bool (*may_leave)(struct slu_core *core,
						   const struct slu_core_account *account));

/* What is there of @device for all groups together, as far as is known now. */
uint64_t slu_core_plan_device_bytes(const struct slu_core *core, unsigned device);

/*
 * Fills need_bytes, paged_bytes, goal_bytes and pinned_goal_bytes of the set's joined members.
 *
 * Return: 0, or SLU_CORE_PLAN_E_UNFIT with @ret_shortage (which may be NULL); the members' figures
 * then mean nothing.
 */
int slu_core_plan_make(struct slu_core *core, const struct slu_core_plan *plan,
		       struct slu_core_shortage *ret_shortage);

/* The same of one group by itself, on all that there is. */
int slu_core_plan_group(struct slu_core *core, struct slu_core_group *group, bool is_alone,
			bool is_ideal, struct slu_core_shortage *ret_shortage);
