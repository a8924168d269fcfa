/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Memory that the driver pages goes and comes with the turns, in bulk: as many bytes of it are
 * ordered to the device as the limit leaves beside the units. It is in no account, no answer waits
 * for it, and whatever is not where it was ordered comes by faults, as without us.
 *
 *   at rest     a lower limit sends out what it does not cover
 *   in a turn   a higher limit brings in what it covers; before the gate opens, the gate waits for
 *               that, and for the credit that the daemon is about to give, for a short time
 *
 * Without a daemon nothing is ordered.
 */

#include "peer/internal.h"

static void paging_order(struct slu_peer *peer, unsigned index, uint64_t bytes)
{
	struct slu_peer_device *d = &peer->devices[index];

	slu_peer_push(peer, SLU_PEER_PAGE, index)->page = (struct slu_peer_page){
		.bytes = bytes,
		.is_in = bytes > d->here_bytes,
	};
	d->here_bytes = bytes;
	d->is_paging = true;
}

/* What the limit leaves of the paged memory beside the units. */
static uint64_t paging_covered(const struct slu_peer_device *d, uint64_t limit_bytes)
{
	return SLU_MIN(d->paged_bytes, slu_sub_floor(limit_bytes, d->account.held_bytes));
}

void slu_peer_paging_set(struct slu_peer *peer, unsigned device, uint64_t bytes)
{
	struct slu_peer_device *d = &peer->devices[device];

	/* new memory comes when it is touched */
	if (bytes > d->paged_bytes)
		d->here_bytes += bytes - d->paged_bytes;
	d->here_bytes = SLU_MIN(d->here_bytes, bytes);
	d->paged_bytes = bytes;
	/* nobody may be left who reports its end */
	if (!bytes)
		d->is_paging = false;
}

void slu_peer_paging_expect(const struct slu_peer *peer, uint64_t now_ns, struct slu_peer_device *d)
{
	if (d->here_bytes < d->paged_bytes)
		d->pages_until_ns = now_ns + SLU_PEER_GROWS_ANSWERS * peer->config.answer_ns;
}

void slu_peer_paging_step(struct slu_peer *peer, uint64_t now_ns, unsigned index)
{
	struct slu_peer_device *d = &peer->devices[index];
	uint64_t covered = paging_covered(d, d->account.limit_bytes);

	if (now_ns >= d->pages_until_ns)
		d->pages_until_ns = 0;
	if (!d->paged_bytes || !peer->is_joined || peer->is_alone)
		return;
	if (slu_peer_turn_may_run(peer, d)) {
		if (covered > d->here_bytes)
			paging_order(peer, index, covered);
	} else if (slu_peer_turn_at_rest(d) && covered < d->here_bytes) {
		paging_order(peer, index, covered);
	}
}

/* The goal of an earlier turn says nothing about this one. */
bool slu_peer_paging_is_complete(const struct slu_peer *peer, const struct slu_peer_device *d)
{
	uint64_t expected =
		d->account.goal_is_past ? d->paged_bytes : paging_covered(d, d->account.goal_bytes);

	if (!d->paged_bytes || !peer->is_joined || peer->is_alone)
		return true;
	return !d->is_paging && (!d->pages_until_ns || d->here_bytes >= expected);
}

void slu_peer_paging_done(struct slu_peer *peer, unsigned device)
{
	peer->devices[device].is_paging = false;
}
