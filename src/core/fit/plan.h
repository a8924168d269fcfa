/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Plans (rule 20): whether a set of groups can have their turns at the same time, and how many
 * bytes each of their seats then gets.
 *
 * On each device that the set uses
 *
 *     sum of needs <= capacity - floors of all accounts outside the set
 *
 * The need of a seat is all its units in mode ALL, and never less than an open seat holds. Next to
 * other groups it is the maximum of the last moments, so that programs which allocate and free in a
 * loop do not change between sharing and taking turns (rule 21). A LAUNCH seat needs its largest
 * waiting command, and next to other groups its working set: with less it would move the same bytes
 * for ever. A LAUNCH seat whose group has the device alone takes what remains, so it may be larger
 * than the device (docs/decisions/0003-launch-working-set.md). A MAPPED seat counts as ALL next to
 * other groups, because access over the bus would be slower than waiting for a turn. A MAPPED seat
 * whose group has the device alone takes what remains, and pinned memory must hold its rest and one
 * unit (rule 11).
 *
 * Memory that the driver pages (docs/decisions/0013-paged-bytes-yield.md) counts next to other
 * groups, so that they do not push each other's pages out for ever. A group that has the device
 * alone fits without it, and others give up as many bytes for it as they can.
 *
 * Floors are bytes that cannot leave now: what clients at rest report, and the whole charge of an
 * orphan, a lost, silent or stuck client. slu_core_plan_refresh() sums them up once, so that a plan
 * costs as much as its set is large.
 *
 * What remains after all needs is slack: LAUNCH seats get it as a larger window, the others a part
 * of it to spend on allocations without a message.
 *
 * A group with is_overgrown wants more than the device has. It counts with what it holds, and alone
 * on a device it always fits: closing it would free nothing for the others.
 */

#include <stdbool.h>
#include <stddef.h>

#include "core/state.h"

/* The set, and the assumptions about the other groups. */
struct slu_core_plan {
	struct slu_core_group *const *groups;
	size_t n_groups;
	struct slu_core_group *plus; /* one more, or NULL */
	unsigned percent;	     /* of each device may be used */
	bool is_alone;		     /* assume that no other group exists: no floors */
	bool is_ideal;		     /* assume no refusals and no outsiders */
};

#define SLU_CORE_PLAN_PINNED (-1)

/* The device, or the pinned budget, on which a set does not fit. */
struct slu_core_shortage {
	int device;	     /* or SLU_CORE_PLAN_PINNED */
	uint64_t need_bytes; /* of the whole set there */
	uint64_t free_bytes;
};

enum { _SLU_CORE_PLAN_E_SUCCESS, SLU_CORE_PLAN_E_UNFIT };

/* Sums up the floors again: at the start of a step, and after a group was closed. */
void slu_core_plan_refresh(struct slu_core *core);

/*
 * Assumes that all accounts of which @may_leave is true can give up all that they hold, until
 * slu_core_plan_refresh().
 */
void slu_core_plan_forget_floors(struct slu_core *core,
				 bool (*may_leave)(struct slu_core *core,
						   const struct slu_core_account *account));

/* The bytes of @device for all groups together, as far as is known now. */
uint64_t slu_core_plan_device_bytes(const struct slu_core *core, unsigned device);

/*
 * Fills need_bytes, paged_bytes, goal_bytes and pinned_goal_bytes of the set's joined members.
 *
 * Return: 0, or SLU_CORE_PLAN_E_UNFIT with @ret_shortage (which may be NULL); the members' figures
 * then mean nothing.
 */
int slu_core_plan_make(struct slu_core *core, const struct slu_core_plan *plan,
		       struct slu_core_shortage *ret_shortage);

/* The same for one group by itself, on the whole device. */
int slu_core_plan_group(struct slu_core *core, struct slu_core_group *group, bool is_alone,
			bool is_ideal, struct slu_core_shortage *ret_shortage);
