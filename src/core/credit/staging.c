/* SPDX-License-Identifier: Apache-2.0 */
#include "base/util.h"
#include "core/credit/staging.h"
#include "core/send.h"

/* The bytes beyond the budget if every client had met its limit. */
static int64_t excess_bytes(const struct slu_core *core)
{
	int64_t excess = -(int64_t)core->pinned.usable_bytes;
	const struct slu_core_account *account;

	TAILQ_FOREACH (account, &core->pinned.charged, charged_link)
		excess += (int64_t)(slu_core_client_is_joined(account->client)
					    ? account->limit_bytes
					    : account->charge_bytes);
	return excess;
}

void slu_core_staging_note(struct slu_core *core, struct slu_core_client *client, bool is_gone)
{
	bool is_due = !is_gone && slu_core_client_is_joined(client) && !client->never_pins &&
		      !client->staging_bytes;

	if (is_due && !client->is_unstaged) {
		TAILQ_INSERT_TAIL(&core->unstaged, client, unstaged_link);
		core->n_unstaged++;
	} else if (!is_due && client->is_unstaged) {
		TAILQ_REMOVE(&core->unstaged, client, unstaged_link);
		core->n_unstaged--;
	}
	client->is_unstaged = is_due;
}

/* Return: whether the budget has the bytes for it; @excess_bytes becomes more by them. */
static bool client_stage(struct slu_core *core, struct slu_core_client *client, int64_t *excess)
{
	struct slu_core_account *account = &client->pinned;
	uint64_t bytes = core->config.staging_bytes;

	if (account->limit_bytes < bytes) {
		int64_t more = (int64_t)(bytes - account->limit_bytes);

		/* the charge may still contain bytes that were taken from it already */
		if (slu_core_account_most_bytes(account) < bytes || *excess + more > 0)
			return false;
		*excess += more;
		slu_core_send_raise(core, account, bytes, bytes, SLU_PACE_NONE,
				    "%s joined: pinned memory for its copies", client->name);
	}
	client->staging_bytes = bytes;
	client->pinned_goal_bytes = SLU_MAX(client->pinned_goal_bytes, bytes);
	slu_core_staging_note(core, client, false);
	return true;
}

void slu_core_staging_grant(struct slu_core *core)
{
	int64_t excess = core->n_unstaged ? excess_bytes(core) : 0;
	struct slu_core_client *client, *next;
	struct slu_core_account *account;

	for (client = TAILQ_FIRST(&core->unstaged); client; client = next) {
		next = TAILQ_NEXT(client, unstaged_link);
		/* if not for one that has nothing, then for none that has nothing */
		if (!client->pinned.is_pending && !client_stage(core, client, &excess) &&
		    !client->pinned.limit_bytes)
			break;
	}
	if (!core->n_unstaged)
		return;
	TAILQ_FOREACH (account, &core->pinned.charged, charged_link)
		if (account->client->is_unstaged && !account->is_pending)
			(void)client_stage(core, account->client, &excess);
}

void slu_core_staging_shrink(struct slu_core *core)
{
	int64_t excess = excess_bytes(core);
	struct slu_core_client *client;

	for (client = TAILQ_LAST(&core->clients, slu_core_clients); client && excess > 0;
	     client = TAILQ_PREV(client, slu_core_clients, link)) {
		struct slu_core_account *account = &client->pinned;
		uint64_t bytes = SLU_MIN(client->staging_bytes, account->limit_bytes);

		if (!slu_core_client_is_joined(client) || account->is_pending || !bytes)
			continue;
		client->staging_bytes = 0;
		slu_core_staging_note(core, client, false);
		client->pinned_goal_bytes = slu_sub_floor(client->pinned_goal_bytes, bytes);
		excess -= (int64_t)bytes;
		slu_core_send_lower(core, account, account->limit_bytes - bytes,
				    "%s copies without pinned memory: the budget became smaller",
				    client->name);
	}
}
