/* SPDX-License-Identifier: Apache-2.0 */
#include "base/util.h"
#include "core/credit/staging.h"
#include "core/send.h"

/* The bytes beyond the budget if every client had met its limit. */
static int64_t excess_bytes(const struct slu_core *core)
{
	int64_t excess = -(int64_t)core->pinned.usable_bytes;
	const struct slu_core_client *client;

	TAILQ_FOREACH (client, &core->clients, link)
		excess +=
			(int64_t)(slu_core_client_is_joined(client) ? client->pinned.limit_bytes
								    : client->pinned.charge_bytes);
	return excess;
}

void slu_core_staging_grant(struct slu_core *core)
{
	struct slu_core_client *client;
	uint64_t bytes = core->config.staging_bytes;
	int64_t excess = excess_bytes(core);

	TAILQ_FOREACH (client, &core->clients, link) {
		struct slu_core_account *account = &client->pinned;

		if (!slu_core_client_is_joined(client) || client->never_pins ||
		    client->staging_bytes || account->is_pending)
			continue;
		if (account->limit_bytes < bytes) {
			int64_t more = (int64_t)(bytes - account->limit_bytes);

			/* the charge may still contain bytes that were taken from it already */
			if (slu_core_account_most_bytes(account) < bytes || excess + more > 0)
				continue;
			excess += more;
			slu_core_send_raise(core, account, bytes, bytes, SLU_PACE_NONE,
					    "%s joined: pinned memory for its copies",
					    client->name);
		}
		client->staging_bytes = bytes;
		client->pinned_goal_bytes = SLU_MAX(client->pinned_goal_bytes, bytes);
	}
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
		client->pinned_goal_bytes = slu_sub_floor(client->pinned_goal_bytes, bytes);
		excess -= (int64_t)bytes;
		slu_core_send_lower(core, account, account->limit_bytes - bytes,
				    "%s copies without pinned memory: the budget became smaller",
				    client->name);
	}
}
