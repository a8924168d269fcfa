/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Users first, then programs: each user gets the same share of a device, however many programs they
 * run; inside a user the policy decides. With one user nothing of this has an effect.
 *
 * On each device a user has a virtual time: the time in which at least one of their programs used
 * the device. The clock of a device is the least virtual time of the users who want it, and never
 * goes back. A user is ahead by what their virtual time exceeds the clock.
 *
 *  * Groups of different users: the one whose user is less ahead goes first; among equals the one
 *    whose user had a turn longest ago.
 *  * A turn is over for a group of another user after a slice L, or earlier if the policy says so,
 *    but not before the holder's user has had as much as the asker's.
 *  * A group may pass one of another user (policy.h) while its user had at most L more.
 *  * A user who wants the device again, or for the first time, continues at the clock: time that
 *    they did not want is no claim on the others.
 *  * Nobody is ahead by more than D = 4 L: who ran while nobody else wanted to does not pay for it
 *    with a long wait.
 *
 * So while two users want a device, what each has used of it differs by at most D and a turn.
 */

#include <stdbool.h>
#include <stdint.h>

struct slu_core;
struct slu_core_group;

/* @group used its devices from @from_ns to @until_ns. */
void slu_core_users_count(struct slu_core *core, const struct slu_core_group *group,
			  uint64_t from_ns, uint64_t until_ns);

/* Before a step asks for the order: turns the clocks, and notes how far each group is ahead. */
void slu_core_users_look(struct slu_core *core);

/* Whether @a, WAITING, is to run before @b, WAITING: a strict total order, as the policy's is. */
bool slu_core_users_precede(const struct slu_core *core, const struct slu_core_group *a,
			    const struct slu_core_group *b);

/* Whether @group may pass @next, WAITING and before it, as far as their users are concerned. */
bool slu_core_users_may_pass(const struct slu_core *core, const struct slu_core_group *group,
			     const struct slu_core_group *next);

/* When the turn of @group is over for @asker, if the policy says @policy_ns. */
uint64_t slu_core_users_over_ns(const struct slu_core *core, const struct slu_core_group *group,
				const struct slu_core_group *asker, uint64_t policy_ns);
