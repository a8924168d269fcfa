/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/size.h"
#include "base/util.h"
#include "core/credit/backing.h"
#include "core/send.h"

/* Credit beyond the request: a part of the budget, so that small allocations need no message. */
#define BACKING_PARTS 64

/* How long a full disk is not asked again. */
#define REFUSED_NS SLU_NS_PER_S

/* -- bounds ----------------------------------------------------------------------------------- */

static bool has_bound(const struct slu_core_bound *bounds, unsigned n, uint64_t id)
{
	for (unsigned i = 0; i < n; i++)
		if (bounds[i].id == id)
			return true;
	return false;
}

/* Claims count here too, because they reduce what clients with the same bound get (rule 41). */
static uint64_t charge_of(const struct slu_core_account *account)
{
	return SLU_MAX(account->charge_bytes, account->claim_bytes);
}

/* What the bound leaves to @client: its bytes less the charges of the others that share it. */
static uint64_t bound_remaining_bytes(const struct slu_core *core,
				      const struct slu_core_client *client,
				      const struct slu_core_bound *bound, bool is_disk)
{
	const struct slu_core_client *other;
	uint64_t bytes = bound->bytes;

	TAILQ_FOREACH (other, &core->clients, link) {
		const struct slu_core_bounds *b = &other->bounds;

		if (other == client)
			continue;
		if (is_disk ? has_bound(b->disk, b->n_disk, bound->id)
			    : has_bound(b->pageable, b->n_pageable, bound->id))
			bytes = slu_sub_floor(bytes,
					      charge_of(is_disk ? &other->disk : &other->pageable));
	}
	return bytes;
}

static uint64_t most_within(const struct slu_core *core, const struct slu_core_client *client,
			    bool is_disk)
{
	const struct slu_core_bounds *b = &client->bounds;
	const struct slu_core_bound *bounds = is_disk ? b->disk : b->pageable;
	unsigned n = is_disk ? b->n_disk : b->n_pageable;
	uint64_t most = slu_core_account_most_bytes(is_disk ? &client->disk : &client->pageable);

	for (unsigned i = 0; i < n; i++)
		most = SLU_MIN(most, bound_remaining_bytes(core, client, &bounds[i], is_disk));
	return most;
}

uint64_t slu_core_backing_most_bytes(const struct slu_core *core,
				     const struct slu_core_client *client)
{
	return most_within(core, client, false);
}

/* The quota that leaves the client least; @ret_bytes: so much more than it has. Or NULL. */
static const struct slu_core_quota *tightest_quota(const struct slu_core *core,
						   const struct slu_core_client *client,
						   uint64_t *ret_bytes)
{
	const struct slu_core_quota *tightest = NULL;

	*ret_bytes = SLU_CORE_BYTES_MAX;
	for (unsigned i = 0; i < _SLU_CORE_QUOTA_MAX; i++) {
		const struct slu_core_quota *quota = &client->bounds.quotas[i];
		const struct slu_core_client *other;
		uint64_t bytes = quota->bytes;

		if (!quota->id || !quota->bytes)
			continue;
		TAILQ_FOREACH (other, &core->clients, link)
			if (other->bounds.quotas[i].id == quota->id)
				bytes = slu_sub_floor(bytes, charge_of(&other->pageable) +
								     charge_of(&other->disk));
		if (bytes < *ret_bytes) {
			*ret_bytes = bytes;
			tightest = quota;
		}
	}
	return tightest;
}

static uint64_t within_quota(const struct slu_core *core, const struct slu_core_client *client,
			     const struct slu_core_account *account, uint64_t most)
{
	uint64_t more;

	(void)tightest_quota(core, client, &more);
	return SLU_MIN(most, account->charge_bytes + more);
}

/* The quota that denies what the client asks for; or NULL. */
static const struct slu_core_quota *short_quota(const struct slu_core *core,
						const struct slu_core_client *client)
{
	uint64_t more;
	const struct slu_core_quota *quota = tightest_quota(core, client, &more);

	if (!quota || client->pageable.charge_bytes + more >= client->backing_least_bytes)
		return NULL;
	return quota;
}

static bool has_quota(const struct slu_core_client *client, const struct slu_core_quota *quota)
{
	for (unsigned i = 0; i < _SLU_CORE_QUOTA_MAX; i++)
		if (client->bounds.quotas[i].id == quota->id)
			return true;
	return false;
}

/* The client's disk was full lately, whatever the budget says. */
static bool disk_is_full(struct slu_core *core, const struct slu_core_client *client)
{
	return client->disk_refused_ns &&
	       !slu_core_is_due(core, slu_core_after(client->disk_refused_ns, REFUSED_NS));
}

uint64_t slu_core_backing_most_disk_bytes(struct slu_core *core,
					  const struct slu_core_client *client)
{
	if (!client->has_disk || disk_is_full(core, client))
		return client->disk.limit_bytes;
	return most_within(core, client, true);
}

/* -- allocations ------------------------------------------------------------------------------ */

static bool shares_bound(const struct slu_core_client *a, const struct slu_core_client *b,
			 bool is_disk)
{
	const struct slu_core_bound *bounds = is_disk ? a->bounds.disk : a->bounds.pageable;
	unsigned n = is_disk ? a->bounds.n_disk : a->bounds.n_pageable;

	for (unsigned i = 0; i < n; i++)
		if (is_disk ? has_bound(b->bounds.disk, b->bounds.n_disk, bounds[i].id)
			    : has_bound(b->bounds.pageable, b->bounds.n_pageable, bounds[i].id))
			return true;
	return false;
}

