/* SPDX-License-Identifier: Apache-2.0 */
#include "core/sched/quota.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/size.h"
#include "base/util.h"
#include "core/group.h"
#include "core/state.h"

static const struct {
	const char *whose, *setting;
} words[_SLU_CORE_QUOTA_MAX] = {
	[SLU_CORE_QUOTA_USER] = { "its user", "quota.user_time" },
	[SLU_CORE_QUOTA_UNIX_GROUP] = { "its Unix group", "quota.unix_group_time" },
};

static struct slu_core_quota_account *account_find(const struct slu_core *core, uint64_t id)
{
	struct slu_core_quota_account *account;

	LIST_FOREACH (account, &core->quotas, link)
		if (account->id == id)
			return account;
	return NULL;
}

static bool is_set(const struct slu_core_quota *quota)
{
	return quota->id && quota->time_ns && quota->period_ns;
}

int slu_core_quota_reserve(struct slu_core *core, const struct slu_core_bounds *bounds)
{
	for (unsigned i = 0; i < _SLU_CORE_QUOTA_MAX; i++) {
		uint64_t id = bounds->quotas[i].id;
		struct slu_core_quota_account *account;

		core->has_quotas |= is_set(&bounds->quotas[i]);
		if (!is_set(&bounds->quotas[i]) || account_find(core, id))
			continue;
		account = calloc(1, sizeof(*account));
		if (!account)
			return slu_error(-ENOMEM);
		account->id = id;
		account->at_ns = core->now_ns;
		LIST_INSERT_HEAD(&core->quotas, account, link);
	}
	return 0;
}

void slu_core_quota_free(struct slu_core *core)
{
	struct slu_core_quota_account *account;

	while ((account = LIST_FIRST(&core->quotas))) {
		LIST_REMOVE(account, link);
		free(account);
	}
}

/* The members of a group have one user. */
static const struct slu_core_quota *quotas_of(const struct slu_core_group *group)
{
	const struct slu_core_client *first = TAILQ_FIRST(&group->members);

	return first ? first->bounds.quotas : NULL;
}

static uint64_t share_of(uint64_t ns, uint64_t part, uint64_t whole)
{
	return (uint64_t)((unsigned __int128)ns * part / whole);
}

static void account_empty(struct slu_core *core, struct slu_core_quota_account *account,
			  const struct slu_core_quota *quota)
{
	uint64_t span_ns = slu_sub_floor(core->now_ns, account->at_ns);

	account->used_ns = slu_sub_floor(account->used_ns,
					 share_of(span_ns, quota->time_ns, quota->period_ns));
	account->at_ns = core->now_ns;
}

void slu_core_quota_spend(struct slu_core *core, const struct slu_core_group *group,
			  uint64_t span_ns)
{
	const struct slu_core_quota *quotas = quotas_of(group);

	for (unsigned i = 0; quotas && i < _SLU_CORE_QUOTA_MAX; i++) {
		struct slu_core_quota_account *account;

		if (!is_set(&quotas[i]))
			continue;
		account = account_find(core, quotas[i].id);
		if (account)
			account->used_ns += span_ns;
	}
}

/* What must be used no longer before its groups run again. */
static uint64_t resume_ns(const struct slu_core *core, const struct slu_core_quota *quota)
{
	return quota->time_ns - SLU_MIN(core->config.slice_ns, quota->time_ns / 8);
}

static uint64_t until_resumed_ns(const struct slu_core *core,
				 const struct slu_core_quota_account *account,
				 const struct slu_core_quota *quota)
{
	uint64_t excess_ns = slu_sub_floor(account->used_ns, resume_ns(core, quota));

	return share_of(excess_ns, quota->period_ns, quota->time_ns);
}

/* Return: whether the quota keeps the group from running. */
static bool account_look(struct slu_core *core, const struct slu_core_group *group,
			 const struct slu_core_quota *quota)
{
	struct slu_core_quota_account *account = account_find(core, quota->id);

	if (!account)
		return false;
	account_empty(core, account, quota);
	if (account->used_ns >= quota->time_ns)
		account->is_over = true;
	else if (account->used_ns <= resume_ns(core, quota))
		account->is_over = false;
	if (account->is_over)
		(void)slu_core_is_due(
			core,
			slu_core_after(core->now_ns, until_resumed_ns(core, account, quota) + 1));
	else if (group->state == SLU_CORE_RUNNING)
		/* use is counted late, because rest is reported late */
		(void)slu_core_is_due(
			core, slu_core_after(core->now_ns, quota->time_ns - account->used_ns +
								   core->config.idle_ns));
	return account->is_over;
}

void slu_core_quota_look(struct slu_core *core)
{
	struct slu_core_group *group;

	if (!core->has_quotas)
		return;
	TAILQ_FOREACH (group, &core->groups, link) {
		const struct slu_core_quota *quotas = quotas_of(group);

		group->is_over_quota = false;
		for (unsigned i = 0; quotas && i < _SLU_CORE_QUOTA_MAX; i++) {
			if (!is_set(&quotas[i]))
				continue;
			slu_core_group_count(core, group);
			if (account_look(core, group, &quotas[i]))
				group->is_over_quota = true;
		}
		if (group->is_over_quota)
			group->is_next = false;
	}
}

void slu_core_quota_describe(const struct slu_core *core, const struct slu_core_group *group,
			     char *ret_text, size_t size)
{
	const struct slu_core_quota *quotas = quotas_of(group);

	for (unsigned i = 0; quotas && i < _SLU_CORE_QUOTA_MAX; i++) {
		char quota[SLU_SIZE_STRING_MAX], period[SLU_SIZE_STRING_MAX];
		char rest[SLU_SIZE_STRING_MAX];
		const struct slu_core_quota_account *account = account_find(core, quotas[i].id);

		if (!is_set(&quotas[i]) || !account || !account->is_over)
			continue;
		snprintf(ret_text, size,
			 "%s has used its %s of device time in %s (%s); goes on in %s",
			 words[i].whose, slu_size_format_time(quota, quotas[i].time_ns),
			 slu_size_format_time(period, quotas[i].period_ns), words[i].setting,
			 slu_size_format_time(rest, until_resumed_ns(core, account, &quotas[i])));
		return;
	}
}
