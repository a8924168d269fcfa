/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>

#include "core/send.h"

static struct slu_account account_address(const struct slu_core_account *account)
{
	if (account->seat)
		return (struct slu_account){ .tier = SLU_TIER_DEVICE,
					     .device = account->seat->place };
	if (account == &account->client->pageable)
		return (struct slu_account){ .tier = SLU_TIER_PAGEABLE };
	if (account == &account->client->disk)
		return (struct slu_account){ .tier = SLU_TIER_DISK };
	return (struct slu_account){ .tier = SLU_TIER_PINNED };
}

static struct slu_core_queue_entry *message_push(struct slu_core *core,
						 struct slu_core_client *client,
						 enum slu_message_type type, const char *reason)
{
	struct slu_core_queue_entry *entry;

	if (!slu_core_client_is_joined(client))
		return NULL;
	entry = slu_core_queue_push(&core->queue, SLU_CORE_SEND, client->id, "%s", reason);
	if (entry)
		entry->type = type;
	return entry;
}

static void send_limit(struct slu_core *core, struct slu_core_account *account, const char *reason)
{
	struct slu_core_queue_entry *entry =
		message_push(core, account->client, SLU_MSG_LIMIT, reason);

	if (!entry)
		return;
	entry->limit = (struct slu_msg_limit){
		.account = account_address(account),
		.pace = (uint8_t)account->pace,
		.seq = account->seq,
		.limit_bytes = account->limit_bytes,
		.goal_bytes = account->goal_bytes,
	};
}

void slu_core_send_raise(struct slu_core *core, struct slu_core_account *account,
			 uint64_t limit_bytes, uint64_t goal_bytes, enum slu_pace pace,
			 const char *reason, ...)
{
	char text[SLU_CORE_REASON_MAX];
	va_list args;

	assert(slu_core_client_is_joined(account->client));
	va_start(args, reason);
	vsnprintf(text, sizeof(text), reason, args);
	va_end(args);
	slu_core_account_raise(account, core->now_ns, limit_bytes, goal_bytes, pace);
	slu_core_send_roster(core, account->client);
	send_limit(core, account, text);
}

void slu_core_send_lower(struct slu_core *core, struct slu_core_account *account,
			 uint64_t limit_bytes, const char *reason, ...)
{
	char text[SLU_CORE_REASON_MAX];
	va_list args;

	assert(slu_core_client_is_joined(account->client));
	va_start(args, reason);
	vsnprintf(text, sizeof(text), reason, args);
	va_end(args);
	slu_core_account_lower(account, core->now_ns, limit_bytes);
	send_limit(core, account, text);
}

void slu_core_send_turn(struct slu_core *core, struct slu_core_client *client,
			const struct slu_core_seat *seat, const char *reason)
{
	struct slu_core_queue_entry *entry = message_push(core, client, SLU_MSG_TURN, reason);

	if (entry)
		entry->turn = (struct slu_msg_turn){ .device = seat->place, .epoch = seat->epoch };
}

void slu_core_send_close(struct slu_core *core, struct slu_core_client *client,
			 const struct slu_core_seat *seat, const char *reason)
{
	struct slu_core_queue_entry *entry = message_push(core, client, SLU_MSG_CLOSE, reason);

	if (entry)
		entry->close = (struct slu_msg_close){
			.device = seat->place,
			.epoch = seat->epoch,
			.deadline_ns = core->config.close_deadline_ns,
		};
}

void slu_core_send_deny(struct slu_core *core, struct slu_core_client *client,
			const struct slu_core_seat *seat, uint64_t bytes, const char *reason)
{
	struct slu_core_queue_entry *entry = message_push(core, client, SLU_MSG_DENY, reason);

	if (entry)
		entry->deny = (struct slu_msg_deny){
			.account = account_address(seat ? &seat->account : &client->pageable),
			.bytes = bytes,
		};
}

void slu_core_send_line(struct slu_core *core, struct slu_core_client *client)
{
	if (client->roster_is_queued)
		return;
	/* the line is filled in when it is taken, so one ahead of all later raises is enough */
	if (slu_core_queue_push(&core->queue, SLU_CORE_ROSTER_PUT, client->id,
				"the line of %s changed", client->name))
		client->roster_is_queued = true;
}

void slu_core_send_roster(struct slu_core *core, struct slu_core_client *client)
{
	bool differs = client->pinned.roster_bytes != client->pinned.charge_bytes ||
		       client->pageable.roster_bytes != client->pageable.charge_bytes ||
		       client->disk.roster_bytes != client->disk.charge_bytes;

	for (unsigned i = 0; i < client->n_seats; i++)
		differs |= client->seats[i].account.roster_bytes !=
			   client->seats[i].account.charge_bytes;
	if (differs)
		slu_core_send_line(core, client);
}
