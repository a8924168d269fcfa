/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Quotas of device time: how long programs of one user, or of one Unix group, may use the device in
 * a period. Quotas of device memory are in credit/backing.c, where allocations are served.
 *
 * An account remembers what its programs used, also those that have ended. It empties as fast as
 * the quota allows, so that a quota of 2 h in 24 h lets a program run for two hours at once, or for
 * five minutes of each hour without end. Time of programs that run side by side counts for each.
 *
 *   WITHIN -> OVER     the quota is used up
 *   OVER   -> WITHIN   a slice of it is free again, or an eighth of the quota if that is less
 *                      both: [slu_core_quota_look]
 *
 *  OVER: its groups get no turn, and those that have one are closed. They keep their memory, which
 *        yields to others as that of every group at rest.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "core/core.h"

struct slu_core_group;

struct slu_core_quota_account {
	LIST_ENTRY(slu_core_quota_account) link; /* core->quotas */
	uint64_t id;
	uint64_t used_ns; /* and not emptied yet */
	uint64_t at_ns;	  /* emptied until then */
	bool is_over;
};

/* Makes the accounts that a client with these bounds needs. Return: 0 or -ENOMEM. */
int slu_core_quota_reserve(struct slu_core *core, const struct slu_core_bounds *bounds);
void slu_core_quota_free(struct slu_core *core);

/* The group used the device for @span_ns. */
void slu_core_quota_spend(struct slu_core *core, const struct slu_core_group *group,
			  uint64_t span_ns);

/* Finds out which groups are over a quota now, and when that changes. */
void slu_core_quota_look(struct slu_core *core);

/* Why the group gets no turn: the number, and for how long. */
void slu_core_quota_describe(const struct slu_core *core, const struct slu_core_group *group,
			     char *ret_text, size_t size);
