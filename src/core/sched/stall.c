/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sched/stall.h"

#include "base/size.h"
#include "base/util.h"
#include "core/group.h"
#include "core/sched/turns.h"
#include "core/send.h"

#define DOUBLE_MAX 6u /* how often the wait for the next turn doubles */

static void group_stall(struct slu_core *core, struct slu_core_group *group, uint64_t since_ns)
{
	uint64_t wait_ns = core->config.fill_deadline_ns << SLU_MIN(group->n_stalls, DOUBLE_MAX);

	if (group->stall_ns == SLU_CORE_NEVER)
		group->stall_ns = since_ns;
	group->n_stalls++;
	group->stall_end_ns = slu_core_after(core->now_ns, wait_ns);
}

/*
 * Since when bytes should leave and none did. Unmovable memory may take a client beyond its limit
 * without a lowering: then the debt is no older than the limit.
 */
static uint64_t debt_since_ns(const struct slu_core_account *account)
{
	return SLU_MAX(account->moved_ns, account->sent_ns);
}

static void account_stall(struct slu_core *core, struct slu_core_account *account)
{
	char span[SLU_SIZE_STRING_MAX];

	if (account->is_stalled)
		return;
	account->is_stalled = true;
	/* a dead context keeps its copies pinned, and no program from its turn */
	if (account->seat)
		group_stall(core, account->client->group, debt_since_ns(account));
	slu_core_report(core, account->client->id,
			"%s is stuck: it should give up %s and has given up none for %s",
			account->client->name, account->seat ? "bytes" : "pinned memory",
			slu_size_format_time(span, core->now_ns - debt_since_ns(account)));
}

/* Whether bytes of the account should leave, and its client has not said that they cannot. */
static bool account_owes(const struct slu_core_account *account)
{
	return slu_core_client_is_joined(account->client) && !account->is_pending &&
	       !account->is_final &&
	       account->held_bytes > SLU_MAX(account->limit_bytes, account->floor_bytes) &&
	       (!account->seat || slu_core_group_is_at_rest(account->client->group) ||
		account->seat->mode == SLU_MODE_LAUNCH);
}

/*
 * An account of another group for whose bytes the fill waits. Nothing left the device since the
 * fill made progress last, so half of the deadline suffices here: a lowering may be younger than
 * the turn, and the next turn may be that of the group that owes.
 */
static struct slu_core_account *fill_debtor(struct slu_core *core,
					    const struct slu_core_group *group)
{
	struct slu_core_account *account;

	for (unsigned d = 0; d < core->n_devices; d++) {
		if (!slu_core_group_uses(group, d))
			continue;
		TAILQ_FOREACH (account, &core->devices[d]->capacity.charged, charged_link)
			if (account->client->group != group && account_owes(account) &&
			    core->now_ns - debt_since_ns(account) >=
				    core->config.fill_deadline_ns / 2)
				return account;
	}
	return NULL;
}

/* Whether nothing but its own copies keeps the group from running. */
static bool fill_has_limits(const struct slu_core_group *group)
{
	const struct slu_core_client *client;
	const struct slu_core_seat *seat;

	SLU_CORE_FOREACH_SEAT (group, client, seat)
		if (seat->want.is_runnable &&
		    (seat->account.is_pending || seat->account.limit_bytes < seat->need_bytes ||
		     client->pinned.limit_bytes < client->pinned_goal_bytes))
			return false;
	return true;
}

static void fill_close(struct slu_core *core, struct slu_core_group *group)
{
	struct slu_core_account *debtor = fill_debtor(core, group);
	char span[SLU_SIZE_STRING_MAX];

	slu_size_format_time(span, core->now_ns - group->progress_ns);
	if (debtor) {
		account_stall(core, debtor);
		slu_core_turns_close(core, group,
				     "%s waits for bytes of %s, which has moved none for %s",
				     slu_core_group_name(group), debtor->client->name, span);
		return;
	}
	if (fill_has_limits(group))
		group_stall(core, group, group->progress_ns);
	slu_core_turns_close(core, group, "%s placed nothing for %s: its turn is closed",
			     slu_core_group_name(group), span);
}

static void look_at_accounts(struct slu_core *core, struct slu_core_capacity *capacity)
{
	uint64_t span = core->config.fill_deadline_ns;
	struct slu_core_account *account;

	TAILQ_FOREACH (account, &capacity->charged, charged_link)
		if (account_owes(account) &&
		    slu_core_is_due(core, slu_core_after(debt_since_ns(account), span)))
			account_stall(core, account);
}

void slu_core_stall_look(struct slu_core *core)
{
	uint64_t span = core->config.fill_deadline_ns;
	struct slu_core_group *group, *next;

	for (group = TAILQ_FIRST(&core->active); group; group = next) {
		next = TAILQ_NEXT(group, state_link);
		if (group->state == SLU_CORE_FILLING &&
		    slu_core_is_due(core, slu_core_after(group->progress_ns, span)))
			fill_close(core, group);
	}
	for (unsigned d = 0; d < core->n_devices; d++)
		look_at_accounts(core, &core->devices[d]->capacity);
	look_at_accounts(core, &core->pinned);
}

bool slu_core_stall_waits(struct slu_core *core, const struct slu_core_group *group)
{
	return group->stall_ns != SLU_CORE_NEVER && !slu_core_is_due(core, group->stall_end_ns);
}

void slu_core_stall_end(struct slu_core_group *group)
{
	group->stall_ns = SLU_CORE_NEVER;
}

void slu_core_stall_forget(struct slu_core_group *group)
{
	struct slu_core_client *client;

	TAILQ_FOREACH (client, &group->members, member_link)
		for (unsigned i = 0; i < client->n_seats; i++)
			client->seats[i].account.is_stalled = false;
	group->n_stalls = 0;
	slu_core_stall_end(group);
}
