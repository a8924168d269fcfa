/* SPDX-License-Identifier: Apache-2.0 */
#include "base/util.h"
#include "core/credit/home.h"
#include "core/credit/plan.h"
#include "core/send.h"

/* Credit beyond what was asked: a part of the budget, so that small allocations need no word. */
#define HOME_PARTS 64

/* Takes home credit that is not used. Return: whether any is to be had, now or soon. */
static bool take_home(struct slu_core *core, const struct slu_core_client *asker)
{
	struct slu_core_account *account;
	bool is_coming = false;

	TAILQ_FOREACH (account, &core->home.accounts, link) {
		if (account->client == asker || !slu_core_client_is_joined(account->client))
			continue;
		if (account->is_pending) {
			is_coming |= !slu_core_plan_is_silent(core, account);
			continue;
		}
		if (!slu_core_account_slack_bytes(account))
			continue;
		is_coming = true;
		if (!account->raised_ns ||
		    slu_core_is_due(core,
				    slu_core_after(account->raised_ns, core->config.round_trip_ns)))
			slu_core_send_lower(core, account, account->held_bytes,
					    "%s does not use it: %s needs host memory",
					    account->client->name, asker->name);
	}
	return is_coming;
}

void slu_core_home(struct slu_core *core)
{
	struct slu_core_client *client;

	TAILQ_FOREACH (client, &core->clients, link) {
		struct slu_core_account *account = &client->home;
		uint64_t want = client->home_want_bytes, most;

		if (!slu_core_client_is_joined(client) || !want || account->is_pending)
			continue;
		if (want <= account->limit_bytes) {
			client->home_want_bytes = 0;
			continue;
		}
		most = slu_core_account_most_bytes(account);
		if (most >= want) {
			most = SLU_MIN(most, want + core->home.usable_bytes / HOME_PARTS);
			slu_core_send_raise(core, account, most, most, SLU_PACE_NONE,
					    "%s allocates: room in host memory", client->name);
			client->home_want_bytes = 0;
		} else if (!take_home(core, client)) {
			client->home_want_bytes = 0;
			slu_core_send_deny(core, client, NULL, want,
					   "the budget for host memory is used up");
		}
	}
}