/*
 * Takes back unused credit; if a bound or a quota is the obstacle and not the budget, only from
 * clients that share it. Return: whether there is any, now or soon.
 */
static bool take_slack(struct slu_core *core, const struct slu_core_client *asker, bool is_disk)
{
	struct slu_core_capacity *capacity = is_disk ? &core->disk : &core->pageable;
	const struct slu_core_account *own = is_disk ? &asker->disk : &asker->pageable;
	bool is_bound = slu_core_account_most_bytes(own) > most_within(core, asker, is_disk);
	const struct slu_core_quota *quota = short_quota(core, asker);
	struct slu_core_account *account;
	bool is_coming = false;

	TAILQ_FOREACH (account, &capacity->charged, charged_link) {
		if (account->client == asker || !slu_core_client_is_joined(account->client))
			continue;
		if (is_bound && !shares_bound(asker, account->client, is_disk))
			continue;
		if (quota && !has_quota(account->client, quota))
			continue;
		if (account->is_pending) {
			is_coming |= !slu_core_is_silent(core, account);
			continue;
		}
		if (!slu_core_account_slack_bytes(account))
			continue;
		is_coming = true;
		if (!account->raised_ns ||
		    slu_core_is_due(core,
				    slu_core_after(account->raised_ns, core->config.round_trip_ns)))
			slu_core_send_lower(core, account, account->held_bytes,
					    "%s does not use it: %s needs %s",
					    account->client->name, asker->name,
					    is_disk ? "bytes on disk" : "host memory");
	}
	return is_coming;
}

static bool raise_backing(struct slu_core *core, struct slu_core_client *client)
{
	uint64_t want = client->backing_want_bytes,
		 most = within_quota(core, client, &client->pageable,
				     slu_core_backing_most_bytes(core, client));

	if (most < client->backing_least_bytes || most <= client->pageable.limit_bytes)
		return false;
	most = SLU_MIN(most, want + core->pageable.usable_bytes / BACKING_PARTS);
	slu_core_send_raise(core, &client->pageable, most, most, SLU_PACE_NONE,
			    "%s allocates: host memory", client->name);
	return true;
}

static bool raise_disk(struct slu_core *core, struct slu_core_client *client)
{
	uint64_t want = client->disk_want_bytes;
	/* bytes requested ahead are not needed yet */
	uint64_t least =
		want - SLU_MIN(want, client->backing_want_bytes - client->backing_least_bytes);
	uint64_t most = within_quota(core, client, &client->disk,
				     SLU_MIN(slu_core_backing_most_disk_bytes(core, client), want));

	if (!want || most < least || most <= client->disk.limit_bytes)
		return false;
	slu_core_send_raise(core, &client->disk, most, most, SLU_PACE_NONE,
			    "%s allocates: disk, because host memory is used up", client->name);
	return true;
}

static bool is_met(const struct slu_core_client *client)
{
	return client->backing_want_bytes <= client->pageable.limit_bytes ||
	       (client->disk_want_bytes && client->disk_want_bytes <= client->disk.limit_bytes);
}

static void quota_describe(const struct slu_core_client *client, const struct slu_core_quota *quota,
			   char *ret_why, size_t size)
{
	static const char *const settings[] = {
		[SLU_CORE_QUOTA_USER] = "of its user (quota.user_memory",
		[SLU_CORE_QUOTA_UNIX_GROUP] = "of its Unix group (quota.unix_group_memory",
	};
	char text[SLU_SIZE_STRING_MAX];

	snprintf(ret_why, size, "the quota of device memory %s: %s) is used up",
		 settings[quota - client->bounds.quotas], slu_size_format(text, quota->bytes));
}

static const char *why_denied(struct slu_core *core, const struct slu_core_client *client)
{
	if (!core->disk.usable_bytes || !client->has_disk)
		return "the budget for host memory (memory.backing) is used up";
	if (!client->disk_want_bytes)
		return "the budget for host memory (memory.backing) is used up, and the disk "
		       "(memory.disk_folder) did not take what was written";
	if (disk_is_full(core, client))
		return "the budget for host memory (memory.backing) is used up, and the disk "
		       "(memory.disk_folder) is full";
	return "the budgets for host memory (memory.backing) and disk (memory.disk_max) are used "
	       "up";
}

/* Return: whether the request stays, because the unused credit of others is on its way. */
static bool client_serve(struct slu_core *core, struct slu_core_client *client)
{
	const struct slu_core_quota *quota;
	char why[SLU_CORE_REASON_MAX];

	if (is_met(client) || raise_backing(core, client))
		return false;
	if (take_slack(core, client, false))
		return true;
	if (client->disk_want_bytes && client->has_disk && core->disk.usable_bytes) {
		if (raise_disk(core, client))
			return false;
		if (take_slack(core, client, true))
			return true;
	}
	quota = short_quota(core, client);
	if (quota)
		quota_describe(client, quota, why, sizeof(why));
	slu_core_send_deny(core, client, NULL, client->backing_want_bytes,
			   quota ? why : why_denied(core, client));
	return false;
}

void slu_core_backing_serve(struct slu_core *core)
{
	struct slu_core_client *client;

	if (!core->is_asked_for_backing)
		return;
	core->is_asked_for_backing = false;
	TAILQ_FOREACH (client, &core->clients, link) {
		if (slu_core_client_is_joined(client) && client->backing_want_bytes &&
		    !client->pageable.is_pending && !client->disk.is_pending &&
		    !client_serve(core, client))
			client->backing_want_bytes = 0;
		core->is_asked_for_backing |= client->backing_want_bytes != 0;
	}
}
