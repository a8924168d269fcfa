/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sched/users.h"

#include "base/util.h"
#include "core/group.h"
#include "core/sched/expiry.h"
#include "core/sched/policy.h"
#include "core/user.h"

#define SPREAD_SLICES 4

/* All members of a group are of one user. */
static struct slu_core_user *user_of(const struct slu_core_group *group)
{
	return TAILQ_FIRST(&group->members)->user;
}

void slu_core_users_count(struct slu_core *core, const struct slu_core_group *group,
			  uint64_t from_ns, uint64_t until_ns)
{
	if (TAILQ_EMPTY(&group->members))
		return; /* its last member changed the group */
	for (unsigned d = 0; d < core->n_devices; d++) {
		struct slu_core_user_share *share = &user_of(group)->on[d];
		/* what another group of the user has counted already counts once */
		uint64_t span_ns = slu_sub_floor(until_ns, SLU_MAX(from_ns, share->counted_ns));

		if (!slu_core_group_uses(group, d))
			continue;
		share->virtual_ns += span_ns;
		share->counted_ns = SLU_MAX(share->counted_ns, until_ns);
	}
}

static void claims_note(struct slu_core *core, unsigned device)
{
	struct slu_core_group *group;
	struct slu_core_user *user;

	TAILQ_FOREACH (user, &core->users, link)
		user->on[device].is_claimed = false;
	TAILQ_FOREACH (group, &core->active, state_link) {
		struct slu_core_user_share *share = &user_of(group)->on[device];

		if (!slu_core_group_uses(group, device))
			continue;
		share->is_claimed |= group->is_wanting && !slu_core_group_is_held(group);
		if (slu_core_group_is_open(group))
			share->granted_ns = SLU_MAX(share->granted_ns, group->granted_ns);
	}
}

static void clock_turn(struct slu_core *core, unsigned device)
{
	uint64_t *clock_ns = &core->devices[device]->users_clock_ns, least_ns = SLU_CORE_NEVER;
	struct slu_core_user *user;

	claims_note(core, device);
	TAILQ_FOREACH (user, &core->users, link)
		if (user->on[device].is_wanting && user->on[device].is_claimed)
			least_ns = SLU_MIN(least_ns, user->on[device].virtual_ns);
	if (least_ns != SLU_CORE_NEVER)
		*clock_ns = SLU_MAX(*clock_ns, least_ns);
	TAILQ_FOREACH (user, &core->users, link) {
		struct slu_core_user_share *share = &user->on[device];

		if (share->is_claimed && !share->is_wanting)
			share->virtual_ns = SLU_MAX(share->virtual_ns, *clock_ns);
		share->is_wanting = share->is_claimed;
	}
}

/* Nobody is ahead by more than some slices of their longest turns. */
static void spread_bound(struct slu_core *core, const struct slu_core_group *group)
{
	uint64_t slice_ns = slu_core_expiry_slice_ns(group, &core->config), spread_ns;

	if (__builtin_mul_overflow(slice_ns, (uint64_t)SPREAD_SLICES, &spread_ns))
		return;
	for (unsigned d = 0; d < core->n_devices; d++) {
		struct slu_core_user_share *share = &user_of(group)->on[d];
		uint64_t most_ns = slu_core_after(core->devices[d]->users_clock_ns, spread_ns);

		if (slu_core_group_uses(group, d))
			share->virtual_ns = SLU_MIN(share->virtual_ns, most_ns);
	}
}

void slu_core_users_look(struct slu_core *core)
{
	struct slu_core_group *group;
	struct slu_core_user *user;

	for (unsigned d = 0; d < core->n_devices; d++)
		clock_turn(core, d);
	TAILQ_FOREACH (group, &core->active, state_link)
		spread_bound(core, group);
	TAILQ_FOREACH (user, &core->users, link) {
		user->ahead_ns = user->served_ns = 0;
		for (unsigned d = 0; d < core->n_devices; d++) {
			const struct slu_core_user_share *share = &user->on[d];
			uint64_t ahead_ns =
				slu_sub_floor(share->virtual_ns, core->devices[d]->users_clock_ns);

			if (!share->is_wanting)
				continue;
			user->ahead_ns = SLU_MAX(user->ahead_ns, ahead_ns);
			user->served_ns = SLU_MAX(user->served_ns, share->granted_ns);
		}
	}
}

bool slu_core_users_precede(const struct slu_core *core, const struct slu_core_group *a,
			    const struct slu_core_group *b)
{
	const struct slu_core_user *x = user_of(a), *y = user_of(b);

	if (x == y)
		return core->policy->precedes(a, b);
	if (x->ahead_ns != y->ahead_ns)
		return x->ahead_ns < y->ahead_ns;
	return x->served_ns != y->served_ns ? x->served_ns < y->served_ns : x->id < y->id;
}

/* How much more the user of @asker had than that of @group, of a device that both use. */
static uint64_t lead_ns(const struct slu_core *core, const struct slu_core_group *group,
			const struct slu_core_group *asker)
{
	uint64_t most_ns = 0;

	for (unsigned d = 0; d < core->n_devices; d++) {
		uint64_t ns = slu_sub_floor(user_of(asker)->on[d].virtual_ns,
					    user_of(group)->on[d].virtual_ns);

		if (slu_core_group_uses(group, d) && slu_core_group_uses(asker, d))
			most_ns = SLU_MAX(most_ns, ns);
	}
	return most_ns;
}

bool slu_core_users_may_pass(const struct slu_core *core, const struct slu_core_group *group,
			     const struct slu_core_group *next)
{
	return lead_ns(core, next, group) <= slu_core_expiry_slice_ns(next, &core->config);
}

uint64_t slu_core_users_over_ns(const struct slu_core *core, const struct slu_core_group *group,
				const struct slu_core_group *asker, uint64_t policy_ns)
{
	uint64_t slice_ns = slu_core_expiry_slice_ns(group, &core->config), lead;

	if (user_of(group) == user_of(asker))
		return policy_ns;
	policy_ns = SLU_MIN(policy_ns, slu_core_after(group->running_ns, slice_ns));
	lead = lead_ns(core, group, asker);
	/* from the time on until which its use is counted */
	return lead ? SLU_MAX(policy_ns, slu_core_after(group->counted_ns, lead)) : policy_ns;
}
